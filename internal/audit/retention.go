package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"tenet/internal/store"
)

// KindRetention is the kind of entries about the removal of bodies that were older than the retention setting.
const KindRetention = "retention"

// Retention is the body of an entry of [KindRetention].
type Retention struct {
	// Kind of the entries whose bodies are removed, up to and including the entry Through.
	Kind    string    `json:"kind"`
	Through int64     `json:"through_seq"`
	Before  time.Time `json:"before"` // bodies recorded before it are removed
}

// pruneBatch is how many bodies one transaction removes.
const pruneBatch = 500

// Prune removes the bodies of a project's evaluations that were recorded before a time, and returns how many. Their entries
// stay, with the hashes of the bodies, so that Verify works as before. Prune first appends an entry about the removal: any
// other missing body is damage. It may be interrupted and run again.
func Prune(ctx context.Context, s store.Updater, chains store.AuditReader, projectID string, before, now time.Time) (int, error) {
	from, through, err := retained(ctx, chains, projectID)
	if err != nil {
		return 0, err
	}
	old, _, err := chains.Find(ctx, store.AuditFilter{ProjectID: projectID, Kind: KindEvaluation, Until: &before, Limit: 1})
	if err != nil {
		return 0, err
	}
	if len(old) > 0 && old[0].Seq > through {
		from, through = min(from, through), old[0].Seq
		body := JSON(Retention{Kind: KindEvaluation, Through: through, Before: before.UTC()})
		err := s.Update(ctx, func(tx store.Tx) error {
			return Append(ctx, tx, projectID, Record{Kind: KindRetention, At: now, Actor: "tenet", Body: body})
		})
		if err != nil {
			return 0, err
		}
	}
	total := 0
	for from < through {
		var done int64
		var n int
		err := s.Update(ctx, func(tx store.Tx) (err error) {
			done, n, err = tx.Audit.DropBodies(ctx, projectID, KindEvaluation, from, through, pruneBatch)
			return err
		})
		if err != nil {
			return total, err
		}
		from, total = done, total+n
	}
	return total, nil
}

// Pruned returns the last entry of a project's chain up to which [Prune] has removed the bodies of evaluations, or is about to; 0 if it
// never ran.
func Pruned(ctx context.Context, r store.AuditReader, projectID string) (through int64, err error) {
	_, through, err = retained(ctx, r, projectID)
	return through, err
}

// retained returns how far Prune has removed bodies: all up to from, and those up to through as far as its last run got. Both
// are 0 if it never ran.
func retained(ctx context.Context, r store.AuditReader, projectID string) (from, through int64, err error) {
	last, _, err := r.Find(ctx, store.AuditFilter{ProjectID: projectID, Kind: KindRetention, Limit: 2})
	if err != nil {
		return 0, 0, err
	}
	seqs := [2]int64{}
	for i, e := range last {
		body, err := Body(e)
		if err != nil {
			return 0, 0, err
		}
		var r Retention
		if err := json.Unmarshal(body, &r); err != nil {
			return 0, 0, fmt.Errorf("audit: entry %d of project %s: %w", e.Seq, projectID, err)
		}
		seqs[i] = r.Through
	}
	return seqs[1], seqs[0], nil
}
