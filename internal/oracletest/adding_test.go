package oracletest

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tenet/internal/auth"
	"tenet/internal/evaluate"
	"tenet/internal/proptest"
	"tenet/internal/rule"
)

// mildness orders overall verdicts, the strictest first.
var mildness = []rule.Verdict{rule.Deny, rule.NeedsConfirmation, rule.Allow}

// TestAddingRulesIsNeverMilder: with more rules, a subject that some rule did not allow does not get a milder overall verdict, however few
// rules are to be judged.
func TestAddingRulesIsNeverMilder(t *testing.T) {
	t.Parallel()
	examples := packExamples(t)
	proptest.Check(t, func(rt *rapid.T) {
		d := drawer{rt}
		e := pick(d, "example", examples)
		all := slices.Clone(e.rules)
		for _, l := range laws {
			all = append(all, l.rule)
		}
		severities := []rule.Severity{rule.Critical, rule.High, rule.Medium, rule.Low}
		var fewer, more []rule.Rule
		for _, r := range all {
			if d.one("changed", 4) {
				r.Severity = pick(d, "severity", severities)
			}
			switch d.upTo("in", 2) {
			case 0:
				fewer = append(fewer, r)
			case 1:
				more = append(more, r)
			}
		}
		most := pick(d, "max rules", []int{1, 2, 5, evaluate.MaxMaxRules})
		overall := func(rules []rule.Rule) *rule.Evaluation {
			req := evaluate.Request{ProjectID: "p", Input: e.in}
			req.MaxRules, req.SeverityMin = most, rule.Low
			out, err := newPipeline(t, honest(), rules...).Evaluate(auth.WithActor(t.Context(), auth.Local("ann")), req)
			if err != nil {
				rt.Fatal(err)
			}
			return out
		}
		before, after := overall(fewer), overall(slices.Concat(fewer, more))
		if !slices.ContainsFunc(before.RuleVerdicts, func(v rule.RuleVerdict) bool { return v.Verdict != rule.Allow }) {
			return // nothing but missing coverage kept it from ALLOW
		}
		if slices.Index(mildness, after.OverallVerdict) > slices.Index(mildness, before.OverallVerdict) {
			rt.Fatalf("%s, at most %d rules: %s becomes %s with %d more rules", e.name, most, before.OverallVerdict, after.OverallVerdict, len(more))
		}
	})
}
