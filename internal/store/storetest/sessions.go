package storetest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/rule"
	"tenet/internal/store"
)

func testSessions(t *testing.T, f *fixture) {
	get := func(hash string, now time.Time) (store.Session, error) {
		t.Helper()
		return f.s.Sessions.Get(f.ctx, hash, now)
	}
	short := store.Session{Hash: "a", Data: []byte{0, 1, 0xff, '\''}, ExpiresAt: at.Add(time.Hour)}
	long := store.Session{Hash: "b", Data: []byte("data"), ExpiresAt: at.Add(2 * time.Hour)}
	f.update(func(tx store.Tx) error {
		if err := tx.Sessions.Put(f.ctx, short); err != nil {
			return err
		}
		return tx.Sessions.Put(f.ctx, long)
	})
	got, err := get("a", at)
	if diff := cmp.Diff(short, got); err != nil || diff != "" {
		t.Errorf("session: %v (-want +got):\n%s", err, diff)
	}
	_, err = get("a", short.ExpiresAt)
	code(t, "at its end", err, rule.CodeNotFound)
	_, err = get("c", at)
	code(t, "an unknown session", err, rule.CodeNotFound)

	long.Data, long.ExpiresAt = []byte("other"), at.Add(3*time.Hour)
	f.update(func(tx store.Tx) error { return tx.Sessions.Put(f.ctx, long) })
	if got, err = get("b", at.Add(2*time.Hour)); err != nil || string(got.Data) != "other" {
		t.Errorf("a session stored again: %+v, %v", got, err)
	}
	f.update(func(tx store.Tx) error { return tx.Sessions.DeleteExpired(f.ctx, short.ExpiresAt) })
	_, err = get("a", at)
	code(t, "after the removal of what has ended", err, rule.CodeNotFound)
	if _, err = get("b", at); err != nil {
		t.Errorf("a session that goes on: %v", err)
	}
	f.update(func(tx store.Tx) error { return tx.Sessions.Delete(f.ctx, "b") })
	f.update(func(tx store.Tx) error { return tx.Sessions.Delete(f.ctx, "b") })
	_, err = get("b", at)
	code(t, "a deleted session", err, rule.CodeNotFound)
}

func testSignouts(t *testing.T, f *fixture) {
	one := store.Signout{Issuer: "https://a", TokenID: "1", Subject: "ann", SID: "s1", At: at, Until: at.Add(time.Hour)}
	all := store.Signout{Issuer: "https://a", TokenID: "2", Subject: "bob", At: at, Until: at.Add(2 * time.Hour)}
	unnamed := store.Signout{Issuer: "https://a", TokenID: "3", SID: "s9", At: at, Until: at.Add(2 * time.Hour)}
	for _, s := range []store.Signout{one, all, unnamed} {
		f.update(func(tx store.Tx) error { return tx.Sessions.SignOut(f.ctx, s) })
	}
	err := f.s.Update(f.ctx, func(tx store.Tx) error { return tx.Sessions.SignOut(f.ctx, one) })
	code(t, "the same message again", err, rule.CodeConflict)
	for _, tt := range []struct {
		about                string
		issuer, subject, sid string
		since                time.Time
		want                 bool
	}{
		{"the session that is named", "https://a", "ann", "s1", at.Add(-time.Minute), true},
		{"another session of the person", "https://a", "ann", "s2", at.Add(-time.Minute), false},
		{"a session without a name, where one is named", "https://a", "ann", "", at.Add(-time.Minute), false},
		{"any session of a person who is named alone", "https://a", "bob", "s7", at.Add(-time.Minute), true},
		{"one without a name", "https://a", "bob", "", at, true},
		{"one that began afterwards", "https://a", "bob", "s7", at.Add(time.Second), false},
		{"a session that is named alone", "https://a", "cid", "s9", at, true},
		{"the same names at another provider", "https://b", "bob", "s1", at.Add(-time.Minute), false},
		{"somebody else", "https://a", "dan", "", at.Add(-time.Minute), false},
	} {
		got, err := f.s.Sessions.SignedOut(f.ctx, tt.issuer, tt.subject, tt.sid, tt.since)
		if err != nil || got != tt.want {
			t.Errorf("%s: signed out %v, %v, want %v", tt.about, got, err, tt.want)
		}
	}
	f.update(func(tx store.Tx) error { return tx.Sessions.DeleteExpired(f.ctx, one.Until) })
	for sid, want := range map[string]bool{"s1": false, "s9": true} {
		if got, err := f.s.Sessions.SignedOut(f.ctx, "https://a", "ann", sid, at); err != nil || got != want {
			t.Errorf("session %s after the removal of what may be forgotten: %v, %v", sid, got, err)
		}
	}
}
