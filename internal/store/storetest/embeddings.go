package storetest

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tenet/internal/rule"
	"tenet/internal/store"
)

// vectorOf returns a different vector for each n.
func vectorOf(n int) []float32 {
	v := make([]float32, store.Dimensions)
	for i := range v {
		v[i] = float32(math.Sin(float64(n*store.Dimensions + i)))
	}
	return v
}

func embedding(model string, n int) store.Embedding {
	return store.Embedding{Model: model, TextHash: fmt.Sprintf("hash%04d", n), Vector: vectorOf(n)}
}

// embed stores embeddings under a raised corpus version of project p and returns that version.
func (f *fixture) embed(embeddings ...store.Embedding) (version int64) {
	f.t.Helper()
	f.update(func(tx store.Tx) error {
		cv, err := tx.Projects.RaiseCorpus(f.ctx, "p")
		if err != nil {
			return err
		}
		version = cv
		return tx.Embeddings.Put(f.ctx, "p", cv, embeddings)
	})
	return version
}

var anyOrder = cmpopts.SortSlices(func(a, b store.Embedding) bool { return a.TextHash < b.TextHash })

func testEmbeddings(t *testing.T, f *fixture) {
	a, b, other := embedding("m", 1), embedding("m", 2), embedding("n", 1)
	f.update(func(tx store.Tx) error { return tx.Projects.Create(f.ctx, project("q")) })
	first := f.embed(a, other, a)
	second := f.embed(b)
	got, err := f.s.Embeddings.GetMany(f.ctx, "p", "m", []string{a.TextHash, b.TextHash, "none", "no\x00ne"})
	if diff := cmp.Diff([]store.Embedding{a, b}, got, anyOrder); diff != "" || err != nil {
		t.Errorf("embeddings of hashes, %v (-want +got):\n%s", err, diff)
	}
	for about, args := range map[string][2]string{"another project": {"q", "m"}, "another model": {"p", "M"}, "no project": {"none", "m"}} {
		if got, err := f.s.Embeddings.GetMany(f.ctx, args[0], args[1], []string{a.TextHash}); err != nil || len(got) != 0 {
			t.Errorf("%s: %d embeddings, %v; want none", about, len(got), err)
		}
	}
	for after, want := range map[int64][]store.Embedding{0: {a, b}, first: {b}, second: nil} {
		if diff := cmp.Diff(want, f.embeddingChanges(after)); diff != "" {
			t.Errorf("changes after %d (-want +got):\n%s", after, diff)
		}
	}
	again := a
	again.Vector = vectorOf(9)
	third := f.embed(again)
	if got := f.embeddingChanges(second); len(got) != 0 || third <= second {
		t.Errorf("storing what exists changed %d embeddings, want none", len(got))
	}
	if diff := cmp.Diff([]store.Embedding{a, b}, f.embeddingChanges(0)); diff != "" {
		t.Errorf("after storing another vector for the same text (-want +got):\n%s", diff)
	}
}

// embeddingChanges returns the embeddings of project p and model m that were stored after a corpus version.
func (f *fixture) embeddingChanges(after int64) (got []store.Embedding) {
	f.t.Helper()
	err := f.s.Embeddings.Changes(f.ctx, "p", "m", after, func(e store.Embedding) error { got = append(got, e); return nil })
	if err != nil {
		f.t.Fatal(err)
	}
	return got
}

func testEmbeddingsRefused(t *testing.T, f *fixture) {
	for about, spoil := range map[string]func(*store.Embedding){
		"too short":   func(e *store.Embedding) { e.Vector = e.Vector[1:] },
		"too long":    func(e *store.Embedding) { e.Vector = append(e.Vector, 1) },
		"absent":      func(e *store.Embedding) { e.Vector = nil },
		"not numbers": func(e *store.Embedding) { e.Vector[700] = float32(math.NaN()) },
		"endless":     func(e *store.Embedding) { e.Vector[0] = float32(math.Inf(-1)) },
		"a NUL":       func(e *store.Embedding) { e.TextHash = "a\x00" },
	} {
		good, bad := embedding("m", 1), embedding("m", 2)
		spoil(&bad)
		err := f.s.Update(f.ctx, func(tx store.Tx) error { return tx.Embeddings.Put(f.ctx, "p", 1, []store.Embedding{good, bad}) })
		code(t, about, err, rule.CodeInvalid)
	}
	f.fails(rule.CodeNotFound, func(tx store.Tx) error {
		return tx.Embeddings.Put(f.ctx, "none", 1, []store.Embedding{embedding("m", 1)})
	})
	if hashes, err := f.s.Embeddings.Hashes(f.ctx, "p", "m"); err != nil || len(hashes) != 0 {
		t.Errorf("refused embeddings left %v, %v", hashes, err)
	}
}

// testManyEmbeddings reads more than one page, and writes between the pages of a walk inside a transaction.
func testManyEmbeddings(t *testing.T, f *fixture) {
	const n = 1300
	many := make([]store.Embedding, n)
	for i := range many {
		many[i] = embedding("m", i)
	}
	version := f.embed(embedding("m", n))
	f.embed(many...)
	for after, want := range map[int64]int{0: n + 1, version: n} {
		got := f.embeddingChanges(after)
		if len(got) != want || !slices.IsSortedFunc(got, func(a, b store.Embedding) int { return strings.Compare(a.TextHash, b.TextHash) }) {
			t.Errorf("after %d there are %d embeddings, want %d in order", after, len(got), want)
		}
	}
	hashes, err := f.s.Embeddings.Hashes(f.ctx, "p", "m")
	if err != nil || len(hashes) != n+1 || !slices.IsSorted(hashes) {
		t.Fatalf("%d hashes, %v; want %d in order", len(hashes), err, n+1)
	}
	if got, err := f.s.Embeddings.GetMany(f.ctx, "p", "m", hashes); err != nil || len(got) != n+1 {
		t.Errorf("%d embeddings of %d hashes, %v", len(got), len(hashes), err)
	}
	f.update(func(tx store.Tx) error {
		walked := 0
		err := tx.Embeddings.Changes(f.ctx, "p", "m", 0, func(e store.Embedding) error {
			walked++
			_, err := tx.Embeddings.Delete(f.ctx, "p", "m", []string{e.TextHash})
			return err
		})
		if walked != n+1 {
			t.Errorf("%d embeddings walked, want %d", walked, n+1)
		}
		return err
	})
	stop := errors.New("enough")
	f.embed(many...)
	if err := f.s.Embeddings.Changes(f.ctx, "p", "m", 0, func(store.Embedding) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("the walk ends with %v, want the error of the callback", err)
	}
}

func testDeleteEmbeddings(t *testing.T, f *fixture) {
	f.embed(embedding("m", 1), embedding("m", 2), embedding("m", 3), embedding("old", 1), embedding("older", 1))
	var one, others int
	f.update(func(tx store.Tx) (err error) {
		if one, err = tx.Embeddings.Delete(f.ctx, "p", "m", []string{"hash0002", "none"}); err != nil {
			return err
		}
		others, err = tx.Embeddings.DeleteOther(f.ctx, "p", "m")
		return err
	})
	if one != 1 || others != 2 {
		t.Errorf("deleted %d by hash and %d of other models, want 1 and 2", one, others)
	}
	for model, want := range map[string][]string{"m": {"hash0001", "hash0003"}, "old": {}, "older": {}} {
		if got, err := f.s.Embeddings.Hashes(f.ctx, "p", model); err != nil || !slices.Equal(got, want) {
			t.Errorf("model %s has %v left, %v; want %v", model, got, err, want)
		}
	}
}
