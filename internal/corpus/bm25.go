package corpus

import "math"

// BM25 parameters (Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009), chosen by what bench/search measures.
const (
	bm25K1 = 0.9
	bm25B  = 0.75
)

// bm25 weighs words by how rare they are in a view and how long its rules are.
type bm25 struct {
	docs int
	// A document of length n gives a term of weight tf in it, by its rarity, tf/(tf+fix+slope*n).
	fix, slope float32
}

func (v *View) bm25() bm25 {
	total := int64(0)
	for i, s := range v.segments {
		total += s.text.total - v.deleted[i].length()
	}
	unit := float32(fieldWeights[fieldStatement]) // so that k1 means what it usually does
	average := max(float32(total)/float32(max(v.live, 1)), 1)
	return bm25{docs: v.live, fix: unit * bm25K1 * (1 - bm25B), slope: unit * bm25K1 * bm25B / average}
}

// rarity is the weight of a term that stands in df documents.
func (m bm25) rarity(df int) float32 {
	return float32(math.Log(1 + (float64(m.docs)-float64(df)+0.5)/(float64(df)+0.5)))
}

// part is the share of a term's rarity that a document of some length gives.
func (m bm25) part(tf int, length uint16) float32 {
	t := float32(tf)
	return t * (bm25K1 + 1) / (t + m.fix + m.slope*float32(length))
}

// frequency counts the documents that hold a term.
func (v *View) frequency(term string) int {
	n := 0
	for i, s := range v.segments {
		if id := s.text.ids[term]; id != 0 {
			n += len(s.text.list(id)) - v.deleted[i].of(id)
		}
	}
	return n
}
