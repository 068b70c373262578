package app

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tenet/internal/config"
	"tenet/internal/rule"
	"tenet/internal/store/litetest"
	"tenet/internal/wire"
)

// BenchmarkEvaluateWhileCounting compares the latency of evaluations at 8 clients, each with a pause of 5 ms between requests, while
// what they record is counted and looked at for alerts each second, and while it is not. The two take turns, so that they meet the
// same machine.
func BenchmarkEvaluateWhileCounting(b *testing.B) {
	evaluateWhile(b, func(ctx context.Context, a *App) error { return a.parts.monitor.CatchUp(ctx, rule.DefaultProject) })
}

// BenchmarkEvaluateWhileIndexing is [BenchmarkEvaluateWhileCounting] while what they record is indexed.
func BenchmarkEvaluateWhileIndexing(b *testing.B) {
	evaluateWhile(b, func(ctx context.Context, a *App) error {
		return a.parts.index.Handle(ctx, wire.Job{}, func(int, int) {})
	})
}

// evaluateWhile compares the latency of evaluations while work is done each second, and while it is not.
func evaluateWhile(b *testing.B, work func(context.Context, *App) error) {
	b.Helper()
	cfg, err := config.Load("", func(string) string { return "" }, map[string]string{"data": litetest.Dir(b), "no_seed": "true"})
	if err != nil {
		b.Fatal(err)
	}
	a, err := New(b.Context(), cfg, slog.New(slog.DiscardHandler), Options{Env: func(string) string { return "" }})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = a.Stop(context.Background()) })
	send := func(path, body string) {
		req := httptest.NewRequest(http.MethodPost, "http://localhost"+path, strings.NewReader(body))
		w := httptest.NewRecorder()
		a.Handler().ServeHTTP(w, req)
		if w.Code != http.StatusOK {
			b.Errorf("%d %.300s", w.Code, w.Body)
		}
	}
	var list []string
	for i := range 20 {
		list = append(list, fmt.Sprintf(`{"slug":"B-%d","status":"EFFECTIVE","statement":"Payments above %d must be approved.","check":{"cel":"facts.amount <= %d"}}`, i, i, 100+i))
	}
	send("/api/v1/rules/import", `{"rules":[`+strings.Join(list, ",")+`]}`)
	turn := func() (p50, p99 time.Duration) {
		var mu sync.Mutex
		var all []time.Duration
		var wg sync.WaitGroup
		for c := range 8 {
			wg.Go(func() {
				for i := range 250 {
					began := time.Now()
					send("/api/v1/evaluate", fmt.Sprintf(`{"facts":{"amount":%d,"reference":"%d-%d-%d"}}`, i%200, c, i, began.UnixNano()))
					took := time.Since(began)
					mu.Lock()
					all = append(all, took)
					mu.Unlock()
					time.Sleep(5 * time.Millisecond)
				}
			})
		}
		wg.Wait()
		slices.Sort(all)
		return all[len(all)/2], all[len(all)*99/100]
	}
	var p50s, p99s [2][]float64 // off, on
	for b.Loop() {
		for on := range 2 {
			if err := work(b.Context(), a); err != nil {
				b.Fatal(err)
			}
			stop, stopped := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(stopped)
				for on == 1 {
					if err := work(b.Context(), a); err != nil {
						b.Error(err)
					}
					select {
					case <-stop:
						return
					case <-time.After(time.Second):
					}
				}
			}()
			p50, p99 := turn()
			close(stop)
			<-stopped
			p50s[on], p99s[on] = append(p50s[on], p50.Seconds()*1e3), append(p99s[on], p99.Seconds()*1e3)
		}
	}
	median := func(list []float64) float64 {
		slices.Sort(list)
		return list[len(list)/2]
	}
	b.ReportMetric(median(p50s[1])/median(p50s[0]), "p50-ratio")
	b.ReportMetric(median(p99s[1])/median(p99s[0]), "p99-ratio")
	b.ReportMetric(median(p99s[0]), "p99-off-ms")
	b.ReportMetric(median(p99s[1]), "p99-on-ms")
}
