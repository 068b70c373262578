package record

import (
	"context"
	"time"

	"tenet/internal/rule"
	"tenet/internal/store"
)

const (
	day = 24 * time.Hour
	// partsAhead is for how long parts are made ahead: the job may fail for days until records lie with their entries again.
	partsAhead = 7 * day
	// shortTime is the longest time that records are kept for which a part is a day long. Where they are kept for longer, parts are months, so that there are not too many.
	shortTime = 400 * day
)

// parts lists the parts of time in which records lie; none where the database has none.
func (a *Archive) parts(ctx context.Context) ([]store.Part, error) {
	if a.store.Parts == nil {
		return nil, nil
	}
	return a.store.Parts.List(ctx)
}

// wholeParts moves the time before which records are removed to the begin of its part, so that a part goes at once and not bit by bit. That keeps records up to a day
// longer; it does not wait for the end of a longer part.
func wholeParts(parts []store.Part, before time.Time) time.Time {
	for _, p := range parts {
		if !before.Before(p.From) && before.Before(p.Until) && p.Until.Sub(p.From) <= day {
			return p.From
		}
	}
	return before
}

// makeParts makes the parts of the time to come, behind those that there are.
func (a *Archive) makeParts(ctx context.Context, keep Retention, projects []*pruning) error {
	if a.store.Parts == nil || keep.Apart == nil {
		return nil
	}
	if can, err := keep.Apart(ctx); err != nil || !can {
		return err
	}
	parts, err := a.store.Parts.List(ctx)
	if err != nil {
		return err
	}
	now := a.now().UTC()
	from := now.Truncate(day)
	if n := len(parts); n > 0 && parts[n-1].Until.After(from) {
		from = parts[n-1].Until
	}
	short := shortlyKept(keep, projects)
	for from.Before(now.Add(partsAhead)) {
		p := store.Part{From: from, Until: from.Add(day)}
		if !short {
			p.Until = time.Date(from.Year(), from.Month()+1, 1, 0, 0, 0, 0, time.UTC)
		}
		if err := a.store.Update(ctx, func(tx store.Tx) error { return tx.Parts.Make(ctx, p) }); err != nil {
			return err
		}
		from = p.Until
	}
	return nil
}

// shortlyKept reports whether no project keeps its records for long.
func shortlyKept(keep Retention, projects []*pruning) bool {
	for _, one := range projects {
		if time := one.keeping.Keep(rule.KeptEvaluations, keep.Records); !one.ready || time == 0 || time > shortTime {
			return false
		}
	}
	return len(projects) > 0
}
