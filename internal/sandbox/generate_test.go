package sandbox_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"tenet/internal/llm"
	"tenet/internal/llm/llmtest"
	"tenet/internal/rule"
	"tenet/internal/sandbox"
)

type written struct {
	Name    string `json:"name"`
	Type    string `json:"input_type"`
	Sample  string `json:"sample_input"`
	Verdict string `json:"expected_verdict"`
}

func answer(t *testing.T, cases ...any) string {
	t.Helper()
	data, err := json.Marshal(map[string]any{"cases": cases})
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestGeneratedCasesAreBalancedAndDistinct(t *testing.T) {
	model := &llmtest.Fake{}
	var first []any
	for i := range 9 { // far too many that deny, and each twice
		c := written{fmt.Sprint("deny ", i), "code", fmt.Sprintf("eval(%d)", i), "DENY"}
		first = append(first, c, c)
	}
	first = append(first,
		"no object", 7, written{"", "code", "x", "ALLOW"}, written{"bad verdict", "code", "x", "NEEDS_CONFIRMATION"}, written{"empty", "code", " ", "ALLOW"},
		written{"broken facts", "facts", `{"a": `, "ALLOW"}, written{"broken diff", "code", "@@ -1 +1,7 @@\n+x\n", "ALLOW"}, written{"kind", "picture", "x", "ALLOW"},
		written{"there already", "code", "a  =  0", "ALLOW"}, written{"allow 1", "facts", `{"narrative": "She reads."}`, "ALLOW"},
	)
	model.Push(answer(t, first...), "not JSON at all", answer(t, written{"allow 2", "code", "b = 2", "allow"}, written{"allow 2 again", "code", "B  = 2", "ALLOW"}))
	b, ctx := bed(t, model, 1, nil)
	addCases(t, b, ctx, 1)
	made, err := b.Generate(ctx, "p", "R-1", 6)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range made {
		names = append(names, c.Name)
		if c.Origin != sandbox.Generated || c.Confirmed {
			t.Errorf("%s has the origin %s and is confirmed: %t", c.Name, c.Origin, c.Confirmed)
		}
	}
	if got, want := strings.Join(names, ", "), "deny 0, deny 1, deny 2, allow 1, allow 2"; got != want {
		t.Errorf("kept %s, want %s", got, want)
	}
	if prompts := model.Requests(); len(prompts) != 3 || !strings.Contains(prompts[0].Prompt, "Write 3 cases with the verdict DENY and 3") ||
		!strings.Contains(prompts[2].Prompt, "Write 0 cases with the verdict DENY and 2") || !strings.Contains(prompts[0].Prompt, "case 0") {
		t.Errorf("asked %d times: %+v", len(prompts), prompts)
	}
	stored, err := b.Cases(ctx, "p", "R-1")
	if err != nil || len(stored) != 6 {
		t.Errorf("%d cases are kept, %v", len(stored), err)
	}
	confirmed, err := b.ConfirmCase(ctx, "p", "R-1", made[0].ID)
	if err != nil || !confirmed.Confirmed || confirmed.Origin != sandbox.Generated {
		t.Errorf("confirmed: %+v, %v", confirmed, err)
	}
}

func TestNothingIsKeptOfAnswersWithoutCases(t *testing.T) {
	for name, model := range map[string]llm.Model{
		"no model":      nil,
		"no cases":      &llmtest.Fake{Respond: (&llmtest.Fake{}).Complete},
		"empty answers": pushed(`{"cases":[]}`, `{}`, `[]`),
	} {
		t.Run(name, func(t *testing.T) {
			b, ctx := bed(t, model, 1, nil)
			if _, err := b.Generate(ctx, "p", "R-1", 6); rule.CodeOf(err) != rule.CodeUnavailable {
				t.Errorf("error %v, want unavailable", err)
			} else if model == nil && !strings.Contains(err.Error(), "TENET_JUDGE_MODEL") {
				t.Errorf("no way out in %v", err)
			}
			for _, count := range []int{0, 51, -1} {
				if _, err := b.Generate(ctx, "p", "R-1", count); rule.CodeOf(err) != rule.CodeInvalid {
					t.Errorf("count %d: %v", count, err)
				}
			}
			if cases, err := b.Cases(ctx, "p", "R-1"); len(cases) != 0 || err != nil {
				t.Errorf("kept %v, %v", cases, err)
			}
		})
	}
}

func pushed(texts ...string) *llmtest.Fake {
	f := &llmtest.Fake{}
	f.Push(texts...)
	return f
}

func TestTheSamplesOfARuleAreBoundedTogether(t *testing.T) {
	b, ctx := bed(t, nil, 1, nil)
	sample := strings.Repeat("x", sandbox.MaxSample)
	kept := 0
	for kept < 2*sandbox.MaxSamples/sandbox.MaxSample {
		_, err := b.AddCase(ctx, "p", "R-1", sandbox.NewCase{Name: "large", SampleInput: sample, ExpectedVerdict: rule.Allow})
		if rule.CodeOf(err) == rule.CodeConflict {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		kept++
	}
	if want := sandbox.MaxSamples / len(sample); kept != want {
		t.Errorf("%d samples are kept, want %d", kept, want)
	}
}
