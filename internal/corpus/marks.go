package corpus

import "sync"

// marks maps the terms of a segment to the terms of a search. It is as large as the vocabulary and reused, so every mark must
// be cleared.
type marks struct{ at []uint16 }

var marksPool = sync.Pool{New: func() any { return &marks{} }}

// of is the place of a term among those looked for, or -1.
func (m *marks) of(term uint32) int { return int(m.at[term]) - 1 }

// set marks a few terms.
func (m *marks) set(x *textIndex, terms []string) {
	if n := x.vocabulary(); len(m.at) < n {
		m.at = make([]uint16, n)
	}
	for i, term := range terms {
		if id := x.ids[term]; id != 0 {
			m.at[id] = uint16(i + 1)
		}
	}
}

// clear undoes set, at the cost of the terms and not of the vocabulary.
func (m *marks) clear(x *textIndex, terms []string) {
	for _, term := range terms {
		if id := x.ids[term]; id != 0 {
			m.at[id] = 0
		}
	}
}
