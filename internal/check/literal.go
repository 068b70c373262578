package check

import (
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

// literals are texts of which every match of an expression contains at least one. A text without any of them needs no run of
// the expression. 100 patterns over a diff of 300 KB take 4 ms with literals and [grams], 22 ms without grams, and 350 ms
// without both: too long for 2,000 evaluations a second. Benchmark100PatternsOverBigDiff measures it. What is known of an
// expression beyond these texts, such as rare bytes in its matches, made no difference there.
type literals struct {
	any []string // empty if there is nothing that every match contains
	// fold means that any is in lower case, for text whose ASCII letters are in lower case.
	fold bool
}

// literalsOf returns the best such texts.
func literalsOf(re *syntax.Regexp) literals {
	l := literals{fold: folds(re)}
	l.any = l.find(re)
	if len(l.any) > 2 && shortest(l.any) == 1 {
		l.any = nil // most texts have one of several characters
	}
	return l
}

// folds reports whether some part of the expression ignores case.
func folds(re *syntax.Regexp) bool {
	return re.Op == syntax.OpLiteral && re.Flags&syntax.FoldCase != 0 || slices.ContainsFunc(re.Sub, folds)
}

// maxTexts is how many texts an expression may have, lest looking for them takes longer than running it.
const maxTexts = 32

// find returns the texts of an expression, or nil.
func (l literals) find(re *syntax.Regexp) []string {
	switch re.Op {
	case syntax.OpLiteral:
		return l.literal(re)
	case syntax.OpCapture, syntax.OpPlus:
		return l.find(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return l.find(re.Sub[0])
		}
	case syntax.OpConcat:
		var best []string
		for _, sub := range re.Sub {
			best = better(best, l.find(sub))
		}
		return best
	case syntax.OpAlternate:
		var all []string
		for _, sub := range re.Sub {
			texts := l.find(sub)
			if texts == nil || len(all)+len(texts) > maxTexts {
				return nil
			}
			all = append(all, texts...)
		}
		return all
	}
	return nil
}

// literal returns the longest piece of a literal without characters that cannot be looked for as bytes: those beyond ASCII
// where case is ignored, and the replacement character, which also matches bytes that are no character.
func (l literals) literal(re *syntax.Regexp) []string {
	longest := ""
	for piece := range strings.FieldsFuncSeq(string(re.Rune), func(r rune) bool {
		return r == utf8.RuneError || re.Flags&syntax.FoldCase != 0 && r >= utf8.RuneSelf
	}) {
		if len(piece) > len(longest) {
			longest = piece
		}
	}
	if longest == "" {
		return nil
	}
	if l.fold {
		longest = lowerASCII(longest)
	}
	return []string{longest}
}

// better returns the texts that are likelier to be absent: the longer ones, then the fewer.
func better(a, b []string) []string {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	x, y := min(shortest(a), 6), min(shortest(b), 6)
	if x > y || x == y && len(a) <= len(b) {
		return a
	}
	return b
}

func shortest(texts []string) int {
	return len(slices.MinFunc(texts, func(a, b string) int { return len(a) - len(b) }))
}
