package corpus

import (
	"cmp"
	"slices"
	"strings"
)

// Of each kind of search, a hybrid search takes the best fuseDepth hits, and scales their scores to 0..1. The score of a hit is
// the sum of both, of which the words make up wordShare. See docs/search-ranking.md for how it compares with others.
const (
	fuseDepth = 100
	wordShare = 0.6
)

// Hybrid ranks by words and by vector together, and returns limit of the rules found after offset, and their total: the best of
// both kinds, and after them, with a score of 0, the other rules that match the words as [View.Keyword] ranks them. With a
// vector that is near to none, or in a view without vectors, the words alone decide.
func (v *View) Hybrid(text string, vector []float32, f Filter, offset, limit int) (hits []Hit, total int) {
	offset, limit = pageOf(offset, limit)
	hits, total, _ = hybrid(v, text, vector, &f, offset, limit)
	return hits, total
}

// hybrid is [View.Hybrid] and marks the documents found.
func hybrid(v *View, text string, vector []float32, f *Filter, offset, limit int) (hits []Hit, total int, sel selection) {
	words, total, matches := v.index.lexicon().search(text, f, max(offset+limit, fuseDepth), true)
	near, _ := v.index.nearest(vector, f, fuseDepth)
	near = near[:min(len(near), fuseDepth)]
	list := v.index.fuse(words, near, total > fuseDepth)
	for i := range matches { // nil where no word occurs
		if matches[i] == nil {
			matches[i] = newBitset(len(v.index.segments[i].entries))
		}
	}
	for _, h := range near {
		if !matches[h.seg].has(h.doc) {
			matches[h.seg].set(h.doc)
			total++
		}
	}
	list = list[min(offset, len(list)):min(offset+limit, len(list))]
	hits = make([]Hit, len(list))
	for i, h := range list {
		hits[i] = Hit{v.index.entry(h.seg, h.doc), h.score}
	}
	return hits, total, selection{&v.index, matches}
}

// fuse puts both kinds of hits in one order. more is whether words match more documents than it fuses.
func (x *index) fuse(words, near []found, more bool) []candidate {
	best := words[:min(len(words), fuseDepth)]
	list := make([]candidate, 0, len(words)+len(near))
	at := make(map[[2]int32]int, len(best)+len(near))
	add := func(part []found, share float64, floor float32) {
		for _, h := range part {
			i, ok := at[[2]int32{h.seg, h.doc}]
			if !ok {
				i = len(list)
				at[[2]int32{h.seg, h.doc}] = i
				list = append(list, candidate{seg: h.seg, doc: h.doc})
			}
			list[i].score += share * scaled(h.score, floor, part[0].score)
		}
	}
	share := wordShare
	switch {
	case len(near) == 0:
		share = 1
	case len(best) == 0:
		share = 0
	}
	// Where the list was cut, the last that is in it is as good as nothing; where it was not, even the last matches.
	floor := float32(0)
	if more {
		floor = best[fuseDepth-1].score
	}
	add(best, share, floor)
	if len(near) > 0 {
		add(near, 1-share, near[len(near)-1].score)
	}
	slices.SortFunc(list, func(a, b candidate) int {
		if a.score != b.score {
			return cmp.Compare(b.score, a.score)
		}
		return strings.Compare(x.entry(a.seg, a.doc).Rule.ID, x.entry(b.seg, b.doc).Rule.ID)
	})
	for _, h := range words[len(best):] {
		if _, ok := at[[2]int32{h.seg, h.doc}]; !ok {
			list = append(list, candidate{seg: h.seg, doc: h.doc})
		}
	}
	return list
}

// scaled maps a score to its place between the floor, 0, and the highest, 1.
func scaled(score, floor, highest float32) float64 {
	if highest <= floor {
		return 1
	}
	return float64((score - floor) / (highest - floor))
}
