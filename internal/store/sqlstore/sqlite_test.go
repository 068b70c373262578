package sqlstore

import "testing"

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
