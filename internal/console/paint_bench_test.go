package console_test

import (
	"net/http"
	"slices"
	"testing"

	"tenet/internal/console/browsertest"
)

// BenchmarkFirstPaint opens the evaluation of a change of 10,000 lines in a browser, and reports when the server had answered and when the page was first
// painted, by the browser's own clock. The bar is one second on an idle machine.
func BenchmarkFirstPaint(b *testing.B) {
	n := newNode(b, nil)
	path := "/p/default/evaluations/" + n.evaluate("default", `{"diff": `+largeChange(b)+`}`)
	if a := n.visitor().get(path); a.status != http.StatusOK {
		b.Fatal(a.status, a.body)
	}
	for _, view := range []struct{ name, query string }{{"unified", ""}, {"sides", "?view=sides"}} {
		b.Run(view.name, func(b *testing.B) {
			tab := browsertest.Open(b, n.url)
			var answered, painted []float64
			for b.Loop() {
				tab.Open(path + view.query)
				answered = append(answered, browsertest.Eval[float64](tab, "performance.getEntriesByType('navigation')[0].responseEnd"))
				tab.Wait("performance.getEntriesByName('first-contentful-paint').length > 0")
				painted = append(painted, browsertest.Eval[float64](tab, "performance.getEntriesByName('first-contentful-paint')[0].startTime"))
			}
			for name, times := range map[string][]float64{"answered": answered, "painted": painted} {
				slices.Sort(times)
				b.ReportMetric(times[len(times)/2], name+"-p50-ms")
				b.ReportMetric(times[len(times)*99/100], name+"-p99-ms")
			}
		})
	}
}
