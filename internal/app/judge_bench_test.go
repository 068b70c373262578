package app_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tenet/internal/app"
	"tenet/internal/config"
	"tenet/internal/judge/judgetest"
	"tenet/internal/rule"
	"tenet/internal/store/litetest"
)

// judgedNode is a node with 20 rules that no check decides and a model that takes no time.
func judgedNode(b *testing.B) http.Handler {
	cfg, err := config.Load("", none, map[string]string{"data": litetest.Dir(b), "no_seed": "true"})
	if err != nil {
		b.Fatal(err)
	}
	m := judgetest.Model(func(r judgetest.Rule, _ string) judgetest.Entry {
		if strings.ContainsAny(r.Statement, "02468") {
			return judgetest.Deny(`os.Getenv("PASSWORD")`)
		}
		return judgetest.Allow()
	})
	a, err := app.New(b.Context(), cfg, slog.New(slog.DiscardHandler), app.Options{Env: none, Model: m, Rules: openRules(20, rule.High)})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = a.Stop(b.Context()) })
	return a.Handler()
}

// BenchmarkJudged measures an evaluation of 20 rules by a model of 0 ms, HTTP, durable record and the stub's own work
// included. Every diff is new.
func BenchmarkJudged(b *testing.B) {
	h := judgedNode(b)
	var times []time.Duration
	n := 0
	for b.Loop() {
		n++
		body := request(strings.Replace(change, "var b = 1", fmt.Sprint("var b = ", n), 1))
		start := time.Now()
		if code, answer := post(b, h, "/api/v1/evaluate", body); code != http.StatusOK || !strings.Contains(answer, `"calls":2`) {
			b.Fatalf("%d %.300s", code, answer)
		}
		times = append(times, time.Since(start))
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(times[len(times)*99/100].Microseconds())/1000, "p99-ms")
}

// BenchmarkJudgedAgain measures the same request again and again from 32 callers: every verdict is kept.
func BenchmarkJudgedAgain(b *testing.B) {
	h := judgedNode(b)
	post(b, h, "/api/v1/evaluate", request(change))
	var done atomic.Int64
	start := time.Now()
	b.SetParallelism(16)
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			if code, answer := post(b, h, "/api/v1/evaluate", request(change)); code != http.StatusOK || !strings.Contains(answer, `"cached_calls":20`) {
				b.Errorf("%d %.300s", code, answer)
				return
			}
			done.Add(1)
		}
	})
	b.ReportMetric(float64(done.Load())/time.Since(start).Seconds(), "requests/s")
}
