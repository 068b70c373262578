package sqlstore_test

import (
	"database/sql"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/store/litetest"
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
	s, err := sqlstore.OpenPostgresWithin(ctx, dsn, time.Minute, 50*time.Millisecond, time.Minute, time.Minute)
	expect("a lock that is held", lockedOut(t, opened(t, s, err), func() func() {
		other, err := sqlstore.OpenPostgres(ctx, dsn, sqlstore.Options{})
		return holdServer(t, opened(t, other, err))
	}), "another transaction holds a lock for too long")
	for _, tt := range []struct{ code, reason string }{
		{"40001", "other transactions change the same rows"},
		{"40P01", "other transactions hold locks crosswise"},
		{"25P03", "a transaction paused for too long"},
		{"0A000", "it is too busy"}, // is tried again with other statements, and has no reason of its own
	} {
		expect("failures of the kind "+tt.code, failing(t, tt.code), tt.reason)
	}
	dir := litetest.Dir(t)
	s, err = sqlstore.OpenSQLite(ctx, dir, sqlstore.Options{})
	expect("a file that another program writes", lockedOut(t, opened(t, s, err), func() func() { return holdFile(t, dir) }), "another program holds its lock")
}

// failing returns the error of a transaction whose write fails on a PostgreSQL server with a SQLSTATE.
func failing(t *testing.T, code string) error {
	t.Helper()
	dsn := pgtest.DSN(t)
	s, err := sqlstore.OpenPostgres(t.Context(), dsn, sqlstore.Options{})
	s = opened(t, s, err)
	sqlstore.LosePatience(s)
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if _, err := db.ExecContext(t.Context(), "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE SQLSTATE '"+code+"'; END $$; "+
		"CREATE TRIGGER fail BEFORE INSERT ON servers FOR EACH ROW EXECUTE FUNCTION fail()"); err != nil {
		t.Fatal(err)
	}
	return noted(t, s, "one", nothing)
}

// lockedOut returns the error of a transaction that writes while another one holds its lock.
func lockedOut(t *testing.T, s store.Store, hold func() (release func())) error {
	t.Helper()
	sqlstore.LosePatience(s)
	defer hold()()
	return noted(t, s, "one", nothing)
}

// holdServer locks the row of a server until release is called.
func holdServer(t *testing.T, s store.Store) (release func()) {
	t.Helper()
	goOn := make(chan struct{})
	ended := paused(t, s, goOn)
	return func() {
		close(goOn)
		if err := <-ended; err != nil {
			t.Errorf("the transaction that holds the lock: %v", err)
		}
	}
}

// holdFile locks a file for writes until release is called.
func holdFile(t *testing.T, dir string) (release func()) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, sqlstore.FileName)+"?_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	holder, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		_ = holder.Rollback() // it has written nothing
		_ = db.Close()
	}
}
