package report_test

import (
	"fmt"
	"strings"
	"testing"

	"tenet/internal/report"
	"tenet/internal/rule"
)

// line returns the first line of s that contains part, and the line after it.
func line(t *testing.T, s, part string) (found, next string) {
	t.Helper()
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if strings.Contains(l, part) {
			return l, lines[min(i+1, len(lines)-1)]
		}
	}
	t.Fatalf("no line contains %q in:\n%s", part, s)
	return "", ""
}

// one is an evaluation with a single denial at a single place.
func one(l rule.Location, evidence ...rule.Evidence) *rule.Evaluation {
	e := &rule.Evaluation{RuleVerdicts: []rule.RuleVerdict{{
		RuleID: "r", RuleSlug: "R-1", RuleStatement: "No.", Severity: rule.High, Verdict: rule.Deny, DecidedBy: rule.ByCheck,
		Locations: []rule.Location{l}, Evidence: evidence,
	}}}
	e.Tally()
	return e
}

func TestCaretsStandUnderTheQuote(t *testing.T) {
	for _, tt := range []struct{ name, snippet, quote, marked string }{
		{"plain", "x = eval(y)", "eval(y)", "eval(y)"},
		{"after a tab", "\tx = eval(y)", "eval(y)", "eval(y)"},
		{"after wide letters", "größe = eval(y)", "eval(y)", "eval(y)"},
		{"escaped text", "\x1b[0m = eval(y)", "eval(y)", "eval(y)"},
		{"quote of several lines", "x = eval(", "eval(\n y)", "eval("},
		{"quote that is not there", "  x = eval(y)", "exec(y)", "x = eval(y)"},
		{"no quote", "  x = eval(y)  ", "", "x = eval(y)"},
		{"far to the right", strings.Repeat("a ", 500) + "eval(y)" + strings.Repeat(" b", 500), "eval(y)", "eval(y)"},
		{"inside a character", "é", "\xa9", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := rule.Location{FilePath: "a.py", StartLine: 3, EndLine: 3, Snippet: tt.snippet}
			got := write(t, report.Text, one(l, rule.Evidence{Kind: rule.EvidenceQuote, Quote: tt.quote, FilePath: "a.py", Line: 3}), report.Options{})
			code, carets := line(t, got, "3 | ")
			marked := ""
			for i, r := range []rune(code) {
				if c := []rune(carets); i < len(c) && c[i] == '^' {
					marked += string(r)
				}
			}
			if marked != tt.marked {
				t.Errorf("marks %q, want %q:\n%s\n%s", marked, tt.marked, code, carets)
			}
			if len(code) > 200 {
				t.Errorf("shows a line of %d bytes, which no terminal holds", len(code))
			}
		})
	}
}

func TestWhatIsLeftOutIsTold(t *testing.T) {
	e := one(rule.Location{FilePath: "a", StartLine: 1, EndLine: 20, Snippet: strings.Repeat("line\n", 20)})
	for i := range 30 {
		e.RuleVerdicts[0].Locations = append(e.RuleVerdicts[0].Locations, rule.Location{FilePath: "b", StartLine: i + 1, EndLine: i + 1})
		e.Coverage.Unexamined = append(e.Coverage.Unexamined, rule.Unexamined{Part: "part", Reason: "reason"})
		e.Overridden = append(e.Overridden, rule.Overridden{RuleID: "x", OverriddenBy: "r"})
	}
	e.Coverage.RulesCut, e.Coverage.RulesTriagedOut = 5, 1980
	got := write(t, report.Text, e, report.Options{})
	for _, want := range []string{
		"and 12 more lines", "and 21 more places", "not judged: 5 rules beyond max_rules", "ruled out by triage: 1980 rules", "not examined: 10 more parts",
		"overridden: x by R-1", "overridden: 10 more rules",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("text does not say %q:\n%s", want, got)
		}
	}
}

func TestMostSevereFirst(t *testing.T) {
	for _, f := range []report.Format{report.Text, report.GitHub} {
		got := write(t, f, sample(), report.Options{})
		if fin, py, low := strings.Index(got, "FIN-001"), strings.Index(got, "PY-003"), strings.Index(got, "GO-009"); fin < 0 || fin > py || py > low {
			t.Errorf("%s: CRITICAL at %d, HIGH at %d, LOW at %d; want them in this order", f, fin, py, low)
		}
	}
}

// Rules that share a reason and point at nothing are told together; those that differ in anything are not.
func TestSharedReasonIsToldOnce(t *testing.T) {
	e := &rule.Evaluation{}
	for i := range 5 {
		e.RuleVerdicts = append(e.RuleVerdicts, rule.RuleVerdict{
			RuleID: fmt.Sprint(i), RuleSlug: fmt.Sprintf("R-%d", i), RuleStatement: "S.", Severity: rule.High,
			Verdict: rule.NeedsConfirmation, DecidedBy: rule.ByNone, Reasoning: "No model is configured.",
		})
	}
	e.RuleVerdicts[3].Reasoning = "The fact facts.amount is missing."
	e.RuleVerdicts[4].Enforcement = rule.Shadow
	e.Tally()
	for _, f := range []report.Format{report.Text, report.GitHub} {
		got := write(t, f, e, report.Options{})
		if n := strings.Count(got, "No model is configured."); n != 2 {
			t.Errorf("%s tells the reason %d times, want 2 (once for rules that count, once in shadow):\n%s", f, n, got)
		}
		for i := range 5 {
			if !strings.Contains(got, fmt.Sprintf("R-%d", i)) {
				t.Errorf("%s leaves out rule R-%d:\n%s", f, i, got)
			}
		}
	}
}

func TestColorOnlyWhenAsked(t *testing.T) {
	for _, f := range report.Formats {
		if got := write(t, f, sample(), report.Options{}); strings.Contains(got, "\x1b") {
			t.Errorf("%s has ANSI escapes though nobody asked for colour", f)
		}
	}
	got := write(t, report.Text, sample(), report.Options{Color: true})
	if !strings.Contains(got, "\x1b[1;31mDENY\x1b[0m") {
		t.Errorf("DENY is not red:\n%q", got)
	}
	plain := strings.NewReplacer("\x1b[0m", "", "\x1b[1m", "", "\x1b[2m", "", "\x1b[1;31m", "", "\x1b[32m", "", "\x1b[33m", "").Replace(got)
	if want := write(t, report.Text, sample(), report.Options{}); plain != want {
		t.Errorf("colour changes more than colour:\n%s\nwant\n%s", plain, want)
	}
}

func TestVerboseListsPassedRules(t *testing.T) {
	if got := write(t, report.Text, sample(), report.Options{}); strings.Contains(got, "SEC-001") {
		t.Errorf("text lists passed rules unasked:\n%s", got)
	}
	got := write(t, report.Text, sample(), report.Options{Verbose: true})
	for _, want := range []string{"ALLOW  SEC-001", "ALLOW  SQL-002", "The pattern matches 2 places.", "decided by: check, confidence 1.00"} {
		if !strings.Contains(got, want) {
			t.Errorf("verbose text does not say %q:\n%s", want, got)
		}
	}
}

// What a check found is told by its issue; how it found it is for those who ask.
func TestReasoningOfChecksIsForTheVerbose(t *testing.T) {
	e := one(rule.Location{FilePath: "a", StartLine: 1, EndLine: 1, Snippet: "x"})
	v := &e.RuleVerdicts[0]
	v.Verdict, v.Enforcement, v.IssueDescription, v.Reasoning = rule.NeedsConfirmation, rule.Warn, "x is wrong.", "/x/ matches in a:1."
	got := write(t, report.Text, e, report.Options{})
	if strings.Contains(got, "matches") || !strings.Contains(got, "NEEDS_CONFIRMATION  R-1  HIGH  under enforcement warn\n") {
		t.Errorf("text of a check under warn:\n%s", got)
	}
	if got := write(t, report.Text, e, report.Options{Verbose: true}); !strings.Contains(got, "/x/ matches in a:1.") {
		t.Errorf("verbose text keeps the reasoning of a check to itself:\n%s", got)
	}
	v.DecidedBy = rule.ByNone
	if got := write(t, report.Text, e, report.Options{}); !strings.Contains(got, "matches in a:1.") || strings.Contains(got, "under enforcement") {
		t.Errorf("text of a check that could not decide:\n%s", got)
	}
}
