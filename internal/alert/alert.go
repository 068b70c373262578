// Package alert tells of rules with which something is wrong: alerts, their lifecycle, and the sweeps that find the
// conditions they tell of. docs/alerts.md says what the conditions are.
package alert

import (
	"context"
	"time"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// System is [rule.Alert.ResolvedBy] of alerts that have ended because their condition has.
const System = "system"

// Views gives the corpus view of a project.
type Views interface {
	View(ctx context.Context, projectID string) (*corpus.View, error)
}

// Config sets up [New]. Store is required, and Views for sweeps.
type Config struct {
	Store store.Store
	Views Views
	// CatchUp counts what a project has recorded since it was last counted; nil if others see to that.
	CatchUp func(ctx context.Context, projectID string) error
	// Publish tells of alerts that were raised and resolved, in the transaction of that; nil means nobody listens.
	Publish  func(ctx context.Context, tx store.Tx, e rule.Event) error
	Settings Settings
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Settings say when alerts are raised. Zero fields take the defaults, ManualResolve aside.
type Settings struct {
	DormantAfter  time.Duration // a rule not evaluated for so long is dormant; default 90 days
	DenyRate      float64       // above this part of DENY, from 0 to 1, the rate is high; default 0.5
	DenyWindow    int           // days over which the rate is taken, today included; default 7
	DenyMin       int           // with fewer verdicts there is no rate; default 20
	HealthDrop    int           // points by which the score of a rule has declined; default 15
	ManualResolve bool          // alerts stay open until somebody resolves them
	Quiet         time.Duration // for so long a condition is not told again after somebody has resolved it; default 7 days
}

func (s *Settings) setDefaults() {
	if s.DormantAfter <= 0 {
		s.DormantAfter = 90 * 24 * time.Hour
	}
	if s.DenyRate <= 0 {
		s.DenyRate = 0.5
	}
	if s.DenyWindow <= 0 {
		s.DenyWindow = 7
	}
	if s.DenyMin <= 0 {
		s.DenyMin = 20
	}
	if s.HealthDrop <= 0 {
		s.HealthDrop = 15
	}
	if s.Quiet <= 0 {
		s.Quiet = 7 * 24 * time.Hour
	}
}

// Alerts keeps the alerts of all projects. It is safe for concurrent use.
type Alerts struct{ cfg Config }

// New makes Alerts.
func New(cfg Config) *Alerts {
	cfg.Settings.setDefaults()
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Alerts{cfg}
}

func (b *Alerts) instant() time.Time { return b.cfg.Now().UTC().Truncate(time.Microsecond) }

// Raise makes an alert of ProjectID, Type, RuleID, Message and Metadata, as part of the caller's transaction, and publishes
// it. If one of its type and rule is open already, that one stays as it is, and nothing is told. The error is not_found
// without the rule.
func (b *Alerts) Raise(ctx context.Context, tx store.Tx, a rule.Alert) error {
	r, err := tx.Rule(ctx, a.ProjectID, a.RuleID)
	if err != nil {
		return err
	}
	if a.Metadata == nil {
		a.Metadata = map[string]any{}
	}
	fresh := rule.Alert{
		ID: audit.NewID(), ProjectID: a.ProjectID, Type: a.Type, Status: rule.AlertActive, RuleID: r.ID, Message: a.Message,
		Metadata: a.Metadata, CreatedAt: b.instant(),
	}
	made, err := tx.InsertAlert(ctx, fresh)
	if err != nil || !made {
		return err
	}
	return b.publish(ctx, tx, rule.AlertCreated, fresh, r)
}

// Settle resolves the open alert of a type and rule, if there is one, because its condition has ended, as part of the
// caller's transaction, and publishes that. It does nothing where alerts are left to people (see [Settings]).
func (b *Alerts) Settle(ctx context.Context, tx store.Tx, projectID string, t rule.AlertType, ruleID, note string) error {
	if b.cfg.Settings.ManualResolve {
		return nil
	}
	open, err := tx.OpenAlerts(ctx, projectID, t, []string{ruleID})
	if err != nil || len(open) == 0 {
		return err
	}
	return b.end(ctx, tx, &open[0], System, note)
}

// end resolves an alert that is open.
func (b *Alerts) end(ctx context.Context, tx store.Tx, a *rule.Alert, by, note string) error {
	now := b.instant()
	a.Status, a.ResolvedAt, a.ResolvedBy, a.ResolutionNote = rule.AlertDone, &now, by, note
	if err := tx.UpdateAlert(ctx, *a); err != nil {
		return err
	}
	r, err := tx.Rule(ctx, a.ProjectID, a.RuleID)
	if err != nil {
		return err
	}
	return b.publish(ctx, tx, rule.AlertResolved, *a, r)
}

func (b *Alerts) publish(ctx context.Context, tx store.Tx, t rule.EventType, a rule.Alert, r rule.Rule) error {
	if b.cfg.Publish == nil {
		return nil
	}
	return b.cfg.Publish(ctx, tx, rule.Event{
		ID: audit.NewID(), ProjectID: a.ProjectID, Type: t, Time: b.instant(), RuleIDs: []string{r.ID}, Severity: r.Severity, Scope: r.Scope,
		Data: audit.JSON(a),
	})
}

// note records in the project's chain what somebody has done with an alert.
func note(ctx context.Context, tx store.Tx, a *rule.Alert, at time.Time) error {
	return audit.Append(ctx, tx, a.ProjectID, audit.Record{
		Kind: audit.KindAlert, At: at, Actor: auth.ActorFrom(ctx).Name, Body: audit.JSON(a),
	})
}
