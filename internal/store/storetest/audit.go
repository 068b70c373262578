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

// entryAt makes an entry; its hashes are labels.
func entryAt(seq int64, edit func(*store.AuditEntry)) store.AuditEntry {
	e := store.AuditEntry{
		ProjectID: "p", Seq: seq, ID: newRule(int(seq), nil).ID, Kind: "evaluation", At: at.Add(time.Duration(seq) * time.Second),
		Actor: "ann", Verdict: "ALLOW", Mode: "preflight", Body: []byte{0, 1, 255}, BodyHash: "b",
		PrevHash: fmt.Sprint("h", seq-1), Hash: fmt.Sprint("h", seq),
	}
	if seq == 1 {
		e.PrevHash = ""
	}
	if edit != nil {
		edit(&e)
	}
	return e
}

func (f *fixture) appendAudit(entries ...store.AuditEntry) error {
	return f.s.Update(f.ctx, func(tx store.Tx) error {
		if _, err := tx.Audit.Lock(f.ctx, entries[0].ProjectID); err != nil {
			return err
		}
		return tx.Audit.Append(f.ctx, entries, nil)
	})
}

func testAudit(t *testing.T, f *fixture) {
	head, err := f.s.Audit.Head(f.ctx, "p")
	if err != nil || head != (wire.AuditHead{}) {
		t.Errorf("head of an empty chain: %v, %v", head, err)
	}
	entries := []store.AuditEntry{entryAt(1, nil), entryAt(2, nil), entryAt(3, nil)}
	if err := f.appendAudit(entries...); err != nil {
		t.Fatal(err)
	}
	for name, wrong := range map[string][]store.AuditEntry{
		"a number that is taken": {entryAt(3, nil)},
		"a gap":                  {entryAt(5, nil)},
		"another predecessor":    {entryAt(4, func(e *store.AuditEntry) { e.PrevHash = "x" })},
		"a gap within":           {entryAt(4, nil), entryAt(6, nil)},
		"an id that is taken":    {entryAt(4, func(e *store.AuditEntry) { e.ID = entries[0].ID })},
	} {
		code(t, name, f.appendAudit(wrong...), rule.CodeConflict)
	}
	head, err = f.s.Audit.Head(f.ctx, "p")
	if err != nil || head != (wire.AuditHead{Seq: 3, Hash: "h3"}) {
		t.Errorf("head: %v, %v", head, err)
	}
	got, err := f.s.Audit.Entries(f.ctx, "p", 1, 10)
	if diff := cmp.Diff(entries[1:], got); err != nil || diff != "" {
		t.Errorf("entries after 1: %v (-want +got):\n%s", err, diff)
	}
	if got, err := f.s.Audit.Entries(f.ctx, "p", 0, 2); err != nil || len(got) != 2 {
		t.Errorf("%d entries, %v; want the limit of 2", len(got), err)
	}
	one, err := f.s.Audit.Get(f.ctx, "p", entries[1].ID)
	if diff := cmp.Diff(entries[1], one); err != nil || diff != "" {
		t.Errorf("entry by id: %v (-want +got):\n%s", err, diff)
	}
	_, err = f.s.Audit.Get(f.ctx, "p", "none")
	code(t, "no entry", err, rule.CodeNotFound)
	f.fails(rule.CodeNotFound, func(tx store.Tx) error {
		_, err := tx.Audit.Lock(f.ctx, "none")
		return err
	})
}

func testFindAudit(t *testing.T, f *fixture) {
	if err := f.appendAudit(
		entryAt(1, nil),
		entryAt(2, func(e *store.AuditEntry) { e.Verdict = "DENY" }),
		entryAt(3, func(e *store.AuditEntry) { e.Kind, e.Verdict, e.Mode = "rule", "", "" }),
		entryAt(4, func(e *store.AuditEntry) { e.Mode = "posthoc" }),
		entryAt(5, func(e *store.AuditEntry) { e.Actor = "bob" }),
	); err != nil {
		t.Fatal(err)
	}
	second, fourth := entryAt(2, nil).At, entryAt(4, nil).At
	for _, tt := range []struct {
		name   string
		filter store.AuditFilter
		want   []int64
		total  int
	}{
		{"all, newest first", store.AuditFilter{Limit: 10}, []int64{5, 4, 3, 2, 1}, 5},
		{"a page", store.AuditFilter{Limit: 2, Offset: 1}, []int64{4, 3}, 5},
		{"kind", store.AuditFilter{Limit: 10, Kind: "rule"}, []int64{3}, 1},
		{"verdict", store.AuditFilter{Limit: 10, Verdict: "DENY"}, []int64{2}, 1},
		{"mode", store.AuditFilter{Limit: 10, Mode: "posthoc"}, []int64{4}, 1},
		{"actor", store.AuditFilter{Limit: 10, Actor: "bob"}, []int64{5}, 1},
		{"since is included, until is not", store.AuditFilter{Limit: 10, Since: &second, Until: &fourth}, []int64{3, 2}, 2},
		{"another project", store.AuditFilter{Limit: 10, ProjectID: "q"}, nil, 0},
	} {
		if tt.filter.ProjectID == "" {
			tt.filter.ProjectID = "p"
		}
		list, total, err := f.s.Audit.Find(f.ctx, tt.filter)
		var got []int64
		for _, e := range list {
			got = append(got, e.Seq)
		}
		if diff := cmp.Diff(tt.want, got); err != nil || diff != "" || total != tt.total {
			t.Errorf("%s: total %d, want %d; %v (-want +got):\n%s", tt.name, total, tt.total, err, diff)
		}
	}
}

func testKeys(t *testing.T, f *fixture) {
	soon := at.Add(time.Hour)
	one := store.Key{ProjectID: "p", ID: "1", Name: "ci", Role: "viewer", Hash: "h1", CreatedAt: at, CreatedBy: "ann"}
	two := store.Key{
		ProjectID: store.AllProjects, ID: "2", Name: "ops", Role: "admin", Hash: "h2", CreatedAt: at, ExpiresAt: &soon,
		Prefix: "tnt_ab", Owner: "corp:ann@example.com", Agent: "bot", RotatedFrom: "0",
		Limits: wire.KeyLimits{Scopes: []string{"evaluate"}, NodeID: "n", Networks: []string{"10.0.0.0/8"}, Rate: 1.5, Burst: 3},
	}
	f.update(func(tx store.Tx) error {
		if err := tx.Keys.Insert(f.ctx, one); err != nil {
			return err
		}
		return tx.Keys.Insert(f.ctx, two)
	})
	sameHash := one
	sameHash.ID = "3"
	f.fails(rule.CodeConflict, func(tx store.Tx) error { return tx.Keys.Insert(f.ctx, sameHash) })
	got, err := f.s.Keys.GetByHash(f.ctx, "h2")
	if diff := cmp.Diff(two, got); err != nil || diff != "" {
		t.Errorf("key: %v (-want +got):\n%s", err, diff)
	}
	_, err = f.s.Keys.GetByHash(f.ctx, "none")
	code(t, "no key", err, rule.CodeNotFound)
	f.update(func(tx store.Tx) error {
		got, err := tx.Keys.Get(f.ctx, store.AllProjects, "2")
		if diff := cmp.Diff(two, got); diff != "" {
			t.Errorf("key by id (-want +got):\n%s", diff)
		}
		return err
	})
	f.fails(rule.CodeNotFound, func(tx store.Tx) error { _, err := tx.Keys.Get(f.ctx, "p", "2"); return err })
	later := at.Add(2 * time.Hour)
	f.update(func(tx store.Tx) error {
		changed, err := tx.Keys.Get(f.ctx, store.AllProjects, "2")
		if err != nil {
			return err
		}
		changed.Name, changed.Limits.Networks, changed.Role = "renamed", []string{"10.0.0.0/8"}, "changes nothing"
		if err := tx.Keys.Change(f.ctx, changed); err != nil {
			return err
		}
		got, err := tx.Keys.Get(f.ctx, store.AllProjects, "2")
		if got.Name != "renamed" || len(got.Limits.Networks) != 1 || got.Role == changed.Role {
			t.Errorf("changed: %+v", got)
		}
		return err
	})
	f.fails(rule.CodeNotFound, func(tx store.Tx) error { return tx.Keys.Change(f.ctx, store.Key{ProjectID: "p", ID: "2"}) })
	f.update(func(tx store.Tx) error { return tx.Keys.Replace(f.ctx, store.AllProjects, "2", "4", later) })
	f.fails(rule.CodeConflict, func(tx store.Tx) error { return tx.Keys.Replace(f.ctx, store.AllProjects, "2", "5", at) })
	f.fails(rule.CodeNotFound, func(tx store.Tx) error { return tx.Keys.Replace(f.ctx, "p", "2", "5", at) })
	got, err = f.s.Keys.GetByHash(f.ctx, "h2")
	if err != nil || got.RotatedTo != "4" || got.ExpiresAt == nil || !got.ExpiresAt.Equal(later) {
		t.Errorf("a replaced key: %+v, %v", got, err)
	}
	count := func(want int) {
		t.Helper()
		if n, err := f.s.Keys.Count(f.ctx); err != nil || n != want {
			t.Errorf("%d keys in force, %v; want %d", n, err, want)
		}
	}
	count(2) // one of them ends some day, and counts even then
	f.update(func(tx store.Tx) error { return tx.Keys.Revoke(f.ctx, "p", "1", at.Add(time.Minute)) })
	f.update(func(tx store.Tx) error { return tx.Keys.Revoke(f.ctx, "p", "1", at.Add(time.Hour)) })
	f.fails(rule.CodeNotFound, func(tx store.Tx) error { return tx.Keys.Revoke(f.ctx, "p", "2", at) })
	count(1)
	list, err := f.s.Keys.List(f.ctx, "p")
	if err != nil || len(list) != 1 || list[0].RevokedAt == nil || !list[0].RevokedAt.Equal(at.Add(time.Minute)) {
		t.Errorf("keys: %+v, %v; want one, revoked at its first revocation", list, err)
	}
}
