package storetest

import (
	"maps"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/rule"
	"tenet/internal/store"
)

// chain appends n evaluations, an hour after one another.
func (f *fixture) chain(n int64) {
	f.t.Helper()
	f.update(func(tx store.Tx) error {
		entries, prev := make([]store.AuditEntry, n), ""
		for i := range entries {
			seq := int64(i) + 1
			hash := string(rune('0' + seq))
			entries[i] = store.AuditEntry{
				ProjectID: "p", Seq: seq, ID: "e" + hash, Kind: "evaluation", At: at.Add(time.Duration(seq) * time.Hour), PrevHash: prev, Hash: hash,
			}
			prev = hash
		}
		return tx.Audit.Append(f.ctx, entries, nil)
	})
}

// index adds entries with terms to the index, from the mark on.
func (f *fixture) index(through int64, entries ...store.TermEntry) {
	f.t.Helper()
	f.update(func(tx store.Tx) error {
		mark, err := tx.Terms.Mark(f.ctx, "p")
		if err != nil {
			return err
		}
		return tx.Terms.Add(f.ctx, store.TermBatch{ProjectID: "p", From: mark, Through: through, Entries: entries})
	})
}

func termEntry(seq int64, terms ...store.Term) store.TermEntry {
	return store.TermEntry{Seq: seq, At: at.Add(time.Duration(seq) * time.Hour), Terms: terms}
}

// found returns the entries that have one of the terms, newest first.
func (f *fixture) found(blocks []int64, terms ...store.Term) []int64 {
	f.t.Helper()
	sets, err := f.s.Terms.Sets(f.ctx, "p", terms, blocks)
	if err != nil {
		f.t.Fatal(err)
	}
	var list []int64
	for _, b := range slices.Backward(slices.Sorted(maps.Keys(sets))) {
		sets[b].Newest(b, func(seq int64) bool { list = append(list, seq); return true })
	}
	return list
}

func testTerms(t *testing.T, f *fixture) {
	const large, small = store.Term(math.MaxInt64), store.Term(math.MinInt64)
	next := int64(store.BlockSize + 1) // the first entry of block 1
	f.index(3, termEntry(1, 5, small), termEntry(3, 5, -7))
	f.index(next+1, termEntry(4, 5, large), termEntry(next, 5, -7), termEntry(next+1, 6))
	for _, tt := range []struct {
		blocks []int64
		terms  []store.Term
		want   []int64
	}{
		{[]int64{0, 1, 2}, []store.Term{5}, []int64{next, 4, 3, 1}},
		{[]int64{0, 1}, []store.Term{-7}, []int64{next, 3}},
		{[]int64{0}, []store.Term{-7}, []int64{3}},
		{[]int64{0, 1}, []store.Term{small, large, 6}, []int64{next + 1, 4, 1}},
		{[]int64{0, 1}, []store.Term{8}, nil},
		{nil, []store.Term{5}, nil},
		{[]int64{0, 1}, nil, nil},
	} {
		if got := f.found(tt.blocks, tt.terms...); !slices.Equal(got, tt.want) {
			t.Errorf("terms %v in blocks %v: entries %v, want %v", tt.terms, tt.blocks, got, tt.want)
		}
	}
	blocks := []store.TermBlock{
		{Block: 1, From: at.Add(time.Duration(next) * time.Hour), Until: at.Add(time.Duration(next+1) * time.Hour)},
		{Block: 0, From: at.Add(time.Hour), Until: at.Add(4 * time.Hour)},
	}
	if got, err := f.s.Terms.Blocks(f.ctx, "p"); err != nil || cmp.Diff(blocks, got) != "" {
		t.Errorf("blocks %v, %v", got, err)
	}
	put := func(from int64) func(tx store.Tx) error {
		return func(tx store.Tx) error {
			return tx.Terms.Put(f.ctx, store.TermBatch{ProjectID: "p", From: store.TermMark{Seq: from}, Through: next + 2, Entries: []store.TermEntry{termEntry(next+2, 9)}})
		}
	}
	for range 2 { // a slice that is written again after an interruption
		if err := f.s.UpdateDerived(f.ctx, put(next+1)); err != nil {
			t.Fatal(err)
		}
	}
	if got := f.found([]int64{1}, 9); !slices.Equal(got, []int64{next + 2}) {
		t.Errorf("entries %v have a term that was put", got)
	}
	f.fails(rule.CodeConflict, put(next))
	if got, err := f.s.Terms.Mark(f.ctx, "p"); err != nil || got != (store.TermMark{Seq: next + 1}) {
		t.Errorf("mark %+v, %v", got, err)
	}
	f.fails(rule.CodeConflict, func(tx store.Tx) error {
		return tx.Terms.Add(f.ctx, store.TermBatch{ProjectID: "p", From: store.TermMark{Seq: 3}, Through: next + 2})
	})
	f.update(func(tx store.Tx) error { return tx.Terms.Prune(f.ctx, "p", 3) })
	f.fails(rule.CodeConflict, func(tx store.Tx) error { // what was read before retention removed it
		return tx.Terms.Add(f.ctx, store.TermBatch{ProjectID: "p", From: store.TermMark{Seq: next + 1}, Through: next + 2})
	})
	if got, err := f.s.Terms.Mark(f.ctx, "other"); err != nil || got != (store.TermMark{}) {
		t.Errorf("mark of a project without one: %+v, %v", got, err)
	}
}

// testManyTerms fills a block, whose sets are stored as bitmaps then.
func testManyTerms(t *testing.T, f *fixture) {
	var entries []store.TermEntry
	for seq := int64(1); seq <= store.BlockSize; seq++ {
		e := termEntry(seq, 1)
		if seq%3 == 0 {
			e.Terms = append(e.Terms, -3)
		}
		if seq%1000 == 0 {
			e.Terms = append(e.Terms, -1000)
		}
		entries = append(entries, e)
	}
	f.index(5000, entries[:5000]...)
	f.index(store.BlockSize, entries[5000:]...)
	for term, want := range map[store.Term]int{1: store.BlockSize, -3: store.BlockSize / 3, -1000: store.BlockSize / 1000} {
		if got := len(f.found([]int64{0}, term)); got != want {
			t.Errorf("term %d has %d entries, want %d", term, got, want)
		}
	}
}

func testForgetTerms(t *testing.T, f *fixture) {
	f.index(4, termEntry(1, 5, -1, -2), termEntry(2, 5, -2), termEntry(3, 5, -3, -2), termEntry(4, 5, -4))
	f.update(func(tx store.Tx) error { return tx.Terms.Prune(f.ctx, "p", 2) })
	after, rounds := store.Term(math.MinInt64), 0
	for more := true; more; rounds++ {
		f.update(func(tx store.Tx) (err error) {
			after, more, err = tx.Terms.Forget(f.ctx, "p", 0, 2, after, 2)
			return err
		})
	}
	if rounds != 3 {
		t.Errorf("%d rounds of two terms, want 3 for four terms, the last of which finds none", rounds)
	}
	for term, want := range map[store.Term][]int64{5: {4, 3, 2, 1}, -1: nil, -2: {3}, -3: {3}, -4: {4}} {
		if got := f.found([]int64{0}, term); !slices.Equal(got, want) {
			t.Errorf("term %d: entries %v, want %v", term, got, want)
		}
	}
	if got, err := f.s.Terms.Blocks(f.ctx, "p"); err != nil || len(got) != 1 || got[0].Forgotten != 2 {
		t.Errorf("blocks %+v, %v", got, err)
	}
	f.update(func(tx store.Tx) error { return tx.Terms.Prune(f.ctx, "p", 1) })
	if got, err := f.s.Terms.Mark(f.ctx, "p"); err != nil || got != (store.TermMark{Seq: 4, Pruned: 2}) {
		t.Errorf("mark %+v, %v; it only rises", got, err)
	}
}

func testTermEntries(t *testing.T, f *fixture) {
	f.chain(4)
	if got, err := f.s.Terms.Unindexed(f.ctx); err != nil || cmp.Diff([]store.Uncounted{{ProjectID: "p", Entries: 4}}, got) != "" {
		t.Errorf("unindexed %v, %v", got, err)
	}
	f.index(4)
	if got, err := f.s.Terms.Unindexed(f.ctx); err != nil || len(got) != 0 {
		t.Errorf("unindexed %v, %v", got, err)
	}
	entries, err := f.s.Terms.Entries(f.ctx, "p", []int64{1, 4, 9})
	if err != nil || len(entries) != 2 || entries[0].Seq != 4 || entries[1].Seq != 1 || entries[1].ID != "e1" {
		t.Errorf("entries %+v, %v", entries, err)
	}
	second, fourth := at.Add(2*time.Hour), at.Add(4*time.Hour)
	for _, tt := range []struct {
		block        int64
		since, until *time.Time
		want         []int64
	}{
		{0, nil, nil, []int64{4, 3, 2, 1}},
		{0, &second, nil, []int64{4, 3, 2}},
		{0, &second, &fourth, []int64{3, 2}},
		{0, nil, &second, []int64{1}},
		{1, nil, nil, nil},
	} {
		set, err := f.s.Terms.Within(f.ctx, "p", tt.block, []string{"evaluation"}, tt.since, tt.until)
		if err != nil {
			t.Fatal(err)
		}
		var got []int64
		set.Newest(tt.block, func(seq int64) bool { got = append(got, seq); return true })
		if !slices.Equal(got, tt.want) {
			t.Errorf("block %d from %v until %v: %v, want %v", tt.block, tt.since, tt.until, got, tt.want)
		}
	}
}

func testRaceTerms(t *testing.T, f *fixture) {
	handles := f.both(t)
	var done atomic.Int64
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() {
			err := handles[i%2].Update(f.ctx, func(tx store.Tx) error {
				return tx.Terms.Add(f.ctx, store.TermBatch{ProjectID: "p", Through: 5, Entries: []store.TermEntry{termEntry(int64(i%5)+1, 1)}})
			})
			if err == nil {
				done.Add(1)
			} else if rule.CodeOf(err) != rule.CodeConflict {
				t.Errorf("transaction %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	if got := f.found([]int64{0}, 1); done.Load() != 1 || len(got) != 1 {
		t.Errorf("%d of 12 have indexed the same entries: %v", done.Load(), got)
	}
}
