package sqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/store/litetest"
	"tenet/internal/store/pgtest"
	"tenet/internal/store/sqlstore"
)

func addProject(ctx context.Context, s store.Store, id string) error {
	return s.Update(ctx, func(tx store.Tx) error {
		return tx.Projects.Create(ctx, rule.Project{ID: id, Name: strings.Repeat(id, 200), CreatedAt: time.Unix(1, 0), UpdatedAt: time.Unix(1, 0)})
	})
}

func projects(t *testing.T, dir string) map[string]bool {
	t.Helper()
	s, err := sqlstore.OpenSQLite(t.Context(), dir, sqlstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	list, err := s.Projects.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	for _, p := range list {
		have[p.ID] = true
	}
	return have
}

// TestBackupsAreOfOneMoment copies a database while it is written: what was acknowledged before is in the copy, and what is in it was
// written in the order in which it was.
func TestBackupsAreOfOneMoment(t *testing.T) {
	dir, out := litetest.Dir(t), t.TempDir()
	s, err := sqlstore.OpenSQLite(t.Context(), dir, sqlstore.Options{})
	opened(t, s, err)
	var written atomic.Int64
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var g errgroup.Group
	g.Go(func() error {
		for n := int64(1); ; n++ {
			if err := addProject(ctx, s, fmt.Sprintf("p%05d", n)); err != nil {
				if ctx.Err() != nil {
					return nil
				}
				return err
			}
			written.Store(n)
		}
	})
	for written.Load() < 20 {
		time.Sleep(time.Millisecond)
	}
	for i := range 3 {
		before, path, into := written.Load(), filepath.Join(out, fmt.Sprint(i)), filepath.Join(out, fmt.Sprint("restored", i))
		pages := 0
		c, err := sqlstore.Backup(t.Context(), dir, path, func(done, all int) { pages = done })
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o600 || info.Size() != c.Bytes || pages == 0 || c.Schema == 0 {
			t.Fatalf("the copy: %+v, %d pages, %v, %v", c, pages, info, err)
		}
		if restored, err := sqlstore.Restore(t.Context(), path, into); err != nil || restored != c {
			t.Fatalf("restored %+v, want %+v: %v", restored, c, err)
		}
		have := projects(t, into)
		if len(have) != c.Projects || int64(len(have)) < before {
			t.Errorf("%d projects, of which the copy says %d; %d were acknowledged before it", len(have), c.Projects, before)
		}
		for n := range len(have) {
			if id := fmt.Sprintf("p%05d", n+1); !have[id] {
				t.Errorf("%s is missing among %d", id, len(have))
			}
		}
	}
	stop()
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
}

func TestBackupsThatFailLeaveNothing(t *testing.T) {
	dir, out := litetest.Dir(t), t.TempDir()
	taken := filepath.Join(out, "taken")
	if err := os.WriteFile(taken, []byte("a letter"), 0o600); err != nil {
		t.Fatal(err)
	}
	damagedDir := t.TempDir()
	whole, err := os.ReadFile(filepath.Join(dir, sqlstore.FileName))
	if err != nil {
		t.Fatal(err)
	}
	clear(whole[5*4096 : 6*4096])
	if err := os.WriteFile(filepath.Join(damagedDir, sqlstore.FileName), whole, 0o600); err != nil {
		t.Fatal(err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	for name, tt := range map[string]struct {
		ctx       context.Context
		dir, path string
		want      rule.Code
		says      string
	}{
		"a folder without a database":         {t.Context(), t.TempDir(), filepath.Join(out, "a"), rule.CodeNotFound, "no database"},
		"a file that is there":                {t.Context(), dir, taken, rule.CodeConflict, "there already"},
		"a folder that is not there":          {t.Context(), dir, filepath.Join(out, "none", "a"), rule.CodeUnavailable, "none"},
		"a damaged database":                  {t.Context(), damagedDir, filepath.Join(out, "b"), rule.CodeUnavailable, "damaged"},
		"somebody who no longer waits for it": {ended, dir, filepath.Join(out, "c"), "", "canceled"},
	} {
		_, err := sqlstore.Backup(tt.ctx, tt.dir, tt.path, nil)
		if err == nil || tt.want != "" && rule.CodeOf(err) != tt.want || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v, want %s with %q", name, err, tt.want, tt.says)
		}
		if _, err := os.Stat(tt.path); tt.path != taken && !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s leaves a file: %v", name, err)
		}
	}
	if text, err := os.ReadFile(taken); err != nil || string(text) != "a letter" {
		t.Errorf("the file that was there is %q: %v", text, err)
	}
}

func TestOnlySoundCopiesAreRestored(t *testing.T) {
	dir, out := litetest.Dir(t), t.TempDir()
	good := filepath.Join(out, "good")
	if _, err := sqlstore.Backup(t.Context(), dir, good, nil); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	torn := append([]byte(nil), whole...)
	clear(torn[7*4096 : 8*4096])
	other, newer := filepath.Join(out, "other"), filepath.Join(out, "newer")
	for path, statement := range map[string]string{other: "DROP TABLE rules", newer: "INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, TRUE)"} {
		if err := os.WriteFile(path, whole, 0o600); err != nil {
			t.Fatal(err)
		}
		db, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	file := func(name string, content []byte) string {
		path := filepath.Join(out, name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, tt := range map[string]struct {
		path string
		want rule.Code
	}{
		"nothing":                    {filepath.Join(out, "none"), rule.CodeInvalid},
		"an empty file":              {file("empty", nil), rule.CodeInvalid},
		"a text":                     {file("text", []byte(strings.Repeat("no database. ", 1000))), rule.CodeInvalid},
		"half a copy":                {file("half", whole[:len(whole)/2]), rule.CodeInvalid},
		"a copy with a page of zero": {file("torn", torn), rule.CodeInvalid},
		"another program's database": {other, rule.CodeInvalid},
		"that of a newer Tenet":      {newer, rule.CodeConflict},
	} {
		into := filepath.Join(t.TempDir(), "new")
		if _, err := sqlstore.Restore(t.Context(), tt.path, into); rule.CodeOf(err) != tt.want {
			t.Errorf("%s: %v, want %s", name, err, tt.want)
		}
		if _, err := os.Stat(filepath.Join(into, sqlstore.FileName)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is restored", name)
		}
	}
	if _, err := sqlstore.Restore(t.Context(), good, dir); rule.CodeOf(err) != rule.CodeConflict {
		t.Errorf("into a folder with a database: %v", err)
	}
}

func TestADatabaseInUseIsNotPutAside(t *testing.T) {
	dir := litetest.Dir(t)
	s, err := sqlstore.OpenSQLite(t.Context(), dir, sqlstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := addProject(t.Context(), s, "acme"); err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 23, 12, 40, 0, 0, time.UTC)
	if _, err := sqlstore.PutAside(t.Context(), dir, now); rule.CodeOf(err) != rule.CodeConflict {
		t.Fatalf("while it is in use: %v", err)
	}
	if err := addProject(t.Context(), s, "still"); err != nil {
		t.Fatalf("writing after that: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	aside, err := sqlstore.PutAside(t.Context(), dir, now)
	if err != nil || filepath.Base(aside) != "tenet.db.before-20261123T124000Z" {
		t.Fatalf("%s, %v", aside, err)
	}
	back := filepath.Join(t.TempDir(), "back")
	if _, err := sqlstore.Restore(t.Context(), aside, back); err != nil {
		t.Fatal(err)
	}
	if have := projects(t, back); !have["acme"] || !have["still"] {
		t.Errorf("put aside: %v", have)
	}
	// A database that cannot be read is put aside as it is.
	if err := os.WriteFile(filepath.Join(dir, sqlstore.FileName), []byte("no database"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlstore.PutAside(t.Context(), dir, now.Add(time.Second)); err != nil {
		t.Error(err)
	}
}

func TestPlansOfMigrationsChangeNothing(t *testing.T) {
	dir, dsn := t.TempDir(), pgtest.Empty(t, "")
	for name, tt := range map[string]struct {
		plan         func() (sqlstore.Plan, error)
		driver, path string
		open         func() (store.Store, error)
	}{
		"SQLite": {
			func() (sqlstore.Plan, error) { return sqlstore.PlanSQLite(t.Context(), dir) }, "sqlite", filepath.Join(dir, sqlstore.FileName),
			func() (store.Store, error) { return sqlstore.OpenSQLite(t.Context(), dir, sqlstore.Options{}) },
		},
		"PostgreSQL": {
			func() (sqlstore.Plan, error) { return sqlstore.PlanPostgres(t.Context(), dsn) }, "pgx", dsn,
			func() (store.Store, error) { return sqlstore.OpenPostgres(t.Context(), dsn, sqlstore.Options{}) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			check := func(about string, have func(newest int64) int64, first int64) {
				t.Helper()
				p, err := tt.plan()
				if err != nil {
					t.Fatal(err)
				}
				steps := p.Pending
				if p.Have != have(p.Newest) || p.Newest < 44 || (len(steps) == 0) != (first == 0) {
					t.Fatalf("%s: version %d of %d, %d steps", about, p.Have, p.Newest, len(steps))
				}
				if len(steps) > 0 && (steps[0].Version != first || steps[len(steps)-1].Version != p.Newest) {
					t.Errorf("%s: steps from %d to %d", about, steps[0].Version, steps[len(steps)-1].Version)
				}
				for _, step := range steps {
					if step.Name == "" || strings.Contains(step.SQL, "{{") {
						t.Errorf("%s: a step %+v", about, step)
					}
				}
			}
			none := func(int64) int64 { return 0 }
			check("without a database", none, 1)
			check("and once more", none, 1)
			s, err := tt.open()
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			check("with a new one", func(newest int64) int64 { return newest }, 0)
			db, err := sql.Open(tt.driver, tt.path)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = db.Close() }()
			if _, err := db.ExecContext(t.Context(), "DELETE FROM goose_db_version WHERE version_id > 40"); err != nil {
				t.Fatal(err)
			}
			check("with an older one", func(int64) int64 { return 40 }, 41)
		})
	}
	if _, err := sqlstore.PlanPostgres(t.Context(), "postgres://u:secret@%zz"); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("a bad address: %v", err)
	}
}
