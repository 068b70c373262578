package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

func testEdges(t *testing.T, f *fixture) {
	if _, err := f.s.Edges.Get(f.ctx, "p", "e1"); rule.CodeOf(err) != rule.CodeNotFound {
		t.Errorf("without the edge: %v; want not_found", err)
	}
	one := store.Edge{ProjectID: "p", Name: "e1", Key: "k", CreatedAt: at, SeenAt: at, Report: []byte(`{}`), Orders: []byte(`{}`)}
	two := store.Edge{ProjectID: "p", Name: "e0", Key: "k", CreatedAt: at, SeenAt: at, Report: []byte(`{}`), Orders: []byte(`{}`)}
	put := func(e store.Edge) error {
		return f.s.Update(f.ctx, func(tx store.Tx) error { return tx.Edges.Put(f.ctx, e) })
	}
	for _, e := range []store.Edge{one, two} {
		if err := put(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := put(store.Edge{ProjectID: "none", Name: "x", Report: []byte{}, Orders: []byte{}}); rule.CodeOf(err) != rule.CodeNotFound {
		t.Errorf("without the project: %v; want not_found", err)
	}
	entries := make([]store.AuditEntry, 5)
	prev := ""
	for i := range entries {
		entries[i] = store.AuditEntry{
			ProjectID: "p", Seq: int64(i + 1), ID: fmt.Sprint("entry-", i), Kind: "evaluation", At: at.Add(time.Duration(i) * time.Second), Actor: "a", Verdict: "ALLOW", Mode: "preflight",
			Body: []byte{1, 0, byte(i)}, BodyHash: "b", PrevHash: prev, Hash: fmt.Sprint("hash-", i),
		}
		prev = entries[i].Hash
	}
	appendTo := func(name string, list []store.AuditEntry) error {
		return f.s.Update(f.ctx, func(tx store.Tx) error { return tx.Edges.Append(f.ctx, name, list, 2) })
	}
	if err := appendTo("e1", entries[:3]); err != nil {
		t.Fatal(err)
	}
	if err := appendTo("e1", entries[3:]); err != nil {
		t.Fatal(err)
	}
	for about, err := range map[string]error{"again": appendTo("e1", entries[3:]), "with a gap": appendTo("e0", entries[1:2]), "an id of another edge": appendTo("e0", entries[:1])} {
		if rule.CodeOf(err) != rule.CodeConflict {
			t.Errorf("%s: %v; want conflict", about, err)
		}
	}
	if err := appendTo("none", entries[:1]); rule.CodeOf(err) != rule.CodeNotFound {
		t.Errorf("of no edge: %v; want not_found", err)
	}
	one.SeenAt, one.Report = at.Add(time.Hour), []byte(`{"x":1}`)
	if err := put(one); err != nil {
		t.Fatal(err)
	}
	one.Received, one.Unknown = wire.AuditHead{Seq: 5, Hash: "hash-4"}, 4
	list, total, err := f.s.Edges.List(f.ctx, "p", 0, 10)
	if diff := cmp.Diff([]store.Edge{two, one}, list); err != nil || diff != "" || total != 2 {
		t.Errorf("list: %d, %v (-want +got):\n%s", total, err, diff)
	}
	if got, err := f.s.Edges.Projects(f.ctx); err != nil || !cmp.Equal(got, []string{"p"}) {
		t.Errorf("projects with edges: %v, %v", got, err)
	}
	one.SeenAt, two.Report = at.Add(2*time.Hour), []byte(`{"y":2}`)
	again := one
	again.Key, again.Orders, again.Received = "other", []byte(`{"no":1}`), wire.AuditHead{} // not theirs to change
	f.update(func(tx store.Tx) error { return tx.Edges.Seen(f.ctx, []store.Edge{two, again}) })
	if list, _, err := f.s.Edges.List(f.ctx, "p", 0, 10); err != nil || !cmp.Equal([]store.Edge{two, one}, list) {
		t.Errorf("seen: %v (-want +got):\n%s", err, cmp.Diff([]store.Edge{two, one}, list))
	}
	testForgottenEdge(f, &one, entries)
	got, err := f.s.Edges.Entries(f.ctx, "p", "e1", 2, 2)
	if diff := cmp.Diff(entries[2:4], got); err != nil || diff != "" {
		t.Errorf("entries: %v (-want +got):\n%s", err, diff)
	}
	entry, err := f.s.Edges.Entry(f.ctx, "p", "entry-1")
	if diff := cmp.Diff(entries[1], entry); err != nil || diff != "" {
		t.Errorf("by id: %v (-want +got):\n%s", err, diff)
	}
	if _, err := f.s.Edges.Entry(f.ctx, "q", "entry-1"); rule.CodeOf(err) != rule.CodeNotFound {
		t.Errorf("in another project: %v; want not_found", err)
	}
	own := ""
	for i := range 4 {
		e := store.AuditEntry{
			ProjectID: "p", Seq: int64(i + 1), ID: fmt.Sprint("own-", i), Kind: "evaluation", At: at, Actor: "a", Body: make([]byte, 10), PrevHash: own, Hash: fmt.Sprint("own-hash-", i),
		}
		own = e.Hash
		f.update(func(tx store.Tx) error { return tx.Audit.Append(f.ctx, []store.AuditEntry{e}, nil) })
	}
	for _, tt := range []struct{ through, bytes, want int64 }{{4, 1, 1}, {4, 10, 1}, {4, 11, 2}, {4, 40, 4}, {4, 41, 4}, {2, 41, 2}, {0, 1, 0}} {
		if got, err := f.s.Edges.Oldest(f.ctx, "p", tt.through, tt.bytes); err != nil || got != tt.want {
			t.Errorf("the oldest %d bytes through %d end at %d, %v; want %d", tt.bytes, tt.through, got, err, tt.want)
		}
	}
	if s, err := f.s.Edges.Spool(f.ctx, "p", 1<<40); err != nil || s != (store.Spool{}) {
		t.Errorf("the spool behind the end: %+v, %v", s, err)
	}
	if got, err := f.s.Edges.Names(f.ctx, "p"); err != nil || !cmp.Equal(got, []string{"e0", "e1"}) {
		t.Errorf("names, the forgotten one included: %v, %v", got, err)
	}
	f.update(func(tx store.Tx) error {
		if done, n, err := tx.Edges.DropBodies(f.ctx, "p", "e1", "evaluation", 1, 4, 2, []int64{3}); err != nil || done != 3 || n != 1 {
			t.Errorf("dropped %d up to %d, %v; want 1 up to 3", n, done, err)
		}
		done, n, err := tx.Edges.DropBodies(f.ctx, "p", "e1", "document", 1, 4, 2, nil)
		if done != 4 || n != 0 {
			t.Errorf("of another kind: dropped %d up to %d; want none up to 4", n, done)
		}
		return err
	})
	left, err := f.s.Edges.Entries(f.ctx, "p", "e1", 0, 10)
	if err != nil || len(left) != 5 {
		t.Fatalf("%d entries, %v", len(left), err)
	}
	for i := range left {
		if has := len(left[i].Body) > 0; has != (left[i].Seq != 2) || left[i].Hash != entries[i].Hash {
			t.Errorf("entry %d has its body: %t", left[i].Seq, has)
		}
	}
}

// testForgottenEdge forgets e1 of p, which has some entries.
func testForgottenEdge(f *fixture, e *store.Edge, entries []store.AuditEntry) {
	t := f.t
	forget := func(name string) error {
		return f.s.Update(f.ctx, func(tx store.Tx) error { return tx.Edges.Forget(f.ctx, "p", name, at) })
	}
	if err := forget("e1"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"e1", "none"} {
		if err := forget(name); rule.CodeOf(err) != rule.CodeNotFound {
			t.Errorf("forgetting %s: %v; want not_found", name, err)
		}
	}
	e.Forgotten = true
	late := *e
	late.SeenAt, late.Report = at.Add(9*time.Hour), []byte(`{"late":1}`)
	f.update(func(tx store.Tx) error { return tx.Edges.Seen(f.ctx, []store.Edge{late}) })
	if got, err := f.s.Edges.Get(f.ctx, "p", "e1"); err != nil || !cmp.Equal(*e, got) {
		t.Errorf("the forgotten edge: %v (-want +got):\n%s", err, cmp.Diff(*e, got))
	}
	if list, total, err := f.s.Edges.List(f.ctx, "p", 0, 10); err != nil || total != 1 || len(list) != 1 || list[0].Name != "e0" {
		t.Errorf("with a forgotten edge: %+v, %d, %v", list, total, err)
	}
	last := entries[len(entries)-1]
	next := last
	next.Seq, next.ID, next.PrevHash, next.Hash = last.Seq+1, "entry-late", last.Hash, "hash-late"
	err := f.s.Update(f.ctx, func(tx store.Tx) error { return tx.Edges.Append(f.ctx, "e1", []store.AuditEntry{next}, 0) })
	if rule.CodeOf(err) != rule.CodeConflict {
		t.Errorf("an entry of a forgotten edge: %v; want conflict", err)
	}
}
