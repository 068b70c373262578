package judge_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tenet/internal/judge"
	"tenet/internal/judge/judgetest"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/subject"
)

func TestEqualRequestsShareTheirCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := judgetest.Model(strict)
		m.Delay = time.Second
		j := judge.New(judge.Config{Model: m})
		results := make([]judge.Result, 16)
		var wg sync.WaitGroup
		for i := range results {
			wg.Go(func() {
				results[i] = j.Decide(t.Context(), build(t, subject.Input{Diff: hunks(3, map[int]string{1: "forbidden()"})}), newRules(20))
			})
		}
		wg.Wait()
		if m.Calls() != 2 {
			t.Errorf("%d calls for 16 equal requests, want 2", m.Calls())
		}
		for _, res := range results {
			if d := cmp.Diff(results[0], res, cmpopts.IgnoreFields(judge.Result{}, "Accounts")); d != "" {
				t.Errorf("results differ: %s", d)
			}
		}
		results[0].Verdicts[0].Reasoning = "changed"
		if results[1].Verdicts[0].Reasoning == "changed" {
			t.Error("callers share what they may change")
		}
	})
}

func TestDifferentRequestsDoNotShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := judgetest.Model(strict)
		m.Delay = time.Second
		j := judge.New(judge.Config{Model: m})
		other := newRules(1)
		other[0].ID = "another"
		var wg sync.WaitGroup
		for _, c := range []struct {
			in    subject.Input
			rules []*rule.Rule
		}{{subject.Input{Action: "a"}, newRules(1)}, {subject.Input{Action: "b"}, newRules(1)}, {subject.Input{Action: "a"}, newRules(2)}, {subject.Input{Action: "a"}, other}} {
			wg.Go(func() {
				if res := j.Decide(t.Context(), build(t, c.in), c.rules); res.Verdicts[0].RuleID != c.rules[0].ID {
					t.Errorf("got %+v", res.Verdicts)
				}
			})
		}
		wg.Wait()
		if m.Calls() != 4 {
			t.Errorf("%d calls, want 4", m.Calls())
		}
	})
}

func TestOneWhoLeavesDoesNotDisturbTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := judgetest.Model(allowAll)
		m.Delay = 10 * time.Second
		j := judge.New(judge.Config{Model: m})
		ask := func(timeout time.Duration) (judge.Result, time.Duration) {
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			defer cancel()
			start := time.Now()
			res := j.Decide(ctx, build(t, subject.Input{Diff: diff}), newRules(2))
			return res, time.Since(start)
		}
		var wg sync.WaitGroup
		for _, timeout := range []time.Duration{time.Second, time.Hour, 3 * time.Second} {
			wg.Go(func() {
				res, took := ask(timeout)
				switch {
				case timeout == time.Hour && (took != 10*time.Second || res.Verdicts[0].Verdict != rule.Allow):
					t.Errorf("who waits gets %+v after %v", res.Verdicts[0], took)
				case timeout != time.Hour:
					wantUndecided(t, res.Verdicts[0], "did not answer in time")
					if took != timeout || len(res.Calls) != 1 || res.Calls[0].Error == "" {
						t.Errorf("who leaves does so after %v, not %v, with %+v", took, timeout, res.Calls)
					}
				}
			})
			synctest.Wait() // the one with the shortest patience begins
		}
		wg.Wait()
		if m.Calls() != 1 {
			t.Errorf("%d calls, want 1", m.Calls())
		}
	})
}

func TestACallNobodyWaitsForEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := judgetest.Model(allowAll)
		m.Delay = time.Hour
		j := judge.New(judge.Config{Model: m, Timeout: 2 * time.Hour, TotalTimeout: 2 * time.Hour, Concurrency: 1})
		s := build(t, subject.Input{Diff: diff})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		j.Decide(ctx, s, newRules(1))
		synctest.Wait()
		// The only slot is free again, and a new request asks anew.
		start := time.Now()
		if res := j.Decide(t.Context(), s, newRules(1)); res.Verdicts[0].Verdict != rule.Allow || time.Since(start) != time.Hour || m.Calls() != 2 {
			t.Errorf("after %v and %d calls: %+v", time.Since(start), m.Calls(), res.Verdicts[0])
		}
	})
}

func TestTheSameRequestAHundredTimes(t *testing.T) {
	m := judgetest.Model(strict)
	j := judge.New(judge.Config{Model: m, Cache: judge.NewCache(judge.CacheConfig{})})
	in := subject.Input{Diff: hunks(6, map[int]string{1: "forbidden(1)", 4: "unclear()"})}
	first := j.Decide(t.Context(), build(t, in), newRules(20))
	for range 100 {
		if d := cmp.Diff(verdicts(first), verdicts(j.Decide(t.Context(), build(t, in), newRules(20)))); d != "" {
			t.Fatal(d)
		}
	}
	if m.Calls() != 2 {
		t.Errorf("%d calls", m.Calls())
	}
}

// brokenVerdicts has every method, and none works.
type brokenVerdicts struct{ store.VerdictReader }

func TestAFaultOfOurOwnLeavesNoRuleWithoutAVerdict(t *testing.T) {
	j := judge.New(judge.Config{Model: judgetest.Model(strict), Cache: judge.NewCache(judge.CacheConfig{Store: store.Store{}, Verdicts: brokenVerdicts{}}), Logger: slog.New(slog.DiscardHandler)})
	rules := newRules(3)
	res := j.Decide(t.Context(), build(t, subject.Input{Action: "go"}), rules)
	if len(res.Verdicts) != len(rules) {
		t.Fatalf("%d verdicts for %d rules", len(res.Verdicts), len(rules))
	}
	for _, v := range res.Verdicts {
		if v.Verdict != rule.NeedsConfirmation || !strings.Contains(v.Reasoning, "internal fault") {
			t.Errorf("%s: %s", v.Verdict, v.Reasoning)
		}
	}
}
