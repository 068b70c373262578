package sandbox

import (
	"context"
	"regexp/syntax"
	"slices"
	"strings"

	"tenet/internal/rule"
	"tenet/internal/store"
)

// maxWider is how many wider forms of a check are tried.
const maxWider = 24

// unproved returns a part of the patterns of a check that no case needs to be as narrow as it is, or an exception that no case needs: without
// it the check agrees with all cases too, so the samples may merely look alike. It is empty if each part is needed.
func (try prover) unproved(ctx context.Context, r *rule.Rule, cases []store.TestCase) string {
	tried := 0
	for part, wider := range widerChecks(r.Check) {
		if tried++; tried > maxWider {
			return part
		}
		other := *r
		other.Check = wider
		differs := func(c store.TestCase) bool { return try.says(ctx, &other, c.SampleInput, c.InputType) != c.Expected }
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
		for _, text := range celTexts(c.CEL) {
			written, escaped := text, false
			if !strings.Contains(c.CEL, written) {
				written, escaped = strings.ReplaceAll(text, `\`, `\\`), true
			}
			for part, regex := range widerPatterns(text) {
				if escaped {
					regex = strings.ReplaceAll(regex, `\`, `\\`)
				}
				wider := *c
				wider.CEL = strings.ReplaceAll(c.CEL, written, regex)
				if !yield(part, &wider) {
					return
				}
			}
		}
	}
}

// widerPatterns yields a pattern with one part widened, and the part: repeated characters of a kind become any characters, a bounded number any
// number, and a word between brackets any word. Numbers of spaces and single optional characters stay.
func widerPatterns(pattern string) func(yield func(part, wider string) bool) {
	return func(yield func(part, wider string) bool) {
		root, err := syntax.Parse(pattern, syntax.Perl)
		if err != nil {
			return
		}
		inBrackets := false
		var walk func(re *syntax.Regexp) bool
		try := func(re *syntax.Regexp, wider syntax.Regexp) bool {
			part, was := re.String(), *re
			*re = wider
			whole := root.String()
			*re = was
			return yield(part, whole)
		}
		walk = func(re *syntax.Regexp) bool {
			switch re.Op {
			case syntax.OpStar, syntax.OpPlus, syntax.OpRepeat:
				sub := re.Sub[0]
				if isNarrow(sub) && !try(sub, syntax.Regexp{Op: syntax.OpAnyCharNotNL}) {
					return false
				}
				if re.Op == syntax.OpRepeat && re.Max > re.Min && !isSpace(sub) {
					wider := *re
					wider.Max = -1
					if !try(re, wider) {
						return false
					}
				}
			case syntax.OpLiteral:
				text := string(re.Rune)
				from := 0
				if !inBrackets {
					if from = strings.IndexAny(text, "(["); from < 0 {
						break
					}
					inBrackets = true
				}
				if word := wordIn(text[from:]); word != "" {
					at := from + strings.Index(text[from:], word)
					if !try(re, anyWord(re, text[:at], text[at+len(word):])) {
						return false
					}
				}
			}
			for _, sub := range re.Sub {
				if !walk(sub) {
					return false
				}
			}
			return true
		}
		walk(root)
	}
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

// wordIn returns the first word of two letters or more in a text; empty without one.
func wordIn(text string) string {
	words := strings.FieldsFunc(text, func(r rune) bool { return r >= 0x80 || !isWord(byte(r)) })
	for _, w := range words {
		if len(w) > 1 {
			return w
		}
	}
	return ""
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
