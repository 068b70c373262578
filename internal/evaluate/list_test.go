package evaluate_test

import (
	"fmt"
	"strings"
	"testing"

	"tenet/internal/evaluate"
	"tenet/internal/rule"
	"tenet/internal/subject"
)

// TestEveryCheckRuns breaks one of many rules, which no rank foresees.
func TestEveryCheckRuns(t *testing.T) {
	var rules []rule.Rule
	for i := range 400 {
		r := patternRule(fmt.Sprintf(`\bforbidden_%d\b`, i))
		r.Slug, r.Severity = fmt.Sprintf("PAT-%d", i), rule.Critical
		rules = append(rules, r)
	}
	content := strings.Repeat("PAT-1 PAT-2 no such text\n", 50) + "forbidden_300()\n"
	e := evaluator(t, noModel(t), rules...).run(t, subject.Input{Files: []subject.InputFile{{Path: "a.go", Content: &content}}})
	if e.OverallVerdict != rule.Deny || len(e.RuleVerdicts) != evaluate.DefaultMaxRules || e.RuleVerdicts[0].RuleSlug != "PAT-300" {
		t.Errorf("overall %s, %d listed, first %s", e.OverallVerdict, len(e.RuleVerdicts), e.RuleVerdicts[0].RuleSlug)
	}
	if c := e.Coverage; c.RulesInScope != 400 || c.RulesJudged != 400 || c.RulesNotAsked != 0 || c.RulesUnlisted != 380 {
		t.Errorf("coverage %+v", c)
	}
	if flaw := e.Flaw(); flaw != "" {
		t.Error(flaw)
	}
}

// TestRulesNotAsked has more rules for a model than it may judge.
func TestRulesNotAsked(t *testing.T) {
	var rules []rule.Rule
	for i := range 30 {
		rules = append(rules, rule.Rule{Slug: fmt.Sprintf("NL-%d", i), Statement: fmt.Sprintf("Be kind to animal %d.", i)})
	}
	few := func(r *evaluate.Request) { r.MaxRules = 5 }
	e := evaluator(t, saying(rule.Allow), rules...).run(t, subject.Input{Action: "act"}, few)
	if e.OverallVerdict != rule.NeedsConfirmation || len(e.RuleVerdicts) != 5 || e.RulesPassed != 5 || e.Coverage.RulesNotAsked != 25 {
		t.Errorf("overall %s, %d verdicts, coverage %+v", e.OverallVerdict, len(e.RuleVerdicts), e.Coverage)
	}
	if len(e.Notices) != 1 || !strings.Contains(e.Notices[0], "25 rules") || !strings.Contains(e.Notices[0], "NL-") || !strings.Contains(e.Notices[0], "15 more") {
		t.Errorf("notices %q", e.Notices)
	}
	if n := e.Coverage.RulesUndecided; n[rule.Medium] != 25 || len(n) != 1 {
		t.Errorf("undecided are %v", n)
	}
	if len(e.Narrowed) != 1 || e.Narrowed[0].Parameter != "max_rules" {
		t.Errorf("narrowed %+v", e.Narrowed)
	}
	if flaw := e.Flaw(); flaw != "" {
		t.Error(flaw)
	}
	// What is broken shows all the same.
	e = evaluator(t, saying(rule.Allow), append(rules, patternRule("act"))...).run(t, subject.Input{Action: "act"}, few)
	if e.OverallVerdict != rule.Deny || e.RuleVerdicts[0].Verdict != rule.Deny || len(e.RuleVerdicts) != 5 {
		t.Errorf("overall %s, first %+v", e.OverallVerdict, e.RuleVerdicts[0])
	}
}

// TestManyViolations has more broken rules than the answer lists.
func TestManyViolations(t *testing.T) {
	var rules []rule.Rule
	for i := range 30 {
		r := celRule("facts.amount < 1")
		r.Slug = fmt.Sprintf("A-%d", i)
		rules = append(rules, r)
	}
	e := evaluator(t, noModel(t), rules...).run(t, subject.Input{Facts: map[string]any{"amount": 5.0}}, func(r *evaluate.Request) { r.MaxRules = 10 })
	if e.OverallVerdict != rule.Deny || e.RulesViolated != 10 || e.Coverage.RulesUnlisted != 20 || len(e.Notices) != 1 || !strings.Contains(e.Notices[0], "20 more rules broken") {
		t.Errorf("overall %s, %d violated, notices %q, coverage %+v", e.OverallVerdict, e.RulesViolated, e.Notices, e.Coverage)
	}
}

// TestWordsDoNotCoverAnAction has checks that hold for an action because they find no words in it.
func TestWordsDoNotCoverAnAction(t *testing.T) {
	words, condition := celRule(`!subject.action.contains("drop table")`), celRule(`!subject.action.contains("drop table")`)
	condition.Check.When = `subject.action.contains("wire")`
	facts := celRule("facts.amount < 10.0")
	for name, tt := range map[string]struct {
		rule rule.Rule
		in   subject.Input
		want rule.Verdict
	}{
		"no words":            {words, subject.Input{Action: "wire 2,000,000 EUR"}, rule.NeedsConfirmation},
		"no hit":              {patternRule("drop table"), subject.Input{Action: "wire 2,000,000 EUR"}, rule.NeedsConfirmation},
		"a condition holds":   {condition, subject.Input{Action: "wire 2,000,000 EUR"}, rule.Allow},
		"a fact":              {facts, subject.Input{Facts: map[string]any{"amount": 5.0}}, rule.Allow},
		"the words are there": {words, subject.Input{Action: "drop table users"}, rule.Deny},
	} {
		if e := evaluator(t, noModel(t), tt.rule).run(t, tt.in); e.OverallVerdict != tt.want {
			t.Errorf("%s: %s, want %s", name, e.OverallVerdict, tt.want)
		}
	}
}

// TestTheListIsCutByWhatItMeans has more broken and more undecided rules than an answer lists: those of the highest severity stay, and
// the others are counted.
func TestTheListIsCutByWhatItMeans(t *testing.T) {
	few := func(r *evaluate.Request) { r.MaxRules = 5 }
	var rules []rule.Rule
	for i := range 10 {
		r := patternRule("act")
		r.Slug = fmt.Sprintf("PAT-%d", i)
		if i == 9 {
			r.Severity = rule.Critical
		}
		rules = append(rules, r)
	}
	e := evaluator(t, noModel(t), rules...).run(t, subject.Input{Action: "act"}, few)
	if e.RuleVerdicts[0].RuleSlug != "PAT-9" || e.Coverage.RulesUnlistedBroken != 5 || e.Coverage.RulesUndecided != nil {
		t.Errorf("the first is %s, coverage %+v", e.RuleVerdicts[0].RuleSlug, e.Coverage)
	}
	for i := range rules {
		rules[i].Check = &rule.Check{CEL: "facts.missing == 1"}
	}
	e = evaluator(t, noModel(t), rules...).run(t, subject.Input{Facts: map[string]any{"a": 1}}, few)
	if n := e.Coverage.RulesUndecided; e.RuleVerdicts[0].RuleSlug != "PAT-9" || n[rule.Critical] != 1 || n[rule.Medium] != 9 {
		t.Errorf("the first is %s, undecided %v", e.RuleVerdicts[0].RuleSlug, n)
	}
	if e.OverallVerdict != rule.NeedsConfirmation || e.Coverage.RulesUnlisted != 5 {
		t.Errorf("overall %s, coverage %+v", e.OverallVerdict, e.Coverage)
	}
}
