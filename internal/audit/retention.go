package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
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
	// Lifts counts the legal holds that had been lifted before.
	Lifts int `json:"lifts,omitempty"`
	// Again means that bodies before the entry up to which earlier ones have removed them are removed, too: a legal hold kept some, and is lifted.
	Again bool `json:"again,omitempty"`
	// Edges has the last entries, by the name of the edge, where the removal is one of records that edges have shipped. Through is 0 then.
	Edges map[string]int64 `json:"edges,omitempty"`
}

// PrunedKinds are the kinds of entries whose bodies [Prune] removes.
var PrunedKinds = []string{KindEvaluation, KindAgent}

// pruneBatch is how many bodies one transaction removes.
const pruneBatch = 500

// Pruning says which bodies [Prune] removes.
type Pruning struct {
	ProjectID string
	Kind      string // one of [PrunedKinds]
	Before    time.Time
	Now       time.Time
	// Lifts counts the legal holds that were lifted.
	Lifts int
	// Held returns the numbers of the entries, of some that are given, whose bodies must stay. Nil removes all.
	Held func(ctx context.Context, entries []store.AuditEntry) ([]int64, error)
	// Confirm is called in each transaction that removes bodies, with the chain locked, and ends it with its error. It may be nil.
	Confirm func(ctx context.Context, tx store.Tx) error
}

// Removal is one that is in the chain: [Announce] makes it.
type Removal struct {
	Pruning

	// Through is the last entry whose body is to be removed; 0 for none. From is the one after which that begins.
	From, Through int64
}

// Prune removes the bodies of entries of a kind that were recorded before a time, and returns how many. Their entries
// stay, with the hashes of the bodies, so that Verify works as before. Prune first appends an entry about the removal: any
// other missing body is damage. It may be interrupted and run again.
func Prune(ctx context.Context, s store.Updater, chains store.AuditReader, p Pruning) (removed int, err error) {
	r, removed, err := Announce(ctx, s, chains, p)
	if err != nil {
		return removed, err
	}
	n, err := r.Finish(ctx, s, chains)
	return removed + n, err
}

// Finish removes the bodies of a removal that are still there.
func (r *Removal) Finish(ctx context.Context, s store.Updater, chains store.AuditReader) (removed int, err error) {
	return r.drop(ctx, s, chains, r.From, r.Through)
}

// Announce appends the entry about a removal, unless there is nothing to remove. It first makes up for an earlier one that was interrupted, and returns how many
// bodies that has removed.
func Announce(ctx context.Context, s store.Updater, chains store.AuditReader, p Pruning) (r *Removal, removed int, err error) {
	last, err := lastRemoval(ctx, chains, p.ProjectID, p.Kind)
	if err != nil {
		return nil, 0, err
	}
	if removed, err = p.drop(ctx, s, chains, last.from, last.through); err != nil {
		return nil, removed, err
	}
	old, _, err := chains.Find(ctx, store.AuditFilter{ProjectID: p.ProjectID, Kind: p.Kind, Until: &p.Before, Limit: 1})
	if err != nil {
		return nil, removed, err
	}
	r = &Removal{Pruning: p, From: last.through, Through: last.through}
	through := last.through
	if len(old) > 0 {
		through = max(through, old[0].Seq)
	}
	again := last.through > 0 && p.Lifts > last.lifts
	if through == last.through && !again {
		return r, removed, nil
	}
	body := JSON(Retention{Kind: p.Kind, Through: through, Before: p.Before.UTC(), Lifts: p.Lifts, Again: again})
	err = s.Update(ctx, func(tx store.Tx) error {
		return Append(ctx, tx, p.ProjectID, Record{Kind: KindRetention, At: p.Now, Actor: "tenet", Body: body})
	})
	if r.Through = through; again {
		r.From = 0
	}
	return r, removed, err
}

// drop removes the bodies of the entries after from up to through, except those that are held.
func (p *Pruning) drop(ctx context.Context, s store.Updater, chains store.AuditReader, from, through int64) (total int, err error) {
	for from < through {
		piece := through
		var held []int64
		if p.Held != nil {
			entries, err := chains.Entries(ctx, p.ProjectID, from, pruneBatch)
			if err != nil {
				return total, err
			}
			if len(entries) == 0 {
				return total, nil
			}
			piece = min(through, entries[len(entries)-1].Seq)
			entries = slices.DeleteFunc(entries, func(e store.AuditEntry) bool { return e.Kind != p.Kind || e.Seq > through || len(e.Body) == 0 })
			if held, err = p.Held(ctx, entries); err != nil {
				return total, err
			}
		}
		var done int64
		var n int
		err := s.Update(ctx, func(tx store.Tx) (err error) {
			if p.Confirm != nil {
				if _, err := tx.Audit.Lock(ctx, p.ProjectID); err != nil {
					return err
				}
				if err := p.Confirm(ctx, tx); err != nil {
					return err
				}
			}
			done, n, err = tx.Audit.DropBodies(ctx, p.ProjectID, p.Kind, from, piece, pruneBatch, held)
			return err
		})
		if err != nil {
			return total, err
		}
		if from = done; p.Held != nil {
			from = piece // it has fewer entries than a batch
		}
		total += n
	}
	return total, nil
}

// Pruned returns the last entry of a project's chain up to which [Prune] has removed the bodies of evaluations, or is about to; 0 if it
// never ran.
func Pruned(ctx context.Context, r store.AuditReader, projectID string) (through int64, err error) {
	last, err := lastRemoval(ctx, r, projectID, KindEvaluation)
	return last.through, err
}

// removal is the last removal of the bodies of a kind: of those after from, up to through.
type removal struct {
	from, through int64
	lifts         int
}

// lastRemoval returns the last removal of bodies of a kind; zero if there was none.
func lastRemoval(ctx context.Context, r store.AuditReader, projectID, kind string) (last removal, err error) {
	const page = 20
	for found, offset := 0, 0; ; offset += page {
		list, _, err := r.Find(ctx, store.AuditFilter{ProjectID: projectID, Kind: KindRetention, Offset: offset, Limit: page})
		if err != nil {
			return removal{}, err
		}
		for _, e := range list {
			body, err := Body(e)
			if err != nil {
				return removal{}, err
			}
			var said Retention
			if err := json.Unmarshal(body, &said); err != nil {
				return removal{}, fmt.Errorf("audit: entry %d of project %s: %w", e.Seq, e.ProjectID, err)
			}
			if said.Kind != kind || said.Edges != nil {
				continue
			}
			if found++; found == 2 {
				last.from = said.Through
				return last, nil
			}
			last = removal{through: said.Through, lifts: said.Lifts}
			if said.Again {
				return last, nil
			}
		}
		if len(list) < page {
			return last, nil
		}
	}
}
