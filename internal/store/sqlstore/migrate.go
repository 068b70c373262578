package sqlstore

import (
	"bytes"
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"text/template"

	"github.com/pressly/goose/v3"

	"tenet/internal/rule"
)

// Migrations are numbered SQL files, the same for both databases: what differs is filled in from the dialect. They only
// go forward.
//
//go:embed migrations/*.sql
var migrationFiles embed.FS

// migrate brings the schema up to date. Several processes may do so at once. A schema that is newer than this program is
// refused, since it may hold what this program would damage.
func migrate(ctx context.Context, db *sql.DB, d *dialect) error {
	migrations, newest, err := rendered(d)
	if err != nil {
		return err
	}
	options := []goose.ProviderOption{goose.WithGoMigrations(migrations...), goose.WithDisableGlobalRegistry(true)}
	if d.locker != nil {
		locker, err := d.locker()
		if err != nil {
			return fmt.Errorf("sqlstore: migration lock: %w", err)
		}
		options = append(options, goose.WithSessionLocker(locker))
	}
	provider, err := goose.NewProvider(d.goose, db, nil, options...)
	if err != nil {
		return fmt.Errorf("sqlstore: migrations: %w", err)
	}
	have, err := provider.GetDBVersion(ctx)
	if err != nil {
		return fmt.Errorf("sqlstore: schema version: %w", err)
	}
	if have > newest {
		return rule.Errorf(rule.CodeConflict,
			"the database has schema version %d, this program knows versions up to %d; use a newer tenet", have, newest)
	}
	if have == newest {
		return nil
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("sqlstore: migrating the schema: %w", err)
	}
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
		up := func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, text.String())
			return err
		}
		list = append(list, goose.NewGoMigration(version, &goose.GoFunc{RunTx: up}, nil))
		newest = max(newest, version)
	}
	return list, newest, nil
}
