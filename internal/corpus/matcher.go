package corpus

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"tenet/internal/rule"
	"tenet/internal/subject"
)

// matcher decides whether a subject matches an applies_to block.
type matcher struct {
	key            string
	paths, exclude subject.Globs
	folders        subject.Folders
	repositories   subject.RepositoryGlobs
	named          []string // the globs of repositories in their normal form
	kinds          []string
	tools          rule.ToolGlobs
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

// Folder reports whether the rule concerns files that may be below a path, such as those of a submodule, which a diff does not show.
func (c *Coverage) Folder(path string) bool { return c.matcher.covers(path + "/") }

// covers matches the paths on file systems that ignore case too, but the exclusions exactly: each on the side of the rule. A path with a slash
// at its end is a folder, of which a file may be below.
func (m *matcher) covers(path string) bool {
	if folder, ok := strings.CutSuffix(path, "/"); ok {
		return (m.paths.Empty() || m.paths.MatchFold(folder) || m.folders.MayHold(folder)) && !m.folders.Excludes(folder)
	}
	return (m.paths.Empty() || m.paths.MatchFold(path)) && !m.exclude.Match(path)
}

// newMatcher returns nil for a block that restricts nothing. It reads names in their normal form, also those of rules that were stored
// otherwise. A block that cannot be read restricts nothing: a rule that cannot be matched must not be lost in silence.
// coversAll is covers, for a folder only if the rule surely concerns every file below it.
func (m *matcher) coversAll(path string) bool {
	if folder, ok := strings.CutSuffix(path, "/"); ok {
		return m.exclude.Empty() && (m.paths.Empty() || m.folders.Within(folder))
	}
	return m.covers(path)
}

func newMatcher(a *rule.AppliesTo, key string) *matcher {
	if a.Empty() {
		return nil
	}
	m := &matcher{key: key}
	for _, r := range a.Repositories {
		m.named = append(m.named, rule.CleanRepositoryGlob(r))
	}
	for _, k := range a.Kinds {
		m.kinds = append(m.kinds, rule.CleanKind(k))
	}
	m.tools = rule.CompileTools(a.Tools)
	var errs [3]error
	m.paths, errs[0] = subject.CompileGlobs(rule.GlobReadings(a.Paths))
	m.exclude, errs[1] = subject.CompileGlobs(a.ExcludePaths)
	m.repositories, errs[2] = subject.CompileRepositories(a.Repositories)
	if errors.Join(errs[:]...) != nil {
		return nil
	}
	m.folders = subject.FoldersOf(rule.GlobReadings(a.Paths), a.ExcludePaths)
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
	if !m.repositories.Empty() && q.Repository != "" {
		if ok, _ := m.repositories.Match(q.repository); !ok {
			return false
		}
	}
	if !m.tool(q) {
		return false
	}
	return m.matchesPath(q)
}

// tool reports whether the block concerns the tool that is called.
func (m *matcher) tool(q *Query) bool {
	return len(m.tools) == 0 || q.AnyKind || q.AnyTool || q.Tool != nil && m.tools.Match(q.Tool.Server, q.Tool.Name)
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
