package judge_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tenet/internal/catalog"
	"tenet/internal/judge"
	"tenet/internal/judge/judgetest"
	"tenet/internal/llm"
	"tenet/internal/llm/llmtest"
	"tenet/internal/rule"
	"tenet/internal/subject"
	"tenet/packs"
)

// times collects durations and reports their quantiles.
type times []time.Duration

func (t times) report(b *testing.B) {
	slices.Sort(t)
	b.ReportMetric(float64(t[len(t)/2].Microseconds()), "p50-us")
	b.ReportMetric(float64(t[len(t)*99/100].Microseconds()), "p99-us")
}

// halfDenied answers fast: every second rule is denied with a quote. Its answers are made once per set of rules.
func halfDenied(quote string) *llmtest.Fake {
	var mu sync.Mutex
	made := map[string]string{}
	slow := judgetest.Model(func(r judgetest.Rule, _ string) judgetest.Entry {
		if strings.ContainsAny(r.Statement, "02468") {
			return judgetest.Deny(quote)
		}
		return judgetest.Allow()
	})
	return &llmtest.Fake{Respond: func(ctx context.Context, req llm.Request) (llm.Response, error) {
		mu.Lock()
		defer mu.Unlock()
		text, ok := made[req.Prefix]
		if !ok {
			resp, err := slow.Complete(ctx, req)
			if err != nil {
				return resp, err
			}
			text = resp.Text
			made[req.Prefix] = text
		}
		return llm.Response{Text: text}, nil
	}}
}

// BenchmarkDecide measures our own time for 20 rules: redacting, rendering, batching, parsing, anchoring. Every second rule
// denies with a quote that stands near the end of the subject.
func BenchmarkDecide(b *testing.B) {
	for name, lines := range map[string]int{"5KB": 100, "150KB": 3000} {
		b.Run(name, func(b *testing.B) {
			content := strings.Repeat("result = compute(previous, value) # a line of code\n", lines) + "password = 'x'\n"
			s := build(b, subject.Input{Files: []subject.InputFile{{Path: "a.py", Content: &content}}})
			rules := newRules(20)
			j := judge.New(judge.Config{Model: halfDenied("password = 'x'")})
			j.Decide(b.Context(), s, rules)
			var t times
			b.ReportAllocs()
			for b.Loop() {
				start := time.Now()
				if res := j.Decide(b.Context(), s, rules); res.Cost.Calls != 2 {
					b.Fatalf("%+v", res.Cost)
				}
				t = append(t, time.Since(start))
			}
			t.report(b)
		})
	}
}

// BenchmarkRepeated measures a request whose verdicts are all kept: no calls.
func BenchmarkRepeated(b *testing.B) {
	m := halfDenied("value1 := compute(1)")
	j := judge.New(judge.Config{Model: m, Cache: judge.NewCache(judge.CacheConfig{})})
	s, rules := build(b, subject.Input{Diff: hunks(5, nil)}), newRules(20)
	j.Decide(b.Context(), s, rules)
	calls := m.Calls()
	b.ReportAllocs()
	for b.Loop() {
		if res := j.Decide(b.Context(), s, rules); res.Cost.CachedCalls != 20 {
			b.Fatalf("%+v", res.Cost)
		}
	}
	b.ReportMetric(float64(m.Calls()-calls), "calls")
}

// BenchmarkChangedHunk measures a diff of 50 hunks in which one is new each time: what is asked, and our own time.
func BenchmarkChangedHunk(b *testing.B) {
	m := judgetest.Model(allowAll)
	j := judge.New(judge.Config{Model: m, Cache: judge.NewCache(judge.CacheConfig{})})
	rules := newRules(20)
	first := j.Decide(b.Context(), build(b, subject.Input{Diff: hunks(50, nil)}), rules)
	n, calls, tokens := 0, 0, 0
	for b.Loop() {
		n++
		s := build(b, subject.Input{Diff: hunks(50, map[int]string{n % 50: fmt.Sprintf("changed(%d)", n)})})
		res := j.Decide(b.Context(), s, rules)
		calls, tokens = calls+res.Cost.Calls, tokens+res.Cost.InputTokens
	}
	b.ReportMetric(float64(calls)/float64(n), "calls/op")
	b.ReportMetric(float64(tokens)/float64(n), "tokens/op")
	b.ReportMetric(float64(first.Cost.InputTokens), "tokens-whole")
}

// BenchmarkRoundTrip compares the wall time of one evaluation of 20 rules, and of 8 at once, with the time of one call to a
// model that takes 500 ms.
func BenchmarkRoundTrip(b *testing.B) {
	const delay = 500 * time.Millisecond
	for _, at := range []int{1, 8} {
		b.Run(fmt.Sprint(at, "-at-once"), func(b *testing.B) {
			m := judgetest.Model(allowAll)
			m.Delay = delay
			j := judge.New(judge.Config{Model: m})
			rules := newRules(20)
			n, spent := 0, time.Duration(0)
			for b.Loop() {
				n++
				var wg sync.WaitGroup
				start := time.Now()
				for i := range at {
					wg.Go(func() { j.Decide(b.Context(), build(b, subject.Input{Action: fmt.Sprint(n, " ", i)}), rules) })
				}
				wg.Wait()
				spent += time.Since(start)
			}
			b.ReportMetric(float64(spent)/float64(n)/float64(delay), "x-one-call")
		})
	}
}

// starterRules are the rules of the starter packs, as if none had a check.
func starterRules(tb testing.TB) []*rule.Rule {
	tb.Helper()
	all, err := packs.All()
	if err != nil {
		tb.Fatal(err)
	}
	var rules []*rule.Rule
	for _, p := range all {
		f, err := catalog.ParseYAML(p.Rules)
		if err != nil {
			tb.Fatal(err)
		}
		for i, in := range f.Rules {
			r := &rule.Rule{
				ID: fmt.Sprintf("%s-%d", p.Name, i), Statement: in.Statement, Modality: in.Modality, Severity: in.Severity,
				Exceptions: in.Exceptions, Examples: in.Examples,
			}
			if in.Rationale != nil {
				r.Rationale = *in.Rationale
			}
			r.Normalize()
			if r.Judged() {
				rules = append(rules, r)
			}
		}
	}
	return rules
}

// tokensPerRule asks about rules on a small subject and returns calls, and the tokens sent per rule beside the subject and
// with it: four bytes are one token. The schema of the answer, which providers take beside the prompt, is not counted.
func tokensPerRule(tb testing.TB, rules []*rule.Rule, batch int) (calls int, beside, with float64) {
	tb.Helper()
	m := judgetest.Model(allowAll)
	s := build(tb, subject.Input{Diff: hunks(10, nil)})
	judge.New(judge.Config{Model: m, BatchSize: batch}).Decide(tb.Context(), s, rules)
	all, shown := 0, 0
	for _, req := range m.Requests() {
		all += len(req.System) + len(req.Prefix) + len(req.Prompt)
		shown += len(judgetest.Subject(req))
	}
	n := float64(4 * len(rules))
	return m.Calls(), float64(all-shown) / n, float64(all) / n
}

// TestTheStarterRulesCostFewTokens holds the price of a rule beside the subject. CRITICAL rules, of which the agent-safety pack has
// many, go alone and cost more. Of CRITICAL and HIGH rules, which most of them are, each takes two looks.
func TestTheStarterRulesCostFewTokens(t *testing.T) {
	rules := starterRules(t)
	if len(rules) < 100 {
		t.Fatalf("%d starter rules", len(rules))
	}
	calls, beside, _ := tokensPerRule(t, rules, 10)
	t.Logf("%d rules in %d calls: %.0f tokens a rule beside the subject", len(rules), calls, beside)
	if beside > 385 {
		t.Errorf("a starter rule takes %.0f tokens beside the subject, want at most 385", beside)
	}
}

// BenchmarkTokens compares batches of ten with one call per rule and with one call for all.
func BenchmarkTokens(b *testing.B) {
	rules := starterRules(b)[:40]
	for name, batch := range map[string]int{"batches-of-10": 10, "one-per-call": 1, "all-in-one": len(rules)} {
		b.Run(name, func(b *testing.B) {
			var calls int
			var beside, with float64
			for b.Loop() {
				calls, beside, with = tokensPerRule(b, rules, batch)
			}
			b.ReportMetric(float64(calls), "calls")
			b.ReportMetric(beside, "tokens/rule")
			b.ReportMetric(with, "tokens/rule-with-subject")
		})
	}
}
