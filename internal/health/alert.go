package health

import (
	"context"
	"time"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// System is [rule.Alert.ResolvedBy] of alerts that have ended because their condition has.
const System = "system"

// AlertStore is the part of the database that [Alerts] uses.
type AlertStore struct {
	store.Updater
	Alerts   store.AlertReader
	Projects store.ProjectReader
	Rules    store.RuleReader
}

// AlertsConfig sets up [NewAlerts]. Store is required.
type AlertsConfig struct {
	Store AlertStore
	// Publish publishes that an alert was raised or resolved, in the same transaction; nil publishes nothing.
	Publish func(ctx context.Context, tx store.Tx, e rule.Event) error
	// ManualResolve leaves alerts open until somebody resolves them.
	ManualResolve bool
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Alerts raises, lists and resolves the alerts of all projects. It is safe for concurrent use.
type Alerts struct{ cfg AlertsConfig }

// NewAlerts returns the Alerts of a store.
func NewAlerts(cfg AlertsConfig) *Alerts {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Alerts{cfg}
}

func (b *Alerts) instant() time.Time { return rule.Instant(b.cfg.Now()) }

// Raise makes an alert of ProjectID, Type, RuleID or Edge, Message, Metadata and Acted, as part of the caller's transaction, and publishes
// it. It does nothing if an alert of the type and rule or edge is open. The error is not_found without the rule.
func (b *Alerts) Raise(ctx context.Context, tx store.Tx, a rule.Alert) error {
	r, err := ruleOf(ctx, tx, &a)
	if err != nil {
		return err
	}
	if a.Metadata == nil {
		a.Metadata = map[string]any{}
	}
	fresh := rule.Alert{
		ID: audit.NewID(), ProjectID: a.ProjectID, Type: a.Type, Status: rule.AlertActive, RuleID: r.ID, Edge: a.Edge, Message: a.Message,
		Metadata: a.Metadata, Acted: a.Acted, CreatedAt: b.instant(),
	}
	made, err := tx.Alerts.Insert(ctx, fresh)
	if err != nil || !made {
		return err
	}
	return b.publish(ctx, tx, rule.AlertCreated, fresh, r)
}

// Settle resolves an open alert of a type and rule because its condition has ended, as part of the caller's transaction, and
// publishes that. It does nothing where only people resolve alerts (see [AlertsConfig]).
func (b *Alerts) Settle(ctx context.Context, tx store.Tx, projectID string, t rule.AlertType, ruleID, note string) error {
	if b.cfg.ManualResolve {
		return nil
	}
	open, err := tx.Alerts.ListOpen(ctx, projectID, t, []string{ruleID})
	if err != nil || len(open) == 0 {
		return err
	}
	return b.end(ctx, tx, &open[0], System, note)
}

// SettleEdge is [Alerts.Settle] for an alert about an edge.
func (b *Alerts) SettleEdge(ctx context.Context, tx store.Tx, projectID string, t rule.AlertType, edge, note string) error {
	if b.cfg.ManualResolve {
		return nil
	}
	last, err := b.lastOf(ctx, tx, projectID, t, edge)
	if err != nil || last == nil || last.Status == rule.AlertDone {
		return err
	}
	return b.end(ctx, tx, last, System, note)
}

// Dismissed reports whether a person has resolved the newest alert of a type about an edge, at a time or later.
func (b *Alerts) Dismissed(ctx context.Context, tx store.Tx, projectID string, t rule.AlertType, edge string, since time.Time) (bool, error) {
	last, err := b.lastOf(ctx, tx, projectID, t, edge)
	return err == nil && last != nil && last.ResolvedAt != nil && last.ResolvedBy != System && !last.ResolvedAt.Before(since), err
}

// lastOf returns the newest alert of a type about an edge; nil without one.
func (b *Alerts) lastOf(ctx context.Context, tx store.Tx, projectID string, t rule.AlertType, edge string) (*rule.Alert, error) {
	list, _, err := tx.Alerts.Find(ctx, store.AlertFilter{ProjectID: projectID, Type: t, Edge: edge, Limit: 1})
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return &list[0], nil
}

// ruleOf returns the rule of an alert; the zero rule for one about an edge.
func ruleOf(ctx context.Context, tx store.Tx, a *rule.Alert) (rule.Rule, error) {
	if a.RuleID == "" && a.Edge != "" {
		return rule.Rule{}, nil
	}
	return tx.Rules.Get(ctx, a.ProjectID, a.RuleID)
}

// end resolves an alert that is open.
func (b *Alerts) end(ctx context.Context, tx store.Tx, a *rule.Alert, by, note string) error {
	now := b.instant()
	a.Status, a.ResolvedAt, a.ResolvedBy, a.ResolutionNote = rule.AlertDone, &now, by, note
	if err := tx.Alerts.Update(ctx, *a); err != nil {
		return err
	}
	r, err := ruleOf(ctx, tx, a)
	if err != nil {
		return err
	}
	return b.publish(ctx, tx, rule.AlertResolved, *a, r)
}

func (b *Alerts) publish(ctx context.Context, tx store.Tx, t rule.EventType, a rule.Alert, r rule.Rule) error {
	if b.cfg.Publish == nil {
		return nil
	}
	e := rule.Event{ID: audit.NewID(), ProjectID: a.ProjectID, Type: t, Time: b.instant(), Severity: r.Severity, Scope: r.Scope, Data: audit.JSON(a)}
	if r.ID != "" {
		e.RuleIDs = []string{r.ID}
	}
	return b.cfg.Publish(ctx, tx, e)
}

// note records in the project's chain what somebody has done with an alert.
func note(ctx context.Context, tx store.Tx, a *rule.Alert, at time.Time) error {
	return audit.Append(ctx, tx, a.ProjectID, audit.Record{
		Kind: audit.KindAlert, At: at, Actor: auth.ActorFrom(ctx).Name, Body: audit.JSON(a),
	})
}
