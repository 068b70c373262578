package corpus

import "math"

// BM25 parameters (Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009), chosen by what bench/search measures.
const (
	bm25K1 = 0.9
	bm25B  = 0.75
)

// bm25 weighs words by how rare they are in an index and how long its rules are.
type bm25 struct {
	docs int
	// A document of length n gives a term of weight tf in it, by its rarity, tf/(tf+fix+slope*n).
	fix, slope float32
}

// rarity returns the weight of a term of df documents.
func (m bm25) rarity(df int) float32 {
	return float32(math.Log(1 + (float64(m.docs)-float64(df)+0.5)/(float64(df)+0.5)))
}

// part is the share of a term's rarity that a document of some length gives.
func (m bm25) part(tf int, length uint16) float32 {
	t := float32(tf)
	return t * (bm25K1 + 1) / (t + m.fix + m.slope*float32(length))
}

// lexicon ranks the rules of an index by words. It holds for one search: its model is of the rules that the index has now.
type lexicon struct {
	*index
	model bm25
}

// lexicon returns the lexicon of the index.
func (x *index) lexicon() lexicon {
	total := int64(0)
	for i, s := range x.segments {
		total += s.text().total - x.deleted[i].length()
	}
	unit := float32(fieldWeights[fieldStatement]) // so that k1 means what it usually does
	average := max(float32(total)/float32(max(x.live, 1)), 1)
	return lexicon{x, bm25{docs: x.live, fix: unit * bm25K1 * (1 - bm25B), slope: unit * bm25K1 * bm25B / average}}
}

// frequency counts the live documents that have a term.
func (l lexicon) frequency(term string) int {
	n := 0
	for i, s := range l.segments {
		if id := s.text().ids[term]; id != 0 {
			n += len(s.text().list(id)) - l.deleted[i].of(id)
		}
	}
	return n
}

// weigh gives the terms of a query their rarity and reports whether any occurs.
func (l lexicon) weigh(terms []queryTerm) bool {
	occurs := false
	for i := range terms {
		t := &terms[i]
		if df := l.frequency(t.text); df > 0 {
			t.rarity = t.weight * l.model.rarity(df)
			occurs = true
		}
	}
	return occurs
}
