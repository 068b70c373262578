package judge

import (
	"regexp"
	"strings"
)

// form says how far the outline of an answer is valid.
type form int

const (
	wellFormed form = iota
	truncated       // well formed up to a point within the list of verdicts, where the text ends
	malformed
)

// cutEntries cuts the answer {"verdicts": [{...}, {...}]} into its entries without reading them, so that a fault in one
// does not take the others with it. For a truncated answer, rest is the text behind the last whole entry. Anything before,
// behind or next to the list makes the answer malformed: it may take back what an entry says.
func cutEntries(text string) (entries []string, rest string, f form) {
	s := scan{text: text}
	for _, want := range []string{"{", `"verdicts"`, ":", "["} {
		if !s.take(want) {
			return nil, "", malformed
		}
	}
	if s.take("]") {
		return s.close(nil)
	}
	next := 0 // where the entry behind the current one begins
	for {
		s.space()
		from := s.at
		switch {
		case s.done():
			return entries, "", truncated
		case s.text[s.at] != '{' || len(entries) == maxEntries:
			return nil, "", malformed
		}
		if next <= from {
			next = nextEntry(text, from+1)
		}
		if !s.object(next) {
			if next == len(text) {
				return entries, text[from:], truncated
			}
			// A stray quote or brace has swallowed what follows. The broken entry ends where the next one begins.
			entries = append(entries, text[from:next])
			s.at = next
			continue
		}
		entries = append(entries, text[from:s.at])
		switch {
		case s.take(","):
		case s.take("]"):
			return s.close(entries)
		case s.done():
			return entries, "", truncated
		default:
			return nil, "", malformed
		}
	}
}

// scan walks over JSON text.
type scan struct {
	text string
	at   int
}

func (s *scan) space() {
	for s.at < len(s.text) && strings.IndexByte(" \t\r\n", s.text[s.at]) >= 0 {
		s.at++
	}
}

func (s *scan) done() bool {
	s.space()
	return s.at == len(s.text)
}

// take moves over token, and white space before it, and reports whether it is there.
func (s *scan) take(token string) bool {
	s.space()
	if !strings.HasPrefix(s.text[s.at:], token) {
		return false
	}
	s.at += len(token)
	return true
}

// object moves over the braces at the current place with their content, and reports whether they close before end.
// Braces in strings do not count.
func (s *scan) object(end int) bool {
	depth, quoted := 0, false
	for ; s.at < end; s.at++ {
		switch c := s.text[s.at]; {
		case quoted && c == '\\':
			s.at++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth == 0 {
				s.at++
				return true
			}
		}
	}
	return false
}

// entryStart matches how an entry begins. In a well-formed answer it cannot match inside a string, where its quotes would
// be escaped.
var entryStart = regexp.MustCompile(`\{\s*"rule_ref"`)

// nextEntry returns where the next entry begins, at or behind from, or the length of the text.
func nextEntry(text string, from int) int {
	if at := entryStart.FindStringIndex(text[from:]); at != nil {
		return from + at[0]
	}
	return len(text)
}

// close ends the outer object. A missing brace at the very end is a truncation that lost nothing.
func (s *scan) close(entries []string) ([]string, string, form) {
	if s.take("}") && s.done() {
		return entries, "", wellFormed
	}
	if s.done() {
		return entries, "", truncated
	}
	return nil, "", malformed
}
