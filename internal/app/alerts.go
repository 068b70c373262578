package app

import (
	"context"
	"log/slog"
	"maps"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tenet/internal/alert"
	"tenet/internal/conflict"
	"tenet/internal/insight"
	"tenet/internal/job"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// watchRules makes what counts evaluations, measures rules and raises alerts, and adds its background work.
func (a *App) watchRules(w *work, now func() time.Time, registry *prometheus.Registry) {
	const day = 24 * time.Hour
	dormant := time.Duration(a.cfg.AlertDormantDays) * day
	counting := insight.Config{Store: a.store, Views: a.live, DormantAfter: dormant, Now: now, Logger: a.log}
	// Alerts count by insights, and insights tell alerts what they have counted.
	a.alerts = alert.New(alert.Config{
		Store: a.store, Views: a.live, Now: now, Publish: a.hooks.Publish,
		CatchUp: func(ctx context.Context, projectID string) error { return a.insights.CatchUp(ctx, projectID) },
		Settings: alert.Settings{
			DormantAfter: dormant, DenyRate: a.cfg.AlertDenyRate, DenyWindow: a.cfg.AlertDenyDays, DenyMin: a.cfg.AlertDenyMin,
			HealthDrop: a.cfg.AlertHealthDrop, ManualResolve: !a.cfg.AlertAutoResolve, Quiet: time.Duration(a.cfg.AlertQuietDays) * day,
		},
	})
	counting.Alone = func() bool { return !a.cfg.Alerts || !a.working }
	if a.cfg.Alerts {
		counting.Counted = a.alerts.Counted
	}
	a.insights = insight.New(counting)
	maps.Copy(w.handlers, a.insights.Handlers())
	w.handlers[alert.SweepKind] = a.alerts.HandleSweep
	if a.cfg.Alerts {
		w.periodic = append(append(w.periodic, insight.Periodic()...), alert.Periodic())
	}
	registry.MustRegister(&alertsGauge{
		desc:  prometheus.NewDesc("tenet_alerts", "Alerts that are not resolved, over all projects.", []string{"type", "status"}, nil),
		count: a.store.CountAlerts, log: a.log,
	})
}

// watchConflicts makes what finds rules that contradict each other, and adds its background work.
func (a *App) watchConflicts(w *work, now func() time.Time) {
	cfg := conflict.Config{
		Store: a.store, Views: a.live, Queue: job.NewQueue(now), Logger: a.log, Now: now, Model: a.model, Embedder: a.embedder,
		Settle: a.alerts.Settle,
	}
	if a.cfg.Alerts {
		cfg.Raise = a.alerts.Raise
	}
	a.conflicts = conflict.New(cfg)
	w.handlers[conflict.FindKind] = a.conflicts.Find
}

// alertsGauge counts open alerts in the database when it is asked.
type alertsGauge struct {
	desc  *prometheus.Desc
	count func(context.Context, string) ([]store.AlertCount, error)
	log   *slog.Logger
}

// Describe implements prometheus.Collector.
func (g *alertsGauge) Describe(ch chan<- *prometheus.Desc) { ch <- g.desc }

// Collect implements prometheus.Collector. Without the database the other metrics are still told.
func (g *alertsGauge) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	counts, err := g.count(ctx, store.AllProjects)
	if err != nil {
		g.log.WarnContext(ctx, "cannot count alerts for the metrics", slog.Any("error", err))
		return
	}
	open := map[store.AlertCount]int{}
	for _, t := range rule.AlertTypes {
		open[store.AlertCount{Type: t, Status: rule.AlertActive}] = 0
		open[store.AlertCount{Type: t, Status: rule.AlertAcknowledged}] = 0
	}
	for _, c := range counts {
		if c.Status != rule.AlertDone {
			open[store.AlertCount{Type: c.Type, Status: c.Status}] = c.Count
		}
	}
	for k, n := range open {
		ch <- prometheus.MustNewConstMetric(g.desc, prometheus.GaugeValue, float64(n), string(k.Type), string(k.Status))
	}
}
