// Package metric has the kinds of metrics that a node publishes at /metrics.
package metric

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// gaugeTimeout bounds the reading of one gauge.
const gaugeTimeout = 5 * time.Second

// Sample is one value of a gauge, with the values of its labels.
type Sample struct {
	Value  int
	Labels []string
}

// Gauge describes a metric that is read at each scrape, usually from the database.
type Gauge struct {
	Name, Help string
	Labels     []string
	Read       func(ctx context.Context) ([]Sample, error)
}

// Register adds gauges to a registry. One that cannot be read is logged and left out; the other metrics are published all
// the same.
func Register(registry *prometheus.Registry, log *slog.Logger, gauges ...Gauge) {
	for _, g := range gauges {
		registry.MustRegister(&collector{g, prometheus.NewDesc(g.Name, g.Help, g.Labels, nil), log})
	}
}

type collector struct {
	Gauge

	desc *prometheus.Desc
	log  *slog.Logger
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) { ch <- c.desc }

// Collect implements prometheus.Collector.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), gaugeTimeout)
	defer cancel()
	samples, err := c.Read(ctx)
	if err != nil {
		c.log.WarnContext(ctx, "cannot read a metric", slog.String("metric", c.Name), slog.Any("error", err))
		return
	}
	for _, s := range samples {
		ch <- prometheus.MustNewConstMetric(c.desc, prometheus.GaugeValue, float64(s.Value), s.Labels...)
	}
}

// Seconds adds a histogram of durations to a registry and returns the function that observes one. It takes the values of the
// labels in their order.
func Seconds(registry *prometheus.Registry, name, help string, buckets []float64, labels ...string) func(took time.Duration, values ...string) {
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	registry.MustRegister(h)
	return func(took time.Duration, values ...string) { h.WithLabelValues(values...).Observe(took.Seconds()) }
}
