package subject

import (
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// shape tells how a glob without braces is matched. All but the last avoid the general matcher, which is some ten times
// slower; they cover what rules are written with.
type shape int

const (
	anything  shape = iota // ** and **/*
	exact                  // dir/name
	below                  // dir/**
	inFolder               // dir/pre*suf
	anyDepth               // pre*suf, **/pre*suf, dir/**/pre*suf
	hasFolder              // **/dir/**
	endsWith               // **/dir/name
	general
)

// glob is one glob without braces. What a field means depends on the kind; see match.
type glob struct {
	kind     shape
	dir      string // folder with a trailing slash, "" for the root
	pre, suf string // what the base name begins and ends with
	star     bool   // something may stand between pre and suf
	pattern  string
	baseOnly bool // of a general glob: match the base name
}

func (g *glob) match(name, base string) bool {
	switch g.kind {
	case anything:
		return true
	case exact:
		return name == g.pattern
	case below:
		return strings.HasPrefix(name, g.dir) || name == g.dir[:len(g.dir)-1]
	case inFolder:
		return len(name)-len(base) == len(g.dir) && g.hasBase(base) && strings.HasPrefix(name, g.dir)
	case anyDepth:
		return g.hasBase(base) && strings.HasPrefix(name, g.dir)
	case hasFolder:
		return strings.HasPrefix(name, g.dir) || strings.Contains(name, g.pattern) || endsInFolder(name, g.dir[:len(g.dir)-1])
	case endsWith:
		return endsInFolder(name, g.pattern)
	default:
		if g.baseOnly {
			return doublestar.MatchUnvalidated(g.pattern, base)
		}
		return strings.HasPrefix(name, g.pre) && doublestar.MatchUnvalidated(g.pattern, name)
	}
}

func (g *glob) hasBase(base string) bool {
	if !g.star {
		return base == g.pre
	}
	return len(base) >= len(g.pre)+len(g.suf) && strings.HasSuffix(base, g.suf) && strings.HasPrefix(base, g.pre)
}

// endsInFolder reports whether name is end, or ends in it behind a slash.
func endsInFolder(name, end string) bool {
	rest, ok := strings.CutSuffix(name, end)
	return ok && (rest == "" || rest[len(rest)-1] == '/')
}

// shapeOf finds the shape of a glob without braces. A rooted one is matched from the root, any other by base name.
func shapeOf(pattern string, rooted bool) glob {
	const meta = `*?[\`
	g := glob{kind: general, pattern: pattern, baseOnly: !rooted}
	if pattern == "**" || pattern == "**/*" || pattern == "*" && !rooted {
		g.kind = anything
		return g
	}
	if at := strings.IndexAny(pattern, meta); at >= 0 && rooted {
		g.pre = pattern[:at]
	}
	rest, deep := strings.CutPrefix(pattern, "**/")
	folder, inside := strings.CutSuffix(rest, "/**")
	dir, base := path.Split(rest)
	around, crossing := strings.CutSuffix(dir, "**/")
	pre, suf, star := strings.Cut(base, "*")
	literal := func(s string) bool { return !strings.ContainsAny(s, meta) }
	plainBase := literal(pre) && literal(suf)
	switch {
	case literal(rest) && !deep && rooted:
		g.kind = exact
	case literal(rest) && dir != "":
		g.kind, g.pattern = endsWith, rest
	case inside && literal(folder) && deep:
		g.kind, g.dir, g.pattern = hasFolder, folder+"/", "/"+folder+"/"
	case inside && literal(folder):
		g.kind, g.dir = below, folder+"/"
	case !plainBase || base == "":
	case dir == "" && (deep || !rooted):
		g.kind, g.pre, g.suf, g.star = anyDepth, pre, suf, star
	case crossing && literal(around) && strings.HasSuffix(around, "/") && !deep:
		g.kind, g.dir, g.pre, g.suf, g.star = anyDepth, around, pre, suf, star
	case literal(dir) && !deep:
		g.kind, g.dir, g.pre, g.suf, g.star = inFolder, dir, pre, suf, star
	}
	return g
}
