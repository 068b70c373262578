package sqlstore_test

import (
	"context"
	"database/sql"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"tenet/internal/rule"
	"tenet/internal/store/pgtest"
	"tenet/internal/store/sqlstore"
)

// An operator reads from the answer what to do about a database that cannot be used.
func TestErrorsOfTheDatabaseHaveTheirReason(t *testing.T) {
	t.Parallel()
	expect := func(about string, err error, reason string) {
		t.Helper()
		if rule.CodeOf(err) != rule.CodeUnavailable || !strings.Contains(err.Error(), "the database is not available now: "+reason+"; try again later") {
			t.Errorf("%s: %v, want unavailable because %s", about, err, reason)
		}
	}
	ctx := t.Context()
	for about, tt := range map[string]struct{ settings, reason string }{
		"a full disk":            {"_pragma=max_page_count(3)", "its disk is full"},
		"a file that only reads": {"_pragma=query_only(1)", "its file cannot be written"},
	} {
		path := filepath.Join(t.TempDir(), sqlstore.FileName)
		if err := sqlstore.ExecSQLite(ctx, path, "", "CREATE TABLE a (text TEXT)"); err != nil {
			t.Fatal(err)
		}
		err := sqlstore.ExecSQLite(ctx, path, tt.settings, "INSERT INTO a (text) VALUES (?)", strings.Repeat("a", 50_000))
		expect(about, err, tt.reason)
	}
	dsn := pgtest.DSN(t)
	at, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	at.Path = "/of_nobody"
	_, err = sqlstore.OpenPostgres(ctx, at.String(), sqlstore.Options{})
	expect("a database that is not there", err, "it does not exist on the server")
	_, err = sqlstore.OpenPostgres(ctx, "postgres://user@127.0.0.1:1/db?connect_timeout=2", sqlstore.Options{})
	expect("a server that is not there", err, "it cannot be reached")
	expect("a lock that is held", heldLock(ctx, t, dsn), "another transaction holds a lock for too long")
}

// heldLock returns the error of a statement that waits for a lock.
func heldLock(ctx context.Context, t *testing.T, dsn string) error {
	t.Helper()
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close() //nolint:errcheck // the test is over
	holder, err := db.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = holder.Rollback() }() // it has written nothing
	if _, err := holder.ExecContext(ctx, "SELECT pg_advisory_xact_lock(1)"); err != nil {
		t.Fatal(err)
	}
	return sqlstore.ExecPostgres(ctx, db, "SET lock_timeout = 50; SELECT pg_advisory_lock(1)")
}
