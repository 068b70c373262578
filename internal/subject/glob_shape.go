package subject

import (
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// shape is a way to match a glob without braces. The general matcher is some ten times slower than the others, which cover the
// globs that rules usually have.
type shape int

const (
	general  shape = iota
	anything       // ** and **/*
	suffix         // *.go and **/*.go
	below          // dir/**
)

// glob is one glob without braces.
type glob struct {
	kind     shape
	literal  string // the end of the base name, or the folder; of a general glob a text in every match
	pattern  string
	baseOnly bool // whether a general glob matches the base name
}

func (g *glob) match(name, base string) bool {
	switch g.kind {
	case anything:
		return true
	case suffix:
		return strings.HasSuffix(base, g.literal)
	case below:
		rest, ok := strings.CutPrefix(name, g.literal)
		return ok && (rest == "" || rest[0] == '/')
	case general:
	}
	if !strings.Contains(name, g.literal) {
		return false
	}
	if g.baseOnly {
		name = base
	}
	return doublestar.MatchUnvalidated(g.pattern, name)
}

// shapeOf returns the matcher of a glob without braces. A rooted one matches from the root, any other by base name.
func shapeOf(pattern string, rooted bool) glob {
	if pattern == "**" || pattern == "**/*" || pattern == "*" && !rooted {
		return glob{kind: anything}
	}
	rest, deep := strings.CutPrefix(pattern, "**/")
	if end, ok := strings.CutPrefix(rest, "*"); ok && (deep || !rooted) && !strings.ContainsAny(end, `*?[\/`) {
		return glob{kind: suffix, literal: end}
	}
	if folder, ok := strings.CutSuffix(pattern, "/**"); ok && !strings.ContainsAny(folder, `*?[\`) {
		return glob{kind: below, literal: folder}
	}
	g := glob{pattern: pattern, baseOnly: !rooted}
	if !strings.ContainsAny(pattern, `[\`) {
		for part := range strings.FieldsFuncSeq(pattern, func(r rune) bool { return r == '*' || r == '?' }) {
			if part = strings.Trim(part, "/"); len(part) > len(g.literal) { // ** may match no folder, and then no slash
				g.literal = part
			}
		}
	}
	return g
}
