package api

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"tenet/internal/catalog"
	"tenet/internal/corpus"
	"tenet/internal/rule"
)

// metrics are what /metrics tells.
type metrics struct {
	registry    *prometheus.Registry
	durations   *prometheus.HistogramVec
	evaluations *prometheus.CounterVec
	rules       rulesGauge
}

// newMetrics registers the metrics. count counts a project's rules.
func newMetrics(registry *prometheus.Registry, count func(ctx context.Context, project string) (int, error)) *metrics {
	m := &metrics{
		registry: registry,
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "tenet_http_request_duration_seconds", Help: "Time to answer a request, by route and status.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
		}, []string{"method", "route", "code"}),
		evaluations: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tenet_evaluations_total", Help: "Evaluations answered, by overall verdict.",
		}, []string{"verdict"}),
		rules: rulesGauge{
			desc:  prometheus.NewDesc("tenet_rules", "Rules, retired ones included, of the projects in use on this node.", []string{"project"}, nil),
			count: count, seen: map[string]bool{},
		},
	}
	registry.MustRegister(m.durations, m.evaluations, &m.rules)
	for _, c := range []prometheus.Collector{collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})} {
		_ = registry.Register(c) // the caller may have done so
	}
	return m
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry, ErrorHandling: promhttp.ContinueOnError})
}

// observe counts a request. Only known routes and methods become labels.
func (m *metrics) observe(r *http.Request, status int, took time.Duration) {
	method, route, ok := strings.Cut(r.Pattern, " ")
	if !ok {
		method, route = "other", "none"
	}
	m.durations.WithLabelValues(method, route, strconv.Itoa(status)).Observe(took.Seconds())
}

func (m *metrics) noteProject(id string) { m.rules.note(id) }

// maxGauged bounds the projects whose rules are counted.
const maxGauged = 100

// rulesGauge counts the rules of the projects that requests have touched, when it is asked: their views are in memory.
type rulesGauge struct {
	desc  *prometheus.Desc
	count func(ctx context.Context, project string) (int, error)

	mu   sync.RWMutex
	seen map[string]bool
}

func (g *rulesGauge) note(id string) {
	g.mu.RLock()
	known := g.seen[id] || len(g.seen) >= maxGauged
	g.mu.RUnlock()
	if known {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.seen[id] = true
}

// Describe implements prometheus.Collector.
func (g *rulesGauge) Describe(ch chan<- *prometheus.Desc) { ch <- g.desc }

// Collect implements prometheus.Collector.
func (g *rulesGauge) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	g.mu.RLock()
	ids := make([]string, 0, len(g.seen))
	for id := range g.seen {
		ids = append(ids, id)
	}
	g.mu.RUnlock()
	for _, id := range ids {
		n, err := g.count(ctx, id)
		if rule.CodeOf(err) == rule.CodeNotFound { // asked for, but there is no such project, or it means all of them
			g.mu.Lock()
			delete(g.seen, id)
			g.mu.Unlock()
			continue
		}
		if err != nil {
			ch <- prometheus.NewInvalidMetric(g.desc, err)
			continue
		}
		ch <- prometheus.MustNewConstMetric(g.desc, prometheus.GaugeValue, float64(n), id)
	}
}

// countRules counts the rules of a project.
func (s *server) countRules(ctx context.Context, project string) (int, error) {
	_, total, err := s.cfg.Catalog.List(ctx, project, corpus.Filter{}, catalog.Page{Page: 1})
	return total, err
}
