package api

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"tenet/internal/catalog"
	"tenet/internal/corpus"
	"tenet/internal/metric"
	"tenet/internal/rule"
)

// NewVerdictCounter registers the counter of answered evaluations by their overall verdict.
func NewVerdictCounter(registry *prometheus.Registry) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "tenet_evaluations_total", Help: "Evaluations answered, by overall verdict.",
	}, []string{"verdict"})
	registry.MustRegister(c)
	return c
}

// maxGauged bounds the projects whose rules [CountRules] counts.
const maxGauged = 100

// CountRules registers a gauge of the rules of the projects that requests have touched: their views are in memory. It
// returns the function that adds a project.
func CountRules(registry *prometheus.Registry, c *catalog.Catalog, log *slog.Logger) (note func(projectID string)) {
	var mu sync.RWMutex
	seen := map[string]bool{}
	metric.Register(registry, log, metric.Gauge{
		Name: "tenet_rules", Help: "Rules, retired ones included, of the projects in use on this node.", Labels: []string{"project"},
		Read: func(ctx context.Context) (samples []metric.Sample, err error) {
			mu.RLock()
			ids := slices.Collect(maps.Keys(seen))
			mu.RUnlock()
			for _, id := range ids {
				_, n, err := c.List(ctx, id, corpus.Filter{}, "", rule.Page{Number: 1})
				switch {
				case rule.CodeOf(err) == rule.CodeNotFound: // no such project, or * for all of them
					mu.Lock()
					delete(seen, id)
					mu.Unlock()
				case err != nil:
					return nil, err
				default:
					samples = append(samples, metric.Sample{Value: n, Labels: []string{id}})
				}
			}
			return samples, nil
		},
	})
	return func(projectID string) {
		mu.RLock()
		enough := seen[projectID] || len(seen) >= maxGauged
		mu.RUnlock()
		if enough {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		seen[projectID] = true
	}
}

// CountRefusals registers the count of refused uses of keys, and returns the function that counts one.
func CountRefusals(registry *prometheus.Registry) func(reason string) {
	refusals := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "tenet_key_refusals_total", Help: "Uses of API keys that were refused, by reason.",
	}, []string{"reason"})
	registry.MustRegister(refusals)
	return func(reason string) { refusals.WithLabelValues(reason).Inc() }
}
