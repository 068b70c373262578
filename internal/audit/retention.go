package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"tenet/internal/store"
)

// KindRetention is the kind of entries that say that bodies were removed, because they were older than they are kept.
const KindRetention = "retention"

// Retention is the body of an entry of [KindRetention].
type Retention struct {
	// Kind of the entries whose bodies are removed, up to and including the entry Through.
	Kind    string    `json:"kind"`
	Through int64     `json:"through_seq"`
	Before  time.Time `json:"before"` // what was recorded before is removed
}

// pruneBatch is how many bodies one transaction removes.
const pruneBatch = 500

// Prune removes the bodies of a project's evaluations that were recorded before a time, and returns how many. Their entries
// stay, with the hashes of the bodies, so the chain can be verified as before. The chain says first what is going to be
// removed: a body that is missing otherwise is damage. It bears being interrupted and run again.
func Prune(ctx context.Context, s store.Store, projectID string, before, now time.Time) (int, error) {
	from, through, err := retained(ctx, s, projectID)
	if err != nil {
		return 0, err
	}
	old, _, err := s.FindAudit(ctx, store.AuditFilter{ProjectID: projectID, Kind: KindEvaluation, Until: &before, Limit: 1})
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
			done, n, err = tx.DropBodies(ctx, projectID, KindEvaluation, from, through, pruneBatch)
			return err
		})
		if err != nil {
			return total, err
		}
		from, total = done, total+n
	}
	return total, nil
}

// retained reads how far bodies have been removed: all up to from for certain, and those up to through as far as the last
// run got. Both are 0 if none ever was.
func retained(ctx context.Context, r store.Reader, projectID string) (from, through int64, err error) {
	last, _, err := r.FindAudit(ctx, store.AuditFilter{ProjectID: projectID, Kind: KindRetention, Limit: 2})
	if err != nil {
		return 0, 0, err
	}
	seqs := [2]int64{}
	for i, e := range last {
		body, err := Body(e)
		if err != nil {
			return 0, 0, err
		}
		var told Retention
		if err := json.Unmarshal(body, &told); err != nil {
			return 0, 0, fmt.Errorf("audit: entry %d of project %s: %w", e.Seq, projectID, err)
		}
		seqs[i] = told.Through
	}
	return seqs[1], seqs[0], nil
}
