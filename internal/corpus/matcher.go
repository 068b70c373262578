package corpus

import (
	"encoding/json"
	"slices"

	"tenet/internal/rule"
	"tenet/internal/subject"
)

// matcher decides whether a subject matches an applies_to block.
type matcher struct {
	key                          string
	paths, exclude, repositories subject.Globs
	kinds                        []string
}

// matcherKey is equal for equal blocks.
func matcherKey(a *rule.AppliesTo) string {
	if a.Empty() {
		return ""
	}
	b, err := json.Marshal(a)
	if err != nil {
		panic("corpus: applies_to must encode as JSON: " + err.Error())
	}
	return string(b)
}

// Coverage selects the files of a subject that a rule concerns.
type Coverage struct {
	// Key is equal for equal coverages.
	Key     string
	matcher *matcher
}

// Path reports whether the rule concerns a file with this path. A file whose path can be read in several ways is concerned if one of
// its readings is.
func (c *Coverage) Path(path string) bool { return c.matcher.covers(path) }

// covers matches the paths on file systems that ignore case too, but the exclusions exactly: each on the side of the rule.
func (m *matcher) covers(path string) bool {
	return (m.paths.Empty() || m.paths.MatchFold(path)) && !m.exclude.Match(path)
}

// newMatcher returns nil for a block that restricts nothing.
func newMatcher(a *rule.AppliesTo, key string) *matcher {
	if a.Empty() {
		return nil
	}
	m := &matcher{key: key, kinds: a.Kinds}
	for _, g := range []struct {
		into  *subject.Globs
		globs []string
	}{{&m.paths, a.Paths}, {&m.exclude, a.ExcludePaths}, {&m.repositories, a.Repositories}} {
		compiled, err := subject.CompileGlobs(g.globs)
		if err != nil {
			// A rule that cannot be matched must not be lost in silence: it then concerns every subject.
			return nil
		}
		*g.into = compiled
	}
	return m
}

// matches reports whether the block concerns the subject that q describes. What q leaves open (no repository, unknown paths or
// kinds) matches: a caller who says too little does not lose a rule.
func (m *matcher) matches(q *Query) bool {
	if m == nil {
		return true
	}
	if len(m.kinds) > 0 && !q.AnyKind {
		if !slices.ContainsFunc(q.Kinds, func(k subject.Kind) bool { return slices.Contains(m.kinds, string(k)) }) {
			return false
		}
	}
	if !m.repositories.Empty() && q.Repository != "" && !m.repositories.Match(q.Repository) {
		return false
	}
	return m.matchesPath(q)
}

func (m *matcher) matchesPath(q *Query) bool {
	if q.AnyPath || (m.paths.Empty() && m.exclude.Empty()) {
		return true
	}
	if m.paths.Empty() && (q.Beside || len(q.Paths) == 0) {
		return true // leaving files out does not keep the rule from the rest of the subject
	}
	return slices.ContainsFunc(q.Paths, m.covers)
}
