package subject

import (
	"fmt"

	"tenet/internal/rule"
)

// RepositoryGlobs is a compiled list of globs of repository names. The zero value is empty and matches nothing. It is safe for concurrent
// use.
type RepositoryGlobs struct{ list []repositoryGlob }

// repositoryGlob is one glob without braces.
type repositoryGlob struct {
	full   Globs // of the name with its host
	path   Globs // of the name without it
	hosted bool  // whether the glob names a host
}

// CompileRepositories compiles globs of repository names; see [CompileGlobs] for what the characters mean, and [rule.ParseRepositoryGlob]
// for the forms that a name may have. Letter case does not count.
//
// The error is a [*rule.Error] of code invalid that says which glob is wrong and why.
func CompileRepositories(patterns []string) (RepositoryGlobs, error) {
	var out RepositoryGlobs
	for _, pattern := range patterns {
		if _, err := CompileGlobs([]string{rule.CleanRepositoryGlob(pattern)}); err != nil {
			return RepositoryGlobs{}, err
		}
		alternatives, _ := expand(pattern, nil) // the number is bounded above
		for _, one := range alternatives {
			name := rule.ParseRepositoryGlob(one)
			g := repositoryGlob{hosted: name.Host != ""}
			var err error
			if g.full, err = CompileGlobs([]string{name.String()}); err != nil {
				return RepositoryGlobs{}, err
			}
			if g.hosted {
				name.Path = "/" + name.Path // from the root: the host was there
			}
			if g.path, err = CompileGlobs([]string{name.Path}); err != nil {
				return RepositoryGlobs{}, err
			}
			out.list = append(out.list, g)
		}
	}
	return out, nil
}

// CheckRepositories notes the repository globs of a field that do not compile.
func CheckRepositories(p *rule.Problems, field string, globs []string) {
	for i, g := range globs {
		if _, err := CompileRepositories([]string{g}); err != nil {
			p.Add(fmt.Sprintf("%s[%d]", field, i), "is not a valid glob: %v", err)
		}
	}
}

// Empty reports whether the list has no glob.
func (g RepositoryGlobs) Empty() bool { return len(g.list) == 0 }

// Match reports whether some glob matches a repository. A glob without a host matches on every host; one with a host matches that host
// only, and a name without a host, which may be there. It is certain if the match does not rest on such a name.
func (g RepositoryGlobs) Match(name rule.Repository) (matches, certain bool) {
	full := name.String()
	for i := range g.list {
		one := &g.list[i]
		switch {
		case one.full.Match(full), name.Host != "" && one.full.Match(name.Path), !one.hosted && one.path.Match(name.Path):
			return true, true
		case one.hosted && name.Host == "" && one.path.Match(name.Path):
			matches = true
		}
	}
	return matches, false
}
