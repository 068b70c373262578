package corpus

import "strings"

// Span is a piece of a rule's text.
type Span struct {
	Field      string // its name
	Start, End int    // in bytes; they lie between characters
}

// Highlight returns the words of a query in a rule's statement and then in its rationale. The spans are in order and do not
// overlap.
func Highlight(text string, e *Entry) []Span {
	m := NewMarker(text)
	return append(m.Spans("statement", e.Rule.Statement), m.Spans("rationale", e.Rule.Rationale)...)
}

// Marker marks the words of a query in texts.
type Marker struct {
	wanted map[string]bool
	prefix string
}

// NewMarker returns the marker of a query.
func NewMarker(text string) *Marker {
	q := parseWords(text)
	m := &Marker{make(map[string]bool, len(q.terms)), q.prefix}
	for _, t := range q.terms {
		m.wanted[t.text] = true
	}
	return m
}

// Spans returns the words of the query in a text, which has the name of a field. They are in order and do not overlap.
func (m *Marker) Spans(field, text string) []Span {
	var spans []Span
	eachToken(text, func(t token) bool {
		if !m.wanted[termOf(t)] && (m.prefix == "" || !strings.HasPrefix(string(t.text), m.prefix)) {
			return true
		}
		// A whole comes after its words and takes in those that were marked.
		for len(spans) > 0 && spans[len(spans)-1].Start >= t.start {
			spans = spans[:len(spans)-1]
		}
		if n := len(spans); n > 0 && spans[n-1].End > t.start {
			spans[n-1].End = t.end
		} else {
			spans = append(spans, Span{field, t.start, t.end})
		}
		return true
	})
	return spans
}
