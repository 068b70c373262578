package sqlstore

import (
	"context"
	"errors"
	"testing"

	"tenet/internal/store"
)

// A commit must reach the disk before it returns, which no killed process can show: only a lost machine does.
func TestSQLiteIsDurableAndReadersOnlyRead(t *testing.T) {
	s, err := OpenSQLite(t.Context(), t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() //nolint:errcheck // nothing was written
	both := s.Database.(*database)
	for _, tt := range []struct {
		handle        conn
		pragma, value string
	}{
		{both.write, "journal_mode", "wal"},
		{both.write, "synchronous", "2"},
		{both.write, "foreign_keys", "1"},
		{both.write, "query_only", "0"},
		{both.pool, "query_only", "1"},
	} {
		var got string
		if err := tt.handle.QueryRowContext(t.Context(), "PRAGMA "+tt.pragma).Scan(&got); err != nil || got != tt.value {
			t.Errorf("%s is %s (%v), want %s", tt.pragma, got, err, tt.value)
		}
	}
}

// The connection that writes derived rows without waiting for the disk must wait for all others, also after a failure of theirs.
func TestOnlyDerivedRowsAreNotSynced(t *testing.T) {
	s, err := OpenSQLite(t.Context(), t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() //nolint:errcheck // nothing was written
	synchronous := func(tx conn) (level string) {
		t.Helper()
		if err := tx.QueryRowContext(t.Context(), "PRAGMA synchronous").Scan(&level); err != nil {
			t.Fatal(err)
		}
		return level
	}
	levels := map[string]string{}
	in := func(name string, end error) func(store.Tx) error {
		return func(tx store.Tx) error {
			levels[name] = synchronous(tx.Terms.(termTable).db)
			return end
		}
	}
	broken := errors.New("broken")
	if err := s.UpdateDerived(t.Context(), in("derived", nil)); err != nil {
		t.Error(err)
	}
	if err := s.UpdateDerived(t.Context(), in("failing", broken)); !errors.Is(err, broken) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if err := s.UpdateDerived(ctx, func(store.Tx) error { cancel(); return nil }); err == nil {
		t.Error("a transaction whose context has ended was committed")
	}
	if err := s.Update(t.Context(), in("other", nil)); err != nil {
		t.Error(err)
	}
	if levels["derived"] != "1" || levels["failing"] != "1" || levels["other"] != "2" {
		t.Errorf("synchronous is %v, want 1 (NORMAL) for derived rows and 2 (FULL) for others", levels)
	}
}
