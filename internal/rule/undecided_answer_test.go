package rule_test

import (
	"encoding/json"
	"slices"
	"testing"

	"tenet/internal/rule"
)

// An answer has the reasons that its record has.
func TestReasonsOfAnAnswerAreThoseOfItsRecord(t *testing.T) {
	t.Parallel()
	verdicts := []rule.RuleVerdict{
		{Verdict: rule.Allow, DecidedBy: rule.ByCheck},
		{Verdict: rule.NeedsConfirmation, DecidedBy: rule.ByCheck},
		{Verdict: rule.NeedsConfirmation, DecidedBy: rule.ByModel},
		{Verdict: rule.NeedsConfirmation, DecidedBy: rule.ByNone, Reasoning: rule.SentenceNoModel + "."},
		{Verdict: rule.NeedsConfirmation, IssueDescription: rule.SentenceOpenCheck},
		{Verdict: rule.NeedsConfirmation, Unexamined: []rule.Unexamined{{}}},
		{Verdict: rule.NeedsConfirmation, Enforcement: rule.Shadow},
		{Verdict: rule.NeedsConfirmation, DecidedBy: rule.ByCheck, Waiver: &rule.AppliedWaiver{}},
		{Verdict: rule.NeedsConfirmation},
	}
	seen := map[rule.UndecidedReason]bool{}
	for i := range verdicts {
		for _, overall := range rule.Verdicts {
			for _, cut := range []int{0, 3} {
				e := rule.Evaluation{OverallVerdict: overall, RuleVerdicts: verdicts[i : i+1]}
				e.Coverage.RulesNotAsked = cut
				if i%2 == 0 {
					e.Narrowed, e.Coverage.Uncovered = []rule.Narrowed{{Floor: "HIGH"}}, rule.UncoveredConfirm
				}
				data, err := json.Marshal(e)
				if err != nil {
					t.Fatal(err)
				}
				var record rule.RecordedEvaluation
				if err := json.Unmarshal(data, &record); err != nil {
					t.Fatal(err)
				}
				if got, want := e.Undecided(), record.Undecided(); !slices.Equal(got, want) {
					t.Errorf("%s: %v, the record has %v", data, got, want)
				}
				for _, reason := range e.Undecided() {
					seen[reason] = true
				}
			}
		}
	}
	if len(seen) < 8 {
		t.Errorf("only %v", seen)
	}
}
