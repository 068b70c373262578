package check

import (
	"context"
	"fmt"
	"regexp/syntax"
	"slices"
	"strings"

	"tenet/internal/rule"
	"tenet/internal/subject"
	"tenet/internal/text"
)

// pattern is a compiled [rule.Pattern].
type pattern struct {
	regex     *regex
	unless    *regex // nil if the pattern has none
	scope     scope
	anyLine   bool
	multiline bool

	literals literals
	hashes   [][]uint32 // per literal
	short    string     // the expression, cut for messages
}

func compilePattern(problems *rule.Problems, from *rule.Pattern) *pattern {
	before := problems.Len()
	p := &pattern{anyLine: from.Lines == rule.LinesAny, multiline: from.Multiline, short: text.Fit(from.Regex, maxShort, "...")}
	if from.Regex == "" {
		problems.Add("check.pattern.regex", "must not be empty")
	}
	if from.Lines != "" && !slices.Contains(rule.LinesValues, from.Lines) {
		problems.Add("check.pattern.lines", "is %q; use one of %s", string(from.Lines), rule.Names(rule.LinesValues))
	}
	p.regex = patternRegex(problems, "check.pattern.regex", from.Regex)
	if from.Unless != "" {
		p.unless = patternRegex(problems, "check.pattern.unless", from.Unless)
	}
	p.scope = compileScope(problems, from)
	if problems.Len() > before {
		return nil
	}
	if p.multiline && mayBeEmpty(p.regex.syntax) {
		problems.Add("check.pattern.regex", "matches the empty text, which is everywhere in a multiline text; make it match a character")
	}
	p.literals = literalsOf(p.regex.syntax)
	for _, literal := range p.literals.any {
		p.hashes = append(p.hashes, gramHashes(literal))
	}
	return p
}

func patternRegex(problems *rule.Problems, field, source string) *regex {
	if len(source) > rule.MaxExpr {
		problems.Add(field, "has %d bytes; at most %d are allowed", len(source), rule.MaxExpr)
		return nil
	}
	re, err := compileRegex(source)
	if err != nil {
		problems.Add(field, "%s", err.Error())
	}
	return re
}

func patternGlobs(problems *rule.Problems, field string, list []string) subject.Globs {
	for i, glob := range list {
		if _, err := subject.CompileGlobs([]string{glob}); err != nil {
			problems.Add(fmt.Sprintf("%s[%d]", field, i), "%s", err.Error())
		}
	}
	globs, err := subject.CompileGlobs(list)
	if err != nil {
		return subject.Globs{}
	}
	return globs
}

// mayBeEmpty reports whether an expression may match without any character.
func mayBeEmpty(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpLiteral, syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL, syntax.OpNoMatch:
		return false
	case syntax.OpCapture, syntax.OpPlus:
		return mayBeEmpty(re.Sub[0])
	case syntax.OpRepeat:
		return re.Min == 0 || mayBeEmpty(re.Sub[0])
	case syntax.OpConcat:
		return !slices.ContainsFunc(re.Sub, func(sub *syntax.Regexp) bool { return !mayBeEmpty(sub) })
	case syntax.OpAlternate:
		return slices.ContainsFunc(re.Sub, mayBeEmpty)
	}
	return true
}

// counts reports whether hits in a line count.
func (p *pattern) counts(l *textLine) bool { return p.anyLine || l.added }

// absent reports whether the text has no literal of a match, and so no match.
func (p *pattern) absent(t *content) bool {
	if len(p.literals.any) == 0 || p.literals.fold && t.odd {
		return false
	}
	for i, literal := range p.literals.any {
		if t.grams.mayHold(p.hashes[i]) && (len(literal) > 2 || strings.Contains(p.searchText(t), literal)) {
			return false
		}
	}
	return true
}

// searchText returns the text in which to search for literals.
func (p *pattern) searchText(t *content) string {
	if p.literals.fold {
		return t.lower()
	}
	return t.body
}

// absentAnywhere reports whether no text of the subject has a literal of a match. It needs longer literals, and may be false where
// absent is true.
func (p *pattern) absentAnywhere(in *Input) bool {
	if len(p.literals.any) == 0 || p.literals.fold && in.odd() {
		return false
	}
	g := in.grams()
	for i, literal := range p.literals.any {
		if len(literal) < 3 || g.mayHold(p.hashes[i]) {
			return false
		}
	}
	return true
}

// runPattern looks for the pattern in every text that it wants.
func (p *Program) runPattern(ctx context.Context, in *Input) Outcome {
	v := in.view(&p.pattern.scope)
	found := search{ctx: ctx, pattern: p.pattern}
	if !p.pattern.absentAnywhere(in) {
		for _, t := range v.texts {
			found.text(t)
		}
	}
	if p.pattern.multiline && p.decides != rule.DenyOnly {
		for _, t := range v.texts {
			found.beyond(t)
		}
	}
	out := Outcome{About: v.about, Seen: v.seen}
	looked := &v.added
	if p.pattern.anyLine {
		looked = &v.any
	}
	switch {
	case found.hits > 0:
		out = found.broken(p)
		out.About, out.Seen = v.about, v.seen
	case found.open != "":
		out.Reason = found.open
	case v.missing != "":
		out.Reason = v.missing
	case looked.lines == 0:
		out.Result, out.Reason = NotConcerned, looked.text
	default:
		out.Result, out.Reason = Kept, "no match of `"+p.pattern.short+"` in "+looked.text
	}
	return out
}
