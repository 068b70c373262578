package redact

import (
	_ "embed"
	"encoding/base64"
	"slices"
	"strings"
	"testing"
)

// samples has a line for each rule and for some near misses: the rule, a text and the secret in it, or - and a text without
// any. Texts and secrets are in base64, so that no scanner takes them for leaks. gitleaks v8.30.1 itself found the secrets.
//
//go:embed testdata/gitleaks.txt
var samples string

func TestEachRuleFindsWhatGitleaksFinds(t *testing.T) {
	t.Parallel()
	missing := map[string]bool{}
	for _, r := range leakRules().Rules {
		missing[r.ID] = true
	}
	for line := range strings.Lines(samples) {
		fields := strings.Fields(line)
		for i := 1; i < len(fields); i++ {
			plain, err := base64.StdEncoding.DecodeString(fields[i])
			if err != nil {
				t.Fatal(err)
			}
			fields[i] = string(plain)
		}
		got := leakRules().find(fields[1])
		if fields[0] == "-" {
			if len(got) > 0 {
				t.Errorf("%q has %+v", fields[1], got)
			}
			continue
		}
		delete(missing, fields[0])
		if !slices.ContainsFunc(got, func(l leak) bool { return l.rule == fields[0] && l.secret == fields[2] }) {
			t.Errorf("%q has %+v, want %s %q", fields[1], got, fields[0], fields[2])
		}
	}
	if len(missing) > 0 {
		t.Errorf("rules without a sample: %v", missing)
	}
}

// unfound are the kinds whose sample Text leaves: a secret with blanks and control characters, text between head and foot that is no
// key, a part of an address, and two short numbers.
var unfound = map[string]bool{
	"curl-auth-user": true, privateKeyKind: true, "microsoft-teams-webhook": true, "sidekiq-secret": true,
}

// TestSamplesAreRedacted has Text replace what the rules find: of each secret, every run of eight or more letters and digits that is
// no word.
func TestSamplesAreRedacted(t *testing.T) {
	t.Parallel()
	r := New()
	for line := range strings.Lines(samples) {
		fields := strings.Fields(line)
		if fields[0] == "-" || unfound[fields[0]] {
			continue
		}
		text, err := base64.StdEncoding.DecodeString(fields[1])
		if err != nil {
			t.Fatal(err)
		}
		secret, err := base64.StdEncoding.DecodeString(fields[2])
		if err != nil {
			t.Fatal(err)
		}
		got, found := r.Text(string(text))
		for run := range strings.FieldsFuncSeq(string(secret), func(c rune) bool { return c > 0x7f || class[byte(c)]&(upper|lower|digit) == 0 }) {
			if len(run) >= 8 && !word(run, 4) && strings.Contains(got, run) && run != "slacktcom" {
				t.Errorf("%s: %q is left in %q", fields[0], run, got)
			}
		}
		if len(found) == 0 {
			t.Errorf("%s: nothing found in %q", fields[0], text)
		}
	}
}

func TestAllExpressionsCompile(t *testing.T) {
	t.Parallel()
	set := leakRules()
	set.Allowlist.compiled()
	for _, r := range set.Rules {
		if len(r.Keywords) == 0 || r.compiled() == nil || r.SecretGroup > r.compiled().NumSubexp() {
			t.Errorf("%s has no keywords, no expression, or too few groups", r.ID)
		}
		for i := range r.Allowlists {
			r.Allowlists[i].compiled()
		}
	}
}
