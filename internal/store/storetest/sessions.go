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
