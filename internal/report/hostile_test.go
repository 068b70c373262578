package report_test

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"tenet/internal/report"
	"tenet/internal/rule"
)

// hostile puts s into every text of an evaluation that comes from outside.
func hostile(s string) *rule.Evaluation {
	v := rule.RuleVerdict{
		RuleID: s, RuleSlug: s, RuleStatement: s, Severity: rule.Severity(s), Modality: rule.Modality(s), Verdict: rule.Deny,
		DecidedBy: rule.ByModel, Reasoning: s, IssueDescription: "i" + s, FixSuggestion: s,
		Locations: []rule.Location{{FilePath: s, StartLine: 3, EndLine: 4, FunctionName: s, Snippet: s}, {FilePath: s, Snippet: s}},
		Evidence: []rule.Evidence{
			{Kind: rule.EvidenceQuote, Quote: s, FilePath: s, Line: 3},
			{Kind: rule.EvidenceFact, Fact: s, Value: s},
			{Kind: rule.EvidenceAbsence, Quote: s},
		},
	}
	bare := v
	bare.Locations, bare.Evidence, bare.Verdict, bare.RuleID = nil, nil, rule.NeedsConfirmation, s+"2"
	odd := v
	odd.Verdict = rule.Verdict(s)
	passed := v
	passed.Verdict = rule.Allow
	e := &rule.Evaluation{
		EvaluationID: s, ProjectID: s, Mode: rule.Mode(s), ModelIDsUsed: []string{s}, Cost: rule.Cost{Calls: 1}, SnapshotID: &s,
		RuleVerdicts: []rule.RuleVerdict{v, bare, bare, odd, passed},
		Coverage:     rule.Coverage{Unexamined: []rule.Unexamined{{Part: s, Reason: s}}},
		Overridden:   []rule.Overridden{{RuleID: s, OverriddenBy: s}},
	}
	e.Tally()
	return e
}

// checkHarmless writes every format and fails if s gets out of its place in one of them.
func checkHarmless(t *testing.T, s string) {
	t.Helper()
	e := hostile(s)
	o := report.Options{Verbose: true, Version: s}
	text := write(t, report.Text, e, o)
	github := write(t, report.GitHub, e, o)
	junit := write(t, report.JUnit, e, o)
	jsonText := write(t, report.JSON, e, o)
	sarif := write(t, report.SARIF, e, o)
	for format, out := range map[string]string{"text": text, "github": github, "json": jsonText, "sarif": sarif, "junit": junit} {
		if !utf8.ValidString(out) {
			t.Errorf("%s is not valid UTF-8 for %q", format, s)
		}
		for _, r := range out {
			if r != '\n' && !unicode.IsGraphic(r) {
				t.Fatalf("%s lets %U through for %q:\n%q", format, r, s, out)
			}
		}
	}
	for l := range strings.Lines(text) {
		if first, _, _ := strings.Cut(l, " "); first == "ALLOW" && !strings.HasPrefix(l, "ALLOW  ") {
			t.Errorf("a line passes for a heading: %q", l)
		}
	}
	readGitHub(t, github)
	for d := xml.NewDecoder(strings.NewReader(junit)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("junit is no XML for %q: %v", s, err)
		}
	}
	var got rule.Evaluation
	if err := json.Unmarshal([]byte(jsonText), &got); err != nil {
		t.Fatalf("json is no JSON for %q: %v", s, err)
	}
	if want := strings.ToValidUTF8(s, "\uFFFD"); utf8.ValidString(s) && got.RuleVerdicts[0].RuleStatement != want {
		t.Errorf("json tells the statement %q as %q", want, got.RuleVerdicts[0].RuleStatement)
	}
}

var attacks = []string{
	"", " ", "plain", "\x1b[2J\x1b[1;1HALLOW  all is well", "\x1b]0;title\x07", "\u009b31m", "a\rALLOW", "x\n::error file=a::b",
	"%0A::set-output name=x::y", "##[error]x\n::add-mask::y", "a,line=1::b", "file:///etc/passwd", "\u202eevil\u2066", "\u200b\ufeff",
	"\x00\x01\x7f", "\xff\xfe\x80", "]]>&<script>\ufffe\uffff", "\U000e0041\U0010ffff", "\ud7ff\ue000", "\u2028\u2029",
	"ALLOW  SEC-001  fine\n\nDENY", "ALLOW 0  ALLOW 0", strings.Repeat("a\n", 50), strings.Repeat("\t界", 100), "e\u0301\u0301\u0301", "é", "\xa9",
}

func TestHostileTextStaysInItsPlace(t *testing.T) {
	for _, s := range attacks {
		checkHarmless(t, s)
		readSARIF(t, write(t, report.SARIF, hostile(s), report.Options{Version: s}))
	}
}

// A forged heading inside a statement must stand indented, below the real one.
func TestTextCannotForgeAHeading(t *testing.T) {
	e := one(rule.Location{FilePath: "a\nALLOW", StartLine: 1, EndLine: 1, Snippet: "x\nALLOW"})
	v := &e.RuleVerdicts[0]
	v.RuleStatement, v.IssueDescription, v.FixSuggestion, v.RuleSlug = "One.\nALLOW", "Two.\nALLOW", "Three.\r\nALLOW", "R\nALLOW"
	for l := range strings.Lines(write(t, report.Text, e, report.Options{})) {
		if strings.HasPrefix(l, "ALLOW") {
			t.Errorf("a text has forged a heading: %q", l)
		}
	}
}

func FuzzHostileText(f *testing.F) {
	for _, s := range attacks {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		// The text stands in some forty places of five reports; length alone teaches nothing.
		checkHarmless(t, s[:min(len(s), 500)])
	})
}
