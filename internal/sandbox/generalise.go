package sandbox

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

const (
	// leastHeldBack is how many samples that break the rule, and that the model was not shown, a check must find for each of its ways to
	// deny before it may decide alone that a subject keeps the rule; leastUnnamed the same for ways of which the rule says nothing.
	leastHeldBack = 3
	leastUnnamed  = 5
	// copiedLength is the length of a text from a sample, in characters, from which on a check has copied it.
	copiedLength = 20
	maxReasons   = 10 // why a check decides denials only
)

// divide divides the cases of each verdict into those that the model is shown and those that are held back to see whether a check holds
// beyond them: half of them, the same ones each time.
func divide(cases []store.TestCase) (shown, back []store.TestCase) {
	byHash := slices.Clone(cases)
	slices.SortStableFunc(byHash, func(a, b store.TestCase) int {
		x, y := sha256.Sum256([]byte(a.SampleInput)), sha256.Sum256([]byte(b.SampleInput))
		return slices.Compare(x[:], y[:])
	})
	all, kept := map[string]int{}, map[string]int{}
	for i := range byHash {
		all[byHash[i].Expected]++
	}
	for i := range byHash {
		c := byHash[i]
		if kept[c.Expected] < all[c.Expected]/2 {
			kept[c.Expected]++
			back = append(back, c)
		} else {
			shown = append(shown, c)
		}
	}
	return shown, back
}

// proof is how a proposal does on what the model was not shown.
type proof struct {
	// wrong says why it is no good at all: it denies what keeps the rule.
	wrong string
	// reasons say why it may not decide alone that a subject keeps the rule.
	reasons  []string
	variants int
}

func (p *proof) doubt(format string, args ...any) {
	if len(p.reasons) < maxReasons {
		p.reasons = append(p.reasons, fmt.Sprintf(format, args...))
	}
}

// prover tries proposed checks; it returns what a rule says of a sample.
type prover func(ctx context.Context, r *rule.Rule, sample, inputType string) (rule.Trial, error)

// prove holds a rule with a proposed check against the cases that were held back, variants of all cases, and the record.
func (try prover) prove(ctx context.Context, r *rule.Rule, shown, back []store.TestCase, recorded wire.Agreement) (p proof) {
	breaking := 0
	for i := range back {
		c := &back[i]
		if c.Expected == string(rule.Deny) {
			breaking++
		}
		got := try.says(ctx, r, c.SampleInput, c.InputType)
		switch {
		case got == c.Expected:
		case c.Expected != string(rule.Deny):
			p.wrong = "it denies a sample that keeps the rule and that you were not shown"
			return p
		default:
			p.doubt("it misses the case %q, which the model was not shown", c.Name)
		}
	}
	if w := waysOf(r, r.Check); breaking < w.heldBack() {
		p.doubt("of the cases that break the rule only %d could be held back from the model, not %d, as a check with %d ways to deny takes: add more",
			breaking, w.heldBack(), max(1, w.named+w.other))
	}
	if bounded := boundedPart(r.Check); bounded != "" {
		p.doubt("it bounds how long a part may be (%s), and what is longer escapes it", bounded)
	}
	if part := try.unproved(ctx, r, slices.Concat(shown, back)); part != "" {
		p.doubt("no case needs its part %s: wider, or without that, it agrees with all of them. Add cases that are nearly broken there and keep the rule", part)
	}
	for _, list := range [][]store.TestCase{shown, back} {
		for i := range list {
			c := &list[i]
			for _, v := range variants(r, c.SampleInput, c.InputType) {
				p.variants++
				if got := try.says(ctx, r, v.sample, c.InputType); got != c.Expected {
					p.doubt("it says %s of a variant of the case %q (%s)", cmp.Or(got, "nothing"), c.Name, v.how)
				}
			}
		}
	}
	if recorded.Differ > 0 {
		p.doubt("it differs from %d of %d recorded verdicts", recorded.Differ, recorded.Evaluations)
	}
	return p
}

// says returns the verdict of the check of a rule on a sample; empty if the check does not decide it.
func (try prover) says(ctx context.Context, r *rule.Rule, sample, inputType string) string {
	trial, err := try(ctx, r, sample, inputType)
	if err != nil || trial.Verdict.DecidedBy != rule.ByCheck {
		return ""
	}
	return string(trial.Raw)
}

// maxOptional is how many optional characters of any kind a pattern may have: more of them are a bound on a length in other words.
const maxOptional = 2

// boundedPart returns a part of the patterns of a check that matches texts of up to some length only, such as [^)]{0,9}, or a text with such a
// bound that is no pattern as it stands; empty if there is none. The samples rarely show how long such a part can be.
func boundedPart(c *rule.Check) string {
	patterns := append(celTexts(c.CEL), celTexts(c.When)...)
	if c.Pattern != nil {
		patterns = append(patterns, c.Pattern.Regex)
	}
	for _, pattern := range patterns {
		re, err := syntax.Parse(pattern, syntax.Perl)
		if err != nil {
			if bound.MatchString(pattern) {
				return pattern
			}
			continue
		}
		optional := 0
		if part := boundedIn(re, &optional); part != nil {
			return part.String()
		}
	}
	return ""
}

// bound begins a bound in a pattern.
var bound = regexp.MustCompile(`\{[0-9]`)

// boundedIn finds the first bounded part of an expression. It counts optional characters in optional.
func boundedIn(re *syntax.Regexp, optional *int) *syntax.Regexp {
	switch {
	case re.Op == syntax.OpRepeat && re.Max > re.Min && (isOpen(re.Sub[0]) || hasSpace(re.Sub[0])):
		return re
	case re.Op == syntax.OpQuest && (isOpen(re.Sub[0]) || hasSpace(re.Sub[0])):
		if *optional++; *optional > maxOptional {
			return re
		}
	}
	for _, sub := range re.Sub {
		if part := boundedIn(sub, optional); part != nil {
			return part
		}
	}
	return nil
}

// isOpen reports whether an expression matches a character of many kinds, letters among them.
func isOpen(re *syntax.Regexp) bool {
	for len(re.Sub) == 1 {
		re = re.Sub[0]
	}
	switch re.Op {
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return true
	case syntax.OpCharClass:
		kinds := 0
		for i := 0; i < len(re.Rune); i += 2 {
			kinds += int(re.Rune[i+1]-re.Rune[i]) + 1
		}
		return kinds > 20
	case syntax.OpConcat, syntax.OpAlternate:
		return slices.ContainsFunc(re.Sub, isOpen)
	}
	return false
}

// hasSpace reports whether an expression, or an alternative of it, matches a space alone: languages rarely care how many there are.
func hasSpace(re *syntax.Regexp) bool {
	for len(re.Sub) == 1 {
		re = re.Sub[0]
	}
	switch re.Op {
	case syntax.OpLiteral:
		return strings.TrimSpace(string(re.Rune)) == ""
	case syntax.OpCharClass:
		for i := 0; i < len(re.Rune); i += 2 {
			if re.Rune[i] <= ' ' && ' ' <= re.Rune[i+1] {
				return true
			}
		}
	case syntax.OpAlternate:
		return slices.ContainsFunc(re.Sub, hasSpace)
	}
	return false
}

// copied returns the name of a case whose sample has a text that a check copies; empty if it copies none. What the rule itself says may be
// copied.
func copied(r *rule.Rule, c *rule.Check, cases []store.TestCase) string {
	texts := append(celTexts(c.CEL), celTexts(c.When)...)
	if c.Pattern != nil {
		for _, pattern := range []string{c.Pattern.Regex, c.Pattern.Unless} {
			if re, err := syntax.Parse(pattern, syntax.Perl); err == nil {
				texts = append(texts, patternTexts(re.Simplify())...)
			}
		}
	}
	own := plain(r.Statement + " " + r.Rationale)
	for _, t := range texts {
		if t = plain(t); len([]rune(t)) < copiedLength || strings.Contains(own, t) {
			continue
		}
		for i := range cases {
			if strings.Contains(plain(cases[i].SampleInput), t) {
				return cases[i].Name
			}
		}
	}
	return ""
}

// plain is a text without what a pattern may leave open: letter case and the kind and number of spaces.
func plain(text string) string { return strings.ToLower(strings.Join(strings.Fields(text), " ")) }

// celTexts returns the texts in one or three quotes of an expression. Raw ones, such as r'\b', keep their backslashes.
func celTexts(expression string) (texts []string) {
	for _, literal := range celLiterals(expression) {
		texts = append(texts, literal.text)
	}
	return texts
}

// celLiteral is a text in quotes: the expression has it from begin to end, quotes and letters before them included.
type celLiteral struct {
	text       string
	begin, end int
}

func celLiterals(expression string) (literals []celLiteral) {
	word := 0 // where the letters before a quote begin
	for i := 0; i < len(expression); i++ {
		quote := expression[i]
		if quote != '"' && quote != '\'' {
			if !isWord(quote) {
				word = i + 1
			}
			continue
		}
		raw, end := rawPrefix[strings.ToLower(expression[word:i])], expression[i:i+1]
		if three := strings.Repeat(end, 3); strings.HasPrefix(expression[i:], three) {
			end = three
		}
		var text strings.Builder
		for i += len(end); i < len(expression) && !strings.HasPrefix(expression[i:], end); {
			n := 1
			if !raw && expression[i] == '\\' {
				n = unescape(&text, expression[i:])
			} else {
				text.WriteByte(expression[i])
			}
			i += n
		}
		i = min(i+len(end), len(expression))
		literals = append(literals, celLiteral{text: text.String(), begin: word, end: i})
		word = i
		i--
	}
	return literals
}

// unescape writes the character that the escape at the beginning of a text means, and returns the length of the escape. One that Go does not
// have, such as \?, means the character behind the backslash.
func unescape(to *strings.Builder, text string) int {
	r, _, rest, err := strconv.UnquoteChar(text, 0)
	if err != nil {
		if len(text) > 1 {
			to.WriteByte(text[1])
		}
		return min(2, len(text))
	}
	to.WriteRune(r)
	return len(text) - len(rest)
}

// rawPrefix are the letters before the quote of a raw text, in lower case.
var rawPrefix = map[string]bool{"r": true, "br": true}

func isWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
}

// patternTexts returns the longest texts that a pattern spells out. Spaces that it leaves open count as one.
func patternTexts(re *syntax.Regexp) (texts []string) {
	switch re.Op {
	case syntax.OpLiteral:
		return []string{string(re.Rune)}
	case syntax.OpConcat:
		run := ""
		for _, sub := range re.Sub {
			switch {
			case sub.Op == syntax.OpLiteral:
				run += string(sub.Rune)
			case isSpace(sub):
				run += " "
			case sub.Op >= syntax.OpBeginLine && sub.Op <= syntax.OpNoWordBoundary:
			default:
				inner := patternTexts(sub)
				if sub.Op == syntax.OpCapture && len(inner) == 1 && sub.Sub[0].Op == syntax.OpLiteral {
					run += inner[0]
					continue
				}
				texts, run = append(append(texts, run), inner...), ""
			}
		}
		return append(texts, run)
	}
	for _, sub := range re.Sub {
		texts = append(texts, patternTexts(sub)...)
	}
	return texts
}

// isSpace reports a part of a pattern that matches spaces only.
func isSpace(re *syntax.Regexp) bool {
	for len(re.Sub) == 1 {
		re = re.Sub[0]
	}
	return re.Op == syntax.OpCharClass && slices.Contains(re.Rune, ' ') && len(re.Rune) <= 8 || re.Op == syntax.OpLiteral && strings.TrimSpace(string(re.Rune)) == ""
}
