package check

import "strings"

const (
	fewMatches  = 256     // matches in a run that are asked for at first
	mostMatches = 200_000 // matches in a run that are looked at, and so its memory
)

// lookRuns matches every run of neighbouring lines that has a line that counts.
func (s *search) lookRuns(t *text) {
	for first := 0; first < len(t.lines); {
		last, counting := first, s.pattern.counts(&t.lines[first])
		for last+1 < len(t.lines) && t.lines[last+1].adjacent {
			last++
			counting = counting || s.pattern.counts(&t.lines[last])
		}
		if s.ctx.Err() != nil {
			s.leaveOpen("the check was stopped: " + s.ctx.Err().Error())
			return
		}
		if counting && s.mayMatch(t, first, last) && s.fits(t, first, t.end(last)-int(t.lines[first].start)) {
			s.lookRun(t, first, last)
		}
		first = last + 1
	}
}

// mayMatch reports whether a run holds a literal of a match.
func (s *search) mayMatch(t *text, first, last int) bool {
	if len(s.pattern.literals.any) == 0 || s.pattern.literals.fold && t.odd {
		return true
	}
	run := s.pattern.searched(t)[t.lines[first].start:t.end(last)]
	for _, literal := range s.pattern.literals.any {
		if strings.Contains(run, literal) {
			return true
		}
	}
	return false
}

// lookRun notes the matches in a run that touch a line that counts.
func (s *search) lookRun(t *text, first, last int) {
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

// touched returns the lines of which the bytes from start to end of the body hold a character, line ends left out unless
// there is nothing else.
func (t *text) touched(start, end int) (from, to int) {
	matched := t.body[start:end]
	if trimmed := strings.Trim(matched, "\n"); trimmed != "" {
		start += strings.Index(matched, trimmed)
		end = start + len(trimmed)
	}
	return t.lineAt(start), t.lineAt(end - 1)
}

func (s *search) counting(t *text, from, to int) bool {
	for i := from; i <= to; i++ {
		if s.pattern.counts(&t.lines[i]) {
			return true
		}
	}
	return false
}
