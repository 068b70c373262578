package app

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tenet/internal/job"
	"tenet/internal/webhook"
)

// webhooks makes what tells endpoints of events, with its handlers and metrics.
func (a *App) webhooks(w *work, now func() time.Time, registry *prometheus.Registry) error {
	networks, err := webhook.ParseNetworks(a.cfg.WebhookAllowNetworks)
	if err != nil {
		return err
	}
	attempts := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "tenet_webhook_attempt_duration_seconds", Help: "Time of attempts to deliver an event, by outcome: delivered, failed or gone.",
		Buckets: []float64{.01, .05, .1, .25, .5, 1, 2.5, 5, 15},
	}, []string{"outcome"})
	a.hooks = webhook.New(webhook.Config{
		Store: a.store, Queue: job.NewQueue(now), Now: now, Logger: a.log, AllowNetworks: networks, Retention: a.cfg.WebhookRetention,
		Observe: func(outcome string, took time.Duration) { attempts.WithLabelValues(outcome).Observe(took.Seconds()) },
	})
	registry.MustRegister(attempts, &deliveriesGauge{
		desc:  prometheus.NewDesc("tenet_webhook_deliveries_pending", "Webhook deliveries that wait, over all nodes.", nil, nil),
		count: a.hooks.Pending, log: a.log,
	})
	w.handlers[webhook.DeliverKind], w.handlers[webhook.SweepKind] = a.hooks.Deliver, a.hooks.Sweep
	w.periodic = append(w.periodic, job.Periodic{Kind: webhook.SweepKind, Every: webhook.SweepEvery, Priority: job.Last})
	return nil
}

// deliveriesGauge counts deliveries in the database when it is asked.
type deliveriesGauge struct {
	desc  *prometheus.Desc
	count func(context.Context) (int, error)
	log   *slog.Logger
}

// Describe implements prometheus.Collector.
func (g *deliveriesGauge) Describe(ch chan<- *prometheus.Desc) { ch <- g.desc }

// Collect implements prometheus.Collector. Without the database the other metrics are still told.
func (g *deliveriesGauge) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	n, err := g.count(ctx)
	if err != nil {
		g.log.WarnContext(ctx, "cannot count webhook deliveries for the metrics", slog.Any("error", err))
		return
	}
	ch <- prometheus.MustNewConstMetric(g.desc, prometheus.GaugeValue, float64(n))
}
