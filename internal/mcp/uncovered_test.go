package mcp

import (
	"strings"
	"testing"

	"tenet/internal/rule"
)

func TestWhatNoRuleCoversIsNoPermission(t *testing.T) {
	for word, proceeds := range map[rule.Uncovered]bool{rule.UncoveredAllow: true, rule.UncoveredConfirm: false, rule.UncoveredDeny: false} {
		e := &rule.Evaluation{EvaluationID: "e", Notices: []string{"The policy says so."}, RuleVerdicts: []rule.RuleVerdict{
			{RuleSlug: "BESIDE-1", Verdict: rule.Allow, DecidedBy: rule.ByCheck},
		}}
		e.Coverage.Uncovered = word
		e.Tally()
		v, text, err := judged(e, nil)
		if err != nil {
			t.Fatal(err)
		}
		if v.MayProceed != proceeds || !strings.HasPrefix(v.NextStep, "No rule covers this") || v.Evaluated != 1 || v.Concerned != 0 {
			t.Errorf("%s: %+v", word, v)
		}
		if strings.Contains(strings.ToLower(text), "you may") || !strings.Contains(text, "The policy says so.") || !strings.Contains(text, "0 of them concern this") {
			t.Errorf("%s:\n%s", word, text)
		}
	}
}

func TestBelowTheFloorIsNoPermission(t *testing.T) {
	e := &rule.Evaluation{
		EvaluationID: "e", Notices: []string{"The request asked for less."}, Narrowed: []rule.Narrowed{{Parameter: "scope", Asked: "x", Floor: "y"}},
		RuleVerdicts: []rule.RuleVerdict{{RuleSlug: "KEPT-1", Verdict: rule.Allow, Concerned: true, DecidedBy: rule.ByCheck}},
	}
	e.Tally()
	v, text, err := judged(e, nil)
	if err != nil || v.MayProceed || v.Verdict != string(rule.NeedsConfirmation) || !strings.Contains(text, "The request asked for less.") {
		t.Errorf("%+v, %v\n%s", v, err, text)
	}
}

func TestTheReasonOfACheckIsPassedOn(t *testing.T) {
	e := &rule.Evaluation{EvaluationID: "e", RuleVerdicts: []rule.RuleVerdict{{
		RuleSlug: "PAY-1", Verdict: rule.NeedsConfirmation, Concerned: true, DecidedBy: rule.ByNone,
		IssueDescription: "The rule's check could not decide.", Reasoning: `fact "second_approver" is missing`,
	}}}
	e.Tally()
	v, text, err := judged(e, nil)
	if err != nil || len(v.Findings) != 1 || !strings.Contains(v.Findings[0].Issue, `fact "second_approver" is missing`) || !strings.Contains(text, "second_approver") {
		t.Errorf("%+v, %v\n%s", v, err, text)
	}
}
