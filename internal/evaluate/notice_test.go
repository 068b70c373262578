package evaluate_test

import (
	"slices"
	"strings"
	"testing"

	"tenet/internal/evaluate"
	"tenet/internal/rule"
	"tenet/internal/subject"
)

// aboutNames returns the notices of an evaluation, except that no rule covers the subject.
func aboutNames(e *rule.Evaluation) (list []string) {
	for _, notice := range e.Notices {
		if !strings.HasPrefix(notice, "No rule covers this") {
			list = append(list, notice)
		}
	}
	return list
}

func TestNamesThatNothingKnowsAreReported(t *testing.T) {
	amount := rule.Rule{Slug: "PAY-1", Statement: "x", Severity: rule.High, Scope: []string{"Finance//Payments"}, Check: &rule.Check{When: "has(facts.amount)", CEL: "facts.amount <= 10 || has(facts.payment.approver)"}}
	bound := celRule("true")
	bound.Slug, bound.AppliesTo = "ACME-1", &rule.AppliesTo{Repositories: []string{"acme/billing", "acme/web-*"}}
	e := evaluator(t, noModel(t), amount, bound)
	for name, c := range map[string]struct {
		in   subject.Input
		want []string
	}{
		"a misspelt fact":             {subject.Input{Scope: "finance/payments", Facts: map[string]any{"amounnt": 25000.0}}, []string{"facts.amounnt: no rule reads it; did you mean amount?"}},
		"a misspelt fact in another":  {subject.Input{Facts: map[string]any{"amount": 1.0, "payment": map[string]any{"aprover": "x"}}}, []string{"facts.payment.aprover: no rule reads it; did you mean payment.approver?"}},
		"all facts are given":         {subject.Input{Facts: map[string]any{"amount": 1.0, "payment": map[string]any{"approver": "x"}, "amounnt": 1.0}}, nil},
		"an object of facts is given": {subject.Input{Facts: map[string]any{"amount": 1.0, "payment": "x"}}, nil},
		"other facts":                 {subject.Input{Facts: map[string]any{"colour": "red", "b": []any{1.0}}}, []string{"facts.b, facts.colour: no rule reads them; the rules read amount, payment.approver, which the request does not give."}},
		"an odd name":                 {subject.Input{Facts: map[string]any{"x\ny": 1.0}}, []string{`facts["x\ny"]: no rule reads it; the rules read amount, payment.approver, which the request does not give.`}},
		"a part of the scope":         {subject.Input{Scope: "payments", Facts: map[string]any{"amount": 1.0, "payment": ""}}, []string{"scope payments: no rule is in it, above it or below it; did you mean finance/payments?"}},
		"a misspelt scope":            {subject.Input{Scope: "finance/paymnets", Facts: map[string]any{"amount": 1.0, "payment": ""}}, []string{"scope finance/paymnets: no rule is in it, above it or below it; did you mean finance/payments?"}},
		"a scope above":               {subject.Input{Scope: "finance", Facts: map[string]any{"a": 1.0}}, nil},
		"a scope below":               {subject.Input{Scope: "finance/payments/eu", Facts: map[string]any{"amount": 1.0, "payment": ""}}, nil},
		"a misspelt repository":       {subject.Input{Repository: "Acme/biling.git", Action: "x"}, []string{"repository acme/biling: no rule and no node names it; did you mean acme/billing?"}},
		"a misspelt owner":            {subject.Input{Repository: "github.com/acmee/web-shop", Action: "x"}, []string{"repository github.com/acmee/web-shop: no rule and no node names it; did you mean acme/web-*?"}},
		"a strange repository":        {subject.Input{Repository: "zzzzzzzz/qqqqqqqqqq", Action: "x"}, []string{"repository zzzzzzzz/qqqqqqqqqq: no rule and no node names it."}},
		"a known repository":          {subject.Input{Repository: "https://github.com/Acme/Billing.git", Action: "x"}, nil},
		"no names":                    {subject.Input{Action: "x"}, nil},
	} {
		for range 2 { // kept by the view
			got := aboutNames(e.run(t, c.in))
			if strings.Join(got, "\n") != strings.Join(c.want, "\n") || slices.ContainsFunc(got, func(notice string) bool { return !rule.UnknownName(notice) }) {
				t.Errorf("%s: notices %q, want %q", name, got, c.want)
			}
		}
	}
	if free := aboutNames(evaluator(t, noModel(t), celRule("facts.size() > 0")).run(t, subject.Input{Scope: "x", Repository: "a/b", Facts: map[string]any{"amounnt": 1.0}})); free != nil {
		t.Errorf("rules without names: %q", free)
	}
	only := celRule("true")
	only.AppliesTo = &rule.AppliesTo{Kinds: []string{"code_change"}}
	if got := aboutNames(evaluator(t, noModel(t), only).run(t, subject.Input{Action: "x"})); len(got) != 1 || got[0] != "kind action: no rule is for it; the rules are for code_change." || !rule.UnknownName(got[0]) {
		t.Errorf("a kind that no rule is for: %q", got)
	}
	many := map[string]any{}
	for _, c := range "abcdefghijklmnopqrstuvwxyz" {
		many[strings.Repeat(string(c), 30)] = 1.0
	}
	if got := aboutNames(e.run(t, subject.Input{Facts: many})); len(got) != 1 || !strings.Contains(got[0], "and 21 others") && !strings.Contains(got[0], "21 other facts") {
		t.Errorf("many facts: %q", got)
	}
}

// However a repository is written, the rule that names it decides.
func TestEverySpellingOfARepositoryMeetsItsRule(t *testing.T) {
	for _, named := range []string{"acme/billing", "Acme/Billing.git", "acme/*", "https://github.com/acme/billing", "git@github.com:Acme/billing.git", "./acme//billing/"} {
		r := celRule("false")
		r.AppliesTo = &rule.AppliesTo{Repositories: []string{named}}
		e := evaluator(t, noModel(t), r)
		for _, given := range []string{
			"acme/billing", "github.com/acme/billing", "Acme/billing", "acme/billing.git", "https://github.com/acme/billing", "git@github.com:acme/billing.git", "ssh://git@github.com:22/acme/billing", "", `acme\billing`,
		} {
			if got := e.run(t, subject.Input{Repository: given, Facts: map[string]any{"a": 1.0}}); got.OverallVerdict != rule.Deny {
				t.Errorf("a rule for %s, a request for %q: %s", named, given, got.OverallVerdict)
			}
			rules, err := e.Applicable(t.Context(), evaluate.ApplicableQuery{ProjectID: "p", Repository: given})
			if err != nil || len(rules) != 1 {
				t.Errorf("a rule for %s, a question for %q: %d rules apply (%v)", named, given, len(rules), err)
			}
		}
		if got := e.run(t, subject.Input{Repository: "github.com/other/billing", Facts: map[string]any{"a": 1.0}}); got.RulesEvaluated != 0 {
			t.Errorf("a rule for %s decides for another repository", named)
		}
	}
}
