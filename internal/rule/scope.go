package rule

import (
	"strings"
	"unicode"
)

// ScopeApplies reports whether a rule with the given scope list holds for a subject in scope subject. Paths compare by segment:
// a/b holds for a/b and a/b/c, not for a or a/bc. An empty list and * hold everywhere, * in a path matches one segment, and a
// subject without scope is in every scope. Both sides are read in their normal form; see [CleanScope].
func ScopeApplies(scope []string, subject string) bool {
	if subject = CleanScope(subject); len(scope) == 0 || subject == "" {
		return true
	}
	for _, s := range scope {
		if s = CleanScope(s); s == "" || s == "*" || scopePrefix(s, subject) {
			return true
		}
	}
	return false
}

// ScopeFinds reports whether a search filter finds a rule with the given scope list. It reads the other way round than
// [ScopeApplies]: filter a finds a, a/b and a/b/c. An empty filter finds every rule.
func ScopeFinds(scope []string, filter string) bool {
	if filter = CleanScope(filter); filter == "" {
		return true
	}
	for _, s := range scope {
		if scopePrefix(filter, CleanScope(s)) {
			return true
		}
	}
	return false
}

// scopePrefix reports whether the segments of prefix begin path. A segment * of prefix matches any one segment.
func scopePrefix(prefix, path string) bool {
	for {
		p, prest, pmore := strings.Cut(prefix, "/")
		q, qrest, qmore := strings.Cut(path, "/")
		if p != q && p != "*" {
			return false
		}
		if !pmore {
			return true
		}
		if !qmore {
			return false
		}
		prefix, path = prest, qrest
	}
}

// scopeSeparators are the characters that people write between the segments of a scope path.
const scopeSeparators = `/\.:>`

// CleanScope returns a scope path in its normal form: segments in lower case, without white space around them, joined by single slashes.
// Backslashes, dots, colons and > separate segments as slashes do, so ./Finance//Payments/, finance.payments and Finance > Payments are
// all finance/payments. Characters without width do not count. A segment with a * in it is *, and ** means all that is below: a rule holds rather than not.
func CleanScope(s string) string {
	if isCleanScope(s) {
		return s
	}
	var out []string
	for segment := range strings.FieldsFuncSeq(FoldCase(strings.Map(visible, s)), func(r rune) bool { return strings.ContainsRune(scopeSeparators, r) }) {
		segment = strings.TrimSpace(segment)
		if segment == "**" {
			break
		}
		if strings.Contains(segment, "*") {
			segment = "*"
		}
		if segment != "" {
			out = append(out, segment)
		}
	}
	if len(out) == 0 && strings.Contains(s, "*") {
		return "*"
	}
	return strings.Join(out, "/")
}

// visible leaves out characters without width.
func visible(r rune) rune {
	if unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) {
		return -1
	}
	return r
}

// isCleanScope recognizes the normal form of plain names, which nearly all scopes have.
func isCleanScope(s string) bool {
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '-', c == '_':
		case c == '/' && i > 0 && i < len(s)-1 && s[i-1] != '/':
		default:
			return s == "*"
		}
	}
	return true
}
