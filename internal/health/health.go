// Package health reports how the rules of a project do: how evaluations went, counted once from the audit chain into rows by
// rule and day, a score for each rule, and alerts about rules that need attention. docs/health.md describes the scores and
// docs/alerts.md the conditions of alerts.
package health

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"tenet/internal/corpus"
	"tenet/internal/job"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// Store is the part of the database that a [Monitor] uses.
type Store struct {
	store.Updater
	Alerts    store.AlertReader
	Audit     store.AuditReader
	Counts    store.CountReader
	Feedback  store.FeedbackReader
	Health    store.HealthReader
	Projects  store.ProjectReader
	Rules     store.RuleReader
	Releases  store.ReleaseReader
	TestCases store.TestCaseReader
	Waivers   store.WaiverReader
}

// Config sets up [New]. Store, Views and Alerts are required.
type Config struct {
	Store Store
	Views corpus.Views
	// Glances gives the views for rounds over all projects; nil means Views.
	Glances corpus.Views
	Alerts  *Alerts
	// Denials finds the evaluations that alerts about high rates are about; nil leaves them without the names of who asked.
	Denials Denials
	// Off is set where nothing happens in the background: no job counts and sweeps, and counting raises no alerts.
	Off bool
	// Working reports whether background jobs run. While they do not, an answer counts all entries itself. Nil means that they run.
	Working  func() bool
	Settings Settings
	// Now is the clock; nil means time.Now.
	Now    func() time.Time
	Logger *slog.Logger // nil logs nothing
}

// Denials returns the newest evaluations since a time that broke a rule, newest first and limit at most.
type Denials func(ctx context.Context, projectID, ruleID string, since time.Time, limit int) ([]store.AuditEntry, error)

// Settings are the bounds beyond which alerts are raised. Zero fields take the defaults.
type Settings struct {
	DormantAfter time.Duration // a rule not evaluated for so long is dormant; default 90 days
	DenyRate     float64       // above this part of DENY, from 0 to 1, the rate is high; default 0.5
	DenyWindow   int           // days over which the rate is taken, today included; default 7
	DenyMin      int           // with fewer verdicts there is no rate; default 20
	HealthDrop   int           // points by which the score of a rule has declined; default 15
	Quiet        time.Duration // for so long after a person resolves an alert, its condition raises no other; default 7 days
}

func (s *Settings) setDefaults() {
	if s.DormantAfter <= 0 {
		s.DormantAfter = 90 * day
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
		s.Quiet = 7 * day
	}
}

const day = 24 * time.Hour

// Monitor counts evaluations, measures rules and raises alerts. It is safe for concurrent use.
type Monitor struct {
	cfg        Config
	conditions conditions
	unjudged   unjudged
}

// New returns a Monitor.
func New(cfg Config) *Monitor {
	cfg.Settings.setDefaults()
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return newMonitor(cfg)
}

func newMonitor(cfg Config) *Monitor {
	return &Monitor{cfg: cfg, conditions: conditions{cfg.Store, cfg.Views, cfg.Alerts, cfg.Settings, cfg.Now, cfg.Denials, cfg.Logger}}
}

// inBackground returns a Monitor for rounds over all projects, which keep no views in memory.
func inBackground(m *Monitor) *Monitor {
	cfg := m.cfg
	if cfg.Glances != nil {
		cfg.Views = cfg.Glances
	}
	return newMonitor(cfg)
}

// Kinds of the jobs that count, measure and sweep.
const (
	CountKind   = "insights.count"
	MeasureKind = "insights.health"
	SweepKind   = "alerts.sweep"
)

// Handlers returns the handlers of the jobs, by kind.
func (m *Monitor) Handlers() map[string]job.Handler {
	m = inBackground(m)
	return map[string]job.Handler{
		CountKind: func(ctx context.Context, _ wire.Job, progress func(done, total int)) error {
			behind, err := m.cfg.Store.Counts.Uncounted(ctx)
			if err != nil {
				return err
			}
			err = each(behind, progress, func(u store.Uncounted) error { return m.CatchUp(ctx, u.ProjectID) })
			return errors.Join(err, m.measureStale(ctx))
		},
		MeasureKind: m.inAllProjects(func(ctx context.Context, projectID string) error {
			return errors.Join(m.Measure(ctx, projectID), m.drop(ctx, projectID))
		}),
		SweepKind: m.inAllProjects(m.Sweep),
	}
}

// Periodic returns the rounds of the jobs. Over all nodes one of a kind runs at a time. A failed round of counting is not
// repeated: the next one counts its entries, too.
func (m *Monitor) Periodic() []job.Periodic {
	if m.cfg.Off {
		return nil
	}
	return []job.Periodic{
		{Kind: CountKind, Every: time.Minute, MaxAttempts: 1, Priority: job.Last},
		{Kind: MeasureKind, Every: 6 * time.Hour, MaxAttempts: 3, Priority: job.Last},
		{Kind: SweepKind, Every: time.Hour, MaxAttempts: 3, Priority: job.Last},
	}
}

// Sweep counts what a project has recorded, raises the alerts whose conditions hold and resolves those whose conditions have
// ended.
func (m *Monitor) Sweep(ctx context.Context, projectID string) error {
	if err := m.CatchUp(ctx, projectID); err != nil {
		return err
	}
	return m.conditions.sweep(ctx, projectID)
}

func (m *Monitor) inAllProjects(do func(ctx context.Context, projectID string) error) job.Handler {
	return func(ctx context.Context, _ wire.Job, progress func(done, total int)) error {
		projects, err := m.cfg.Store.Projects.List(ctx)
		if err != nil {
			return err
		}
		return each(projects, progress, func(p rule.Project) error {
			defer job.Rest(ctx, time.Now(), len(projects))
			return do(ctx, p.ID)
		})
	}
}

// each calls do with every element. One failure does not stop the others.
func each[T any](list []T, progress func(done, total int), do func(T) error) error {
	errs := make([]error, len(list))
	for i, x := range list {
		errs[i] = do(x)
		progress(i+1, len(list))
	}
	return errors.Join(errs...)
}
