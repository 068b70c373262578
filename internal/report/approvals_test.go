package report

import (
	"strings"
	"testing"

	"tenet/internal/rule"
)

// TestTheReportNamesTheApprovalsThatWereUsed names each once, with who gave it and why.
func TestTheReportNamesTheApprovalsThatWereUsed(t *testing.T) {
	used := &rule.AppliedApproval{ID: "A-1", By: []string{"ann", "bo"}, Reasons: []string{"Agreed.", ""}}
	e := &rule.Evaluation{
		EvaluationID: "E-1", OverallVerdict: rule.Allow, RulesEvaluated: 2, Approval: &rule.EvaluationApproval{ID: "A-1", State: rule.ApprovalUsed},
		RuleVerdicts: []rule.RuleVerdict{
			{RuleID: "r", Verdict: rule.Allow, DecidedBy: rule.ByApproval, Approval: used}, {RuleID: "s", Verdict: rule.Allow, DecidedBy: rule.ByApproval, Approval: used},
		},
	}
	if got := strings.Join(approvals(e), "|"); got != "confirmed by ann (Agreed.), bo: approval A-1" {
		t.Errorf("%q", got)
	}
	e.RuleVerdicts = nil // no rule covers the subject, and people have confirmed that
	if got := strings.Join(approvals(e), "|"); got != "confirmed by people: approval A-1" {
		t.Errorf("%q", got)
	}
	e.Approval.State = rule.ApprovalPending
	if got := approvals(e); len(got) != 0 {
		t.Errorf("an approval that waits is named as used: %q", got)
	}
}
