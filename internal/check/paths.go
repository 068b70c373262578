package check

import (
	"slices"
	"strings"

	"tenet/internal/diff"
	"tenet/internal/rule"
	"tenet/internal/subject"
)

// scope holds the paths that a pattern is about. Where tools disagree about the path of a file, the pattern is about each of them: a
// file is in scope if one of its readings is, ignoring case, and excluded only if all of them are, to the letter.
type scope struct {
	key             string // which no other list of globs has
	paths, excluded subject.Globs
	// begins are the texts without case with which matches of paths begin, empty for a glob that begins with a wildcard. Folders are
	// those that are excluded with everything below.
	begins, folders []string
}

func compileScope(problems *rule.Problems, from *rule.Pattern) scope {
	s := scope{key: join(from.Paths) + "!" + join(from.ExcludePaths), paths: patternGlobs(problems, "check.pattern.paths", from.Paths), excluded: patternGlobs(problems, "check.pattern.exclude_paths", from.ExcludePaths)}
	for _, glob := range from.Paths {
		s.begins = append(s.begins, literalBegin(strings.ToLower(glob)))
	}
	for _, glob := range from.ExcludePaths {
		folder, ok := strings.CutSuffix(rooted(glob), "/**")
		if !ok {
			folder, ok = strings.CutSuffix(rooted(glob), "/")
		}
		if ok && !strings.ContainsAny(folder, `*?[{\`) {
			s.folders = append(s.folders, folder+"/")
		}
	}
	return s
}

func rooted(glob string) string {
	return strings.TrimPrefix(strings.TrimPrefix(glob, "./"), "/")
}

// literalBegin returns the text with which every match of a glob begins.
func literalBegin(glob string) string {
	if strings.IndexByte(glob, '/') < 0 {
		return "" // matches the base name in any folder
	}
	glob = rooted(glob)
	if i := strings.IndexAny(glob, `*?[{\`); i >= 0 {
		return glob[:i]
	}
	return glob
}

// everything reports whether all files are in scope.
func (s *scope) everything() bool { return s.paths.Empty() && s.excluded.Empty() }

// wants reports whether a file is in scope.
func (s *scope) wants(f *diff.File) bool {
	if s.everything() {
		return true
	}
	folder := isFolder(f)
	return f.AnyPath(func(path string) bool { return s.wantsPath(path, folder) }) && f.AnyPath(func(path string) bool { return !s.excludes(path, folder) })
}

// isFolder reports whether a file is a submodule or a link: it brings files below its path.
func isFolder(f *diff.File) bool {
	const submodule, link = "160000", "120000"
	return f.NewMode == submodule || f.NewMode == link
}

func (s *scope) wantsPath(path string, folder bool) bool {
	if s.paths.Empty() || s.paths.MatchFold(path) {
		return true
	}
	if folder {
		lower := strings.ToLower(path) + "/"
		return slices.ContainsFunc(s.begins, func(begin string) bool { return strings.HasPrefix(begin, lower) || strings.HasPrefix(lower, begin) })
	}
	return false
}

// excludes reports whether a path is excluded; that of a folder only with everything below.
func (s *scope) excludes(path string, folder bool) bool {
	if folder {
		return slices.ContainsFunc(s.folders, func(excluded string) bool { return strings.HasPrefix(path+"/", excluded) })
	}
	return s.excluded.Match(path)
}
