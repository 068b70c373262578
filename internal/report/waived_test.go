package report

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"tenet/internal/rule"
)

// three are a violation, a waived one, and one that the base has already.
func three() (*rule.Evaluation, Options) {
	e := &rule.Evaluation{EvaluationID: "e-1"}
	for _, slug := range []string{"NEW-1", "WAIVED-1", "KNOWN-1"} {
		e.RuleVerdicts = append(e.RuleVerdicts, rule.RuleVerdict{
			RuleID: slug, RuleSlug: slug, RuleStatement: "Do not.", Severity: rule.High, Modality: rule.Must, Enforcement: rule.Enforce, Verdict: rule.Deny,
			DecidedBy: rule.ByCheck, IssueDescription: "It is.", Locations: []rule.Location{{FilePath: "a.py", StartLine: 3, EndLine: 3, Snippet: "x"}},
		})
	}
	e.RuleVerdicts[1].Waiver = &rule.AppliedWaiver{ID: "w", Reason: "because", Approver: "ann", ExpiresAt: time.Date(2026, 12, 31, 0, 0, 0, 0, time.UTC)}
	e.Tally()
	return e, Options{Known: map[*rule.RuleVerdict]bool{&e.RuleVerdicts[2]: true}}
}

func write(t *testing.T, f Format, e *rule.Evaluation, o Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, f, e, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestWaivedAndKnownFindingsAreToldAndDoNotCount(t *testing.T) {
	e, o := three()
	for format, wants := range map[Format][]string{
		Text:     {"DENY  WAIVED-1  HIGH  waived until 2026-12-31 by ann: because", "DENY  KNOWN-1  HIGH  known from the base", "1 violated, 0 to be confirmed, 0 passed, 1 waived, 1 known from the base"},
		GitHub:   {"::error file=a.py,line=3,endLine=3,title=NEW-1", "::notice title=WAIVED-1 does not count::", "::notice title=KNOWN-1 does not count::"},
		JUnit:    {`tests="3" failures="1"`, "waived until 2026-12-31", "known from the base"},
		SARIF:    {`"justification": "waived until 2026-12-31 by ann: because"`, `"status": "accepted"`, `"baselineState": "unchanged"`},
		Markdown: {Marker, "### Tenet: rules are broken", "#### Waived", `waived until 2026\-12\-31 by ann&#58; because`, "#### Known from the base", `- **NEW\-1** HIGH`},
	} {
		got := write(t, format, e, o)
		for _, want := range wants {
			if !strings.Contains(got, want) {
				t.Errorf("%s does not tell %q:\n%s", format, want, got)
			}
		}
	}
	if got := write(t, GitHub, e, o); strings.Count(got, "::error") != 1 {
		t.Errorf("more than one error:\n%s", got)
	}
	if got := write(t, SARIF, e, o); strings.Count(got, `"suppressions"`) != 1 {
		t.Errorf("more than one suppression:\n%s", got)
	}
}

func TestCommentsAreHarmlessAndFit(t *testing.T) {
	e, o := three()
	hostile := "<img src=x onerror=alert(1)> @everyone #1 [x](javascript:y) ![i](http://h) **b** `c`\n\n# H\n| a |\u202e https://h -->"
	v := &e.RuleVerdicts[0]
	v.RuleStatement, v.IssueDescription, v.FixSuggestion, v.RuleSlug, v.Locations[0].FilePath = hostile, hostile, hostile, hostile, hostile
	got := write(t, Markdown, e, o)
	for _, bad := range []string{"<img", "@everyone", " #1", "](", "**b**", "`c`", "\n# H", "\u202e", "://"} {
		if strings.Contains(got, bad) {
			t.Errorf("%q comes through:\n%s", bad, got)
		}
	}
	for range 300 {
		e.RuleVerdicts = append(e.RuleVerdicts, e.RuleVerdicts[0])
	}
	e.Tally()
	got = write(t, Markdown, e, Options{})
	if n := utf8.RuneCountInString(got); n > maxComment || n < maxComment/2 || !strings.Contains(got, "Left out, because a comment has a limit: ") {
		t.Errorf("the comment has %d characters and ends in %q", n, got[len(got)-300:])
	}
}

func TestSARIFStaysWithinTheLimitsOfCodeScanning(t *testing.T) {
	defer func(was int) { sarifResults = was }(sarifResults)
	if sarifResults != 25_000 {
		t.Errorf("the limit is %d", sarifResults)
	}
	sarifResults = 50
	e, _ := three()
	v := e.RuleVerdicts[0]
	v.RuleStatement, v.IssueDescription = strings.Repeat("s", 5000), strings.Repeat("i", 50_000)
	v.Locations = nil
	for i := range sarifResults + 10 {
		v.Locations = append(v.Locations, rule.Location{FilePath: "a.py", StartLine: i + 1, EndLine: i + 1})
	}
	v.IssueDescription = ""
	v.Reasoning = "r"
	e.RuleVerdicts = []rule.RuleVerdict{v}
	got := write(t, SARIF, e, Options{})
	if n := strings.Count(got, `"partialFingerprints"`); n != sarifResults || !strings.Contains(got, "Left out, because code scanners have a limit: 10 results.") {
		t.Errorf("%d results", n)
	}
	if strings.Contains(got, strings.Repeat("s", sarifDescription+1)+`"`) && !strings.Contains(got, strings.Repeat("s", sarifDescription-3)+`..."`) {
		t.Error("the description is not cut")
	}
}
