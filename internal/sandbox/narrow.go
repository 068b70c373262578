package sandbox

import (
	"context"
	"regexp/syntax"
	"slices"
	"strconv"

	"tenet/internal/check"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// maxWider is how many wider forms of a check are tried.
const maxWider = 24

// unproved returns a part of the patterns of a check that no case needs to be as narrow as it is, or an exception that no case needs: without
// it the check agrees with all cases too, so the samples may merely look alike. It is empty if each part is needed. A wider form that does not
// compile, or does not decide a case, proves nothing.
func (try prover) unproved(ctx context.Context, r *rule.Rule, cases []store.TestCase) string {
	tried := 0
	for part, wider := range widerChecks(r.Check) {
		if tried++; tried > maxWider {
			return part
		}
		if _, err := check.Compile(wider); err != nil {
			return part
		}
		other := *r
		other.Check = wider
		differs := func(c store.TestCase) bool {
			got := try.says(ctx, &other, c.SampleInput, c.InputType)
			return got != "" && got != c.Expected
		}
		if !slices.ContainsFunc(cases, differs) {
			return part
		}
	}
	return ""
}

// widerChecks yields copies of a check, each with one part of a pattern widened or without its exception, and the part.
func widerChecks(c *rule.Check) func(yield func(part string, wider *rule.Check) bool) {
	return func(yield func(part string, wider *rule.Check) bool) {
		if c.Pattern != nil {
			for part, regex := range widerPatterns(c.Pattern.Regex) {
				wider, pattern := *c, *c.Pattern
				pattern.Regex, wider.Pattern = regex, &pattern
				if !yield(part, &wider) {
					return
				}
			}
			if c.Pattern.Unless != "" {
				wider, pattern := *c, *c.Pattern
				pattern.Unless, wider.Pattern = "", &pattern
				if !yield("unless "+c.Pattern.Unless, &wider) {
					return
				}
			}
		}
		for _, literal := range celLiterals(c.CEL) {
			if c.CEL[literal.begin]|0x20 == 'b' { // bytes are no pattern
				continue
			}
			for part, regex := range widerPatterns(literal.text) {
				wider := *c
				wider.CEL = c.CEL[:literal.begin] + strconv.Quote(regex) + c.CEL[literal.end:]
				if !yield(part, &wider) {
					return
				}
			}
		}
	}
}

// widerPatterns yields a pattern with one part widened, and the part: a line's or text's begin or end is left out, a character of a kind becomes
// any character, a bounded number any number, and a word between brackets any word. Numbers of spaces and single optional characters stay.
func widerPatterns(pattern string) func(yield func(part, wider string) bool) {
	return func(yield func(part, wider string) bool) {
		root, err := syntax.Parse(pattern, syntax.Perl)
		if err != nil {
			return
		}
		w := widening{root: root, yield: yield}
		w.walk(root, 0)
	}
}

// widening yields wider forms of a pattern.
type widening struct {
	root  *syntax.Regexp
	yield func(part, wider string) bool
	done  bool // yield returned false
}

// try yields the pattern with another expression in place of a part.
func (w *widening) try(re *syntax.Regexp, part string, wider syntax.Regexp) {
	if w.done {
		return
	}
	was := *re
	*re = wider
	whole := w.root.String()
	*re = was
	w.done = !w.yield(part, whole)
}

// walk widens the parts of an expression within a number of open brackets, and returns how many are open behind it.
func (w *widening) walk(re *syntax.Regexp, open int) int {
	switch re.Op {
	case syntax.OpBeginLine, syntax.OpBeginText:
		w.try(re, "^", syntax.Regexp{Op: syntax.OpEmptyMatch})
	case syntax.OpEndLine, syntax.OpEndText:
		w.try(re, "$", syntax.Regexp{Op: syntax.OpEmptyMatch})
	case syntax.OpCharClass:
		if isNarrow(re) {
			w.try(re, re.String(), syntax.Regexp{Op: syntax.OpAnyCharNotNL})
		}
	case syntax.OpQuest:
		if isNarrow(re.Sub[0]) {
			return open
		}
	case syntax.OpRepeat:
		if re.Max > re.Min && !isSpace(re.Sub[0]) {
			wider := *re
			wider.Max = -1
			w.try(re, re.String(), wider)
		}
	case syntax.OpLiteral:
		return w.words(re, open)
	case syntax.OpAlternate:
		most := open
		for _, sub := range re.Sub {
			most = max(most, w.walk(sub, open))
		}
		return most
	}
	for i, sub := range re.Sub {
		if !idle(re, i) {
			open = w.walk(sub, open)
		}
	}
	return open
}

// idle reports whether part i of a sequence is a begin or an end beside any number of any characters, as in ^.*x, which says nothing.
func idle(sequence *syntax.Regexp, i int) bool {
	beside := i + 1
	switch sequence.Sub[i].Op {
	case syntax.OpBeginLine, syntax.OpBeginText:
	case syntax.OpEndLine, syntax.OpEndText:
		beside = i - 1
	default:
		return false
	}
	if beside < 0 || beside >= len(sequence.Sub) || sequence.Sub[beside].Op != syntax.OpStar {
		return false
	}
	char := sequence.Sub[beside].Sub[0]
	return char.Op == syntax.OpAnyChar || char.Op == syntax.OpAnyCharNotNL || char.Op == syntax.OpCharClass && !isNarrow(char) && !isSpace(char)
}

// words widens the words of a literal that stand between brackets, and returns how many brackets are open behind it.
func (w *widening) words(re *syntax.Regexp, open int) int {
	text := string(re.Rune)
	for i := 0; i < len(text); i++ {
		switch b := text[i]; {
		case b == '(' || b == '[':
			open++
		case b == ')' || b == ']':
			open = max(0, open-1)
		case isWord(b):
			begin := i
			for i+1 < len(text) && isWord(text[i+1]) {
				i++
			}
			if open > 0 && i > begin {
				w.try(re, re.String(), anyWord(re, text[:begin], text[i+1:]))
			}
		}
	}
	return open
}

// isNarrow reports whether an expression matches one character of some kinds that are not all, and not spaces only.
func isNarrow(re *syntax.Regexp) bool {
	for len(re.Sub) == 1 && re.Op == syntax.OpCapture {
		re = re.Sub[0]
	}
	if re.Op != syntax.OpCharClass || isSpace(re) {
		return false
	}
	excluded := re.Rune // of a class of nearly everything, the gap after its first range
	return len(excluded) != 4 || excluded[0] != 0 || excluded[1] != '\n'-1 || excluded[2] != '\n'+1
}

// anyWord is a literal with a word of any letters between two parts.
func anyWord(literal *syntax.Regexp, before, after string) syntax.Regexp {
	part := func(text string) *syntax.Regexp {
		if text == "" {
			return &syntax.Regexp{Op: syntax.OpEmptyMatch}
		}
		return &syntax.Regexp{Op: syntax.OpLiteral, Flags: literal.Flags, Rune: []rune(text)}
	}
	word := &syntax.Regexp{Op: syntax.OpCharClass, Rune: []rune{'0', '9', 'A', 'Z', '_', '_', 'a', 'z'}}
	return syntax.Regexp{Op: syntax.OpConcat, Sub: []*syntax.Regexp{part(before), {Op: syntax.OpStar, Sub: []*syntax.Regexp{word}}, part(after)}}
}
