package sqlstore

import (
	"bytes"
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"text/template"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"tenet/internal/rule"
)

// Migrations are numbered SQL files, the same for both databases except the names that the dialect fills in. They only go
// forward.
//
//go:embed migrations/*.sql
var migrationFiles embed.FS

// fillings fill the tables of migrations, by their names, with what SQL cannot compute.
var fillings = map[string]func(ctx context.Context, s *session) error{"packed_counts": packStored, "conflicts_said": fillConflicts}

// migrate updates the schema. Several processes may do so at once. It refuses a schema that is newer than this program, since
// the program could damage its data.
func (s *database) migrate(ctx context.Context) error {
	if s.d.rowLocks {
		// A separate transaction on a reading connection holds the lock, since migrations use the writing ones.
		lock, err := s.pool.BeginTx(ctx, nil)
		if err != nil {
			return s.wrap(ctx, "migration lock", err)
		}
		defer func() { _ = lock.Rollback() }() // releases the lock
		if _, err := lock.ExecContext(ctx, unlimited); err != nil {
			return s.wrap(ctx, "migration lock", err)
		}
		if _, err := lock.ExecContext(ctx, s.d.bind("SELECT pg_advisory_xact_lock(?)"), int64(migrating)); err != nil {
			return s.wrap(ctx, "migration lock", err)
		}
		return s.migrateOnce(ctx)
	}
	// SQLite has no such lock. Each migration is one transaction, so the second process fails, and finds it done.
	for try := 1; ; try++ {
		err := s.migrateOnce(ctx)
		if err == nil || rule.CodeOf(err) == rule.CodeConflict || ctx.Err() != nil || (try >= 10 && !s.d.retryable(err)) {
			return err
		}
		time.Sleep(rand.N(50 * time.Millisecond)) //nolint:gosec // nobody gains by guessing a pause
	}
}

func (s *database) migrateOnce(ctx context.Context) error {
	migrations, newest, err := rendered(s.d)
	if err != nil {
		return err
	}
	provider, err := goose.NewProvider(s.d.goose, s.write, nil, goose.WithGoMigrations(migrations...), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return fmt.Errorf("sqlstore: migrations: %w", err)
	}
	have, err := provider.GetDBVersion(ctx)
	if err != nil {
		return s.wrap(ctx, "schema version", err)
	}
	if have > newest {
		return rule.Errorf(rule.CodeConflict,
			"the database has schema version %d, this program knows versions up to %d; use a newer tenet, or restore a backup from before the update", have, newest)
	}
	if have == newest {
		return nil
	}
	if have == 0 {
		made, err := s.fresh(ctx)
		if err != nil || made == newest {
			return err
		}
	}
	if _, err := provider.Up(ctx); err != nil {
		return s.wrap(ctx, "migrating the schema", err)
	}
	s.log.InfoContext(ctx, "database schema migrated", "from", have, "to", newest)
	return nil
}

// Migration is a step of the schema.
type Migration struct {
	Version int64  `json:"version"`
	Name    string `json:"name"`
	SQL     string `json:"sql"`
}

// migrationSteps lists the migrations in order, without their SQL, which [renderStep] gives.
var migrationSteps = sync.OnceValues(func() ([]Migration, error) {
	names, err := fs.Glob(migrationFiles, "migrations/*.sql") // sorted
	if err != nil {
		return nil, err
	}
	list := make([]Migration, 0, len(names))
	for _, file := range names {
		number, name, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(file, "migrations/"), ".sql"), "_")
		version, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("sqlstore: migration %s has no number: %w", file, err)
		}
		list = append(list, Migration{Version: version, Name: name})
	}
	return list, nil
})

// renderStep returns the SQL of a migration for a dialect. Most programs find the schema up to date and need none.
func renderStep(d *dialect, m Migration) (string, error) {
	t, err := template.ParseFS(migrationFiles, fmt.Sprintf("migrations/%04d_%s.sql", m.Version, m.Name))
	if err != nil {
		return "", err
	}
	var text bytes.Buffer
	if err := t.Execute(&text, d.types); err != nil {
		return "", err
	}
	return text.String(), nil
}

// rendered returns the migrations for a dialect as functions, with the newest version.
func rendered(d *dialect) ([]*goose.Migration, int64, error) {
	steps, err := migrationSteps()
	if err != nil {
		return nil, 0, err
	}
	var list []*goose.Migration
	newest := int64(0)
	for _, step := range steps {
		fill := fillings[step.Name]
		up := func(ctx context.Context, tx *sql.Tx) error {
			if d.limits != nil {
				if _, err := tx.ExecContext(ctx, unlimited); err != nil {
					return err
				}
			}
			statements, err := renderStep(d, step)
			if err != nil {
				return err
			}
			s := &session{db: tx, d: d, damage: &damage{}}
			if d.spread.Load() {
				err = migrateSpread(ctx, s, statements)
			} else {
				_, err = tx.ExecContext(ctx, statements)
			}
			if err != nil || fill == nil {
				return err
			}
			return fill(ctx, s)
		}
		list = append(list, goose.NewGoMigration(step.Version, &goose.GoFunc{RunTx: up}, nil))
		newest = max(newest, step.Version)
	}
	return list, newest, nil
}

// Plan lists the steps that would bring the schema of a database up to date.
type Plan struct {
	Have    int64       `json:"have"`   // version of the schema; 0 for an empty database, or none
	Newest  int64       `json:"newest"` // version that this program needs
	Pending []Migration `json:"pending"`
}

// PlanSQLite plans for the database in a folder, and PlanPostgres for that at an address. Neither changes anything. Errors are as those of
// [OpenSQLite] and [OpenPostgres]; a database that a newer Tenet has made is none: it has a higher version than the newest.
func PlanSQLite(ctx context.Context, dir string) (Plan, error) {
	path, err := filepath.Abs(filepath.Join(dir, FileName))
	if err != nil {
		return Plan{}, rule.Errorf(rule.CodeUnavailable, "%w", err)
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return planFor(ctx, newSQLite(), nil)
	}
	db, err := openFile(path, "mode=ro&_busy_timeout=5000&_pragma=query_only(1)")
	if err != nil {
		return Plan{}, err
	}
	defer func() { _ = db.Close() }() // it reads
	return planFor(ctx, newSQLite(), db)
}

// PlanPostgres plans for a database on a server; see [PlanSQLite].
func PlanPostgres(ctx context.Context, dsn string) (Plan, error) {
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		return Plan{}, errAddress()
	}
	db := stdlib.OpenDB(*cfg)
	defer func() { _ = db.Close() }() // it reads
	return planFor(ctx, newPostgres(), db)
}

// planFor plans for a database; nil is one that is not there yet.
func planFor(ctx context.Context, d *dialect, db *sql.DB) (Plan, error) {
	steps, err := migrationSteps()
	if err != nil {
		return Plan{}, err
	}
	p := Plan{Newest: steps[len(steps)-1].Version, Pending: []Migration{}}
	if db != nil {
		if p.Have, err = (&database{session: &session{db: db, d: d, pool: db, gate: &gate{}, damage: &damage{}}}).schemaVersion(ctx); err != nil {
			return Plan{}, err
		}
	}
	for _, step := range steps {
		if step.Version <= p.Have {
			continue
		}
		if step.SQL, err = renderStep(d, step); err != nil {
			return Plan{}, err
		}
		p.Pending = append(p.Pending, step)
	}
	return p, nil
}

// schemaVersion reads the version of the schema without making its table; 0 if it has none.
func (s *database) schemaVersion(ctx context.Context) (version int64, err error) {
	query := "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = '" + goose.DefaultTablename + "'"
	if s.d.rowLocks {
		query = "SELECT count(*) FROM pg_tables WHERE tablename = '" + goose.DefaultTablename + "' AND schemaname = ANY(current_schemas(false))"
	}
	var tables int
	if err := s.row(ctx, "look for the schema", query, nil, &tables); err != nil || tables == 0 {
		return 0, err
	}
	err = s.row(ctx, "schema version", "SELECT coalesce(max(version_id), 0) FROM "+goose.DefaultTablename, nil, &version)
	return version, err
}
