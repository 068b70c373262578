// Package retention keeps how long the records of a project are kept: times and minimums by kind, and legal holds. A minimum is shortened by two
// administrators only.
package retention

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// Keeper keeps the retention of projects.
type Keeper struct{ cfg Config }

// Config sets up [New]. All but Server is required.
type Config struct {
	Store store.Updater
	Read  store.RetentionReader
	Index Index
	// Node returns the id of the federation node that a name means, and whether the node exists. The error is invalid for a name that can mean none.
	Node func(ctx context.Context, projectID, name string) (id string, exists bool, err error)
	Now  func() time.Time
	// Server has the times of the settings of the server by kind; 0 is without limit.
	Server map[string]time.Duration
}

// Index finds the evaluations that a legal hold covers.
type Index interface {
	// Covered returns how many evaluations a hold covers; invalid, naming the conditions, if nothing can meet them.
	Covered(ctx context.Context, projectID string, h *rule.LegalHold) (int, error)
}

// New returns a Keeper.
func New(cfg Config) *Keeper { return &Keeper{cfg} }

const day = 24 * time.Hour

// Get returns the retention of a project.
func (k *Keeper) Get(ctx context.Context, projectID string) (wire.Retention, error) {
	r, err := k.cfg.Read.Get(ctx, projectID)
	return k.shown(&r), err
}

func (k *Keeper) shown(r *rule.Retention) wire.Retention {
	out := wire.Retention{HighRisk: r.HighRisk, Kinds: make([]wire.KeptKind, len(rule.KeptKinds)), Proposal: r.Proposal, Holds: len(r.InForce())}
	for i, kind := range rule.KeptKinds {
		out.Kinds[i] = wire.KeptKind{
			Kind: kind, KeepTime: r.Times[kind], Server: days(k.cfg.Server[kind]), Effective: days(r.Keep(kind, k.cfg.Server[kind])), Least: r.Minimum(kind),
		}
	}
	return out
}

// days rounds a time up to days.
func days(t time.Duration) int { return int((t + day - 1) / day) }

// Set changes how long a project keeps its records. A change that shortens a minimum becomes a proposal, as a whole: it takes effect when
// another administrator confirms it with [Keeper.Confirm].
func (k *Keeper) Set(ctx context.Context, projectID string, in wire.ChangeRetention) (wire.Retention, error) {
	in.Reason = strings.TrimSpace(in.Reason)
	return k.change(ctx, projectID, func(c *changing) error {
		highRisk, times := c.next.HighRisk, maps.Clone(c.next.Times)
		if times == nil {
			times = map[string]rule.KeepTime{}
		}
		rule.Set(&highRisk, in.HighRisk)
		for _, kind := range slices.Sorted(maps.Keys(in.Kinds)) {
			one, t := in.Kinds[kind], times[kind]
			if one.Days.Set {
				if t.Days = &one.Days.Value; one.Days.Null {
					t.Days = nil
				}
			}
			rule.Set(&t.Minimum, one.Minimum)
			times[kind] = t
		}
		maps.DeleteFunc(times, func(kind string, t rule.KeepTime) bool {
			return t == (rule.KeepTime{}) && slices.Contains(rule.KeptKinds, kind)
		})
		if err := rule.ValidateTimes(highRisk, times); err != nil {
			return err
		}
		shortens := c.next.Shortens(highRisk, times)
		if len(shortens) == 0 {
			c.next.HighRisk, c.next.Times = highRisk, times
			c.action, c.reason = "retention changed", in.Reason
			return nil
		}
		if in.Reason == "" {
			var p rule.Problems
			p.Add("reason", "is missing; the change shortens what is kept at least: %s", strings.Join(shortens, "; "))
			return p.Err("the retention is invalid")
		}
		c.next.Proposal = &rule.RetentionProposal{HighRisk: highRisk, Times: times, Shortens: shortens, Reason: in.Reason, Person: c.person, By: c.by, At: c.at}
		c.action, c.reason = "shorter retention proposed", in.Reason
		return nil
	})
}

// Confirm puts the proposal of another administrator in force; conflict without one, if the caller made it, or if it would by now shorten
// other minimums than those that it names.
func (k *Keeper) Confirm(ctx context.Context, projectID string) (wire.Retention, error) {
	return k.change(ctx, projectID, func(c *changing) error {
		p := c.next.Proposal
		switch {
		case p == nil:
			return rule.Errorf(rule.CodeConflict, "no change of the retention waits for a confirmation")
		case samePerson(p, c):
			return rule.Errorf(rule.CodeConflict, "%s proposed this change; a second administrator must confirm it", p.By)
		}
		if now := c.next.Shortens(p.HighRisk, p.Times); !slices.Equal(now, p.Shortens) {
			return rule.Errorf(rule.CodeConflict, "the retention has changed since this was proposed; by now it would shorten: %s. Propose it again", strings.Join(now, "; "))
		}
		c.next.HighRisk, c.next.Times, c.next.Proposal = p.HighRisk, p.Times, nil
		c.action, c.reason = "shorter retention confirmed", p.Reason
		return nil
	})
}

// samePerson reports whether the caller is who proposed a change: the same actor, or the same owner of keys.
func samePerson(p *rule.RetentionProposal, c *changing) bool {
	return p.By == c.by || rule.SamePerson(cmp.Or(p.Person, p.By), cmp.Or(c.person, c.by))
}

// Withdraw removes the proposal; conflict without one. Every administrator may.
func (k *Keeper) Withdraw(ctx context.Context, projectID string) (wire.Retention, error) {
	return k.change(ctx, projectID, func(c *changing) error {
		if c.next.Proposal == nil {
			return rule.Errorf(rule.CodeConflict, "no change of the retention waits for a confirmation")
		}
		c.next.Proposal = nil
		c.action = "shorter retention withdrawn"
		return nil
	})
}

// changing is a change of a retention inside its transaction.
type changing struct {
	next           rule.Retention
	by, person     string
	at             time.Time
	action, reason string
	hold           *rule.LegalHold // that the change is about; nil if it is about times
}

// change changes the retention of a project, with an entry in its audit chain.
func (k *Keeper) change(ctx context.Context, projectID string, fn func(*changing) error) (wire.Retention, error) {
	var next rule.Retention
	err := k.cfg.Store.Update(ctx, func(tx store.Tx) error {
		if _, err := tx.Audit.Lock(ctx, projectID); err != nil { // one change at a time, and none while a job removes records
			return err
		}
		before, err := tx.Retention.Get(ctx, projectID)
		if err != nil {
			return err
		}
		who := auth.ActorFrom(ctx)
		c := &changing{next: before, by: who.Name, person: who.Owner, at: rule.Instant(k.cfg.Now())}
		c.next.Holds = slices.Clone(before.Holds)
		if err := fn(c); err != nil {
			return err
		}
		next = c.next
		if err := tx.Retention.Put(ctx, projectID, next); err != nil {
			return err
		}
		kind, body := audit.KindProject, map[string]any{
			"action": c.action, "project": map[string]any{"id": projectID}, "changed": audit.Changed(times(before), times(next)), "reason": c.reason,
		}
		if c.hold != nil {
			kind, body = audit.KindHold, map[string]any{"action": c.action, "hold": c.hold, "reason": c.reason}
		}
		return audit.Append(ctx, tx, projectID, audit.Record{Kind: kind, At: c.at, Actor: c.by, Body: audit.JSON(body)})
	})
	return k.shown(&next), err
}

// times is a retention without its legal holds, whose changes have entries of their own.
func times(r rule.Retention) rule.Retention {
	r.Holds, r.Lifts = nil, 0
	return r
}

// sortHolds orders holds: those in force first, newest first.
func sortHolds(list []rule.LegalHold) {
	slices.SortStableFunc(list, func(a, b rule.LegalHold) int {
		if (a.LiftedAt == nil) != (b.LiftedAt == nil) {
			if a.LiftedAt == nil {
				return -1
			}
			return 1
		}
		return cmp.Or(b.PlacedAt.Compare(a.PlacedAt), cmp.Compare(a.ID, b.ID))
	})
}
