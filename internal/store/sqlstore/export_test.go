package sqlstore

import (
	"context"
	"database/sql"
	"errors"

	"github.com/pressly/goose/v3"
)

// MigrateTo makes the schema of an older version in an empty database.
func MigrateTo(ctx context.Context, db *sql.DB, postgres bool, version int64) error {
	d := newSQLite()
	if postgres {
		d = newPostgres()
	}
	migrations, newest, err := rendered(d)
	if err != nil || version > newest {
		return errors.Join(err, errors.New("there is no such version"))
	}
	provider, err := goose.NewProvider(d.goose, db, nil, goose.WithGoMigrations(migrations...), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return err
	}
	_, err = provider.UpTo(ctx, version)
	return err
}

// SplitStatements cuts the SQL of a migration into its statements.
var SplitStatements = splitStatements

// CopiedTables are the tables that belong to no project, with the reason.
var CopiedTables = copiedTables
