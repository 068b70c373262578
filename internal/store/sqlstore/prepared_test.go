package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
)

// A connection keeps what it has compiled, and that shows in nothing but speed: rows that are read while the same statement runs again, settings,
// a changed schema, more statements than it keeps, and a statement that fails.
func TestCompiledStatements(t *testing.T) {
	t.Parallel()
	db, err := openFile(filepath.Join(t.TempDir(), FileName), "_pragma=journal_mode(WAL)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close() //nolint:errcheck // the test is over
	ctx := t.Context()
	conn, err := db.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // the test is over
	kept := func() (n int) {
		t.Helper()
		if err := conn.Raw(func(c any) error { n = len(c.(*preparedConn).statements); return nil }); err != nil {
			t.Fatal(err)
		}
		return n
	}
	exec := func(query string, args ...any) {
		t.Helper()
		if _, err := conn.ExecContext(ctx, query, args...); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
	number := func(query string, args ...any) (n int) {
		t.Helper()
		if err := conn.QueryRowContext(ctx, query, args...).Scan(&n); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		return n
	}
	exec("CREATE TABLE a (n BIGINT PRIMARY KEY, text TEXT)")
	if kept() != 0 {
		t.Error("a definition is kept")
	}
	const insert = "INSERT INTO a (n, text) VALUES (?, ?)"
	for i := range 5 {
		exec(insert, i, "x")
	}
	if kept() != 1 {
		t.Errorf("%d statements are kept", kept())
	}
	if _, err := conn.ExecContext(ctx, insert, 1, "y"); err == nil {
		t.Error("the same key twice")
	}
	exec(insert, 5, "z") // after a failure

	// The same query, while its rows are being read.
	const query = "SELECT n FROM a WHERE n >= ? ORDER BY n"
	seen := ""
	outer, err := conn.QueryContext(ctx, query, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = outer.Close() }() // closed below
	for outer.Next() {
		var n int
		if err := outer.Scan(&n); err != nil {
			t.Fatal(err)
		}
		seen += fmt.Sprint(n, number(query, 4), " ")
	}
	if err := errors.Join(outer.Err(), outer.Close()); err != nil || seen != "0 4 1 4 2 4 3 4 4 4 5 4 " {
		t.Errorf("%v; %s", err, seen)
	}
	if n := number(query, 2); n != 2 {
		t.Errorf("the query once more: %d", n)
	}
	// Rows that nobody reads to the end do not hold the statement, nor the lock.
	first, err := conn.QueryContext(ctx, query, 0)
	if err != nil || !first.Next() {
		t.Fatal(err)
	}
	defer func() { _ = first.Close() }() // closed below
	if err := errors.Join(first.Err(), first.Close()); err != nil {
		t.Fatal(err)
	}
	exec("ALTER TABLE a ADD COLUMN more BIGINT NOT NULL DEFAULT 7")
	if n := number("SELECT more FROM a WHERE n = ?", 5); n != 7 {
		t.Errorf("a new column: %d", n)
	}
	exec(insert, 6, "z")

	for i := range 3 * maxPrepared {
		number(fmt.Sprintf("SELECT %d FROM a", i))
	}
	if n := kept(); n == 0 || n > maxPrepared {
		t.Errorf("%d statements are kept", n)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := conn.ExecContext(ended, insert, 100, "x"); err == nil {
		t.Error("it ran after its context had ended")
	}
	tx, err := conn.BeginTx(ctx, &sql.TxOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecContext(ctx, insert, 101, "x"); err != nil {
		t.Fatal(err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if n := number("SELECT COUNT(*) FROM a"); n != 7 {
		t.Errorf("%d rows", n)
	}
}
