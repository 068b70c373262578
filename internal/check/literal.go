package check

import (
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

// literals are texts of which every match of an expression contains at least one. Looking for them is much faster than
// running the expression, so text without any of them is not matched at all.
type literals struct {
	any []string // empty if there is nothing that every match contains
	// fold tells that any is in lower case and must be looked for in text whose ASCII letters are in lower case.
	fold bool
}

// literalsOf finds the best such texts.
func literalsOf(re *syntax.Regexp) literals {
	l := literals{fold: folds(re)}
	l.any = l.find(re).required()
	if len(l.any) > 2 && shortest(l.any) == 1 {
		l.any = nil // single characters are looked for faster as a set of bytes
	}
	return l
}

// folds reports whether some part of the expression ignores case.
func folds(re *syntax.Regexp) bool {
	return re.Op == syntax.OpLiteral && re.Flags&syntax.FoldCase != 0 || slices.ContainsFunc(re.Sub, folds)
}

// Bounds on what is kept while an expression is read. Beyond them the expression is only known less well.
const (
	maxExact      = 16 // texts that an expression may be equal to
	maxAny        = 32 // texts to look for
	maxLiteral    = 48 // bytes of one text
	maxClassRunes = 6  // characters of a class that are written out
)

// known is what is known of the matches of an expression: exactly which texts they are, or texts of which each match
// contains one, or nothing.
type known struct {
	exact []string // nil if not known
	any   []string // nil if not known
}

// required are texts of which each match contains one, nil if there are none.
func (k known) required() []string {
	if k.exact == nil {
		return k.any
	}
	if len(k.exact) == 0 || slices.Contains(k.exact, "") {
		return nil
	}
	return k.exact
}

var empty = known{exact: []string{""}}

func (l literals) find(re *syntax.Regexp) known {
	switch re.Op {
	case syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText,
		syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return empty
	case syntax.OpLiteral:
		return l.literal(re)
	case syntax.OpCharClass:
		return l.class(re)
	case syntax.OpCapture:
		return l.find(re.Sub[0])
	case syntax.OpConcat:
		parts := make([]known, len(re.Sub))
		for i, sub := range re.Sub {
			parts[i] = l.find(sub)
		}
		return concat(parts)
	case syntax.OpAlternate:
		return l.alternate(re)
	case syntax.OpPlus:
		return known{any: l.find(re.Sub[0]).required()}
	case syntax.OpRepeat:
		return l.repeat(re)
	case syntax.OpQuest:
		if sub := l.find(re.Sub[0]); sub.exact != nil && len(sub.exact) < maxExact {
			return known{exact: append([]string{""}, sub.exact...)}
		}
	case syntax.OpNoMatch, syntax.OpAnyChar, syntax.OpAnyCharNotNL, syntax.OpStar:
	}
	return known{}
}

// literal splits a literal at characters that cannot be looked for as bytes: those beyond ASCII where case is ignored, and
// the replacement character, which also matches bytes that are no character.
func (l literals) literal(re *syntax.Regexp) known {
	var parts []known
	var b strings.Builder
	flush := func() {
		if b.Len() > 0 {
			parts = append(parts, known{exact: []string{b.String()}})
			b.Reset()
		}
	}
	for _, r := range re.Rune {
		switch {
		case r == utf8.RuneError, re.Flags&syntax.FoldCase != 0 && r >= utf8.RuneSelf:
			flush()
			parts = append(parts, known{})
		default:
			if b.WriteRune(l.lower(r)); b.Len() >= maxLiteral {
				flush()
			}
		}
	}
	flush()
	return concat(parts)
}

func (l literals) lower(r rune) rune {
	if l.fold && 'A' <= r && r <= 'Z' {
		return r + 'a' - 'A'
	}
	return r
}

func (l literals) class(re *syntax.Regexp) known {
	var exact []string
	for i := 0; i < len(re.Rune); i += 2 {
		for r := re.Rune[i]; r <= re.Rune[i+1]; r++ {
			if len(exact) == maxClassRunes || r == utf8.RuneError || l.fold && r >= utf8.RuneSelf {
				return known{}
			}
			exact = append(exact, string(l.lower(r)))
		}
	}
	slices.Sort(exact)
	return known{exact: slices.Compact(exact)}
}

func (l literals) alternate(re *syntax.Regexp) known {
	var exact, anyOf []string
	isExact, isAny := true, true
	for _, sub := range re.Sub {
		k := l.find(sub)
		isExact = isExact && k.exact != nil && len(exact)+len(k.exact) <= maxExact
		if isExact {
			exact = append(exact, k.exact...)
		}
		required := k.required()
		isAny = isAny && required != nil && len(anyOf)+len(required) <= maxAny
		if isAny {
			anyOf = append(anyOf, required...)
		}
	}
	switch {
	case isExact:
		return known{exact: exact}
	case isAny:
		return known{any: anyOf}
	}
	return known{}
}

func (l literals) repeat(re *syntax.Regexp) known {
	if re.Min == 0 {
		return known{}
	}
	sub := l.find(re.Sub[0])
	if len(sub.exact) != 1 || sub.exact[0] == "" {
		return known{any: sub.required()}
	}
	times := min(re.Min, max(1, maxLiteral/len(sub.exact[0])))
	repeated := []string{strings.Repeat(sub.exact[0], times)}
	if times == re.Max {
		return known{exact: repeated}
	}
	return known{any: repeated}
}

// concat joins what is known of neighbouring parts: neighbours that are known exactly become longer texts.
func concat(parts []known) known {
	exact, best, whole := []string{""}, []string(nil), true
	for _, part := range parts {
		if joined := cross(exact, part.exact); joined != nil {
			exact = joined
			continue
		}
		whole = false
		best = better(best, known{exact: exact}.required())
		if part.exact != nil {
			exact = part.exact
		} else {
			best, exact = better(best, part.any), []string{""}
		}
	}
	if whole {
		return known{exact: exact}
	}
	return known{any: better(best, known{exact: exact}.required())}
}

// cross returns every text of a followed by every text of b, or nil if they are too many or too long.
func cross(a, b []string) []string {
	if b == nil || len(a)*len(b) > maxExact {
		return nil
	}
	out := make([]string, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			if len(x)+len(y) > 2*maxLiteral {
				return nil
			}
			out = append(out, x+y)
		}
	}
	return out
}

// better returns the texts that are likelier to be absent: the longer ones, then the fewer.
func better(a, b []string) []string {
	if a == nil || b == nil {
		if a == nil {
			return b
		}
		return a
	}
	x, y := min(shortest(a), 6), min(shortest(b), 6)
	if x > y || x == y && len(a) <= len(b) {
		return a
	}
	return b
}

func shortest(texts []string) int {
	n := len(texts[0])
	for _, s := range texts[1:] {
		n = min(n, len(s))
	}
	return n
}
