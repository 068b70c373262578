package report_test

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/report"
	"tenet/internal/rule"
)

var update = flag.Bool("update", false, "write the golden files anew")

// sample is an evaluation with one of everything: denials with and without places, a rule in shadow, a rule under warn,
// rules that nothing could decide, passed rules, parts that were not examined, an overridden rule.
func sample() *rule.Evaluation {
	e := &rule.Evaluation{
		EvaluationID: "0193a5c2-7d3e-7f00-8000-000000000001", ProjectID: "default", Mode: rule.Preflight,
		Timestamp: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC), TotalLatencyMS: 12, CorpusVersion: 7,
		ModelIDsUsed: []string{"openai:small"}, Cost: rule.Cost{Calls: 2, InputTokens: 1200, OutputTokens: 80, CachedCalls: 1},
		Coverage: rule.Coverage{
			RulesInScope: 12, RulesSelected: 8, RulesCut: 4, FilesTotal: 3, FilesExamined: 2, HunksTotal: 4, HunksExamined: 4,
			BytesTotal: 2048, BytesExamined: 1024,
			Unexamined: []rule.Unexamined{{Part: "assets/logo.png", Reason: "the file is binary"}},
		},
		Overridden: []rule.Overridden{{RuleID: "00000000-0000-4000-8000-0000000000ff", OverriddenBy: "00000000-0000-4000-8000-000000000002"}},
	}
	verdict := func(id byte, slug, statement string, s rule.Severity, v rule.Verdict, by rule.DecidedBy) *rule.RuleVerdict {
		e.RuleVerdicts = append(e.RuleVerdicts, rule.RuleVerdict{
			RuleID: "00000000-0000-4000-8000-00000000000" + string('0'+id), RuleSlug: slug, RuleStatement: statement, RuleVersion: 1,
			Severity: s, Modality: rule.Must, Enforcement: rule.Enforce, Verdict: v, Concerned: true, DecidedBy: by, Confidence: 1,
			Locations: []rule.Location{}, Evidence: []rule.Evidence{},
		})
		return &e.RuleVerdicts[len(e.RuleVerdicts)-1]
	}
	v := verdict(1, "PY-003", "Do not run text as code.", rule.High, rule.Deny, rule.ByCheck)
	v.IssueDescription, v.FixSuggestion = "eval runs any text as code.", "Parse the text, for example with ast.literal_eval."
	v.Reasoning = "The pattern matches 2 places."
	v.Locations = []rule.Location{
		{FilePath: "app/main.py", StartLine: 12, EndLine: 12, FunctionName: "def load(path):", Snippet: "\tvalue = eval(text)"},
		{FilePath: "app/main.py", StartLine: 30, EndLine: 31, Snippet: "result = (\n    eval(other))"},
	}
	v.Evidence = []rule.Evidence{
		{Kind: rule.EvidenceQuote, Quote: "eval(text)", FilePath: "app/main.py", Line: 12},
		{Kind: rule.EvidenceQuote, Quote: "eval(other)", FilePath: "app/main.py", Line: 31},
	}
	v = verdict(2, "FIN-001", "Payments above 10,000 need a second approval.", rule.Critical, rule.Deny, rule.ByCheck)
	v.IssueDescription = "The amount is above the limit and nobody has approved it."
	v.Evidence = []rule.Evidence{{Kind: rule.EvidenceFact, Fact: "facts.amount", Value: "12000"}}
	v = verdict(3, "GO-009", "Errors name what failed.", rule.Low, rule.Deny, rule.ByModel)
	v.Enforcement, v.IssueDescription, v.Reasoning = rule.Shadow, "The error says nothing.", "The message is the word failed."
	v.Locations = []rule.Location{{FilePath: "main.go", StartLine: 4, EndLine: 4, Snippet: `return errors.New("failed")`}}
	for i, slug := range []string{"DOC-001", "DOC-002"} {
		v = verdict(byte(4+i), slug, "Public functions are documented.", rule.Medium, rule.NeedsConfirmation, rule.ByNone)
		v.Reasoning = "No model is configured; set TENET_JUDGE_MODEL."
	}
	v = verdict(6, "", "Tests come with the change.", rule.High, rule.NeedsConfirmation, rule.ByModel)
	v.Enforcement, v.IssueDescription, v.Reasoning = rule.Warn, "No test was changed.", "The change adds a function and no test."
	v.Evidence = []rule.Evidence{{Kind: rule.EvidenceAbsence, Quote: "a file whose name ends in _test.go"}}
	verdict(7, "SEC-001", "Credentials stay out of source files.", rule.Critical, rule.Allow, rule.ByCheck)
	verdict(8, "SQL-002", "Every DELETE has a WHERE.\nSo has every UPDATE.", rule.High, rule.Allow, rule.ByCache)
	e.Tally()
	return e
}

func write(t testing.TB, f report.Format, e *rule.Evaluation, o report.Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := report.Write(&b, f, e, o); err != nil {
		t.Fatalf("Write(%s): %v", f, err)
	}
	return b.String()
}

func TestGolden(t *testing.T) {
	for _, tt := range []struct {
		name   string
		format report.Format
		o      report.Options
	}{
		{"text", report.Text, report.Options{}},
		{"text-color-verbose", report.Text, report.Options{Color: true, Verbose: true}},
		{"json", report.JSON, report.Options{}},
		{"sarif", report.SARIF, report.Options{Version: "1.2.3"}},
		{"junit", report.JUnit, report.Options{}},
		{"junit-confirm-fails", report.JUnit, report.Options{ConfirmFails: true}},
		{"github", report.GitHub, report.Options{}},
		{"github-confirm-fails", report.GitHub, report.Options{ConfirmFails: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := write(t, tt.format, sample(), tt.o)
			path := filepath.Join("testdata", tt.name+".golden")
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("the report differs from %s (-want +got); if it should, run go test -update\n%s", path, diff)
			}
		})
	}
}

func TestUnknownFormat(t *testing.T) {
	err := report.Write(&bytes.Buffer{}, "html", sample(), report.Options{})
	if rule.CodeOf(err) != rule.CodeInvalid || !strings.Contains(err.Error(), "text, json, sarif, junit, github") {
		t.Errorf("Write(html) = %v, want an invalid error that lists the formats", err)
	}
}

type broken struct{}

var errBroken = errors.New("broken pipe")

func (broken) Write([]byte) (int, error) { return 0, errBroken }

func TestWriterErrorIsReturned(t *testing.T) {
	for _, f := range report.Formats {
		if err := report.Write(broken{}, f, sample(), report.Options{}); !errors.Is(err, errBroken) {
			t.Errorf("Write(%s) to a broken writer = %v, want %v", f, err, errBroken)
		}
	}
}

// An evaluation without rules is no reason to say anything but what its overall verdict is.
func TestNothingSelected(t *testing.T) {
	e := &rule.Evaluation{}
	e.Tally()
	e.OverallVerdict = rule.NeedsConfirmation
	for _, f := range report.Formats {
		if got := write(t, f, e, report.Options{}); !strings.Contains(got, "NEEDS_CONFIRMATION") {
			t.Errorf("%s does not tell the overall verdict:\n%s", f, got)
		}
	}
}

// A verdict of a newer server, unknown here, must not pass for ALLOW.
func TestUnknownVerdictIsOpen(t *testing.T) {
	e := sample()
	e.RuleVerdicts = e.RuleVerdicts[len(e.RuleVerdicts)-1:]
	e.RuleVerdicts[0].Verdict = "MAYBE"
	if got := write(t, report.Text, e, report.Options{}); !strings.Contains(got, "NEEDS_CONFIRMATION  SQL-002") || !strings.Contains(got, "verdict: \"MAYBE\"") || !strings.Contains(got, "1 to be confirmed, 0 passed") {
		t.Errorf("text takes an unknown verdict for something else:\n%s", got)
	}
	if got := write(t, report.JUnit, e, report.Options{}); !strings.Contains(got, `skipped="1"`) {
		t.Errorf("junit takes an unknown verdict for a passed test:\n%s", got)
	}
	if got := write(t, report.GitHub, e, report.Options{}); !strings.Contains(got, "::warning title=SQL-002") {
		t.Errorf("github says nothing about an unknown verdict:\n%s", got)
	}
}
