package sqlstore

import (
	"context"
	"database/sql"
	_ "embed" // the schema
	"fmt"
	"strconv"
	"strings"
)

// sqliteSchema makes the tables of an empty SQLite file as they are after the migrations up to a version, which its first line names. Made by all
// migrations, one after the other, they took most of the time of a command that works on a throw-away database. A test writes it (-update).
//
//go:embed schema/sqlite.sql
var sqliteSchema string

// schemaHeader precedes the version in the first line of a schema.
const schemaHeader = "-- version "

// fresh makes the schema of an empty database in one transaction, and returns its version; 0 where the dialect has no schema as a whole. Migrations
// that are newer are to follow. It changes nothing if another process has begun before.
func (s *database) fresh(ctx context.Context) (version int64, err error) {
	if s.d.schema == "" {
		return 0, nil
	}
	line, statements, _ := strings.Cut(s.d.schema, "\n")
	if version, err = strconv.ParseInt(strings.TrimPrefix(line, schemaHeader), 10, 64); err != nil {
		return 0, fmt.Errorf("sqlstore: the schema has no version: %w", err)
	}
	tx, err := s.write.BeginTx(ctx, s.d.writing)
	if err != nil {
		return 0, s.wrap(ctx, "making the schema", err)
	}
	defer func() { _ = tx.Rollback() }() // of no effect once it is committed
	var have sql.NullInt64
	if err := tx.QueryRowContext(ctx, "SELECT MAX(version_id) FROM goose_db_version").Scan(&have); err != nil {
		return 0, s.wrap(ctx, "schema version", err)
	}
	if have.Int64 > 0 {
		return have.Int64, nil
	}
	if _, err := tx.ExecContext(ctx, statements); err != nil {
		return 0, s.wrap(ctx, "making the schema", err)
	}
	steps, err := migrationSteps()
	if err != nil {
		return 0, err
	}
	for _, step := range steps {
		if step.Version > version {
			break
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (?, TRUE)", step.Version); err != nil {
			return 0, s.wrap(ctx, "schema version", err)
		}
	}
	if err := tx.Commit(); err != nil {
		return 0, s.wrap(ctx, "making the schema", err)
	}
	return version, nil
}
