package health

import (
	"context"
	"unicode/utf8"

	"tenet/internal/auth"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// MaxNote is the length of a resolution note, in characters.
const MaxNote = 4000

// Filter selects alerts; empty fields select everything.
type Filter struct {
	Status rule.AlertStatus
	Type   rule.AlertType
	Rule   string // id or slug; not_found if there is no such rule
	// Agent, Person and Session are as in [store.AlertFilter].
	Agent, Person, Session string
}

// List returns a page of alerts, newest first, and how many match; not_found without the project.
func (b *Alerts) List(ctx context.Context, projectID string, f Filter, offset, limit int) ([]rule.Alert, int, error) {
	if _, err := b.cfg.Store.Projects.Get(ctx, projectID); err != nil {
		return nil, 0, err
	}
	q := store.AlertFilter{ProjectID: projectID, Status: f.Status, Type: f.Type, Agent: f.Agent, Person: f.Person, Session: f.Session, Offset: offset, Limit: limit}
	if f.Rule != "" {
		r, err := b.cfg.Store.Rules.Get(ctx, projectID, f.Rule)
		if err != nil {
			return nil, 0, err
		}
		q.RuleID = r.ID
	}
	return b.cfg.Store.Alerts.Find(ctx, q)
}

// Count counts the alerts of a project.
func (b *Alerts) Count(ctx context.Context, projectID string) (wire.Counts, error) {
	var c wire.Counts
	list, err := b.cfg.Store.Alerts.Count(ctx, projectID)
	for _, some := range list {
		switch some.Status {
		case rule.AlertActive:
			c.Active += some.Count
		case rule.AlertAcknowledged:
			c.Acknowledged += some.Count
		case rule.AlertDone:
			c.Resolved += some.Count
		}
	}
	return c, err
}

// Open counts the alerts of all projects that are not resolved, by type and status, in every combination of them.
func (b *Alerts) Open(ctx context.Context) ([]store.AlertCount, error) {
	counts, err := b.cfg.Store.Alerts.Count(ctx, store.AllProjects)
	if err != nil {
		return nil, err
	}
	var open []store.AlertCount
	for _, t := range rule.AlertTypes {
		for _, status := range []rule.AlertStatus{rule.AlertActive, rule.AlertAcknowledged} {
			n := store.AlertCount{Type: t, Status: status}
			for _, c := range counts {
				if c.Type == t && c.Status == status {
					n.Count += c.Count
				}
			}
			open = append(open, n)
		}
	}
	return open, nil
}

// Get returns an alert, or not_found.
func (b *Alerts) Get(ctx context.Context, projectID, id string) (rule.Alert, error) {
	if !rule.IsID(id) {
		return rule.Alert{}, rule.NotFound("alert", id)
	}
	return b.cfg.Store.Alerts.Get(ctx, projectID, id)
}

// Acknowledge notes that the caller takes an alert on. Doing so again changes nothing; conflict if it is resolved, not_found
// without it.
func (b *Alerts) Acknowledge(ctx context.Context, projectID, id string) (rule.Alert, error) {
	return b.change(ctx, projectID, id, func(tx store.Tx, a *rule.Alert) error {
		switch a.Status {
		case rule.AlertAcknowledged:
			return nil
		case rule.AlertDone:
			return rule.Errorf(rule.CodeConflict, "the alert is resolved; only an open one can be acknowledged")
		case rule.AlertActive:
		}
		now := b.instant()
		a.Status, a.AcknowledgedAt, a.AcknowledgedBy = rule.AlertAcknowledged, &now, auth.ActorFrom(ctx).Name
		if err := tx.Alerts.Update(ctx, *a); err != nil {
			return err
		}
		return note(ctx, tx, a, now)
	})
}

// Resolve ends an alert, with a note that may be empty. Doing so again changes nothing, the note included; not_found without
// it, invalid if the note is too long.
func (b *Alerts) Resolve(ctx context.Context, projectID, id, text string) (rule.Alert, error) {
	var p rule.Problems
	if n := utf8.RuneCountInString(text); n > MaxNote {
		p.Add("resolution_note", "has %d characters; at most %d are allowed", n, MaxNote)
	}
	if err := p.Err("the resolution is invalid"); err != nil {
		return rule.Alert{}, err
	}
	return b.change(ctx, projectID, id, func(tx store.Tx, a *rule.Alert) error {
		if a.Status == rule.AlertDone {
			return nil
		}
		if err := b.end(ctx, tx, a, auth.ActorFrom(ctx).Name, text); err != nil {
			return err
		}
		return note(ctx, tx, a, *a.ResolvedAt)
	})
}

func (b *Alerts) change(ctx context.Context, projectID, id string, fn func(store.Tx, *rule.Alert) error) (rule.Alert, error) {
	if !rule.IsID(id) {
		return rule.Alert{}, rule.NotFound("alert", id)
	}
	var a rule.Alert
	err := b.cfg.Store.Update(ctx, func(tx store.Tx) (err error) {
		if a, err = tx.Alerts.Get(ctx, projectID, id); err != nil {
			return err
		}
		return fn(tx, &a)
	})
	return a, err
}
