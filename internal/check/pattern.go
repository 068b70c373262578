package check

import (
	"context"
	"fmt"
	"regexp/syntax"
	"slices"
	"strings"

	"tenet/internal/diff"
	"tenet/internal/ledger"
	"tenet/internal/rule"
	"tenet/internal/subject"
	"tenet/internal/text"
)

// pattern is a compiled [rule.Pattern].
type pattern struct {
	regex     *regex
	unless    *regex // nil if the pattern has none
	paths     subject.Globs
	excluded  subject.Globs
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
	p.paths = patternGlobs(problems, "check.pattern.paths", from.Paths)
	p.excluded = patternGlobs(problems, "check.pattern.exclude_paths", from.ExcludePaths)
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

// wants reports whether the path passes the filters.
func (p *pattern) wants(path string) bool {
	return (p.paths.Empty() || p.paths.Match(path)) && !p.excluded.Match(path)
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

// runPattern looks for the pattern in every text that it wants.
func (p *Program) runPattern(ctx context.Context, in *Input) Outcome {
	search := search{ctx: ctx, pattern: p.pattern}
	everywhere := p.pattern.paths.Empty() && p.pattern.excluded.Empty()
	about, seen := in.about(), in.searchable()
	if !everywhere {
		about, seen = in.textsOf(p.pattern.wants), ledger.NewSet(in.units().Len())
	}
	for _, t := range in.fileTexts() {
		if !everywhere {
			if !p.pattern.wants(t.path) {
				continue
			}
			seen.AddRange(in.units().Hunks(t.file))
		}
		search.text(t)
	}
	if p.pattern.paths.Empty() {
		for _, t := range in.looseTexts() {
			search.text(t)
		}
		if !in.loose().Empty() {
			about, seen = ledger.Union(about, in.loose()), ledger.Union(seen, in.loose())
		}
	}
	switch {
	case search.hits > 0:
		return search.broken(p)
	case search.open != "":
		return Outcome{Reason: search.open, About: about, Seen: seen}
	}
	if reason := in.missing(about, seen); reason != "" {
		return Outcome{Reason: reason, About: about, Seen: seen}
	}
	if search.lines == 0 {
		return Outcome{Result: NotConcerned, Reason: p.pattern.nothing(in), About: about, Seen: seen}
	}
	return Outcome{Result: Kept, Reason: fmt.Sprintf("no match of `%s` in %s", p.pattern.short, search.looked()), About: about, Seen: seen}
}

// nothing explains why the pattern read no line.
func (p *pattern) nothing(in *Input) string {
	switch {
	case len(in.subject.Files) == 0:
		return "the subject has no text that the pattern looks at"
	case !slices.ContainsFunc(in.subject.Files, func(f diff.File) bool { return p.wants(f.Path) }):
		return "no file of the subject is among the paths of the pattern"
	}
	return "no lines are added in the files that the pattern looks at"
}
