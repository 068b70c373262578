package audit

import (
	"context"
	"errors"
	"fmt"

	"tenet/internal/rule"
	"tenet/internal/store"
)

// errKept ends a transaction that was to remove a part of which something is kept.
var errKept = errors.New("audit: a body of the part is kept")

// DropParts removes the parts of bodies of evaluations of which no project keeps anything, each at once. Removals are those of the projects, by project: a part goes if
// each project with a body in it has a removal that is in its chain and covers all of them, and no legal hold. It returns how many parts it has removed. A part that is
// in use stays until the next call.
func DropParts(ctx context.Context, s store.Updater, r store.PartReader, removals map[string]*Removal) (dropped int, err error) {
	parts, err := r.List(ctx)
	if err != nil {
		return 0, err
	}
	var busy []error
	for _, p := range parts {
		if !old(p, removals) {
			break
		}
		last, err := r.Last(ctx, p) // without locks, as most parts are kept
		if err != nil {
			return dropped, err
		}
		if !gone(last, removals) {
			continue
		}
		err = s.Update(ctx, func(tx store.Tx) error {
			last, err := tx.Parts.Last(ctx, p)
			if err != nil {
				return err
			}
			if !gone(last, removals) {
				return errKept
			}
			for id := range last {
				confirm := removals[id].Confirm
				if confirm == nil {
					continue
				}
				if err := confirm(ctx, tx); err != nil {
					return err
				}
			}
			return tx.Parts.Drop(ctx, p)
		})
		switch {
		case err == nil:
			dropped++
		case errors.Is(err, errKept), rule.CodeOf(err) == rule.CodeConflict: // it goes with the next job, if at all
		case rule.CodeOf(err) == rule.CodeUnavailable:
			busy = append(busy, fmt.Errorf("audit: the part from %s: %w", p.From, err))
		default:
			return dropped, err
		}
	}
	return dropped, errors.Join(busy...)
}

// old reports whether some project keeps nothing of the time of a part.
func old(p store.Part, removals map[string]*Removal) bool {
	for _, r := range removals {
		if !p.Until.After(r.Before) {
			return true
		}
	}
	return false
}

// gone reports whether removals cover the last bodies of all projects of a part.
func gone(last map[string]int64, removals map[string]*Removal) bool {
	for id, seq := range last {
		if r := removals[id]; r == nil || r.Held != nil || r.Through < seq {
			return false
		}
	}
	return true
}
