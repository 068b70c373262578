package linter

import (
	"regexp"
	"strings"
	"testing"

	"tenet/internal/check"
	"tenet/internal/rule"
)

// TestWords checks that every line of the tables is one duty in a sentence, and short enough for a rule.
func TestWords(t *testing.T) {
	total := 0
	for tool, table := range tables() {
		for key, e := range table {
			total++
			plain := fill(e.statement, nil)
			switch {
			case strings.Count(plain, " must ") == 0:
				t.Errorf("%s %s: %q says nothing that must be", tool, key, plain)
			case strings.ContainsAny(plain, "{}") && !strings.Contains(plain, "${") && !strings.Contains(plain, " {}") && e.class != naming:
				t.Errorf("%s %s: %q has a hole that is not filled", tool, key, plain)
			case !regexp.MustCompile(`^([A-Z]|go\.mod|sql\.)`).MatchString(plain):
				t.Errorf("%s %s: %q does not begin like a sentence", tool, key, plain)
			}
		}
	}
	if total < 1400 {
		t.Errorf("the tables hold %d rules; some of them must have been lost", total)
	}
}

func TestWordsThatAreWrong(t *testing.T) {
	for name, content := range map[string]string{
		"two parts": "a | bug\n", "unknown class": "a | odd | A must be.\n", "no sentence": "a | bug | A must be\n",
		"twice": "a | bug | A must be.\na | bug | A must be.\n",
	} {
		if _, err := parseWords(content); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestPatterns checks that checks are for rules that the tables know, and that they compile.
func TestPatterns(t *testing.T) {
	names := []string{"eslint/no-console"}
	for name := range patterns() {
		names = append(names, name)
	}
	for name := range lengths {
		names = append(names, name)
	}
	for _, name := range names {
		table, key, _ := strings.Cut(name, "/")
		if _, known := lookup(table, key, "true"); !known {
			t.Errorf("%s is in no table", name)
		}
		args := []*node{{form: number, text: "120"}}
		c := checkOf(&tool{name: table, table: table}, setting{key: key, value: "true", args: args}, nil, "x")
		if c == nil {
			t.Errorf("%s has no check", name)
			continue
		}
		r := rule.Rule{
			ID: "1b4e28ba-2fa1-41d2-883f-0016d3cca427", ProjectID: "default", Version: 1, Statement: "x", Check: c,
		}
		r.Normalize()
		if err := r.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := check.Compile(c); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestGlobOf(t *testing.T) {
	for expr, want := range map[string]string{
		`_test\.go`: "**/*_test.go", `(.+)_test\.go`: "**/*_test.go", "third_party$": "**/third_party/**", "^api/*": "api/**",
		"modules/logging/filters.go": "modules/logging/filters.go", "^internal/test/mocks/*": "internal/test/mocks/**", "(a|b)": "", "": "", "a.*b": "",
	} {
		if got := globOf(expr); got != want {
			t.Errorf("globOf(%q) = %q; want %q", expr, got, want)
		}
	}
}

func TestSeverity(t *testing.T) {
	for _, tc := range []struct {
		class class
		level level
		want  rule.Severity
	}{
		{security, fail, rule.High},
		{correctness, fail, rule.High},
		{correctness, warn, rule.Medium},
		{design, fail, rule.Medium},
		{design, warn, rule.Low},
		{performance, fail, rule.Medium},
		{trials, fail, rule.Medium},
		{docs, fail, rule.Low},
		{naming, fail, rule.Low},
		{layout, fail, rule.Low},
		{layout, warn, rule.Low},
	} {
		if got := tc.class.severity(tc.level); got != tc.want {
			t.Errorf("severity of %s at level %d is %s; want %s", tc.class, tc.level, got, tc.want)
		}
	}
}
