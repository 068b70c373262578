package storetest

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tenet/internal/rule"
	"tenet/internal/store"
)

// testParts writes entries before, in and after a part. Where bodies lie shows only in what Drop removes.
func testParts(t *testing.T, f *fixture) {
	part := store.Part{From: at.Add(2 * time.Second), Until: at.Add(5 * time.Second)}
	f.update(func(tx store.Tx) error { return tx.Projects.Create(f.ctx, project("q")) })
	f.update(func(tx store.Tx) error { return tx.Parts.Make(f.ctx, part) })
	parts, err := f.s.Parts.List(f.ctx)
	if err != nil || len(parts) > 1 || len(parts) == 1 && parts[0] != part {
		t.Fatalf("parts %v, %v", parts, err)
	}
	apart := len(parts) == 1
	if apart {
		for _, other := range []store.Part{part, {From: part.Until.Add(-1000), Until: part.Until.Add(time.Hour)}, {From: at, Until: at}} {
			f.fails(rule.CodeConflict, func(tx store.Tx) error { return tx.Parts.Make(f.ctx, other) })
		}
	}
	entries := []store.AuditEntry{}
	for seq := range int64(6) {
		entries = append(entries, entryAt(seq+1, func(e *store.AuditEntry) {
			e.Body = []byte{byte(e.Seq), 0, 255}
			if e.Seq == 3 {
				e.Kind = "rule"
			}
			if e.Seq == 4 {
				e.Verdict = "NEEDS_CONFIRMATION"
			}
		}))
	}
	if err := f.appendAudit(entries...); err != nil {
		t.Fatal(err)
	}
	if err := f.appendAudit(entryAt(1, func(e *store.AuditEntry) { e.ProjectID, e.At = "q", at.Add(3*time.Second) })); err != nil {
		t.Fatal(err)
	}
	check := func(what string) {
		t.Helper()
		all, err := f.s.Audit.Entries(f.ctx, "p", 0, 10)
		if diff := cmp.Diff(entries, all, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Errorf("%s: entries: %v (-want +got):\n%s", what, err, diff)
		}
		found, n, err := f.s.Audit.Find(f.ctx, store.AuditFilter{ProjectID: "p", Kind: "evaluation", Limit: 10})
		slices.Reverse(found)
		want := slices.DeleteFunc(slices.Clone(entries), func(e store.AuditEntry) bool { return e.Kind != "evaluation" })
		if diff := cmp.Diff(want, found, cmpopts.EquateEmpty()); err != nil || n != 5 || diff != "" {
			t.Errorf("%s: %d found: %v (-want +got):\n%s", what, n, err, diff)
		}
		picked, err := f.s.Terms.Entries(f.ctx, "p", []int64{1, 4, 6})
		if diff := cmp.Diff([]store.AuditEntry{entries[5], entries[3], entries[0]}, picked, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Errorf("%s: by number: %v (-want +got):\n%s", what, err, diff)
		}
		for i := range entries {
			one, err := f.s.Audit.Get(f.ctx, "p", entries[i].ID)
			if diff := cmp.Diff(entries[i], one, cmpopts.EquateEmpty()); err != nil || diff != "" {
				t.Errorf("%s: entry %d: %v (-want +got):\n%s", what, i+1, err, diff)
			}
		}
		waiting, err := f.s.Queue.Unconfirmed(f.ctx, "p", at, 10)
		if err != nil || len(waiting) != 1 || waiting[0].Pruned != (len(entries[3].Body) == 0) {
			t.Errorf("%s: to confirm: %+v, %v", what, waiting, err)
		}
	}
	first := func(through, want int64) {
		t.Helper()
		if got, err := f.s.Retention.FirstBody(f.ctx, "p", "evaluation", through); err != nil || got != want {
			t.Errorf("the first body up to %d is that of %d, %v; want %d", through, got, err, want)
		}
	}
	check("as written")
	first(6, 1)
	drop := func(after, through int64, limit int, except []int64, wantDone int64, wantN int) {
		t.Helper()
		var done int64
		var n int
		f.update(func(tx store.Tx) (err error) {
			done, n, err = tx.Audit.DropBodies(f.ctx, "p", "evaluation", after, through, limit, except)
			return err
		})
		if done != wantDone || n != wantN {
			t.Errorf("after %d through %d: %d bodies up to %d, want %d up to %d", after, through, n, done, wantN, wantDone)
		}
	}
	drop(0, 6, 2, []int64{2}, 2, 1)
	entries[0].Body = nil
	check("after one")
	first(6, 2)
	drop(0, 6, 10, []int64{4, 5}, 6, 2)
	entries[1].Body, entries[5].Body = nil, nil
	check("after three")
	first(6, 4)
	first(3, 0)
	drop(0, 3, 1, nil, 3, 0) // there is nothing left, so it goes on to the end
	if !apart {
		if last, err := f.s.Parts.Last(f.ctx, part); err != nil || len(last) > 0 {
			t.Errorf("last: %v, %v", last, err)
		}
		return
	}
	last, err := f.s.Parts.Last(f.ctx, part)
	if diff := cmp.Diff(map[string]int64{"p": 4, "q": 1}, last); err != nil || diff != "" {
		t.Errorf("last: %v (-want +got):\n%s", err, diff)
	}
	gone := func(tx store.Tx) error {
		if _, err := tx.Parts.Last(f.ctx, part); err != nil {
			return err
		}
		return tx.Parts.Drop(f.ctx, part)
	}
	f.update(gone)
	entries[3].Body = nil
	check("after the part")
	f.fails(rule.CodeNotFound, func(tx store.Tx) error { return tx.Parts.Drop(f.ctx, part) })
	// Other handles have seen the part, and write at its time all the same.
	late := entryAt(7, func(e *store.AuditEntry) { e.At = at.Add(3 * time.Second) })
	if err := f.appendAudit(late); err != nil {
		t.Fatal(err)
	}
	entries = append(entries, late)
	if got, err := f.s.Audit.Get(f.ctx, "p", late.ID); err != nil || len(got.Body) == 0 {
		t.Errorf("written late: %+v, %v", got, err)
	}
}
