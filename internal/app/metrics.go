package app

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tenet/internal/fleet"
	"tenet/internal/metric"
	"tenet/internal/operate"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// observeJobs adds a histogram of attempts at jobs to a registry and returns what observes one.
func observeJobs(registry *prometheus.Registry) func(kind, outcome string, took time.Duration) {
	seconds := metric.Seconds(registry, "tenet_job_attempt_duration_seconds", "Time of attempts at background jobs, by kind and by what became of the job.",
		[]float64{.01, .1, 1, 10, 60, 600, 3600}, "kind", "outcome")
	return func(kind, outcome string, took time.Duration) { seconds(took, kind, outcome) }
}

// observeStages adds a histogram of the stages of evaluations to a registry and returns what observes one.
func observeStages(registry *prometheus.Registry) func(stage string, took time.Duration) {
	seconds := metric.Seconds(registry, "tenet_evaluation_stage_duration_seconds", "Time of the stages of evaluations: parse, select, check, triage, judge and record.",
		[]float64{.0001, .00025, .0005, .001, .0025, .005, .01, .05, .1, .5, 1, 5, 10, 30, 60}, "stage")
	return func(stage string, took time.Duration) { seconds(took, stage) }
}

// observeDeliveries adds a histogram of attempts at deliveries to a registry and returns what observes one.
func observeDeliveries(registry *prometheus.Registry) func(outcome string, took time.Duration) {
	seconds := metric.Seconds(registry, "tenet_webhook_attempt_duration_seconds", "Time of attempts to deliver an event, by outcome: delivered, failed or gone.",
		[]float64{.01, .05, .1, .25, .5, 1, 2.5, 5, 15}, "outcome")
	return func(outcome string, took time.Duration) { seconds(took, outcome) }
}

// registerGauges adds the gauges that are counted in the database, over all nodes.
func (p *parts) registerGauges(registry *prometheus.Registry, pools func() []store.Pool, servers *operate.Servers, log *slog.Logger) {
	metric.Register(registry, log,
		metric.Gauge{
			Name: "tenet_jobs", Help: "Background jobs that wait, run or have failed, over all nodes; failed ones until they are deleted or retried.", Labels: []string{"kind", "state"},
			Read: func(ctx context.Context) ([]metric.Sample, error) {
				counts, err := p.jobs.Count(ctx)
				samples := make([]metric.Sample, len(counts))
				for i, c := range counts {
					samples[i] = metric.Sample{Value: c.Count, Labels: []string{c.Kind, c.State}}
				}
				return samples, err
			},
		},
		metric.Gauge{
			Name: "tenet_database_connections", Help: "Connections of this node to its database, by purpose and state.", Labels: []string{"pool", "state"},
			Read: func(context.Context) (samples []metric.Sample, err error) {
				for _, pool := range pools() {
					samples = append(samples, metric.Sample{Value: pool.InUse, Labels: []string{pool.Name, "in_use"}}, metric.Sample{Value: pool.Idle, Labels: []string{pool.Name, "idle"}})
				}
				return samples, nil
			},
		},
		metric.Gauge{
			Name: "tenet_database_connection_waits", Help: "Requests of this node for a connection that had to wait for one, since it started.", Labels: []string{"pool"},
			Read: func(context.Context) (samples []metric.Sample, err error) {
				for _, pool := range pools() {
					samples = append(samples, metric.Sample{Value: int(pool.Waits), Labels: []string{pool.Name}})
				}
				return samples, nil
			},
		},
		metric.Gauge{
			Name: "tenet_replica_behind_milliseconds", Help: "By how much a replica of the database is behind.", Labels: []string{"pool"},
			Read: ofReplicas(pools, func(p *store.Pool) int { return int(p.Behind.Milliseconds()) }),
		},
		metric.Gauge{
			Name: "tenet_replica_left_out", Help: "1 if no reads go to a replica of the database, since it is too far behind or does not answer.", Labels: []string{"pool"},
			Read: ofReplicas(pools, func(p *store.Pool) int {
				if p.Problem != "" {
					return 1
				}
				return 0
			}),
		},
		metric.Gauge{
			Name: "tenet_replica_reads", Help: "Reads that this node has sent to a replica of the database since it started.", Labels: []string{"pool"},
			Read: ofReplicas(pools, func(p *store.Pool) int { return int(p.Reads) }),
		},
		metric.Gauge{
			Name: "tenet_audit_checkpoint_age_seconds", Help: "Time since this node last had signed checkpoints of all entries of all audit logs; absent where it signs none.",
			Read: func(context.Context) ([]metric.Sample, error) {
				age, signs := p.book.Age()
				if !signs {
					return nil, nil
				}
				return []metric.Sample{{Value: int(age.Seconds())}}, nil
			},
		},
		metric.Gauge{
			Name: "tenet_servers", Help: "Servers of the cluster: live ones, and those lost within the last day.", Labels: []string{"status"},
			Read: func(ctx context.Context) ([]metric.Sample, error) {
				live, lost, err := servers.Live(ctx)
				return []metric.Sample{{Value: live, Labels: []string{string(wire.ServerLive)}}, {Value: lost, Labels: []string{string(wire.ServerLost)}}}, err
			},
		},
		metric.Gauge{
			Name: "tenet_alerts", Help: "Alerts that are not resolved, over all projects.", Labels: []string{"type", "status"},
			Read: func(ctx context.Context) ([]metric.Sample, error) {
				counts, err := p.alerts.Open(ctx)
				samples := make([]metric.Sample, len(counts))
				for i, c := range counts {
					samples[i] = metric.Sample{Value: c.Count, Labels: []string{string(c.Type), string(c.Status)}}
				}
				return samples, err
			},
		},
		metric.Gauge{
			Name: "tenet_edge_requests", Help: "Requests to the edges of a project that are not silent, each since its start.", Labels: []string{"project"},
			Read: p.ofEdges(func(c fleet.Count) int64 { return c.Requests }),
		},
		metric.Gauge{
			Name: "tenet_edge_errors", Help: "Requests to the edges of a project that are not silent and that failed there, each since its start.", Labels: []string{"project"},
			Read: p.ofEdges(func(c fleet.Count) int64 { return c.Errors }),
		},
		metric.Gauge{
			Name: "tenet_export_lag", Help: "Entries of audit chains that a place of exports does not have yet, over all projects.", Labels: []string{"place"},
			Read: func(ctx context.Context) ([]metric.Sample, error) {
				lags, err := p.exporter.Lags(ctx)
				samples := make([]metric.Sample, len(lags))
				for i, l := range lags {
					samples[i] = metric.Sample{Value: int(l.Entries), Labels: []string{l.Place}}
				}
				return samples, err
			},
		},
		metric.Gauge{
			Name: "tenet_evaluations_unindexed", Help: "Entries of audit chains that the search for evaluations has not indexed yet, over all projects.",
			Read: func(ctx context.Context) ([]metric.Sample, error) {
				n, err := p.index.Behind(ctx)
				return []metric.Sample{{Value: int(n)}}, err
			},
		},
		metric.Gauge{
			Name: "tenet_webhook_deliveries_pending", Help: "Webhook deliveries that wait, over all nodes.",
			Read: func(ctx context.Context) ([]metric.Sample, error) {
				n, err := p.webhooks.Pending(ctx)
				return []metric.Sample{{Value: n}}, err
			},
		},
	)
}

// ofEdges reads a figure of the edges of each project that has some.
func (p *parts) ofEdges(figure func(fleet.Count) int64) func(context.Context) ([]metric.Sample, error) {
	return func(ctx context.Context) ([]metric.Sample, error) {
		counts, err := p.fleet.Counts(ctx)
		samples := make([]metric.Sample, len(counts))
		for i, c := range counts {
			samples[i] = metric.Sample{Value: int(figure(c)), Labels: []string{c.Project}}
		}
		return samples, err
	}
}

// ofReplicas reads a figure of each replica.
func ofReplicas(pools func() []store.Pool, figure func(*store.Pool) int) func(context.Context) ([]metric.Sample, error) {
	return func(context.Context) (samples []metric.Sample, err error) {
		for _, p := range pools() {
			if p.Replica {
				samples = append(samples, metric.Sample{Value: figure(&p), Labels: []string{p.Name}})
			}
		}
		return samples, nil
	}
}
