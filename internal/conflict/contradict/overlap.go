package contradict

import (
	"slices"
	"strings"

	"tenet/internal/rule"
)

// Meet reports whether two rules can both hold for one subject at one time: their scopes, effective periods and applies_to do
// not exclude each other. Globs that might match the same path count as doing so.
func Meet(a, b *rule.Rule) bool {
	return scopesMeet(a.Scope, b.Scope) && periodsMeet(a.EffectivePeriod, b.EffectivePeriod) && appliesMeet(a.AppliesTo, b.AppliesTo)
}

// scopesMeet reports whether a subject can be in both scopes: one of the paths begins another.
func scopesMeet(a, b []string) bool {
	if len(a) == 0 || len(b) == 0 {
		return true
	}
	for _, p := range a {
		p = rule.CleanScope(p)
		for _, q := range b {
			q = rule.CleanScope(q)
			if p == "*" || q == "*" || segmentsMeet(p, q) {
				return true
			}
		}
	}
	return false
}

// segmentsMeet reports whether the segments that both paths have are equal, or match any.
func segmentsMeet(p, q string) bool {
	left, right := strings.Split(p, "/"), strings.Split(q, "/")
	for i := range min(len(left), len(right)) {
		if left[i] != right[i] && left[i] != "*" && right[i] != "*" {
			return false
		}
	}
	return true
}

func periodsMeet(a, b rule.EffectivePeriod) bool {
	before := func(x, y rule.EffectivePeriod) bool {
		return x.Until != nil && y.From != nil && !y.From.Before(*x.Until)
	}
	return !before(a, b) && !before(b, a)
}

func appliesMeet(a, b *rule.AppliesTo) bool {
	if a.Empty() || b.Empty() {
		return true
	}
	if len(a.Kinds) > 0 && len(b.Kinds) > 0 && !slices.ContainsFunc(a.Kinds, func(k string) bool { return slices.Contains(b.Kinds, k) }) {
		return false
	}
	if !toolsMeet(a, b) {
		return false
	}
	return globsMeet(repositoryPaths(a.Repositories), repositoryPaths(b.Repositories)) && globsMeet(a.Paths, b.Paths) &&
		!excludes(a.ExcludePaths, b.Paths) && !excludes(b.ExcludePaths, a.Paths)
}

// toolsMeet reports whether a tool call can concern both rules, or neither is about tool calls alone.
func toolsMeet(a, b *rule.AppliesTo) bool {
	for _, pair := range [][2]*rule.AppliesTo{{a, b}, {b, a}} {
		if len(pair[0].Tools) > 0 && len(pair[1].Kinds) > 0 && !slices.Contains(pair[1].Kinds, "tool_call") {
			return false
		}
	}
	return globsMeet(a.Tools, b.Tools)
}

// repositoryPaths returns globs of repositories without their hosts: where only one names a host, both may be for it.
func repositoryPaths(globs []string) []string {
	paths := make([]string, len(globs))
	for i, g := range globs {
		paths[i] = rule.ParseRepositoryGlob(g).Path
	}
	return paths
}

// excludes reports whether all paths that a rule is for are left out by another, by the same globs.
func excludes(excluded, paths []string) bool {
	return len(paths) > 0 && !slices.ContainsFunc(paths, func(p string) bool { return !slices.Contains(excluded, p) })
}

func globsMeet(a, b []string) bool {
	if len(a) == 0 || len(b) == 0 {
		return true
	}
	for _, p := range a {
		for _, q := range b {
			if globMeets(p, q) {
				return true
			}
		}
	}
	return false
}

// globMeets reports whether two globs might match the same path: what they begin and end with does not differ.
func globMeets(p, q string) bool {
	const wild = "*?[{"
	if strings.ContainsAny(p, "[{") || strings.ContainsAny(q, "[{") {
		return true // alternatives can be anything
	}
	head := func(s string) string { return s[:or(strings.IndexAny(s, wild), len(s))] }
	tail := func(s string) string { return s[strings.LastIndexAny(s, wild)+1:] }
	h1, h2, t1, t2 := head(p), head(q), tail(p), tail(q)
	// A glob without a slash may be for any folder.
	heads := !strings.Contains(p, "/") || !strings.Contains(q, "/") || strings.HasPrefix(h1, h2) || strings.HasPrefix(h2, h1)
	return heads && (strings.HasSuffix(t1, t2) || strings.HasSuffix(t2, t1))
}

func or(i, otherwise int) int {
	if i < 0 {
		return otherwise
	}
	return i
}
