package report_test

import (
	"encoding/json"
	"strings"
	"testing"

	"tenet/internal/report"
	"tenet/internal/rule"
)

// described is an evaluation of one rule that is broken, and the rule.
func described() (*rule.Evaluation, map[string]*rule.Rule) {
	e := &rule.Evaluation{EvaluationID: "e", ProjectID: "pay", OverallVerdict: rule.Deny, RuleVerdicts: []rule.RuleVerdict{{
		RuleID: "6f0c6a0e-3b1f-4a57-9a0e-000000000001", RuleSlug: "SEC-001", RuleStatement: "Keys must not be in code: they leak.", Severity: rule.High, Modality: rule.Must,
		Enforcement: rule.Enforce, Verdict: rule.Deny, DecidedBy: rule.ByCheck, Concerned: true, IssueDescription: "a key",
		Locations: []rule.Location{{FilePath: "a b.go", StartLine: 3, EndLine: 3, Snippet: "key"}},
	}}}
	return e, map[string]*rule.Rule{e.RuleVerdicts[0].RuleID: {
		ID: e.RuleVerdicts[0].RuleID, Rationale: "All who read the code have the key.", Tags: []string{"security", "secrets"},
		SourceRefs: []rule.SourceRef{{Kind: "standard", URI: "https://owasp.test/keys", Section: "2"}},
	}}
}

func TestSARIFDescribesRules(t *testing.T) {
	t.Parallel()
	e, rules := described()
	for _, c := range []struct {
		name, help, security string
		o                    report.Options
	}{
		{"a server", "https://tenet.test/p/pay/rules/6f0c6a0e-3b1f-4a57-9a0e-000000000001", "8.0", report.Options{Server: "https://tenet.test", Rules: rules, Version: "v1.2.3"}},
		{"no server", "https://owasp.test/keys", "8.0", report.Options{Rules: rules, Version: "dev-0123456789ab"}},
		{"no rule", "", "8.0", report.Options{}},
		{"a rule of style", "", "", report.Options{Rules: map[string]*rule.Rule{e.RuleVerdicts[0].RuleID: {Tags: []string{"style"}}}}},
	} {
		text := write(t, report.SARIF, e, c.o)
		run := readSARIF(t, text) // valid by the schema of SARIF 2.1.0
		d := run.Tool.Driver.Rules[0]
		if d.Name == nil || *d.Name != "KeysMustNotBeInCodeTheyLeak" || *d.ID != "SEC-001" {
			t.Errorf("%s: the rule is %v", c.name, d.Name)
		}
		if got := value(d.HelpURI); got != c.help {
			t.Errorf("%s: help at %q", c.name, got)
		}
		if got, _ := d.Properties.Properties["security-severity"].(string); got != c.security {
			t.Errorf("%s: security-severity %q", c.name, got)
		}
		if c.o.Rules != nil && c.name != "a rule of style" {
			if !strings.Contains(*d.Help.Text, "Why: All who read the code have the key.") || !strings.Contains(*d.Help.Text, "https://owasp.test/keys 2") {
				t.Errorf("%s: help %q", c.name, *d.Help.Text)
			}
			if tags, _ := json.Marshal(d.Properties.Tags); string(tags) != `["security","secrets"]` {
				t.Errorf("%s: tags %s", c.name, tags)
			}
		}
		if strings.Contains(text, ": -1") {
			t.Errorf("%s: the report has an index of -1", c.name)
		}
		v := run.Tool.Driver
		if want := map[string]string{"v1.2.3": "1.2.3", "": "0.0.0"}[c.o.Version]; want != "" && (value(v.Version) != want || value(v.SemanticVersion) != want) {
			t.Errorf("%s: version %s, %s", c.name, value(v.Version), value(v.SemanticVersion))
		}
		if strings.HasPrefix(c.o.Version, "dev") && (value(v.Version) != "0.0.0" || value(v.SemanticVersion) != "0.0.0-dev-0123456789ab") {
			t.Errorf("%s: version %s, %s", c.name, value(v.Version), value(v.SemanticVersion))
		}
	}
}

// A comment links to lines, and a hostile path does not leave the link.
func TestMarkdownLinksToLines(t *testing.T) {
	t.Parallel()
	e, _ := described()
	if got := write(t, report.Markdown, e, report.Options{Files: "https://forge.test/acme/pay/blob/c0ffee"}); !strings.Contains(got, "[a b\\.go&#58;3](<https://forge.test/acme/pay/blob/c0ffee/a%20b.go#L3>)") {
		t.Error(got)
	}
	e.RuleVerdicts[0].Locations[0].FilePath = "a>)[x](http://evil.test)\n<b>"
	if got := write(t, report.Markdown, e, report.Options{Files: "https://forge.test/f"}); strings.Contains(got, "](http://evil") || strings.Contains(got, "<b>") {
		t.Error(got)
	}
	e.RuleVerdicts[0].Locations[0].FilePath = "../../x"
	if got := write(t, report.Markdown, e, report.Options{Files: "https://forge.test/f"}); strings.Contains(got, "forge.test") {
		t.Error(got)
	}
}

func value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
