package check

import (
	"tenet/internal/diff"
	"tenet/internal/rule"
	"tenet/internal/subject"
)

// scope holds the paths that a pattern is about. Where tools disagree about the path of a file, the pattern is about each of them: a
// file is in scope if one of its readings is, ignoring case, and excluded only if all of them are, to the letter.
type scope struct {
	key             string // which no other list of globs has
	paths, excluded subject.Globs
	folders         subject.Folders
}

func compileScope(problems *rule.Problems, from *rule.Pattern) scope {
	return scope{
		key:   join(from.Paths) + "!" + join(from.ExcludePaths),
		paths: patternGlobs(problems, "check.pattern.paths", from.Paths), excluded: patternGlobs(problems, "check.pattern.exclude_paths", from.ExcludePaths),
		folders: subject.FoldersOf(from.Paths, from.ExcludePaths),
	}
}

// everything reports whether all files are in scope.
func (s *scope) everything() bool { return s.paths.Empty() && s.excluded.Empty() }

// wants reports whether a file is in scope.
func (s *scope) wants(f *diff.File) bool {
	if s.everything() {
		return true
	}
	folder := f.BringsFolder()
	return f.AnyPath(func(path string) bool { return s.wantsPath(path, folder) }) && f.AnyPath(func(path string) bool { return !s.excludes(path, folder) })
}

func (s *scope) wantsPath(path string, folder bool) bool {
	return s.paths.Empty() || s.paths.MatchFold(path) || folder && s.folders.MayHold(path)
}

// excludes reports whether a path is excluded; that of a folder only with everything below.
func (s *scope) excludes(path string, folder bool) bool {
	if folder {
		return s.folders.Excludes(path)
	}
	return s.excluded.Match(path)
}
