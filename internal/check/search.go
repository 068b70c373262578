package check

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"tenet/internal/rule"
	"tenet/internal/text"
)

// search is one run of a pattern over a subject.
type search struct {
	ctx     context.Context
	pattern *pattern

	open      string // why the answer is open if nothing matches
	hits      int
	first     string // the place of the first hit
	locations []rule.Location
	evidence  []rule.Evidence
	found     []int // the candidates of a text, reused
	// taken are the first and last lines of the hits in a text of which there are two readings.
	taken map[[2]int]bool
}

const (
	maxHits    = 50  // hits in an outcome
	maxSnippet = 800 // bytes of a snippet
	maxQuote   = 300 // bytes of a quote
)

// text searches one text in all its readings.
func (s *search) text(t *content) {
	lines := t.added
	if s.pattern.anyLine {
		lines = len(t.lines)
	}
	if lines == 0 {
		return
	}
	s.taken = nil
	s.reading(t)
	if t.again != nil {
		s.reading(t.again)
	}
}

// beyond leaves the answer open if a match may begin or end in neighbouring lines that the text does not have.
func (s *search) beyond(t *content) {
	switch {
	case t.cut >= 0:
		s.leaveOpen("the diff does not show what is before " + t.place(t.cut) + ", and the pattern is about several lines")
	case t.several && !s.pattern.absent(t):
		s.leaveOpen("the diff changes " + t.path + " more than once, and the pattern is about several lines")
	}
}

// reading searches a text in one reading.
func (s *search) reading(t *content) {
	switch {
	case s.pattern.absent(t) || s.stopped():
	case s.pattern.multiline:
		s.runs(t)
	default:
		for n, i := range s.candidates(t) {
			if n%256 == 255 && s.stopped() {
				return
			}
			s.line(t, i)
		}
	}
}

// stopped reports whether the context has ended, which leaves the answer open.
func (s *search) stopped() bool {
	err := s.ctx.Err()
	if err != nil {
		s.leaveOpen("the check was stopped: " + err.Error())
	}
	return err != nil
}

func (s *search) leaveOpen(reason string) {
	if s.open == "" {
		s.open = reason
	}
}

// candidates returns the lines that may match, in order: those in which a literal begins, since a match in a line has its
// literal there too, or all if the pattern has no literals.
func (s *search) candidates(t *content) []int {
	s.found = s.found[:0]
	if len(s.pattern.literals.any) == 0 || s.pattern.literals.fold && t.odd {
		for i := range t.lines {
			s.found = append(s.found, i)
		}
		return s.found
	}
	body := s.pattern.searchText(t)
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
			s.found = append(s.found, line)
			from = t.end(line) + 1
		}
	}
	if len(s.pattern.literals.any) > 1 {
		slices.Sort(s.found)
		s.found = slices.Compact(s.found)
	}
	return s.found
}

// line matches one line.
func (s *search) line(t *content, i int) {
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

// fits reports whether the expressions may run over so many bytes; it leaves the answer open if they would run for seconds.
func (s *search) fits(t *content, i, bytes int) bool {
	if s.pattern.regex.fits(bytes) && (s.pattern.unless == nil || s.pattern.unless.fits(bytes)) {
		return true
	}
	s.leaveOpen(fmt.Sprintf("%s is too long for this pattern", t.place(i)))
	return false
}

// place names a line.
func (t *content) place(i int) string {
	if t.of != nil {
		t, i = t.of, int(t.origin[i])
	}
	l := &t.lines[i]
	switch {
	case t.isFacts:
		return t.sections[l.section]
	case t.path == "":
		return fmt.Sprintf("line %d of the action", l.number)
	}
	return fmt.Sprintf("%s:%d", t.path, l.number)
}

// hit notes that lines first to last of a text match. The match begins at byte at of the text quoted.
func (s *search) hit(t *content, first, last int, quoted string, at int) {
	if t.of != nil {
		first, last = int(t.origin[first]), int(t.origin[last])
		t = t.of
		quoted = t.body[t.lines[first].start:t.end(last)]
	}
	if t.again != nil {
		at := [2]int{first, last}
		if s.taken[at] {
			return
		}
		if s.taken == nil {
			s.taken = map[[2]int]bool{}
		}
		s.taken[at] = true
	}
	if s.hits++; s.hits > maxHits {
		return
	}
	if s.hits == 1 {
		s.first = t.place(first)
	}
	from, to := &t.lines[first], &t.lines[last]
	quote := window(quoted, at, maxQuote)
	if t.isFacts {
		section := t.sections[from.section]
		value := factJSON(quote)
		if v, ok := t.values[from.section]; ok {
			value = factJSON(v)
		}
		s.evidence = append(s.evidence, rule.Evidence{Kind: rule.EvidenceFact, Fact: section, Value: value})
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
		FunctionName: t.functionOf(first), Snippet: text.Fit(snippet, maxSnippet, "..."),
	})
}

// window returns the part of a long text around the byte at, verbatim.
func window(s string, at, longest int) string {
	if len(s) <= longest {
		return s
	}
	start := max(0, min(at-longest/4, len(s)-longest))
	for start > 0 && !utf8.RuneStart(s[start]) {
		start--
	}
	return text.Fit(s[start:], longest, "")
}

// broken returns the outcome for the hits.
func (s *search) broken(prog *Program) Outcome {
	matches := "`" + s.pattern.short + "` matches"
	reason := fmt.Sprintf("%s in %s", matches, s.first)
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
