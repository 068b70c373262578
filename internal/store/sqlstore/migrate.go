package sqlstore

import (
	"bytes"
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"strconv"
	"strings"
	"text/template"
	"time"

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
			"the database has schema version %d, this program knows versions up to %d; use a newer tenet", have, newest)
	}
	if have == newest {
		return nil
	}
	if _, err := provider.Up(ctx); err != nil {
		return s.wrap(ctx, "migrating the schema", err)
	}
	s.log.InfoContext(ctx, "database schema migrated", "from", have, "to", newest)
	return nil
}

// rendered reads the migrations for a dialect and returns them with the newest version.
func rendered(d *dialect) ([]*goose.Migration, int64, error) {
	names, err := fs.Glob(migrationFiles, "migrations/*.sql")
	if err != nil {
		return nil, 0, err
	}
	var list []*goose.Migration
	newest := int64(0)
	for _, name := range names {
		number, _, _ := strings.Cut(strings.TrimPrefix(name, "migrations/"), "_")
		version, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return nil, 0, fmt.Errorf("sqlstore: migration %s has no number: %w", name, err)
		}
		t, err := template.ParseFS(migrationFiles, name)
		if err != nil {
			return nil, 0, err
		}
		var text bytes.Buffer
		if err := t.Execute(&text, d.types); err != nil {
			return nil, 0, err
		}
		fill := fillings[strings.TrimSuffix(strings.TrimPrefix(name, "migrations/"+number+"_"), ".sql")]
		up := func(ctx context.Context, tx *sql.Tx) error {
			if d.limits != nil {
				if _, err := tx.ExecContext(ctx, unlimited); err != nil {
					return err
				}
			}
			_, err := tx.ExecContext(ctx, text.String())
			if err != nil || fill == nil {
				return err
			}
			return fill(ctx, &session{db: tx, d: d, damage: &damage{}})
		}
		list = append(list, goose.NewGoMigration(version, &goose.GoFunc{RunTx: up}, nil))
		newest = max(newest, version)
	}
	return list, newest, nil
}
