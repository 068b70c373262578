package storetest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tenet/internal/rule"
	"tenet/internal/store"
)

func testPersonalKeys(t *testing.T, f *fixture) {
	insert := func(k store.PersonalKey) error {
		return f.s.Update(f.ctx, func(tx store.Tx) error { return tx.PersonalKeys.Insert(f.ctx, k) })
	}
	forget := func(id string) error {
		return f.s.Update(f.ctx, func(tx store.Tx) error { return tx.PersonalKeys.Forget(f.ctx, "p", id, at.Add(time.Hour)) })
	}
	one := store.PersonalKey{ProjectID: "p", ID: "k1", Name: "ann", WrappedBy: "w", Wrapped: []byte{1, 0, 2}, CreatedAt: at}
	two := store.PersonalKey{ProjectID: "p", ID: "k2", Name: "bob", WrappedBy: "v", Wrapped: []byte{3}, CreatedAt: at}
	for _, k := range []store.PersonalKey{one, two} {
		if err := insert(k); err != nil {
			t.Fatal(err)
		}
	}
	again, other := one, one
	again.ID, other.Name, other.ProjectID = "k3", "eve", "none"
	for about, c := range map[string]struct {
		key  store.PersonalKey
		code rule.Code
	}{"a name again": {again, rule.CodeConflict}, "an id again": {store.PersonalKey{ProjectID: "p", ID: "k1", Name: "eve"}, rule.CodeConflict}, "no project": {other, rule.CodeNotFound}} {
		if err := insert(c.key); rule.CodeOf(err) != c.code {
			t.Errorf("%s: %v; want %s", about, err, c.code)
		}
	}
	got, err := f.s.PersonalKeys.Named(f.ctx, "p", "ann")
	if diff := cmp.Diff(one, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for _, c := range []struct {
		names []string
		want  int
	}{{[]string{"w"}, 1}, {[]string{"w", "v"}, 0}, {[]string{"x"}, 2}} {
		if n, err := f.s.PersonalKeys.WrappedByOthers(f.ctx, c.names); err != nil || n != c.want {
			t.Errorf("wrapped by others than %v: %d, %v; want %d", c.names, n, err, c.want)
		}
	}
	testRewrap(t, f, one, two)
	if err := forget("k1"); err != nil {
		t.Fatal(err)
	}
	for about, id := range map[string]string{"forgotten": "k1", "unknown": "k9"} {
		if err := forget(id); rule.CodeOf(err) != rule.CodeNotFound {
			t.Errorf("%s: %v; want not_found", about, err)
		}
	}
	if _, err := f.s.PersonalKeys.Named(f.ctx, "p", "ann"); rule.CodeOf(err) != rule.CodeNotFound {
		t.Errorf("the name of a forgotten key: %v; want not_found", err)
	}
	list, err := f.s.PersonalKeys.List(f.ctx, "p", []string{"k1", "k9"})
	when := at.Add(time.Hour)
	want := []store.PersonalKey{{ProjectID: "p", ID: "k1", Name: "k1", WrappedBy: "w", Wrapped: make([]byte, 3), CreatedAt: at, ForgottenAt: &when}}
	if diff := cmp.Diff(want, list); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if used, forgotten, err := f.s.PersonalKeys.Count(f.ctx, "p"); err != nil || used != 1 || forgotten != 1 {
		t.Errorf("%d used, %d forgotten, %v", used, forgotten, err)
	}
	if err := insert(again); err != nil {
		t.Errorf("a person who comes again: %v", err)
	}
	gone := one
	gone.Wrapped = []byte{7}
	if err := f.s.Update(f.ctx, func(tx store.Tx) error { return tx.PersonalKeys.Rewrap(f.ctx, []store.PersonalKey{gone}) }); err != nil {
		t.Fatal(err)
	}
	if list, err := f.s.PersonalKeys.List(f.ctx, "p", []string{"k1"}); err != nil || !cmp.Equal(want, list) {
		t.Errorf("a forgotten key comes back: %+v, %v", list, err)
	}
}

// testRewrap encrypts the keys of two people again, and leaves them as they were.
func testRewrap(t *testing.T, f *fixture, one, two store.PersonalKey) {
	t.Helper()
	others := func(name, afterID string, limit int, want ...store.PersonalKey) {
		t.Helper()
		got, err := f.s.PersonalKeys.NotWrappedBy(f.ctx, name, "p", afterID, limit)
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Errorf("not wrapped by %s: %v (-want +got):\n%s", name, err, diff)
		}
	}
	rewrap := func(keys ...store.PersonalKey) {
		t.Helper()
		if err := f.s.Update(f.ctx, func(tx store.Tx) error { return tx.PersonalKeys.Rewrap(f.ctx, keys) }); err != nil {
			t.Fatal(err)
		}
	}
	others("x", "", 9, one, two)
	others("x", "", 1, one)
	others("x", "k1", 9, two)
	others("w", "", 9, two)
	again := two
	again.WrappedBy, again.Wrapped = "w", []byte{9}
	rewrap(again)
	others("w", "", 9)
	others("v", "k1", 9, again)
	rewrap(two)
	err := f.s.Update(f.ctx, func(tx store.Tx) error { return tx.PersonalKeys.RetireWrapping(f.ctx, []string{"old", "older"}, at) })
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"old", "older"} {
		late := store.PersonalKey{ProjectID: "p", ID: "k7", Name: "late", WrappedBy: name, Wrapped: []byte{1}, CreatedAt: at}
		err := f.s.Update(f.ctx, func(tx store.Tx) error { return tx.PersonalKeys.Insert(f.ctx, late) })
		if rule.CodeOf(err) != rule.CodeUnavailable {
			t.Errorf("under %s, which is retired: %v; want unavailable", name, err)
		}
	}
}
