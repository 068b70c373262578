package storetest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/rule"
	"tenet/internal/store"
)

func testBundles(t *testing.T, f *fixture) {
	if _, err := f.s.Bundles.Latest(f.ctx, "p", "production"); rule.CodeOf(err) != rule.CodeNotFound {
		t.Errorf("without a bundle: %v; want not_found", err)
	}
	made := func(seq int64) store.Bundle {
		return store.Bundle{
			ProjectID: "p", Environment: "production", Seq: seq, Action: "deploy", SnapshotID: "s", Root: "r", Rules: 3, At: at, RawHash: string(rune('a' + seq)), RawSize: 9,
			Hash: "h", Body: []byte{0, 1, byte(seq)},
		}
	}
	insert := func(b store.Bundle) error {
		return f.s.Update(f.ctx, func(tx store.Tx) error { return tx.Bundles.Insert(f.ctx, b, 2) })
	}
	for seq := int64(1); seq <= 3; seq++ {
		if err := insert(made(seq)); err != nil {
			t.Fatal(err)
		}
	}
	staging := made(1)
	staging.Environment = "staging"
	if err := insert(staging); err != nil {
		t.Fatal(err)
	}
	if err := insert(made(3)); rule.CodeOf(err) != rule.CodeConflict {
		t.Errorf("a taken number: %v; want conflict", err)
	}
	none := made(1)
	none.ProjectID = "none"
	if err := insert(none); rule.CodeOf(err) != rule.CodeNotFound {
		t.Errorf("without the project: %v; want not_found", err)
	}
	got, err := f.s.Bundles.Latest(f.ctx, "p", "production")
	if diff := cmp.Diff(made(3), got); err != nil || diff != "" {
		t.Errorf("the latest: %v (-want +got):\n%s", err, diff)
	}
	got, err = f.s.Bundles.WithHash(f.ctx, "p", "production", made(2).RawHash)
	if diff := cmp.Diff(made(2), got); err != nil || diff != "" {
		t.Errorf("by hash: %v (-want +got):\n%s", err, diff)
	}
	if _, err := f.s.Bundles.WithHash(f.ctx, "p", "production", made(1).RawHash); rule.CodeOf(err) != rule.CodeNotFound {
		t.Errorf("the oldest of three is still there (%v); want the newest two", err)
	}
	if got, err := f.s.Bundles.Latest(f.ctx, "p", "staging"); err != nil || got.Seq != 1 {
		t.Errorf("another environment: %d, %v", got.Seq, err)
	}
}
