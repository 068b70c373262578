package sandbox

import (
	"testing"

	"tenet/internal/rule"
)

// TestBoundsInExpressions is about the texts of expressions, of which raw ones are written with single backslashes.
func TestBoundsInExpressions(t *testing.T) {
	t.Parallel()
	for cel, bounded := range map[string]bool{
		`!facts.text.matches(r'\beval\(\w{0,40}')`:        true,
		`!facts.text.matches(R"\beval\([^)]{0,40}")`:      true,
		`!facts.text.matches(r'\beval\s{0,4}\(')`:         true,
		`!facts.text.matches(r'''\beval\([^)]{0,40}''')`:  true,
		`!facts.text.matches('\\beval\\([^)]{0,40}')`:     true,
		`!facts.text.matches('\x5cbeval\x5c([^)]{0,40}')`: true, // no pattern as it is read here
		`!facts.text.matches(r'\beval\s*\(')`:             false,
		`!facts.text.matches(r'''\beval\s*\(''')`:         false,
		`!facts.text.matches('\\beval\\s*\\(')`:           false,
		`!facts.text.matches(r'\beval\s*\([^\n]*')`:       false,
	} {
		if part := boundedPart(&rule.Check{CEL: cel}); (part != "") != bounded {
			t.Errorf("%s: bounded by %q; want %t", cel, part, bounded)
		}
	}
}
