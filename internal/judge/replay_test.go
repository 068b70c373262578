package judge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/judge"
	"tenet/internal/judge/judgetest"
	"tenet/internal/llm"
	"tenet/internal/llm/llmtest"
	"tenet/internal/redact"
	"tenet/internal/rule"
	"tenet/internal/subject"
	"tenet/internal/wire"
)

// replayed decides again from what a result tells, after a journey through JSON.
func replayed(t *testing.T, s *subject.Subject, rules []*rule.Rule, res judge.Result) judge.Result {
	t.Helper()
	data, err := json.Marshal(map[string]any{"calls": res.Calls, "reused": res.Reused})
	if err != nil {
		t.Fatal(err)
	}
	var kept struct {
		Calls  []wire.ModelCall
		Reused []wire.ReusedVerdict
	}
	if err := json.Unmarshal(data, &kept); err != nil {
		t.Fatal(err)
	}
	return judge.Replay(t.Context(), s, rules, kept.Calls, kept.Reused)
}

func wantSame(t *testing.T, about string, was, is judge.Result) {
	t.Helper()
	if d := cmp.Diff(was.Verdicts, is.Verdicts); d != "" {
		t.Errorf("%s: the replay differs: %s", about, d)
	}
	if d := cmp.Diff(was.Cost, is.Cost); d != "" {
		t.Errorf("%s: the cost differs: %s", about, d)
	}
	for i := range was.Accounts {
		if d := cmp.Diff(was.Accounts[i].Unexamined(), is.Accounts[i].Unexamined()); d != "" {
			t.Errorf("%s: the accounts differ: %s", about, d)
		}
	}
	if !cmp.Equal(was.Calls, is.Calls) || !cmp.Equal(was.Reused, is.Reused) {
		t.Errorf("%s: the calls of the replay are others: %s", about, cmp.Diff(was.Calls, is.Calls))
	}
}

// moody answers at random: rightly, wrongly, in part or not at all, or with an error.
func moody(seed uint64) *llmtest.Fake {
	r := rand.New(rand.NewPCG(seed, 3))
	good := judgetest.Model(func(rl judgetest.Rule, text string) judgetest.Entry {
		switch len(rl.Statement+text) % 5 {
		case 0:
			return judgetest.Deny("before1()", "value2 := compute(2)")
		case 1:
			return judgetest.Missing("a test")
		case 2:
			return judgetest.Unsure()
		}
		return judgetest.Allow()
	})
	return &llmtest.Fake{Respond: func(ctx context.Context, req llm.Request) (llm.Response, error) {
		resp, err := good.Complete(ctx, req)
		switch r.IntN(8) {
		case 0:
			return llm.Response{}, rule.Errorf(rule.CodeUnavailable, "busy")
		case 1:
			return llm.Response{}, rule.Errorf(rule.CodeInvalid, "too long")
		case 2:
			resp.Text = resp.Text[:len(resp.Text)/2]
		case 3:
			resp.Text = strings.Replace(resp.Text, "DENY", "ALLOW", 1)
		case 4:
			resp.Text = strings.Replace(resp.Text, "reasoning\":\"", "reasoning\":\"\xff", 1)
		}
		return resp, err
	}}
}

func TestReplayAgrees(t *testing.T) {
	cache := judge.NewCache(judge.CacheConfig{})
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 5))
		rules := newRules(1 + r.IntN(14))
		for _, rl := range rules {
			if r.IntN(4) == 0 {
				rl.Severity = rule.Critical
			}
		}
		in := subject.Input{Diff: hunks(2+r.IntN(6), map[int]string{r.IntN(4): fmt.Sprintf("value2 := compute(2) // %d", r.IntN(3))})}
		if r.IntN(3) == 0 {
			in.Intent = "Tell me a story."
		}
		cfg := judge.Config{Model: moody(seed), Cache: cache, Concurrency: 1, BatchSize: 4}
		if r.IntN(2) == 0 {
			cfg.MaxSubjectBytes = 400
		}
		if r.IntN(4) == 0 {
			cfg.MaxTokens = 2000
		}
		s := build(t, in)
		res := judge.New(cfg).Decide(t.Context(), s, rules)
		wantSame(t, fmt.Sprint("seed ", seed), res, replayed(t, s, rules, res))
	}
}

func TestReplayNeedsNoModelAndTakesWhatIsItsOwn(t *testing.T) {
	rules := newRules(6)
	m := judgetest.Model(strict)
	j := judge.New(judge.Config{Model: m})
	s := build(t, subject.Input{Diff: hunks(3, map[int]string{1: "forbidden(1)"})})
	one, two := j.Decide(t.Context(), s, rules[:3]), j.Decide(t.Context(), s, rules[3:])
	all := judge.Result{Calls: append(append([]wire.ModelCall{}, two.Calls...), one.Calls...)}
	wantSame(t, "first half", one, replayed(t, s, rules[:3], all))
	wantSame(t, "second half", two, replayed(t, s, rules[3:], all))
}

func TestReplayWorksOnWhatIsLeftOfARedactedSubject(t *testing.T) {
	in := subject.Input{Diff: strings.Replace(diff, "return nil", "dsn := \"postgres://u:"+"s3cret-w0rd@db/x\"", 1), Facts: map[string]any{"password": "correct horse"}}
	rules := newRules(2)
	m := judgetest.Model(func(judgetest.Rule, string) judgetest.Entry { return judgetest.Deny("[redacted:url-password]") })
	res := decide(t, m, build(t, in), rules)
	if strings.Contains(m.Requests()[0].Prompt, "s3cret") || strings.Contains(m.Requests()[0].Prompt, "horse") || res.Redacted != 2 {
		t.Errorf("%d redacted, the prompt is %s", res.Redacted, m.Requests()[0].Prompt)
	}
	for _, v := range res.Verdicts {
		if v.Verdict != rule.Deny || len(v.Locations) != 1 || v.Locations[0].StartLine != 12 || strings.Contains(v.Locations[0].Snippet, "s3cret") {
			t.Errorf("got %+v", v)
		}
	}
	clean, _, _ := redact.New().Input(in)
	wantSame(t, "redacted", res, replayed(t, build(t, clean), rules, res))
}

func TestReplayOfPartialResults(t *testing.T) {
	answer := judgetest.Model(allowAll)
	release := make(chan struct{})
	m := &llmtest.Fake{Respond: func(ctx context.Context, req llm.Request) (llm.Response, error) {
		if strings.Contains(req.Prefix, "Statement 3.") {
			<-release
		}
		return answer.Complete(ctx, req)
	}}
	ctx, cancel := context.WithCancel(t.Context())
	rules := newRules(4)
	rules[3].Severity = rule.Critical
	s := build(t, subject.Input{Diff: diff})
	go func() {
		for answer.Calls() == 0 || m.Calls() < 2 {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(20 * time.Millisecond) // lets the answer that came be read; without it the verdicts are fewer, but as true
		cancel()
	}()
	res := judge.New(judge.Config{Model: m}).Decide(ctx, s, rules)
	close(release)
	wantUndecided(t, res.Verdicts[3], "did not answer in time")
	again := replayed(t, s, rules, res)
	if d := cmp.Diff(res.Verdicts, again.Verdicts); d != "" {
		t.Error(d)
	}
}

func TestReplayOfAnOlderPromptSaysSo(t *testing.T) {
	rules := newRules(1)
	res := judge.Replay(t.Context(), build(t, subject.Input{Diff: diff}), rules, []wire.ModelCall{{Rules: []string{rules[0].ID}, PromptVersion: "v1", Raw: "{}"}}, nil)
	wantUndecided(t, res.Verdicts[0], "another version of the judge's prompt")
	res = judge.Replay(t.Context(), build(t, subject.Input{Diff: diff}), rules, nil, nil)
	wantUndecided(t, res.Verdicts[0], "No model is configured")
}

func TestAnEditedAnswerShowsInTheReplay(t *testing.T) {
	rules := newRules(1)
	s := build(t, subject.Input{Diff: diff})
	res := decide(t, judgetest.Model(func(judgetest.Rule, string) judgetest.Entry { return judgetest.Deny("card.Number") }), s, rules)
	res.Calls[0].Raw = strings.ReplaceAll(res.Calls[0].Raw, "DENY", "ALLOW")
	if v := replayed(t, s, rules, res).Verdicts[0]; v.Verdict != rule.NeedsConfirmation {
		t.Errorf("got %+v", v)
	}
}

// TestAPasswordOfManyWordsIsNotExamined has a fact that is not shown to the model, which so cannot be allowed.
func TestAPasswordOfManyWordsIsNotExamined(t *testing.T) {
	rules := newRules(1)
	for value, want := range map[string]rule.Verdict{"correct horse; drop table users": rule.NeedsConfirmation, "hunter2hunter2": rule.Allow} {
		in := subject.Input{Facts: map[string]any{"password": value, "amount": 5}}
		m := judgetest.Model(allowAll)
		res := decide(t, m, build(t, in), rules)
		if res.Verdicts[0].Verdict != want || strings.Contains(m.Requests()[0].Prompt, value) {
			t.Errorf("%q: %+v", value, res.Verdicts[0])
		}
		if want == rule.NeedsConfirmation && !strings.Contains(res.Verdicts[0].Reasoning, "named like a secret") {
			t.Errorf("the reason is %q", res.Verdicts[0].Reasoning)
		}
		clean, _, _ := redact.New().Input(in)
		wantSame(t, "redacted", res, replayed(t, build(t, clean), rules, res))
	}
}

func TestSecretsOfRulesAreNotShown(t *testing.T) {
	secret := "AKIA" + "IOSFODNN7" + "ABCDEFG"
	rules := newRules(1)
	rules[0].Statement += " Never use aws_access_key_id = " + secret
	rules[0].Rationale = "as in key = " + secret
	rules[0].Exceptions = []string{"the key = " + secret}
	rules[0].Examples = []rule.Example{{Input: "key = " + secret, Verdict: rule.Deny, Note: "it has key = " + secret}}
	m := judgetest.Model(allowAll)
	s := build(t, subject.Input{Diff: diff})
	res := decide(t, m, s, rules)
	if r := m.Requests()[0]; strings.Contains(r.Prefix+r.Prompt, secret) || strings.Count(r.Prefix+r.Prompt, "[redacted:aws-access-token]") != 5 {
		t.Errorf("the model was shown %s", r.Prefix)
	}
	if rules[0].Exceptions[0] != "the key = "+secret {
		t.Error("the rule itself was changed")
	}
	wantSame(t, "with secrets in rules", res, replayed(t, s, rules, res))
}
