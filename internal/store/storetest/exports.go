package storetest

import (
	"testing"

	"tenet/internal/store"
)

func testExports(t *testing.T, f *fixture) {
	position := func(project, place string, want int64) {
		t.Helper()
		if got, err := f.s.Exports.Position(f.ctx, project, place); err != nil || got != want {
			t.Errorf("position of %s at %s: %d, %v; want %d", project, place, got, err, want)
		}
	}
	position("p", "a", 0)
	for _, seq := range []int64{5, 9, 7} { // it never moves back
		f.update(func(tx store.Tx) error { return tx.Exports.Move(f.ctx, "p", "a", seq) })
	}
	position("p", "a", 9)
	position("p", "b", 0)
	position("q", "a", 0)
}
