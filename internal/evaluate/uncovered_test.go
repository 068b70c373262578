package evaluate_test

import (
	"strings"
	"testing"
	"time"

	"tenet/internal/check"
	"tenet/internal/corpus"
	"tenet/internal/evaluate"
	"tenet/internal/rule"
	"tenet/internal/subject"
)

// TestWhatNoRuleCovers asks about subjects of all kinds, with rules that concern them or do not.
func TestWhatNoRuleCovers(t *testing.T) {
	text := "hello\n"
	code := subject.Input{Files: []subject.InputFile{{Path: "a.py", Content: &text}}}
	document := subject.Input{Kind: subject.Document, Files: []subject.InputFile{{Path: "a.md", Content: &text}}}
	action := subject.Input{Action: "delete the backups"}
	facts := subject.Input{Facts: map[string]any{"a": 1.0}}
	elsewhere := celRule("true")
	elsewhere.Check.When = "facts.a == 2.0"
	shadow := celRule("true")
	shadow.Enforcement = rule.Shadow
	forRust := patternRule("eval")
	forRust.AppliesTo = &rule.AppliesTo{Paths: []string{"**/*.rs"}}
	onGit, onAny := celRule("!('force' in facts.arguments)"), celRule("!('force' in facts.arguments)")
	onGit.AppliesTo, onAny.AppliesTo = &rule.AppliesTo{Tools: []string{"git/*", "git_*"}}, &rule.AppliesTo{Tools: []string{"git/*", "trans*"}}
	call := func(server string, arguments map[string]any) subject.Input {
		return subject.Input{Kind: subject.ToolCall, Facts: map[string]any{"server": server, "tool": "transfer", "arguments": arguments}}
	}
	asked := rule.Rule{Slug: "ASK-1", Statement: "Ask the model."}

	for name, tt := range map[string]struct {
		rules []rule.Rule
		in    subject.Input
		judge rule.Verdict // of the model
		want  rule.Verdict
		word  rule.Uncovered
	}{
		"code without a rule":                      {nil, code, "", rule.Allow, "allow"},
		"a document without a rule":                {nil, document, "", rule.Allow, "allow"},
		"an action without a rule":                 {nil, action, "", rule.NeedsConfirmation, "confirm"},
		"facts without a rule":                     {nil, facts, "", rule.NeedsConfirmation, "confirm"},
		"a transaction without a rule":             {nil, subject.Input{Kind: subject.Transaction, Facts: facts.Facts}, "", rule.NeedsConfirmation, "confirm"},
		"an event without a rule":                  {nil, subject.Input{Kind: subject.BusinessEvent, Facts: facts.Facts}, "", rule.NeedsConfirmation, "confirm"},
		"a decision without a rule":                {nil, subject.Input{Kind: subject.DecisionRequest, Facts: facts.Facts}, "", rule.NeedsConfirmation, "confirm"},
		"a message without a rule":                 {nil, subject.Input{Kind: subject.Communication, Facts: facts.Facts}, "", rule.NeedsConfirmation, "confirm"},
		"code with a rule about other files":       {[]rule.Rule{forRust}, code, "", rule.Allow, "allow"},
		"code that a pattern has scanned":          {[]rule.Rule{patternRule("eval")}, code, "", rule.Allow, ""},
		"an action that a pattern has scanned":     {[]rule.Rule{patternRule("eval")}, action, "", rule.NeedsConfirmation, "confirm"},
		"an action that a pattern hits":            {[]rule.Rule{patternRule("delete")}, action, "", rule.Deny, ""},
		"facts that an expression has decided":     {[]rule.Rule{celRule("facts.a == 1.0")}, facts, "", rule.Allow, ""},
		"facts of which a condition does not hold": {[]rule.Rule{elsewhere}, facts, "", rule.NeedsConfirmation, "confirm"},
		"facts that a check cannot decide":         {[]rule.Rule{celRule("facts.b == 1.0")}, facts, "", rule.NeedsConfirmation, ""},
		"facts with a rule in shadow":              {[]rule.Rule{shadow}, facts, "", rule.NeedsConfirmation, "confirm"},
		"a call of a tool of another server":       {[]rule.Rule{onGit}, call("bank", map[string]any{}), "", rule.NeedsConfirmation, "confirm"},
		"a call of a tool of a server unnamed":     {[]rule.Rule{onGit}, call("", map[string]any{}), "", rule.NeedsConfirmation, "confirm"},
		"such a call that breaks the rule":         {[]rule.Rule{onGit}, call("", map[string]any{"force": true}), "", rule.Deny, ""},
		"such a call with a rule for any server":   {[]rule.Rule{onAny}, call("", map[string]any{}), "", rule.Allow, ""},
		"one rule of several":                      {[]rule.Rule{elsewhere, patternRule("x"), celRule("facts.a == 1.0")}, facts, "", rule.Allow, ""},
		"an action that the model allows":          {[]rule.Rule{asked, patternRule("eval")}, action, rule.Allow, rule.Allow, ""},
		"an action that the model denies":          {[]rule.Rule{asked}, action, rule.Deny, rule.Deny, ""},
		"an action that nobody was asked about":    {[]rule.Rule{asked}, action, "", rule.NeedsConfirmation, ""},
	} {
		t.Run(name, func(t *testing.T) {
			j := noModel(t)
			if tt.judge != "" {
				j = saying(tt.judge)
			}
			rules := tt.rules
			for i := range rules {
				rules[i].Slug = ""
			}
			e := evaluator(t, j, rules...).run(t, tt.in)
			if e.OverallVerdict != tt.want || e.Coverage.Uncovered != tt.word {
				t.Errorf("%s, uncovered %q; want %s, %q", e.OverallVerdict, e.Coverage.Uncovered, tt.want, tt.word)
			}
			said := len(e.Notices) == 1 && strings.HasPrefix(e.Notices[0], "No rule covers this")
			if said != (tt.word != "") || len(e.Notices) > 1 {
				t.Errorf("notices %q", e.Notices)
			}
			concerned := 0
			for _, v := range e.RuleVerdicts {
				if v.Concerned {
					concerned++
				}
			}
			if e.Coverage.RulesConcerned != concerned {
				t.Errorf("%d rules concerned are counted, of %d", e.Coverage.RulesConcerned, concerned)
			}
			if flaw := e.Flaw(); flaw != "" {
				t.Error(flaw)
			}
		})
	}
}

func TestThePolicySaysWhatBecomesOfTheUncovered(t *testing.T) {
	text := "hello\n"
	action, code := subject.Input{Action: "delete the backups"}, subject.Input{Files: []subject.InputFile{{Path: "a.py", Content: &text}}}
	for _, tt := range []struct {
		word rule.Uncovered
		want rule.Verdict
	}{{rule.UncoveredAllow, rule.Allow}, {rule.UncoveredConfirm, rule.NeedsConfirmation}, {rule.UncoveredDeny, rule.Deny}} {
		policy := rule.ProjectPolicy{Uncovered: map[string]rule.Uncovered{"action": tt.word, "code_change": tt.word}}
		for _, in := range []subject.Input{action, code} {
			view, err := corpus.New(7, nil)
			if err != nil {
				t.Fatal(err)
			}
			rec := &recorder{}
			b := bench{evaluate.New(evaluate.Config{
				Views: fixed{view.WithPolicy(policy)}, Judge: noModel(t), Recorder: rec, Checks: check.NewCache(1), Now: time.Now,
			}), rec}
			e := b.run(t, in)
			if e.OverallVerdict != tt.want || e.Coverage.Uncovered != tt.word {
				t.Errorf("%s: %s, uncovered %q", tt.word, e.OverallVerdict, e.Coverage.Uncovered)
			}
			if flaw := e.Flaw(); flaw != "" {
				t.Error(flaw)
			}
			if stored := recordedAnswer(t, b); stored.Coverage.Uncovered != tt.word || len(stored.Notices) != 1 {
				t.Errorf("the record holds %q with notices %q", stored.Coverage.Uncovered, stored.Notices)
			}
		}
	}
}

func TestNothingToJudgeIsNotUncovered(t *testing.T) {
	e := floored(t, rule.ProjectPolicy{Uncovered: map[string]rule.Uncovered{"": rule.UncoveredDeny}}).run(t, subject.Input{})
	if e.OverallVerdict != rule.NeedsConfirmation || e.Coverage.Uncovered != "" {
		t.Errorf("%s, uncovered %q", e.OverallVerdict, e.Coverage.Uncovered)
	}
}
