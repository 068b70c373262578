package corpus

import (
	"math/bits"
	"slices"
)

// top keeps the best of its items. It is a heap with the worst in front.
type top struct {
	index *index
	list  []found
	most  int
	full  bool
}

func newTop(x *index, most int) *top { return &top{index: x, most: most} }

func (t *top) offer(h found) {
	if !t.full {
		t.list = append(t.list, h)
		if len(t.list) < t.most {
			return
		}
		t.full = true
		for i := len(t.list)/2 - 1; i >= 0; i-- {
			t.sink(i)
		}
		return
	}
	if h.score < t.list[0].score || t.index.compare(h, t.list[0]) > 0 {
		return
	}
	t.list[0] = h
	t.sink(0)
}

// offerAll offers the marked documents of a segment with their scores, most of which are worse than what is kept.
func (t *top) offerAll(seg int32, docs bitset, scores []float32) {
	for i, w := range docs {
		for ; w != 0; w &= w - 1 {
			doc := int32(i<<6 + bits.TrailingZeros64(w))
			score := scores[doc]
			// Of equal ones in a segment, the first is the best.
			if t.full && (score < t.list[0].score || score == t.list[0].score && t.list[0].seg == seg) {
				continue
			}
			t.offer(found{score, seg, doc})
		}
	}
}

// sink moves an element down to where the ones below it are better.
func (t *top) sink(i int) {
	for {
		worst := 2*i + 1
		if worst >= len(t.list) {
			return
		}
		if r := worst + 1; r < len(t.list) && t.index.compare(t.list[r], t.list[worst]) > 0 {
			worst = r
		}
		if t.index.compare(t.list[worst], t.list[i]) < 0 {
			return
		}
		t.list[i], t.list[worst] = t.list[worst], t.list[i]
		i = worst
	}
}

// sorted returns what was kept, the best first, and leaves the heap unusable.
func (t *top) sorted() []found {
	slices.SortFunc(t.list, t.index.compare)
	return t.list
}
