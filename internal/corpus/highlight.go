package corpus

import "strings"

// Span is a piece of a rule's text.
type Span struct {
	Field      string // statement or rationale
	Start, End int    // in bytes; they lie between characters
}

// Highlight returns the words of a query in a rule's statement and then in its rationale. The spans are in order and do not
// overlap.
func Highlight(text string, e *Entry) []Span {
	q := parseWords(text)
	wanted := make(map[string]bool, len(q.terms))
	for _, t := range q.terms {
		wanted[t.text] = true
	}
	var spans []Span
	for _, field := range []struct{ name, text string }{{"statement", e.Rule.Statement}, {"rationale", e.Rule.Rationale}} {
		first := len(spans)
		eachToken(field.text, func(t token) bool {
			if !wanted[termOf(t)] && (q.prefix == "" || !strings.HasPrefix(string(t.text), q.prefix)) {
				return true
			}
			// A whole comes after its words and takes in those that were marked.
			for len(spans) > first && spans[len(spans)-1].Start >= t.start {
				spans = spans[:len(spans)-1]
			}
			if n := len(spans); n > first && spans[n-1].End > t.start {
				spans[n-1].End = t.end
			} else {
				spans = append(spans, Span{field.name, t.start, t.end})
			}
			return true
		})
	}
	return spans
}
