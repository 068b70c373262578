package subject

import (
	"slices"
	"strings"

	"tenet/internal/charset"
	"tenet/internal/rule"
)

// Folders are the folders of which globs of paths select files. A change that brings a folder, such as a commit of a submodule, shows
// none of the files.
type Folders struct {
	begins []begin
	// within and excluded match the folders that are selected, and excluded, with everything below.
	within, excluded Globs
}

// begin is the text with which the matches of a glob begin, in the form of [charset.Fold].
type begin struct {
	text  string
	whole bool // it is the only match
}

// FoldersOf returns the folders for globs that select paths, and globs that exclude some of them.
func FoldersOf(paths, excluded []string) Folders {
	f := Folders{within: wholeFolders(paths), excluded: wholeFolders(excluded)}
	for _, glob := range paths {
		f.begins = append(f.begins, beginOf(glob))
	}
	return f
}

// MayHold reports whether a folder may hold a file that a glob of paths matches.
func (f *Folders) MayHold(folder string) bool {
	folded := charset.Fold(folder) + "/"
	return slices.ContainsFunc(f.begins, func(b begin) bool {
		return strings.HasPrefix(b.text, folded) || !b.whole && strings.HasPrefix(folded, b.text)
	})
}

// Within reports whether the globs of paths surely match everything below a folder.
func (f *Folders) Within(folder string) bool { return withParents(folder, f.within.Match) }

// Excludes reports whether a folder is excluded with everything below.
func (f *Folders) Excludes(folder string) bool { return withParents(folder, f.excluded.Match) }

// withParents reports whether a folder, or one that it is in, has a property.
func withParents(folder string, has func(string) bool) bool {
	for {
		if has(folder) {
			return true
		}
		i := strings.LastIndexByte(folder, '/')
		if i < 0 {
			return false
		}
		folder = folder[:i]
	}
}

// wholeFolders returns globs of the folders below which some globs match everything. It leaves out globs for which that is not certain.
func wholeFolders(globs []string) Globs {
	var list []string
	for _, glob := range globs {
		glob = rule.CleanGlob(glob)
		folder, ok := strings.CutSuffix(glob, "/**")
		if !ok {
			folder, ok = strings.CutSuffix(glob, "/")
		}
		if folder = "/" + rooted(folder); ok && folder != "/" {
			if _, err := CompileGlobs([]string{folder}); err == nil {
				list = append(list, folder)
			}
		}
	}
	out, _ := CompileGlobs(list) // each compiles
	return out
}

func rooted(glob string) string {
	return strings.TrimPrefix(strings.TrimPrefix(glob, "./"), "/")
}

func beginOf(glob string) begin {
	glob = rule.CleanGlob(glob)
	if strings.IndexByte(glob, '/') < 0 {
		return begin{} // matches the base name in any folder
	}
	glob = rooted(glob)
	if i := strings.IndexAny(glob, `*?[{\`); i >= 0 {
		// Up to a folder: a letter and what follows it may be one letter in the form of charset.Fold.
		return begin{text: charset.Fold(glob[:strings.LastIndexByte(glob[:i], '/')+1])}
	}
	return begin{text: charset.Fold(glob), whole: !strings.HasSuffix(glob, "/")}
}
