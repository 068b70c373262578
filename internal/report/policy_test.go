package report_test

import (
	"strings"
	"testing"

	"tenet/internal/report"
	"tenet/internal/rule"
)

// TestKeptAndNotConcernedAreCountedApart has one rule that is kept and two that have nothing to say.
func TestKeptAndNotConcernedAreCountedApart(t *testing.T) {
	e := &rule.Evaluation{RuleVerdicts: []rule.RuleVerdict{
		{RuleSlug: "KEPT-1", RuleStatement: "One.", Verdict: rule.Allow, Concerned: true, DecidedBy: rule.ByCheck},
		{RuleSlug: "BESIDE-1", RuleStatement: "Two.", Verdict: rule.Allow, DecidedBy: rule.ByCheck, Reasoning: "no such file"},
		{RuleSlug: "BESIDE-2", RuleStatement: "Three.", Verdict: rule.Allow, DecidedBy: rule.ByCheck},
	}}
	e.Tally()
	const want = "0 violated, 0 to be confirmed, 1 passed, 2 not concerned"
	for _, format := range []report.Format{report.Text, report.JUnit, report.GitHub, report.Markdown} {
		if got := strings.ReplaceAll(write(t, format, e, report.Options{}), "\\", ""); !strings.Contains(got, want) {
			t.Errorf("%s does not say %q:\n%s", format, want, got)
		}
	}
	if got := write(t, report.JUnit, e, report.Options{}); !strings.Contains(got, `tests="3" failures="0" errors="0" skipped="2"`) || !strings.Contains(got, "not concerned: no such file") {
		t.Errorf("junit calls a rule passed that was not concerned:\n%s", got)
	}
	if got := write(t, report.Text, e, report.Options{Verbose: true}); !strings.Contains(got, "BESIDE-2    not concerned  Three.") {
		t.Errorf("the list of passed rules does not set off those that were not concerned:\n%s", got)
	}
}

// TestEveryFormatSaysWhatThePolicyDoes has verdicts that no rule gives.
func TestEveryFormatSaysWhatThePolicyDoes(t *testing.T) {
	for _, word := range rule.UncoveredWords {
		e := &rule.Evaluation{Notices: []string{"No rule covers this and said so."}}
		e.Coverage.Uncovered = word
		e.Tally()
		for _, format := range report.Formats {
			for _, confirmFails := range []bool{false, true} {
				got := strings.ReplaceAll(write(t, format, e, report.Options{ConfirmFails: confirmFails}), "\\", "")
				if !strings.Contains(got, "No rule covers this and said so.") || !strings.Contains(got, string(e.OverallVerdict)) {
					t.Errorf("%s, %s:\n%s", word, format, got)
				}
				want := map[rule.Uncovered]string{rule.UncoveredAllow: "skipped", rule.UncoveredConfirm: "skipped", rule.UncoveredDeny: "failure"}[word]
				kind := map[rule.Uncovered]string{rule.UncoveredAllow: "::warning", rule.UncoveredConfirm: "::warning", rule.UncoveredDeny: "::error"}[word]
				if confirmFails && word == rule.UncoveredConfirm {
					want, kind = "error", "::error"
				}
				if format == report.JUnit && !strings.Contains(got, "<"+want+" ") {
					t.Errorf("%s is no %s for build servers:\n%s", word, want, got)
				}
				if format == report.GitHub && !strings.HasPrefix(got, kind) {
					t.Errorf("%s is no %s for GitHub:\n%s", word, kind, got)
				}
				if format == report.Markdown && strings.Contains(got, "no new findings") {
					t.Errorf("%s reads as a pass:\n%s", word, got)
				}
			}
		}
	}
}
