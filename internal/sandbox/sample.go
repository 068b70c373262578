package sandbox

import (
	"errors"
	"regexp"
	"strings"

	"tenet/internal/rule"
	"tenet/internal/subject"
)

// diffStart finds the lines that only diffs have: a header of git's, the two names, or a hunk.
var diffStart = regexp.MustCompile(`(?m)^(diff --git \S|--- \S.*\r?\n\+\+\+ \S|@@ -\d+(,\d+)? \+\d+(,\d+)? @@)`)

// isDiff reports whether a text is a diff rather than a snippet.
func isDiff(code string) bool { return diffStart.MatchString(code) }

// unnamed is the path of a snippet of which nothing says what it is.
const unnamed = "sample.txt"

// pathFor returns a path for a snippet that the rule concerns, as its globs show: for **/*.py it is sample.py.
func pathFor(r *rule.Rule) string {
	var globs [][]string
	if r.AppliesTo != nil && len(r.AppliesTo.Paths) > 0 {
		globs = append(globs, r.AppliesTo.Paths)
	}
	if r.Check != nil && r.Check.Pattern != nil && len(r.Check.Pattern.Paths) > 0 {
		globs = append(globs, r.Check.Pattern.Paths)
	}
	for _, list := range globs {
		for _, glob := range list {
			if path := pathOf(glob); concerns(globs, path) {
				return path
			}
		}
	}
	return unnamed
}

// concerns reports whether each of several lists has a glob that matches.
func concerns(lists [][]string, path string) bool {
	for _, list := range lists {
		g, err := subject.CompileGlobs(list)
		if err != nil || !g.Match(path) {
			return false
		}
	}
	return true
}

// braces are the innermost alternatives of a glob, classes its classes of characters.
var (
	braces  = regexp.MustCompile(`\{([^{},]*)[^{}]*\}`)
	classes = regexp.MustCompile(`\[\^?(.)[^\]]*\]`)
)

// pathOf makes a path of a glob by putting words in place of what it leaves open. It may miss; the caller tries it.
func pathOf(glob string) string {
	p := strings.TrimLeft(strings.TrimPrefix(glob, "./"), "/")
	for range 8 { // braces inside braces
		p = braces.ReplaceAllString(p, "$1")
	}
	p = classes.ReplaceAllString(p, "$1")
	if strings.HasSuffix(p, "/") {
		p += "**"
	}
	p = strings.ReplaceAll(p, "**/", "")
	p = strings.ReplaceAll(p, "**", "sample")
	p = strings.ReplaceAll(p, "*", "sample")
	return strings.ReplaceAll(strings.ReplaceAll(p, "?", "x"), `\`, "")
}

// fieldsOf gives the field errors of a subject the names that the sample's parts have in a request.
func fieldsOf(err error, code, facts string) error {
	e, ok := errors.AsType[*rule.Error](err)
	if !ok || len(e.Fields) == 0 {
		return err
	}
	var p rule.Problems
	for _, f := range e.Fields {
		name := code
		if f.Field == "action" {
			name = facts + "." + narrative
		} else if rest, is := strings.CutPrefix(f.Field, "facts"); is {
			name = facts + rest
		}
		p.Add(name, "%s", f.Message)
	}
	return p.Err("the sample is invalid")
}
