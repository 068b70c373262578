package rest

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"tenet/internal/metric"
)

// newMetrics registers the metrics of requests and returns the function that counts one.
func newMetrics(registry *prometheus.Registry) (observe func(r *http.Request, status int, took time.Duration)) {
	for _, c := range []prometheus.Collector{collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})} {
		_ = registry.Register(c) // the caller may have registered it
	}
	durations := metric.Seconds(registry, "tenet_http_request_duration_seconds", "Time to answer a request, by route and status.",
		[]float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}, "method", "route", "code")
	return func(r *http.Request, status int, took time.Duration) {
		method, route, ok := strings.Cut(r.Pattern, " ")
		if !ok { // only mounted routes and their methods become labels
			method, route = "other", "none"
		}
		durations(took, method, route, strconv.Itoa(status))
	}
}
