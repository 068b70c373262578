package metric_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"tenet/internal/metric"
)

// A gauge is read at each scrape. One that fails does not keep the others from being published.
func TestGaugesAreReadAtEachScrape(t *testing.T) {
	t.Parallel()
	registry, jobs := prometheus.NewRegistry(), 0
	metric.Register(registry, slog.New(slog.DiscardHandler),
		metric.Gauge{Name: "jobs", Help: "Jobs.", Labels: []string{"kind"}, Read: func(context.Context) ([]metric.Sample, error) {
			jobs++
			return []metric.Sample{{jobs, []string{"embed"}}}, nil
		}},
		metric.Gauge{Name: "broken", Help: "Broken.", Read: func(context.Context) ([]metric.Sample, error) { return nil, errors.New("away") }},
	)
	for scrape := 1; scrape <= 2; scrape++ {
		families, err := registry.Gather()
		if err != nil || len(families) != 1 || families[0].GetName() != "jobs" {
			t.Fatalf("scrape %d: %v, %v", scrape, families, err)
		}
		m := families[0].GetMetric()[0]
		if m.GetGauge().GetValue() != float64(scrape) || m.GetLabel()[0].GetValue() != "embed" {
			t.Errorf("scrape %d: %v", scrape, m)
		}
	}
}
