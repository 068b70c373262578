package rule_test

import (
	"testing"

	"tenet/internal/rule"
)

func TestWordsForAStaleBundle(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]rule.StaleModes{
		"closed":            {rule.Critical: "closed", rule.High: "closed", rule.Medium: "closed", rule.Low: "closed"},
		"CRITICAL=closed":   {rule.Critical: "closed", rule.High: "confirm", rule.Medium: "confirm", rule.Low: "confirm"},
		"open, high=closed": {rule.Critical: "open", rule.High: "closed", rule.Medium: "open", rule.Low: "open"},
		rule.DefaultStale:   {rule.Critical: "closed", rule.High: "confirm", rule.Medium: "confirm", rule.Low: "open"},
	} {
		got, err := rule.ParseStale(text)
		if err != nil || len(got) != len(want) {
			t.Errorf("%q: %v, %v", text, got, err)
			continue
		}
		for severity, word := range want {
			if got[severity] != word {
				t.Errorf("%q: %s is %q, want %q", text, severity, got[severity], word)
			}
		}
	}
	for _, text := range []string{"", "shut", "GRAVE=open", "LOW=", "=open", "open,"} {
		if got, err := rule.ParseStale(text); err == nil {
			t.Errorf("%q is read as %v", text, got)
		}
	}
	if modes, _ := rule.ParseStale(rule.DefaultStale); modes.Strictest() != rule.StaleClosed {
		t.Errorf("the strictest word of %q is %q", rule.DefaultStale, modes.Strictest())
	}
}

// A stale bundle never makes a verdict milder.
func TestAStaleBundleWithholdsAllow(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		word         rule.StaleWord
		before, want rule.Verdict
	}{
		{"", rule.Allow, rule.Allow},
		{rule.StaleOpen, rule.Allow, rule.Allow},
		{rule.StaleOpen, rule.Deny, rule.Deny},
		{rule.StaleConfirm, rule.Allow, rule.NeedsConfirmation},
		{rule.StaleConfirm, rule.Deny, rule.Deny},
		{rule.StaleClosed, rule.Allow, rule.Deny},
		{rule.StaleClosed, rule.NeedsConfirmation, rule.Deny},
		{"a word of another version", rule.Allow, rule.NeedsConfirmation},
	} {
		e := rule.Evaluation{BundleStale: tt.word, RuleVerdicts: []rule.RuleVerdict{{Verdict: tt.before, Severity: rule.Low, Enforcement: rule.Enforce, Modality: rule.Must}}}
		if got := e.Overall(); got != tt.want {
			t.Errorf("%q: %s becomes %s, want %s", tt.word, tt.before, got, tt.want)
		}
	}
}
