package check

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tenet/internal/rule"
)

// search is one run of a pattern over a subject.
type search struct {
	ctx     context.Context
	pattern *pattern

	texts, lines int    // looked at
	open         string // why the answer is open unless there is a hit
	hits         int
	locations    []rule.Location
	evidence     []rule.Evidence
	candidates   []int // lines of a text, reused
}

const (
	maxHits    = 50  // hits that are told one by one
	maxSnippet = 800 // bytes of a snippet
	maxQuote   = 300 // bytes of a quote
)

// look searches one text.
func (s *search) look(t *text) {
	lines := t.added
	if s.pattern.anyLine {
		lines = len(t.lines)
	}
	if lines == 0 {
		return
	}
	s.texts++
	s.lines += lines
	switch {
	case s.pattern.absent(t):
	case s.ctx.Err() != nil:
		s.leaveOpen("the check was stopped: " + s.ctx.Err().Error())
	case s.pattern.multiline:
		s.lookRuns(t)
	case len(s.pattern.literals.any) == 0 || s.pattern.literals.fold && t.odd:
		s.lookLines(t)
	default:
		s.lookCandidates(t)
	}
}

func (s *search) leaveOpen(reason string) {
	if s.open == "" {
		s.open = reason
	}
}

// lookLines matches every line that counts and that may match by its length and the bytes in it.
func (s *search) lookLines(t *text) {
	for i := range t.lines {
		if i%256 == 255 && s.ctx.Err() != nil {
			s.leaveOpen("the check was stopped: " + s.ctx.Err().Error())
			return
		}
		line := t.line(i)
		if len(line) >= s.pattern.shortest && (s.pattern.bytes == nil || !s.pattern.bytes.none(line)) {
			s.lookLine(t, i)
		}
	}
}

// lookCandidates matches the lines in which a literal begins. No other line can match, since a match in a line has its
// literal there too.
func (s *search) lookCandidates(t *text) {
	body := s.pattern.searched(t)
	s.candidates = s.candidates[:0]
	for i, literal := range s.pattern.literals.any {
		if !t.grams.mayHold(s.pattern.hashes[i]) {
			continue
		}
		for from := 0; from < len(body); {
			at := strings.Index(body[from:], literal)
			if at < 0 {
				break
			}
			line := t.lineAt(from + at)
			s.candidates = append(s.candidates, line)
			from = t.end(line) + 1
		}
	}
	if len(s.pattern.literals.any) > 1 {
		slices.Sort(s.candidates)
		s.candidates = slices.Compact(s.candidates)
	}
	for n, i := range s.candidates {
		if n%256 == 255 && s.ctx.Err() != nil {
			s.leaveOpen("the check was stopped: " + s.ctx.Err().Error())
			return
		}
		s.lookLine(t, i)
	}
}

// lookLine matches one line.
func (s *search) lookLine(t *text, i int) {
	if !s.pattern.counts(&t.lines[i]) {
		return
	}
	line := t.line(i)
	if !s.fits(t, i, len(line)) || !s.pattern.regex.MatchString(line) {
		return
	}
	if s.pattern.unless != nil && s.pattern.unless.MatchString(line) {
		return
	}
	at := 0
	if len(line) > maxQuote && s.hits < maxHits {
		at = s.pattern.regex.FindStringIndex(line)[0]
	}
	s.hit(t, i, i, line, at)
}

// fits leaves the answer open where an expression would run for seconds.
func (s *search) fits(t *text, i, bytes int) bool {
	if s.pattern.regex.fits(bytes) && (s.pattern.unless == nil || s.pattern.unless.fits(bytes)) {
		return true
	}
	s.leaveOpen(fmt.Sprintf("%s is too long for this pattern", t.place(i)))
	return false
}

// place names a line.
func (t *text) place(i int) string {
	l := &t.lines[i]
	switch {
	case t.isFacts:
		return t.sections[l.section]
	case t.path == "":
		return fmt.Sprintf("line %d of the action", l.number)
	}
	return fmt.Sprintf("%s:%d", t.path, l.number)
}

// hit notes that lines first to last of a text match. quoted is the text that matched, of interest from byte at on.
func (s *search) hit(t *text, first, last int, quoted string, at int) {
	if s.hits++; s.hits > maxHits {
		return
	}
	from, to := &t.lines[first], &t.lines[last]
	section, quote := t.sections[from.section], window(quoted, at, maxQuote)
	if t.isFacts {
		s.evidence = append(s.evidence, rule.Evidence{Kind: rule.EvidenceFact, Fact: section, Value: factJSON(quote)})
		return
	}
	s.evidence = append(s.evidence, rule.Evidence{
		Kind: rule.EvidenceQuote, Quote: quote, FilePath: t.path, Line: int(from.number),
	})
	if t.path == "" {
		return
	}
	snippet := t.body[from.start:t.end(last)]
	if first == last {
		snippet = window(snippet, at, maxSnippet)
	}
	s.locations = append(s.locations, rule.Location{
		FilePath: t.path, StartLine: int(from.number), EndLine: int(to.number),
		FunctionName: section, Snippet: cut(snippet, maxSnippet),
	})
}

// window returns the part of a long text in which the byte at stands, verbatim.
func window(text string, at, longest int) string {
	if len(text) <= longest {
		return text
	}
	start := runeStart(text, max(0, min(at-longest/4, len(text)-longest)))
	return text[start:runeStart(text, start+longest)]
}

// broken tells of the hits.
func (s *search) broken(prog *Program) Outcome {
	matches := "`" + s.pattern.short + "` matches"
	reason := fmt.Sprintf("%s in %s", matches, s.firstPlace())
	switch rest := s.hits - 1; {
	case s.hits > maxHits:
		reason += fmt.Sprintf(" and %d more places; the first %d are listed, and %d more are not", rest, maxHits, s.hits-maxHits)
	case rest == 1:
		reason += " and 1 more place"
	case rest > 1:
		reason += fmt.Sprintf(" and %d more places", rest)
	}
	out := prog.broken(reason, "Text matches the forbidden pattern `"+s.pattern.short+"`.")
	out.Locations, out.Evidence = s.locations, s.evidence
	return out
}

func (s *search) firstPlace() string {
	switch e := s.evidence[0]; {
	case e.Fact != "":
		return e.Fact
	case e.FilePath == "":
		return fmt.Sprintf("line %d of the action", e.Line)
	default:
		return fmt.Sprintf("%s:%d", e.FilePath, e.Line)
	}
}

// looked says what was looked at.
func (s *search) looked() string {
	lines, texts := "1 line", "1 text"
	if s.lines > 1 {
		lines = fmt.Sprintf("%d lines", s.lines)
	}
	if s.texts > 1 {
		texts = fmt.Sprintf("%d texts", s.texts)
	}
	return lines + " of " + texts
}
