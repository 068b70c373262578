package rule_test

import (
	"testing"

	"tenet/internal/rule"
)

func TestWhyNamesWhatIsMissing(t *testing.T) {
	const issue, reason = "The rule's check could not decide.", `fact "second_approver" is missing`
	for name, test := range map[string]struct {
		verdict rule.RuleVerdict
		want    string
	}{
		"undecided":        {rule.RuleVerdict{Verdict: rule.NeedsConfirmation, DecidedBy: rule.ByNone, IssueDescription: issue, Reasoning: reason}, issue + " " + reason},
		"only the issue":   {rule.RuleVerdict{Verdict: rule.NeedsConfirmation, DecidedBy: rule.ByNone, IssueDescription: issue}, issue},
		"only a reasoning": {rule.RuleVerdict{Verdict: rule.NeedsConfirmation, DecidedBy: rule.ByNone, Reasoning: reason}, reason},
		"said once":        {rule.RuleVerdict{Verdict: rule.NeedsConfirmation, DecidedBy: rule.ByNone, IssueDescription: issue, Reasoning: issue + " " + reason}, issue + " " + reason},
		"denied":           {rule.RuleVerdict{Verdict: rule.Deny, DecidedBy: rule.ByCheck, IssueDescription: issue, Reasoning: reason}, issue},
		"a model doubts":   {rule.RuleVerdict{Verdict: rule.NeedsConfirmation, DecidedBy: rule.ByModel, IssueDescription: issue, Reasoning: reason}, issue},
	} {
		if got := test.verdict.Why(); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
