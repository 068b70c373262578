package rule

import "strings"

// ScopeApplies reports whether a rule with the given scope list holds for a subject in scope subject. Paths compare by segment:
// a/b holds for a/b and a/b/c, not for a or a/bc. An empty list and * hold everywhere, * in a path matches one segment, and a
// subject without scope is in every scope.
func ScopeApplies(scope []string, subject string) bool {
	if len(scope) == 0 || subject == "" {
		return true
	}
	for _, s := range scope {
		if s == "*" || scopePrefix(s, subject) {
			return true
		}
	}
	return false
}

// ScopeFinds reports whether a search filter finds a rule with the given scope list. It reads the other way round than
// [ScopeApplies]: filter a finds a, a/b and a/b/c. An empty filter finds every rule.
func ScopeFinds(scope []string, filter string) bool {
	if filter == "" {
		return true
	}
	for _, s := range scope {
		if scopePrefix(filter, s) {
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

// CleanScope trims white space and slashes at both ends of a scope path.
func CleanScope(s string) string { return strings.Trim(strings.TrimSpace(s), "/") }
