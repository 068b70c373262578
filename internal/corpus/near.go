package corpus

import (
	"cmp"
	"slices"
)

// nearTerms bounds the words of a rule to search for: the rarest ones say most, and a long statement must not cost more.
const nearTerms = 16

// Near finds rules that are like a rule of the view and match a filter: those that share its rarest words, the best first, up to
// words, and then those with the nearest vectors, up to vectors, none twice and not the rule itself. The vector is used for a
// rule that has none in the view; it may be nil. A view without vectors has no near ones.
func (v *View) Near(e *Entry, vector []float32, f Filter, words, vectors int) []*Entry {
	best := v.index.lexicon().alike(e, &f, words+1)
	if own := v.index.vectorOf(e); own != nil {
		vector = own
	}
	near, _ := v.index.nearest(vector, &f, vectors+1)
	var out []*Entry
	seen := map[string]bool{e.Rule.ID: true}
	take := func(list []found, most int) {
		for _, h := range list {
			other := v.index.entry(h.seg, h.doc)
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
func (l lexicon) alike(e *Entry, f *Filter, most int) []found {
	q := parseWords(e.Rule.Statement)
	q.phrases, q.prefix = nil, "" // a statement is no query: its quotation marks ask for nothing
	l.weigh(q.terms)
	slices.SortStableFunc(q.terms, func(a, b queryTerm) int { return cmp.Compare(b.rarity, a.rarity) })
	q.terms = q.terms[:min(len(q.terms), nearTerms)]
	best, _, _ := l.matching(&q, f, most, false)
	return best
}
