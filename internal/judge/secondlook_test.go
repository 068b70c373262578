package judge_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/judge"
	"tenet/internal/judge/judgetest"
	"tenet/internal/llm"
	"tenet/internal/llm/llmtest"
	"tenet/internal/rule"
	"tenet/internal/subject"
	"tenet/internal/wire"
)

func critical(n int) []*rule.Rule {
	rules := newRules(n)
	for _, r := range rules {
		r.Severity = rule.Critical
	}
	return rules
}

// inTurn answers about real rules with entries in turn, and allows at masked views.
func inTurn(entries ...judgetest.Entry) *llmtest.Fake {
	plain := judgetest.Model(func(judgetest.Rule, string) judgetest.Entry {
		e := entries[0]
		if len(entries) > 1 {
			entries = entries[1:]
		}
		return e
	})
	masked := judgetest.Model(allowAll)
	return &llmtest.Fake{Respond: func(ctx context.Context, req llm.Request) (llm.Response, error) {
		if judgetest.IsMasked(req) {
			return masked.Complete(ctx, req)
		}
		return plain.Complete(ctx, req)
	}}
}

// plainRequests are those that show no masked view.
func plainRequests(m *llmtest.Fake) []llm.Request {
	return slices.DeleteFunc(m.Requests(), judgetest.IsMasked)
}

func TestACriticalDenialIsConfirmed(t *testing.T) {
	two := subject.Input{Diff: hunks(4, nil)}
	deny := judgetest.Deny("value1 := compute(1)")
	m := inTurn(deny, deny)
	v := decide(t, m, build(t, two), critical(1))
	if got := v.Verdicts[0]; got.Verdict != rule.Deny || got.DecidedBy != rule.ByModel || got.Confidence != 0.67 || len(got.Locations) != 1 {
		t.Errorf("got %+v", got)
	}
	if len(v.Calls) != 3 || v.Calls[1].Purpose != judge.CallRecheck || v.Calls[2].Purpose != judge.CallConfirm {
		t.Fatalf("calls are %+v", v.Calls)
	}
	first, second := judgetest.Subject(plainRequests(m)[0]), judgetest.Subject(plainRequests(m)[1])
	if !(strings.Index(first, "part0") < strings.Index(first, "part1")) || !(strings.Index(second, "part0") > strings.Index(second, "part1")) {
		t.Errorf("the second look is in the same order:\n%s\n%s", first, second)
	}
}

func TestLooksThatDisagreeDecideNothing(t *testing.T) {
	deny := judgetest.Deny("card.Number")
	for name, second := range map[string]judgetest.Entry{
		"allow": judgetest.Allow(), "unsure": judgetest.Unsure(), "a denial without proof": judgetest.Deny("os.RemoveAll"),
	} {
		m := inTurn(deny, second)
		v := decide(t, m, build(t, subject.Input{Diff: diff}), critical(1)).Verdicts[0]
		if v.Verdict != rule.NeedsConfirmation || v.DecidedBy != rule.ByModel || v.Confidence != 0.33 || !strings.Contains(v.Reasoning, "disagree") || v.IssueDescription == "" {
			t.Errorf("%s: got %+v", name, v)
		}
	}
}

func TestASecondLookThatFailsDecidesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(judgetest.Rule, string) judgetest.Entry
		err    error
		raw    string
	}{"an error": {err: rule.Errorf(rule.CodeUnavailable, "busy")}, "nonsense": {raw: "I would rather not."}} {
		confirm := &llmtest.Fake{Name: "fake:confirm", Respond: func(context.Context, llm.Request) (llm.Response, error) { return llm.Response{Text: c.raw}, c.err }}
		j := judge.New(judge.Config{Model: inTurn(judgetest.Deny("card.Number")), Confirm: confirm})
		res := j.Decide(t.Context(), build(t, subject.Input{Diff: diff}), critical(1))
		wantUndecided(t, res.Verdicts[0], "the second look that a CRITICAL rule needs")
		if res.Calls[2].Model != "fake:confirm" {
			t.Errorf("%s: calls are %+v", name, res.Calls)
		}
	}
}

func TestTheConfirmingModelHasTheSecondWord(t *testing.T) {
	confirm := inTurn(judgetest.Deny("card.Number"))
	confirm.Name = "fake:confirm"
	j := judge.New(judge.Config{Model: inTurn(judgetest.Deny("card.Number")), Confirm: confirm, Cache: judge.NewCache(judge.CacheConfig{})})
	s := build(t, subject.Input{Diff: diff})
	res := j.Decide(t.Context(), s, critical(1))
	if v := res.Verdicts[0]; v.Verdict != rule.Deny || v.Confidence != 0.67 || confirm.Calls() != 1 || len(res.Models) != 2 {
		t.Errorf("got %+v by %v", v, res.Models)
	}
	if res = j.Decide(t.Context(), s, critical(1)); res.Verdicts[0].Confidence != 0.67 || confirm.Calls() != 1 || res.Verdicts[0].DecidedBy != rule.ByCache {
		t.Errorf("kept is %+v", res.Verdicts[0])
	}
}

func TestOtherDenialsNeedNoSecondLook(t *testing.T) {
	m := inTurn(judgetest.Deny("card.Number"))
	if res := decide(t, m, build(t, subject.Input{Diff: diff}), newRules(1)); res.Verdicts[0].Verdict != rule.Deny || m.Calls() != 1 {
		t.Errorf("%d calls, got %+v", m.Calls(), res.Verdicts[0])
	}
}

// TestOneLookIsNotEnoughWhereTheTimeIsUp has the deadline end within the second look that an outcome needs.
func TestOneLookIsNotEnoughWhereTheTimeIsUp(t *testing.T) {
	for name, c := range map[string]struct {
		in    subject.Input
		rules []*rule.Rule
		says  judgetest.Entry
		why   string
	}{
		"denial of a CRITICAL rule": {subject.Input{Diff: diff}, critical(1), judgetest.Deny("card.Number"), "second look that a CRITICAL rule needs"},
		"ALLOW beside an order":     {subject.Input{Diff: diff, Intent: "Tell me a story."}, newRules(2), judgetest.Allow(), "reads as if it gave orders"},
	} {
		synctest.Test(t, func(t *testing.T) {
			honest := judgetest.Model(func(judgetest.Rule, string) judgetest.Entry { return c.says })
			var made atomic.Int32
			m := &llmtest.Fake{Respond: func(ctx context.Context, req llm.Request) (llm.Response, error) {
				takes := 3 * time.Second
				if judgetest.IsMasked(req) || req.Prefix != "" && c.says.Verdict == rule.Deny && made.Add(1) > 1 {
					takes = 6 * time.Second
				}
				select {
				case <-time.After(takes):
				case <-ctx.Done():
				}
				return honest.Complete(ctx, req)
			}}
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			s := build(t, c.in)
			res := judge.New(judge.Config{Model: m}).Decide(ctx, s, c.rules)
			for _, v := range res.Verdicts {
				if v.Verdict != rule.NeedsConfirmation || v.DecidedBy != rule.ByNone || !strings.Contains(v.Reasoning, c.why) || v.IssueDescription == "" {
					t.Errorf("%s: got %+v", name, v)
				}
			}
			if d := cmp.Diff(res.Verdicts, replayed(t, s, c.rules, res).Verdicts); d != "" {
				t.Errorf("%s: a replay differs: %s", name, d)
			}
			// A record made before the second look began proves no more.
			calls := slices.DeleteFunc(slices.Clone(res.Calls), func(c wire.ModelCall) bool { return c.Purpose != judge.CallJudge })
			if v := judge.Replay(t.Context(), s, c.rules, calls, nil).Verdicts[0]; v.Verdict != rule.NeedsConfirmation {
				t.Errorf("%s: a record of one look replays as %+v", name, v)
			}
		})
	}
}
