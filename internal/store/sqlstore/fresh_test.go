package sqlstore_test

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/store/sqlstore"
)

var update = flag.Bool("update", false, "write the schema of fresh databases again")

// TestAFreshDatabaseIsAsMigrated compares the schema that makes fresh databases with what the migrations make, one after the other.
func TestAFreshDatabaseIsAsMigrated(t *testing.T) {
	plan, err := sqlstore.PlanSQLite(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	migrated := rawSQLite(t, filepath.Join(t.TempDir(), "migrated.db"))
	if err := sqlstore.MigrateTo(t.Context(), migrated, false, plan.Newest); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("schema/sqlite.sql", []byte(schemaOf(t, migrated, plan.Newest)), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Skip("schema/sqlite.sql is written; run again")
	}
	written, err := os.ReadFile("schema/sqlite.sql")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(written), fmt.Sprintf("-- version %d\n", plan.Newest)) {
		t.Errorf("schema/sqlite.sql is older than the migrations; run: go test ./internal/store/sqlstore -run TestAFreshDatabaseIsAsMigrated -update")
	}
	dir := t.TempDir()
	s, err := sqlstore.OpenSQLite(t.Context(), dir, sqlstore.Options{})
	opened(t, s, err)
	fresh := rawSQLite(t, filepath.Join(dir, sqlstore.FileName))
	if diff := cmp.Diff(objects(t, migrated), objects(t, fresh)); diff != "" {
		t.Errorf("tables and indexes (-migrated +fresh):\n%s", diff)
	}
	if diff := cmp.Diff(contents(t, migrated), contents(t, fresh)); diff != "" {
		t.Errorf("rows (-migrated +fresh):\n%s", diff)
	}
}

func rawSQLite(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// texts runs a query of text columns.
func texts(t *testing.T, db *sql.DB, query string) (list [][]string) {
	t.Helper()
	rows, err := db.QueryContext(context.Background(), query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		row, to := make([]sql.NullString, len(columns)), make([]any, len(columns))
		for i := range row {
			to[i] = &row[i]
		}
		if err := rows.Scan(to...); err != nil {
			t.Fatal(err)
		}
		values := make([]string, len(row))
		for i := range row {
			values[i] = row[i].String
		}
		list = append(list, values)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

// objects returns the statements that make tables, indexes and triggers, by their names.
func objects(t *testing.T, db *sql.DB) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, o := range texts(t, db, "SELECT type || ' ' || name, sql FROM sqlite_master") {
		all[o[0]] = o[1]
	}
	return all
}

// contents returns the rows of all tables, but for those that SQLite keeps and the times of the migrations.
func contents(t *testing.T, db *sql.DB) map[string][][]string {
	t.Helper()
	all := map[string][][]string{"goose_db_version": texts(t, db, "SELECT version_id, is_applied FROM goose_db_version ORDER BY version_id")}
	for _, o := range texts(t, db, "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name <> 'goose_db_version'") {
		if rows := texts(t, db, `SELECT * FROM "`+o[0]+`"`); len(rows) > 0 {
			all[o[0]] = rows
		}
	}
	return all
}

// schemaOf writes down what makes a database as this one is, which has no rows but those of virtual tables.
func schemaOf(t *testing.T, db *sql.DB, version int64) string {
	t.Helper()
	filled := contents(t, db)
	maps.DeleteFunc(filled, func(name string, _ [][]string) bool {
		return name == "goose_db_version" || strings.HasPrefix(name, "document_terms")
	})
	if len(filled) > 0 {
		t.Fatalf("migrations leave rows, which the schema would leave out: %v", filled)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "-- version %d\n-- Written by TestAFreshDatabaseIsAsMigrated from the migrations; do not edit.\n", version)
	for _, o := range texts(t, db, `SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' AND name <> 'goose_db_version'
		AND name NOT GLOB 'document_terms_*' ORDER BY type = 'trigger', type = 'index', rowid`) {
		b.WriteString(o[0] + ";\n")
	}
	return b.String()
}
