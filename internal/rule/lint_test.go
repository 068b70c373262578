package rule_test

import (
	"slices"
	"testing"

	"tenet/internal/rule"
)

func TestLint(t *testing.T) {
	paths := &rule.AppliesTo{Paths: []string{"**/*.go"}}
	for name, tt := range map[string]struct {
		rule rule.Rule
		want []string
	}{
		"clear":                {rule.Rule{Statement: "Payments above 10000 EUR need two approvers.", Scope: []string{"finance"}}, nil},
		"vague":                {rule.Rule{Statement: "Passwords are stored in an appropriate way, Appropriate to the risk, etc.", AppliesTo: paths}, []string{"vague", "vague"}},
		"a word inside others": {rule.Rule{Statement: "Goods are inappropriately named badly.", AppliesTo: paths}, nil},
		"two duties":           {rule.Rule{Statement: "Code must be reviewed and tests must pass.", AppliesTo: paths}, []string{"two_duties"}},
		"no scope":             {rule.Rule{Statement: "Keep it secret."}, []string{"no_scope"}},
		"a check with paths":   {rule.Rule{Statement: "No eval.", Check: &rule.Check{Pattern: &rule.Pattern{Regex: "x", Paths: []string{"*.py"}}}}, nil},
		"context":              {rule.Rule{Statement: "Teams may and should meet; they must not need to.", Modality: rule.Info}, nil},
	} {
		tt.rule.Normalize()
		var got []string
		for _, f := range tt.rule.Lint() {
			got = append(got, f.Code)
			if f.Message == "" {
				t.Errorf("%s: %s has no message", name, f.Code)
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
	r := rule.Rule{Statement: "x", Modality: rule.Must}
	if got := r.LintTests(true); len(got) != 2 || got[0].Code != rule.LintNoTest || got[1].Code != rule.LintContradictory {
		t.Errorf("tests: %+v", got)
	}
	r.Tests = &rule.Tests{Total: 1}
	if got := r.LintTests(false); len(got) != 0 {
		t.Errorf("tests: %+v", got)
	}
}
