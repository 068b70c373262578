package evidence

import (
	"context"
	"fmt"

	"tenet/internal/store"
)

// Guard returns a database whose transactions change only what the audit logs explain as it was. A row that somebody has changed in the database alone would otherwise be
// explained by the next change of it that is recorded.
func (f *InForce) Guard(db store.Database) store.Database { return guarded{db, f} }

type guarded struct {
	store.Database

	inForce *InForce
}

// Update implements store.Updater.
func (g guarded) Update(ctx context.Context, fn func(store.Tx) error) error {
	return g.Database.Update(ctx, g.checked(ctx, fn))
}

// UpdateDerived implements store.DerivedUpdater.
func (g guarded) UpdateDerived(ctx context.Context, fn func(store.Tx) error) error {
	return g.Database.UpdateDerived(ctx, g.checked(ctx, fn))
}

func (g guarded) checked(ctx context.Context, fn func(store.Tx) error) func(store.Tx) error {
	return func(tx store.Tx) error {
		if err := fn(tx); err != nil {
			return err
		}
		for projectID, rows := range tx.InForce.Before() {
			if err := g.inForce.checkBefore(ctx, projectID, rows); err != nil {
				return err
			}
		}
		return nil
	}
}

// checkBefore compares rows as they were before a transaction has changed them, and which nobody else changes until it ends, with the committed entries.
func (f *InForce) checkBefore(ctx context.Context, projectID string, rows []store.RowInForce) error {
	e, err := f.follow(ctx, projectID)
	if err != nil {
		return err
	}
	defer e.mu.Unlock()
	var problems []string
	stored := rows[:0:0]
	for _, r := range rows {
		if r.Hash != (store.RowHash{}) {
			stored = append(stored, r)
		} else if now, ok := e.rows[name{r.Kind, r.ID}]; ok {
			problems = append(problems, fmt.Sprintf("the %s %s of entry %d is missing", r.Kind, r.ID, now.seq))
		}
	}
	problems = append(problems, e.compare(e.seq, stored, nil, f.strict.Load())...)
	if len(problems) > 0 {
		return unexplained(projectID, summary(problems))
	}
	return nil
}
