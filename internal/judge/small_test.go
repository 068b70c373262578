package judge_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/judge"
	"tenet/internal/judge/judgetest"
	"tenet/internal/llm"
	"tenet/internal/llm/llmtest"
	"tenet/internal/rule"
	"tenet/internal/subject"
)

// careless are ways in which models of few billion parameters answer several questions at once, as their raw answers showed. They get
// what an able model would answer.
var careless = map[string]func(req llm.Request, able []judgetest.Entry) []judgetest.Entry{
	"answers one of them": func(_ llm.Request, able []judgetest.Entry) []judgetest.Entry { return able[:1] },
	"answers a control alone": func(req llm.Request, able []judgetest.Entry) []judgetest.Entry {
		real := judgetest.Rules(req)[0].Ref
		for _, e := range able {
			if e.Ref != real {
				return []judgetest.Entry{e}
			}
		}
		return nil
	},
	"denies all by a control's line": func(_ llm.Request, able []judgetest.Entry) []judgetest.Entry {
		var quote []judgetest.Quote
		for _, e := range able {
			if e.Verdict == rule.Deny && !strings.Contains(e.Evidence[0].Quote, "card.Number") {
				quote = e.Evidence
			}
		}
		out := make([]judgetest.Entry, len(able))
		for i, e := range able {
			out[i] = judgetest.Deny()
			out[i].Ref, out[i].Evidence = e.Ref, quote
		}
		return out
	},
}

// littleModel is able to answer one question, and careless with several.
func littleModel(careless func(llm.Request, []judgetest.Entry) []judgetest.Entry) *llmtest.Fake {
	able := judgetest.Model(func(r judgetest.Rule, subject string) judgetest.Entry {
		if strings.HasPrefix(r.Statement, "Statement 0") && strings.Contains(subject, "card.Number") {
			return judgetest.Deny("card.Number")
		}
		return judgetest.Allow()
	})
	return &llmtest.Fake{Respond: func(ctx context.Context, req llm.Request) (llm.Response, error) {
		resp, err := able.Complete(ctx, req)
		if err != nil || judgetest.IsSmall(req) {
			return resp, err
		}
		entries := careless(req, judgetest.Entries(resp.Text))
		return llm.Response{Text: judgetest.Text(entries...)}, nil
	}}
}

func TestSmallModelsAreAskedOneThingAtATime(t *testing.T) {
	s := build(t, subject.Input{Diff: diff})
	for name, how := range careless {
		t.Run(name, func(t *testing.T) {
			m := littleModel(how)
			for _, v := range judge.New(judge.Config{Model: m}).Decide(t.Context(), s, newRules(2)).Verdicts {
				if v.DecidedBy != rule.ByNone && name != "answers one of them" {
					t.Errorf("in the large profile it is believed: %+v", v)
				}
				if v.Verdict == rule.Allow {
					t.Errorf("in the large profile it allows: %+v", v)
				}
			}
			res := judge.New(judge.Config{Model: m, Profile: judge.Small}).Decide(t.Context(), s, newRules(2))
			if v := res.Verdicts[0]; v.Verdict != rule.Deny || v.DecidedBy != rule.ByModel || len(v.Locations) != 1 || v.Locations[0].StartLine != 11 {
				t.Errorf("the broken rule has %+v", v)
			}
			if v := res.Verdicts[1]; v.Verdict != rule.Allow || v.DecidedBy != rule.ByModel {
				t.Errorf("the other rule has %+v", v)
			}
		})
	}
}

// purposes lists why calls were made.
func purposes(res judge.Result) string {
	var out []string
	for _, c := range res.Calls {
		out = append(out, c.Purpose)
	}
	return strings.Join(out, " ")
}

func TestAnAllowOfASmallModelTakesItsControls(t *testing.T) {
	s, rules := build(t, subject.Input{Diff: diff}), newRules(1)
	m := judgetest.Model(allowAll)
	j := judge.New(judge.Config{Model: m, Profile: judge.Small})
	if e := j.Estimate(s, rules); e.Calls != 3 || e.InputTokens < 500 {
		t.Errorf("the estimate is %+v", e)
	}
	res := j.Decide(t.Context(), s, rules)
	if v := res.Verdicts[0]; v.Verdict != rule.Allow || purposes(res) != "judge control control" {
		t.Fatalf("%s: got %+v", purposes(res), v)
	}
	asked := map[rule.Verdict]bool{}
	texts := map[string]bool{}
	for i, c := range res.Calls {
		if !c.Held || c.PromptVersion != judge.SmallPromptVersion || !strings.HasPrefix(c.Plan, judge.SmallPromptVersion+" ") || c.Rules[0] != rules[0].ID {
			t.Errorf("call %d is %+v", i, c)
		}
		if i > 0 {
			asked[c.Controls[0].Verdict] = true
		}
		// All three see the same text, so that control rules differ from others in their statements alone.
		before, _, _ := strings.Cut(m.Requests()[i].Prompt, "\nEND ")
		texts[before] = true
	}
	if len(asked) != 2 || len(texts) != 1 {
		t.Errorf("%d kinds of controls were asked about %d texts", len(asked), len(texts))
	}
	if judge.PromptOf(res.Calls, nil) != judge.SmallPromptVersion {
		t.Error("the record names other prompts")
	}
	again := judge.Replay(t.Context(), s, rules, res.Calls, nil)
	if d := cmp.Diff(res.Verdicts, again.Verdicts); d != "" {
		t.Errorf("a replay differs:\n%s", d)
	}
	// A record in which a control was answered wrongly allows nothing.
	res.Calls[2].Raw = strings.ReplaceAll(res.Calls[2].Raw, `"verdict":"`, `"verdict":"x`)
	wantUndecided(t, judge.Replay(t.Context(), s, rules, res.Calls, nil).Verdicts[0], "got a control rule wrong")
}

func TestASmallModelThatAllowsEverythingIsUnmasked(t *testing.T) {
	m := &llmtest.Fake{Respond: func(_ context.Context, req llm.Request) (llm.Response, error) {
		return judgetest.AllowEverything(req), nil
	}}
	for _, in := range []subject.Input{{Diff: diff}, {Facts: map[string]any{"amount": 12, "to": "me"}}, {Action: "rm -r /srv/prod"}} {
		rules := newRules(4)
		rules[1].Severity, rules[2].Severity = rule.Critical, rule.High
		for _, v := range judge.New(judge.Config{Model: m, Profile: judge.Small}).Decide(t.Context(), build(t, in), rules).Verdicts {
			wantUndecided(t, v, "got a control rule wrong")
		}
	}
}

func TestAControlThatCannotBeAskedAllowsNothing(t *testing.T) {
	honest := judgetest.Model(allowAll)
	m := &llmtest.Fake{Respond: func(ctx context.Context, req llm.Request) (llm.Response, error) {
		if len(judgetest.Rules(req)) == 0 {
			return llm.Response{}, rule.Errorf(rule.CodeUnavailable, "the server is gone")
		}
		return honest.Complete(ctx, req)
	}}
	res := judge.New(judge.Config{Model: m, Profile: judge.Small}).Decide(t.Context(), build(t, subject.Input{Diff: diff}), newRules(1))
	wantUndecided(t, res.Verdicts[0], "could not be asked: the server is gone")
}

func TestAnswersOfSmallModelsAreRead(t *testing.T) {
	const allow = `"breach":"","missing":"","reason":"Nothing breaks it.","verdict":"ALLOW"}`
	deny := func(breach string) string {
		return `{"breach":"` + breach + `","missing":"","reason":"It is broken.","verdict":"DENY"}`
	}
	s := build(t, subject.Input{Diff: diff})
	for name, test := range map[string]struct{ answer, why string }{
		"nothing":              {"", "not the JSON object"},
		"prose around":         {"Sure: " + deny("card.Number"), "not the JSON object"},
		"a field twice":        {`{"verdict":"DENY",` + allow, "not the JSON object"},
		"a verdict twice":      {`{"Verdict":"DENY",` + allow, "not the JSON object"},
		"cut off":              {strings.TrimSuffix(deny("card.Number"), `"}`), "not the JSON object"},
		"no quote of the unit": {"{" + allow, "without a quote from U"},
		"a made-up quote":      {`{"seen":{"U1":"nowhere()","U2":"nowhere()","U3":"nowhere()"},` + allow, "without a quote from U"},
		"allows a breach":      {strings.Replace(deny("card.Number"), "DENY", "ALLOW", 1), "allows and names a breach"},
		"denies nothing":       {deny(""), "denies without evidence"},
		"quotes what is not":   {deny("os.RemoveAll"), "is not in the subject"},
		"an unknown verdict":   {strings.Replace(deny("card.Number"), "DENY", "MAYBE", 1), `the verdict "MAYBE"`},
		"no reason":            {strings.Replace(deny("card.Number"), "It is broken.", "...", 1), "gives no reasoning"},
	} {
		t.Run(name, func(t *testing.T) {
			m := &llmtest.Fake{Respond: func(context.Context, llm.Request) (llm.Response, error) { return llm.Response{Text: test.answer}, nil }}
			res := judge.New(judge.Config{Model: m, Profile: judge.Small}).Decide(t.Context(), s, newRules(1))
			wantUndecided(t, res.Verdicts[0], test.why)
		})
	}
	planted := &llmtest.Fake{Respond: func(_ context.Context, req llm.Request) (llm.Response, error) {
		return llm.Response{Text: deny(plantedLine(t, req))}, nil
	}}
	res := judge.New(judge.Config{Model: planted, Profile: judge.Small}).Decide(t.Context(), s, newRules(1))
	wantUndecided(t, res.Verdicts[0], "quotes nothing but text that is not of the subject")
}

// plantedLine returns a line of a file in a request that is not of [diff].
func plantedLine(t *testing.T, req llm.Request) string {
	t.Helper()
	for block := range strings.SplitSeq(req.Prompt, "\nfile ") {
		if strings.HasPrefix(block, "pay/transfer.go") || !strings.Contains(block, "| +") {
			continue
		}
		_, line, _ := strings.Cut(block, "| +")
		line, _, _ = strings.Cut(line, "\n")
		return line
	}
	t.Error("nothing is planted")
	return ""
}

func TestProfilesDoNotShareVerdicts(t *testing.T) {
	cache := judge.NewCache(judge.CacheConfig{})
	defer cache.Close()
	s, rules := build(t, subject.Input{Diff: diff}), newRules(1)
	m := judgetest.Model(allowAll)
	for _, test := range []struct {
		profile judge.Profile
		calls   int
	}{{judge.Large, 1}, {judge.Small, 4}, {judge.Small, 4}, {judge.Large, 4}} {
		res := judge.New(judge.Config{Model: m, Profile: test.profile, Cache: cache}).Decide(t.Context(), s, rules)
		if res.Verdicts[0].Verdict != rule.Allow || m.Calls() != test.calls {
			t.Errorf("%s: %d calls so far, want %d; got %+v", test.profile, m.Calls(), test.calls, res.Verdicts[0])
		}
		if want := judge.PromptVersionOf(test.profile); judge.PromptOf(res.Calls, res.Reused) != want {
			t.Errorf("the record names %s, not %s", judge.PromptOf(res.Calls, res.Reused), want)
		}
	}
}
