package corpus

import (
	"math/rand/v2"
	"testing"
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

// Of many with the same score, those with the lowest numbers are the best, however they are offered.
func TestOfferAllKeepsTheFirstOfEqualOnes(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	const n = 5000
	entries := []*segment{{entries: make([]*Entry, n)}}
	scores, docs := make([]float32, n), newBitset(n)
	for doc := range scores {
		scores[doc] = float32(random.IntN(4))
		if random.IntN(3) > 0 {
			docs.set(int32(doc))
		}
	}
	x := &index{segments: entries}
	all, one := newTop(x, 50), newTop(x, 50)
	all.offerAll(0, docs, scores)
	docs.each(func(doc int32) { one.offer(found{scores[doc], 0, doc}) })
	got, want := all.sorted(), one.sorted()
	if len(got) != 50 || len(want) != 50 {
		t.Fatalf("%d and %d are kept", len(got), len(want))
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("place %d: %v, want %v", i, got[i], want[i])
		}
	}
}
