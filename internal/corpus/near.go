package corpus

import (
	"cmp"
	"slices"
)

// nearTerms is how many words of a rule are looked for: the rarest ones tell most, and a long statement must not cost more.
const nearTerms = 16

// Near finds rules that are like a rule of the view and match a filter: those that share its rarest words, the best first, up to
// words, and then those with the nearest vectors, up to vectors, none twice and not the rule itself. The vector is used for a
// rule that has none in the view; it may be nil. A view without vectors has no near ones.
func (v *View) Near(e *Entry, vector []float32, f Filter, words, vectors int) []*Entry {
	best := v.alike(e, &f, words+1)
	if own := v.vectorOf(e); own != nil {
		vector = own
	}
	near, _ := v.nearest(vector, &f, vectors+1)
	var out []*Entry
	seen := map[string]bool{e.Rule.ID: true}
	take := func(list []found, most int) {
		for _, h := range list {
			other := v.segments[h.seg].entries[h.doc]
			if most == 0 {
				return
			}
			if seen[other.Rule.ID] {
				continue
			}
			seen[other.Rule.ID] = true
			out = append(out, other)
			most--
		}
	}
	take(best, words)
	take(near, vectors)
	return out
}

// alike ranks rules by the words that they share with the statement of a rule.
func (v *View) alike(e *Entry, f *Filter, most int) []found {
	q := parseWords(e.Rule.Statement)
	q.phrases, q.prefix = nil, "" // a statement is no query: its quotation marks ask for nothing
	model := v.bm25()
	for i := range q.terms {
		if df := v.frequency(q.terms[i].text); df > 0 {
			q.terms[i].rarity = q.terms[i].weight * model.rarity(df)
		}
	}
	slices.SortStableFunc(q.terms, func(a, b queryTerm) int { return cmp.Compare(b.rarity, a.rarity) })
	q.terms = q.terms[:min(len(q.terms), nearTerms)]
	best, _, _ := v.matching(&q, f, most, false)
	return best
}

// vectorOf is the vector of a rule; nil without.
func (v *View) vectorOf(e *Entry) []float32 {
	if v.vectors == nil {
		return nil
	}
	row, ok := v.vectors.row(e.textKey())
	if !ok {
		return nil
	}
	codes, scale := v.vectors.at(row)
	out := make([]float32, dimensions)
	for i, c := range codes {
		out[i] = float32(c) * scale
	}
	return out
}

// Embedded reports whether a rule of the view has a vector.
func (v *View) Embedded(e *Entry) bool { return v.embedded(e) }
