package audit

import (
	"context"
	"time"

	"tenet/internal/store"
)

// PruneShipped removes the bodies of a project's evaluations after the entry from up to the entry through, which are stored elsewhere, and returns
// how many. Their entries stay, with the hashes of the bodies, so that Verify works as before. It first appends an entry about the removal, unless an
// earlier one covers it. It may be interrupted and run again from the same entry.
func PruneShipped(ctx context.Context, s store.Updater, chains store.AuditReader, projectID string, from, through int64, now time.Time) (int, error) {
	last, err := Pruned(ctx, chains, projectID)
	if err != nil {
		return 0, err
	}
	if through > last {
		body := JSON(Retention{Kind: KindEvaluation, Through: through, Before: now.UTC()})
		err := s.Update(ctx, func(tx store.Tx) error {
			return Append(ctx, tx, projectID, Record{Kind: KindRetention, At: now, Actor: "tenet", Body: body})
		})
		if err != nil {
			return 0, err
		}
	}
	total := 0
	for from < through {
		var n int
		err := s.Update(ctx, func(tx store.Tx) (err error) {
			from, n, err = tx.Audit.DropBodies(ctx, projectID, KindEvaluation, from, through, pruneBatch, nil)
			return err
		})
		if err != nil {
			return total, err
		}
		total += n
	}
	return total, nil
}
