package corpus

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"tenet/internal/store"
)

// Hit is a rule that a search has found.
type Hit struct {
	*Entry
	// Score orders the hits of one search, the highest first: BM25 for keywords, the cosine for vectors, 0 to 1 for hybrid.
	Score float64
}

// Nearest ranks the rules that have a vector and match filter by the cosine with vector and returns a page of them, and how
// many there are.
func (v *View) Nearest(vector []float32, f Filter, offset, limit int) (hits []Hit, total int) {
	return v.scan(f, offset, limit, func(e *Entry) (float64, bool) {
		have, ok := v.vectors[TextHash(e.Rule)]
		if !ok {
			return 0, false
		}
		var dot, a, b float64
		for i, x := range have {
			dot, a, b = dot+float64(x)*float64(vector[i]), a+float64(x)*float64(x), b+float64(vector[i])*float64(vector[i])
		}
		return dot / max(math.Sqrt(a*b), math.SmallestNonzeroFloat64), true
	})
}

// Hybrid ranks by words and by vector together.
func (v *View) Hybrid(text string, vector []float32, f Filter, offset, limit int) (hits []Hit, total int) {
	words, _ := v.Keyword(text, f, 0, 200)
	near, _ := v.Nearest(vector, f, 0, 200)
	score := map[*Entry]float64{}
	for _, list := range [][]Hit{words, near} {
		for i, h := range list {
			score[h.Entry] += 1 / float64(61+i)
		}
	}
	return v.scan(f, offset, limit, func(e *Entry) (float64, bool) { s, ok := score[e]; return s, ok })
}

// Vectors tells how many of the view's rules have a vector, and of which model; without vectors, model is empty.
func (v *View) Vectors() (model string, have, of int) {
	for range v.WithoutVector() {
		of++
	}
	return v.model, v.live - of, v.live
}

// WithoutVector walks the rules that have no vector yet, in order of their ids.
func (v *View) WithoutVector() func(func(*Entry) bool) {
	return func(yield func(*Entry) bool) {
		for e := range v.All() {
			if v.vectors[TextHash(e.Rule)] == nil && !yield(e) {
				return
			}
		}
	}
}

// WithVectors returns the view with more embeddings of one model; those of another model are forgotten.
func (v *View) WithVectors(model string, embeddings []store.Embedding) *View {
	next := *v
	next.model, next.vectors = model, map[string][]float32{}
	if v.model == model {
		for k, x := range v.vectors {
			next.vectors[k] = x
		}
	}
	for _, e := range embeddings {
		next.vectors[e.TextHash] = e.Vector
	}
	return &next
}

func (v *View) scan(f Filter, offset, limit int, score func(*Entry) (float64, bool)) (hits []Hit, total int) {
	for e := range v.All() {
		if s, ok := score(e); ok && f.Matches(e.Rule) {
			hits = append(hits, Hit{e, s})
		}
	}
	slices.SortFunc(hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), strings.Compare(a.Rule.ID, b.Rule.ID))
	})
	total = len(hits)
	return hits[min(offset, total):min(offset+limit, total)], total
}
