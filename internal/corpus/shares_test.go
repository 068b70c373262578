package corpus

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"tenet/internal/rule"
)

// The scores of a frequent word are those of a rare one: the table that a long list uses has the same values.
func TestSharesOfLongListsAreExact(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	n := 3 * manyPostings
	x := &textIndex{lengths: make([]uint16, n)}
	list := make([]posting, n)
	for doc := range list {
		x.lengths[doc] = uint16(random.IntN(400)) //nolint:gosec // small
		list[doc] = newPosting(doc, 1+random.IntN(12))
	}
	model := bm25{fix: 0.37, slope: 0.021}
	var long accumulators
	long.reset(n)
	long.add(x, list, 1.7, model)
	var short accumulators
	short.reset(n)
	for at := 0; at < n; at += 100 {
		short.add(x, list[at:min(at+100, n)], 1.7, model)
	}
	for doc := range n {
		if long.scores[doc] != short.scores[doc] || !long.touched.has(int32(doc)) {
			t.Fatalf("document %d of length %d: %v, want %v", doc, x.lengths[doc], long.scores[doc], short.scores[doc])
		}
	}
}

// Of many with the same score, those with the lowest ids are the best, however they are offered and whichever segment they are in.
func TestOfferAllKeepsTheFirstOfEqualOnes(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	const n, segments = 5000, 2
	x := &index{segments: make([]*segment, segments)}
	scores, docs := make([][]float32, segments), make([]bitset, segments)
	for seg := range segments {
		x.segments[seg] = &segment{entries: make([]*Entry, n)}
		scores[seg], docs[seg] = make([]float32, n), newBitset(n)
		for doc := range n {
			// The ids of the segments alternate, so that the second has better ones of equal scores than those kept of the first.
			x.segments[seg].entries[doc] = &Entry{Rule: &rule.Rule{ID: fmt.Sprintf("%05d", segments*doc+(segments-1-seg))}}
			scores[seg][doc] = float32(random.IntN(4))
			if random.IntN(3) > 0 {
				docs[seg].set(int32(doc))
			}
		}
	}
	all, one := newTop(x, 50), newTop(x, 50)
	kept := [segments]int{}
	for seg := range int32(segments) {
		all.offerAll(seg, docs[seg], scores[seg])
		docs[seg].each(func(doc int32) { one.offer(found{scores[seg][doc], seg, doc}) })
	}
	got, want := all.sorted(), one.sorted()
	if len(got) != 50 || len(want) != 50 {
		t.Fatalf("%d and %d are kept", len(got), len(want))
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("place %d: %v, want %v", i, got[i], want[i])
		}
		kept[got[i].seg]++
	}
	if kept[0] == 0 || kept[1] == 0 {
		t.Errorf("%d and %d are kept of the segments, so nothing compares them", kept[0], kept[1])
	}
}
