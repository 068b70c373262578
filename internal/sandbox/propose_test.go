package sandbox_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"tenet/internal/llm/llmtest"
	"tenet/internal/rule"
	"tenet/internal/sandbox"
	"tenet/internal/subject"
)

// history is what was recorded before.
type history struct{ past []subject.Past }

func (history) Subject(context.Context, string, string) (subject.Input, []rule.RuleVerdict, error) {
	return subject.Input{}, nil, rule.NotFound("evaluation", "x")
}

func (h history) Past(context.Context, string, string, int) ([]subject.Past, error) {
	return h.past, nil
}

type draft = map[string]any

func checks(t *testing.T, list ...any) string {
	t.Helper()
	data, err := json.Marshal(map[string]any{"proposals": list})
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestOnlyChecksThatAgreeWithEveryCaseAreProposed(t *testing.T) {
	model := &llmtest.Fake{}
	model.Push(
		checks(t, draft{"regex": "("}, draft{"regex": "never"}, draft{"cel": "true"}, "no object", draft{}),
		checks(t, draft{"regex": `\beval\(`, "explanation": "calls of eval", "message": "No."}, draft{"regex": `\beval\(`}, draft{"regex": "never"},
			draft{"regex": "eval", "paths": []string{"**/*.none"}}),
	)
	b, ctx := bedWith(t, model, history{[]subject.Past{
		{EvaluationID: "e1", Subject: subject.Input{Action: "eval(x)"}, Verdict: rule.Deny}, {EvaluationID: "e2", Subject: subject.Input{Action: "eval(x)"}, Verdict: rule.Allow}, {EvaluationID: "e3", Subject: subject.Input{Action: "x"}, Verdict: rule.Allow},
	}})
	addCases(t, b, ctx, 6)
	got, err := b.Propose(ctx, "p", "R-1")
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Proposals) != 2 || got.Proposals[0].Check.Pattern.Regex != `\beval\(` || got.Proposals[0].Cases != 6 ||
		got.Proposals[0].Explanation != "calls of eval" || got.Rejected < 3 {
		t.Fatalf("proposals %+v", got)
	}
	if a := got.Proposals[0].Recorded; a.Evaluations != 3 || a.Agree != 2 || a.Differ != 1 || a.Differing[0] != "e2" {
		t.Errorf("on recorded evaluations: %+v", a)
	}
	requests := model.Requests()
	if len(requests) != 2 || !strings.Contains(requests[1].Prompt, `regex \"never\"`) || strings.Contains(requests[0].Prompt, "never") {
		t.Errorf("the model was asked %d times, and is not told why its first proposals failed: %s", len(requests), requests[len(requests)-1].Prompt)
	}
	if r, err := b.Cases(ctx, "p", "R-1"); err != nil || r[0].LastResult != nil {
		t.Errorf("a case was changed: %+v, %v", r[0], err)
	}
}

func TestProposingNeedsAModelAndCases(t *testing.T) {
	b, ctx := bedWith(t, nil, history{})
	if _, err := b.Propose(ctx, "p", "R-1"); rule.CodeOf(err) != rule.CodeUnavailable {
		t.Errorf("without a model: %v", err)
	}
	b, ctx = bedWith(t, &llmtest.Fake{}, history{})
	if _, err := b.Propose(ctx, "p", "R-1"); rule.CodeOf(err) != rule.CodeConflict {
		t.Errorf("without cases: %v", err)
	}
	if _, err := b.Propose(ctx, "p", "none"); rule.CodeOf(err) != rule.CodeNotFound {
		t.Errorf("without the rule: %v", err)
	}
	addCases(t, b, ctx, 2)
	if _, err := b.Propose(ctx, "p", "R-1"); rule.CodeOf(err) != rule.CodeUnavailable {
		t.Errorf("a model that fails: %v", err)
	}
}

// A model that writes cases or checks sees no secrets, as one that judges.
func TestTheModelSeesNoSecrets(t *testing.T) {
	secret := "AKIA" + "IOSFODNN7" + "ABCDEFG"
	model := &llmtest.Fake{}
	b, ctx := bedWith(t, model, history{})
	for name, verdict := range map[string]rule.Verdict{"aws_access_key_id = " + secret: rule.Deny, "none": rule.Allow} {
		// The sample is longer than what is shown: a secret that is cut is a secret still.
		sample := strings.Repeat("x = 1\n", 128) + "aws_access_key_id = " + name[max(0, len(name)-20):]
		if _, err := b.AddCase(ctx, "p", "R-1", sandbox.NewCase{Name: name, SampleInput: sample, ExpectedVerdict: verdict}); err != nil {
			t.Fatal(err)
		}
	}
	model.Push("{}", "{}", "{}", "{}", "{}")
	if _, err := b.Propose(ctx, "p", "R-1"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Generate(ctx, "p", "R-1", 2); rule.CodeOf(err) != rule.CodeUnavailable {
		t.Fatal(err)
	}
	for _, r := range model.Requests() {
		if strings.Contains(r.Prompt, secret[:8]) || !strings.Contains(r.Prompt, "[redacted:") {
			t.Errorf("the model was shown %s", r.Prompt)
		}
	}
	if len(model.Requests()) != 5 {
		t.Errorf("%d requests", len(model.Requests()))
	}
}
