package store_test

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tenet/internal/proptest"
	"tenet/internal/store"
)

// drawSet draws a set of entries of a block and the same as a map.
func drawSet(t *rapid.T, block int64, name string) (*store.EntrySet, map[int64]bool) {
	set, all := &store.EntrySet{}, map[int64]bool{}
	most := rapid.SampledFrom([]int{0, 3, 600, 2000}).Draw(t, name+" size")
	for _, i := range rapid.SliceOfN(rapid.Int64Range(1, store.BlockSize), 0, most).Draw(t, name) {
		set.Add(block*store.BlockSize + i)
		all[block*store.BlockSize+i] = true
	}
	return set, all
}

func listOf(set *store.EntrySet, block int64) []int64 {
	var list []int64
	set.Newest(block, func(seq int64) bool { list = append(list, seq); return true })
	slices.Reverse(list)
	return list
}

func TestEntrySets(t *testing.T) {
	t.Parallel()
	proptest.Check(t, func(t *rapid.T) {
		block := rapid.Int64Range(0, 1000).Draw(t, "block")
		a, inA := drawSet(t, block, "a")
		b, inB := drawSet(t, block, "b")
		same := func(doing string, set *store.EntrySet, want map[int64]bool) {
			if got := listOf(set, block); !slices.Equal(got, slices.Sorted(maps.Keys(want))) || set.Count() != len(want) {
				t.Fatalf("%s: %d entries %v, want %d", doing, set.Count(), got, len(want))
			}
		}
		same("as made", a, inA)
		var decoded store.EntrySet
		stored := a.Encode()
		if decoded.Decode(stored); decoded != *a || len(stored) > store.BlockSize/8 {
			t.Fatalf("a set of %d entries is stored in %d bytes and comes back as another", a.Count(), len(stored))
		}
		apply := func(doing string, do func(*store.EntrySet), keep func(seq int64) bool) {
			set, want := *a, maps.Clone(inA)
			do(&set)
			maps.DeleteFunc(want, func(seq int64, _ bool) bool { return !keep(seq) })
			same(doing, &set, want)
		}
		apply("intersection", func(s *store.EntrySet) { s.Intersect(b) }, func(seq int64) bool { return inB[seq] })
		apply("difference", func(s *store.EntrySet) { s.Subtract(b) }, func(seq int64) bool { return !inB[seq] })
		bound := rapid.Int64Range((block-1)*store.BlockSize, (block+2)*store.BlockSize)
		after, through := bound.Draw(t, "after"), bound.Draw(t, "through")
		apply("range", func(s *store.EntrySet) { s.Keep(block, after, through) }, func(seq int64) bool { return after < seq && seq <= through })
		set := *a
		set.Union(b)
		maps.Copy(inA, inB)
		same("union", &set, inA)
		for seq := range inA {
			if !set.Has(seq) || store.BlockOf(seq) != block {
				t.Fatalf("%d is not in the set of block %d", seq, block)
			}
		}
	})
}
