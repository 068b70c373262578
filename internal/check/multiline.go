package check

import "strings"

const (
	fewMatches  = 256     // matches in a run to find at first
	mostMatches = 200_000 // matches in a run to find at most, which bounds the memory
)

// runs matches every run of neighbouring lines that has a line that counts.
func (s *search) runs(t *content) {
	for first := 0; first < len(t.lines); {
		last, counting := first, s.pattern.counts(&t.lines[first])
		for last+1 < len(t.lines) && t.lines[last+1].adjacent {
			last++
			counting = counting || s.pattern.counts(&t.lines[last])
		}
		if s.stopped() {
			return
		}
		if counting && s.mayMatch(t, first, last) && s.fits(t, first, t.end(last)-int(t.lines[first].start)) {
			s.run(t, first, last)
		}
		first = last + 1
	}
}

// mayMatch reports whether a run holds a literal of a match.
func (s *search) mayMatch(t *content, first, last int) bool {
	if len(s.pattern.literals.any) == 0 || s.pattern.literals.fold && t.odd {
		return true
	}
	run := s.pattern.searchText(t)[t.lines[first].start:t.end(last)]
	for _, literal := range s.pattern.literals.any {
		if strings.Contains(run, literal) {
			return true
		}
	}
	return false
}

// run notes the matches in a run that include a line that counts.
func (s *search) run(t *content, first, last int) {
	start := int(t.lines[first].start)
	run := t.body[start:t.end(last)]
	matches := s.pattern.regex.FindAllStringIndex(run, fewMatches)
	if len(matches) == fewMatches {
		matches = s.pattern.regex.FindAllStringIndex(run, mostMatches)
	}
	if len(matches) == mostMatches {
		s.leaveOpen(t.place(first) + " begins a text with too many matches")
	}
	hitFrom, hitTo := -1, -1
	for _, match := range matches {
		matched := run[match[0]:match[1]]
		from, to := t.touched(start+match[0], start+match[1])
		if from == hitFrom && to == hitTo || !s.counting(t, from, to) || s.pattern.unless != nil && s.pattern.unless.MatchString(matched) {
			continue
		}
		hitFrom, hitTo = from, to
		s.hit(t, from, to, matched, 0)
	}
}

// touched returns the first and the last line with a character between the bytes start and end of the body. Line ends count
// only if it has no other character.
func (t *content) touched(start, end int) (from, to int) {
	matched := t.body[start:end]
	if trimmed := strings.Trim(matched, "\n"); trimmed != "" {
		start += strings.Index(matched, trimmed)
		end = start + len(trimmed)
	}
	return t.lineAt(start), t.lineAt(end - 1)
}

func (s *search) counting(t *content, from, to int) bool {
	for i := from; i <= to; i++ {
		if s.pattern.counts(&t.lines[i]) {
			return true
		}
	}
	return false
}
