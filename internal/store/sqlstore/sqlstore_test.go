package sqlstore_test

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/store/litetest"
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
		dir := litetest.Dir(t)
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

func TestUnusableFoldersAreUnavailable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := sqlstore.OpenSQLite(t.Context(), filepath.Join(file, "folder"), sqlstore.Options{})
	if rule.CodeOf(err) != rule.CodeUnavailable {
		t.Errorf("a folder inside a file: %v", err)
	}
}

func TestANewerSchemaIsRefused(t *testing.T) {
	dir, dsn := t.TempDir(), pgtest.DSN(t)
	for _, tt := range []struct {
		driver, name string
		open         func() (store.Store, error)
	}{
		{"sqlite", filepath.Join(dir, sqlstore.FileName), func() (store.Store, error) {
			return sqlstore.OpenSQLite(t.Context(), dir, sqlstore.Options{})
		}},
		{"pgx", dsn, func() (store.Store, error) { return sqlstore.OpenPostgres(t.Context(), dsn, sqlstore.Options{}) }},
	} {
		s, err := tt.open()
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		db, err := sql.Open(tt.driver, tt.name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.ExecContext(t.Context(), "INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, TRUE)"); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		_, err = tt.open()
		if rule.CodeOf(err) != rule.CodeConflict || !strings.Contains(err.Error(), "use a newer tenet, or restore a backup from before the update") {
			t.Errorf("%s: opening a newer schema: %v", tt.driver, err)
		}
	}
}

func TestManyNodesMigrateAtOnce(t *testing.T) {
	for range 4 { // one round would pass now and then without the lock
		dir, dsn := t.TempDir(), pgtest.Empty(t, "")
		openAtOnce(t, func() (store.Store, error) { return sqlstore.OpenSQLite(t.Context(), dir, sqlstore.Options{}) })
		openAtOnce(t, func() (store.Store, error) { return sqlstore.OpenPostgres(t.Context(), dsn, sqlstore.Options{}) })
	}
}

func openAtOnce(t *testing.T, open func() (store.Store, error)) {
	t.Helper()
	var nodes errgroup.Group
	for i := range 8 {
		nodes.Go(func() error {
			s, err := open()
			if err != nil {
				return err
			}
			err = s.Update(t.Context(), func(tx store.Tx) error {
				return tx.Projects.Create(t.Context(), rule.Project{ID: strconv.Itoa(i)})
			})
			return errors.Join(err, s.Close())
		})
	}
	if err := nodes.Wait(); err != nil {
		t.Error(err)
	}
}

func TestServersThatCannotHoldAllTextAreRefused(t *testing.T) {
	dsn := pgtest.Empty(t, "ENCODING 'SQL_ASCII' LOCALE 'C'")
	_, err := sqlstore.OpenPostgres(t.Context(), dsn, sqlstore.Options{})
	if rule.CodeOf(err) != rule.CodeInvalid || !strings.Contains(err.Error(), "UTF8") {
		t.Errorf("a database in SQL_ASCII: %v", err)
	}
}

// The order of ids and slugs is that of their bytes, whatever order the database would have by its locale.
func TestOrderDoesNotFollowTheLocale(t *testing.T) {
	s, err := sqlstore.OpenPostgres(t.Context(), pgtest.Empty(t, "ENCODING 'UTF8' LOCALE_PROVIDER icu ICU_LOCALE 'en-US' LOCALE 'C'"), sqlstore.Options{})
	opened(t, s, err)
	ids := []string{"B", "_", "a", "a-b", "aa", "ä"}
	err = s.Update(t.Context(), func(tx store.Tx) error {
		if err := tx.Projects.Create(t.Context(), rule.Project{ID: "p"}); err != nil {
			return err
		}
		rules := make([]rule.Rule, len(ids))
		for i, id := range ids {
			rules[i] = rule.Rule{ID: id, ProjectID: "p", Version: 1}
		}
		return tx.Rules.Insert(t.Context(), 1, rules)
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	err = s.Update(t.Context(), func(tx store.Tx) error {
		if _, err := tx.Projects.RaiseCorpus(t.Context(), "p"); err != nil {
			return err
		}
		_, err := tx.Rules.Changes(t.Context(), "p", 0, func(r store.RuleState) error { got = append(got, r.Rule.ID); return nil })
		return err
	})
	if err != nil || !slices.Equal(got, ids) {
		t.Errorf("order %q (%v), want %q", got, err, ids)
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
	shown, ok := errors.AsType[*rule.Error](err)
	if !ok || strings.Contains(shown.Error(), "127.0.0.1") || !strings.Contains(err.Error(), "127.0.0.1") {
		t.Errorf("users are shown %v, the log has %v; only the log may have the address", shown, err)
	}
}

// While connections are being lost, calls are unavailable and nothing else; then all works again without anybody's doing.
func TestLostConnectionsComeBack(t *testing.T) {
	dsn := pgtest.DSN(t)
	s, err := sqlstore.OpenPostgres(t.Context(), dsn, sqlstore.Options{})
	opened(t, s, err)
	killer, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer killer.Close() //nolint:errcheck // it has done its work
	kill := func() {
		t.Helper()
		if _, err := killer.ExecContext(t.Context(),
			"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"); err != nil {
			t.Fatal(err)
		}
	}
	err = s.Update(t.Context(), func(tx store.Tx) error {
		if err := tx.Projects.Create(t.Context(), rule.Project{ID: "p"}); err != nil {
			return err
		}
		kill()
		_, err := tx.Projects.RaiseCorpus(t.Context(), "p")
		return err
	})
	if rule.CodeOf(err) != rule.CodeUnavailable {
		t.Errorf("a transaction whose connection was lost: %v, want unavailable", err)
	}
	works := func(about string, call func() error) {
		t.Helper()
		kill()
		for range 20 { // as many as there are connections that may be dead
			if err = call(); rule.CodeOf(err) != rule.CodeUnavailable {
				break
			}
		}
		if err != nil {
			t.Errorf("%s: %v", about, err)
		}
	}
	works("writing", func() error {
		return s.Update(t.Context(), func(tx store.Tx) error { return tx.Projects.Create(t.Context(), rule.Project{ID: "p"}) })
	})
	works("reading", func() error {
		_, err := s.Projects.Get(t.Context(), "p")
		return err
	})
	works("reading one state", func() error {
		_, err := s.Rules.Changes(t.Context(), "p", 0, func(store.RuleState) error { return nil })
		return err
	})
}
