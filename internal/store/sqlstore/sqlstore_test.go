package sqlstore_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/store/pgtest"
	"tenet/internal/store/sqlstore"
	"tenet/internal/store/storetest"
)

// opened closes a store with its test.
func opened(t testing.TB, s store.Store, err error) store.Store {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestSQLiteKeepsTheContract(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Open {
		dir := t.TempDir()
		return func(t *testing.T) store.Store {
			s, err := sqlstore.OpenSQLite(t.Context(), dir, sqlstore.Options{})
			return opened(t, s, err)
		}
	})
}

func TestPostgreSQLKeepsTheContract(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Open {
		dsn := pgtest.DSN(t)
		return func(t *testing.T) store.Store {
			s, err := sqlstore.OpenPostgres(t.Context(), dsn, sqlstore.Options{})
			return opened(t, s, err)
		}
	})
}

func TestSQLiteFilesAreThePersonsOwn(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a b", "däta?#%")
	s, err := sqlstore.OpenSQLite(t.Context(), dir, sqlstore.Options{})
	opened(t, s, err)
	for path, want := range map[string]os.FileMode{dir: 0o700, filepath.Join(dir, sqlstore.FileName): 0o600} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %o, want %o", path, got, want)
		}
	}
}

func TestANewerSchemaIsRefused(t *testing.T) {
	dir := t.TempDir()
	s, err := sqlstore.OpenSQLite(t.Context(), dir, sqlstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", filepath.Join(dir, sqlstore.FileName))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), "INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, 1)"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = sqlstore.OpenSQLite(t.Context(), dir, sqlstore.Options{})
	if rule.CodeOf(err) != rule.CodeConflict || !strings.Contains(err.Error(), "newer tenet") {
		t.Errorf("opening a newer schema: %v", err)
	}
}

func TestManyNodesMigrateAtOnce(t *testing.T) {
	dir := t.TempDir()
	errs := make(chan error)
	for range 6 {
		go func() {
			s, err := sqlstore.OpenSQLite(t.Context(), dir, sqlstore.Options{})
			if err == nil {
				err = s.Close()
			}
			errs <- err
		}()
	}
	for range 6 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

func TestBadAddressesLeakNothing(t *testing.T) {
	_, err := sqlstore.OpenPostgres(t.Context(), "postgres://user:hunter2@:nope/db", sqlstore.Options{})
	if rule.CodeOf(err) != rule.CodeInvalid || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a malformed address: %v", err)
	}
	_, err = sqlstore.OpenPostgres(t.Context(), "postgres://user:hunter2@127.0.0.1:1/db?connect_timeout=2", sqlstore.Options{})
	if rule.CodeOf(err) != rule.CodeUnavailable || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("an address where nothing listens: %v", err)
	}
}
