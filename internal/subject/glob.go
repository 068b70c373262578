package subject

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"

	"tenet/internal/charset"
	"tenet/internal/rule"
)

// maxAlternatives bounds the alternatives of one glob, and so the work of one match.
const maxAlternatives = 256

// Globs is a compiled list of path globs. The zero value is empty and matches nothing. It is safe for concurrent use.
type Globs struct {
	all  bool
	list []glob
	// folded are the globs in the form of [charset.Fold]; nil if they have it already.
	folded []glob
}

// CompileGlobs compiles path globs. * and ? match within a folder, ** matches any number of folders, [a-z] is a class, {a,b}
// are alternatives, \ escapes the next character; case counts. A glob without a slash matches the base name in any folder,
// every other one the path from the root; a leading / or ./ changes nothing else, and a trailing / means everything below that
// folder. [rule.CleanGlob] says where a backslash separates folders.
//
// The error is a [*rule.Error] of code invalid that says which glob is wrong and why.
func CompileGlobs(patterns []string) (Globs, error) {
	var g Globs
	for _, pattern := range patterns {
		p, rooted := strings.CutPrefix(strings.TrimPrefix(rule.CleanGlob(pattern), "./"), "/")
		if strings.HasSuffix(p, "/") {
			p += "**"
		}
		switch {
		case p == "":
			return Globs{}, rule.Errorf(rule.CodeInvalid, "glob %q is empty; write one such as src/**", pattern)
		case !utf8.ValidString(p), strings.IndexByte(p, 0) >= 0:
			return Globs{}, rule.Errorf(rule.CodeInvalid, "glob %q is not valid UTF-8 text", pattern)
		case p[0] == '!':
			return Globs{}, rule.Errorf(rule.CodeInvalid, "glob %q begins with !, which has no meaning here; list it under exclude_paths", pattern)
		case !doublestar.ValidatePattern(p):
			return Globs{}, rule.Errorf(rule.CodeInvalid, "glob %q is malformed; close every [ and {, and write a literal one with a \\ before it", pattern)
		}
		expanded, ok := expand(p, nil)
		if !ok {
			return Globs{}, rule.Errorf(rule.CodeInvalid, "glob %q has more than %d alternatives; split it", pattern, maxAlternatives)
		}
		rooted = rooted || strings.Contains(p, "/")
		for _, alternative := range expanded {
			shaped := shapeOf(alternative, rooted)
			g.all = g.all || shaped.kind == anything
			g.list = append(g.list, shaped)
			if folded := charset.Fold(alternative); folded != alternative && doublestar.ValidatePattern(folded) {
				g.folded = append(g.folded, shapeOf(folded, rooted))
			}
		}
	}
	return g, nil
}

// CheckGlobs notes the globs of a field that do not compile.
func CheckGlobs(p *rule.Problems, field string, globs []string) {
	for i, g := range globs {
		if _, err := CompileGlobs([]string{g}); err != nil {
			p.Add(fmt.Sprintf("%s[%d]", field, i), "is not a valid glob: %v", err)
		}
	}
}

// Empty reports whether the list has no glob.
func (g Globs) Empty() bool { return len(g.list) == 0 }

// Match reports whether some glob matches a clean path with forward slashes, as [File] has them.
func (g Globs) Match(name string) bool {
	if g.all {
		return true
	}
	base := name[strings.LastIndexByte(name, '/')+1:]
	for i := range g.list {
		if g.list[i].match(name, base) {
			return true
		}
	}
	return false
}

// MatchFold reports whether some glob matches a path on a file system that ignores case and the Unicode form of names, or on one
// that does not. Use it where a match brings a file under a rule, as applies_to.paths and pattern.paths do: SRC/a.py may well
// be the file src/a.py there. Exclusions use [Globs.Match], since a folded match would exclude more.
func (g Globs) MatchFold(name string) bool {
	if g.Match(name) {
		return true
	}
	folded := charset.Fold(name)
	return folded != name && g.Match(folded) || len(g.folded) > 0 && Globs{list: g.folded}.Match(folded)
}

// expand returns the alternatives of braces, innermost last. It returns false if they are too many.
func expand(pattern string, out []string) ([]string, bool) {
	open := indexMeta(pattern, "{")
	if open < 0 {
		return append(out, pattern), len(out) < maxAlternatives
	}
	before, rest := pattern[:open], pattern[open+1:]
	var choices []string
	depth, from := 0, 0
	for at := 0; depth >= 0; at++ {
		at += indexMeta(rest[at:], "{,}") // always found: the pattern is valid
		switch c := rest[at]; {
		case c == '{':
			depth++
		case c == '}':
			depth--
		}
		if depth < 0 || depth == 0 && rest[at] == ',' {
			choices = append(choices, rest[from:at])
			from = at + 1
		}
	}
	for _, choice := range choices {
		var ok bool
		if out, ok = expand(before+choice+rest[from:], out); !ok {
			return nil, false
		}
	}
	return out, true
}

// indexMeta returns the index of the first of some characters that is neither escaped nor in a class, or -1.
func indexMeta(pattern, chars string) int {
	for i := 0; i < len(pattern); i++ {
		switch {
		case pattern[i] == '\\':
			i++
		case strings.IndexByte(chars, pattern[i]) >= 0:
			return i
		case pattern[i] == '[':
			for i++; i < len(pattern) && pattern[i] != ']'; i++ {
				if pattern[i] == '\\' {
					i++
				}
			}
		}
	}
	return -1
}
