package app

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tenet/internal/job"
	"tenet/internal/store"
)

// work is what a node does in the background: each capability that has some adds its kinds in wire.
type work struct {
	handlers map[string]job.Handler
	periodic []job.Periodic
}

// startJobs begins to carry out background work.
func (a *App) startJobs() {
	a.runner.Start()
	a.working = true
}

// newRunner makes the runner of background work, and its metrics.
func newRunner(cfg job.Config, jobs *job.Jobs, registry *prometheus.Registry) *job.Runner {
	attempts := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "tenet_job_attempt_duration_seconds", Help: "Time of attempts at background jobs, by kind and by what became of the job.",
		Buckets: []float64{.01, .1, 1, 10, 60, 600, 3600},
	}, []string{"kind", "outcome"})
	registry.MustRegister(attempts, &jobsGauge{
		desc:  prometheus.NewDesc("tenet_jobs", "Background jobs that wait or run, over all nodes.", []string{"kind", "state"}, nil),
		count: jobs.Count, log: cfg.Logger,
	})
	cfg.Observe = func(kind, outcome string, took time.Duration) {
		attempts.WithLabelValues(kind, outcome).Observe(took.Seconds())
	}
	return job.New(cfg)
}

// jobsGauge counts jobs in the database when it is asked.
type jobsGauge struct {
	desc  *prometheus.Desc
	count func(context.Context) ([]store.JobCount, error)
	log   *slog.Logger
}

// Describe implements prometheus.Collector.
func (g *jobsGauge) Describe(ch chan<- *prometheus.Desc) { ch <- g.desc }

// Collect implements prometheus.Collector. Without the database the other metrics are still told.
func (g *jobsGauge) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	counts, err := g.count(ctx)
	if err != nil {
		g.log.WarnContext(ctx, "cannot count background jobs for the metrics", slog.Any("error", err))
		return
	}
	for _, c := range counts {
		ch <- prometheus.MustNewConstMetric(g.desc, prometheus.GaugeValue, float64(c.Count), c.Kind, c.State)
	}
}
