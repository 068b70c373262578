package subject

import (
	"slices"
	"strings"
)

// Folders says of which folders files are selected, by globs of paths. A change that brings a folder, such as a commit of a submodule, shows
// none of the files.
type Folders struct {
	// begins are the texts without case with which matches of paths begin, empty for a glob that begins with a wildcard. excluded are the
	// folders that are excluded with everything below.
	begins, excluded []string
}

// FoldersOf returns the folders for globs that select paths, and globs that exclude some of them.
func FoldersOf(paths, excluded []string) Folders {
	var f Folders
	for _, glob := range paths {
		f.begins = append(f.begins, literalBegin(strings.ToLower(glob)))
	}
	for _, glob := range excluded {
		folder, ok := strings.CutSuffix(rooted(glob), "/**")
		if !ok {
			folder, ok = strings.CutSuffix(rooted(glob), "/")
		}
		if ok && !strings.ContainsAny(folder, `*?[{\`) {
			f.excluded = append(f.excluded, folder+"/")
		}
	}
	return f
}

// MayHold reports whether a folder may hold a file that a glob of paths matches.
func (f *Folders) MayHold(folder string) bool {
	lower := strings.ToLower(folder) + "/"
	return slices.ContainsFunc(f.begins, func(begin string) bool { return strings.HasPrefix(begin, lower) || strings.HasPrefix(lower, begin) })
}

// Excludes reports whether a folder is excluded with everything below.
func (f *Folders) Excludes(folder string) bool {
	return slices.ContainsFunc(f.excluded, func(excluded string) bool { return strings.HasPrefix(folder+"/", excluded) })
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
