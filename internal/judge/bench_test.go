package judge_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tenet/internal/judge"
	"tenet/internal/judge/judgetest"
	"tenet/internal/llm"
	"tenet/internal/subject"
)

// fixed answers every request with text at no cost, so that only our own work is measured.
func fixed(text string) func(context.Context, llm.Request) (llm.Response, error) {
	return func(context.Context, llm.Request) (llm.Response, error) { return llm.Response{Text: text}, nil }
}

// BenchmarkDecide measures our own time for 20 rules: rendering, batching, parsing, anchoring. Every rule denies with a
// quote that stands near the end of the subject.
func BenchmarkDecide(b *testing.B) {
	for name, lines := range map[string]int{"5KB": 100, "150KB": 3000} {
		b.Run(name, func(b *testing.B) {
			content := strings.Repeat("result = compute(previous, value) # a line of code\n", lines) + "password = 'x'\n"
			s := build(b, subject.Input{Files: []subject.InputFile{{Path: "a.py", Content: &content}}})
			rules := newRules(20)
			var entries []judgetest.Entry
			for i := range 10 {
				e := judgetest.Allow()
				if i%2 == 0 {
					e = judgetest.Deny("password = 'x'")
				}
				e.Ref = fmt.Sprint("R", i+1)
				entries = append(entries, e)
			}
			text := judgetest.Text(entries...)
			m := &llm.Fake{Respond: fixed(text)}
			j := judge.New(judge.Config{Model: m})
			times := make([]time.Duration, 0, 10000)
			b.ReportAllocs()
			for b.Loop() {
				start := time.Now()
				if res := j.Decide(b.Context(), s, rules); res.Cost.Calls != 2 {
					b.Fatalf("%+v", res.Cost)
				}
				times = append(times, time.Since(start))
			}
			slices.Sort(times)
			b.ReportMetric(float64(times[len(times)/2].Microseconds()), "p50-us")
			b.ReportMetric(float64(times[len(times)*99/100].Microseconds()), "p99-us")
		})
	}
}
