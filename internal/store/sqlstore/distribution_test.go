package sqlstore_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"tenet/internal/store/pgtest"
	"tenet/internal/store/sqlstore"
)

// A server that spreads tables over others by project needs the project in each table, first in each unique key and foreign key,
// and no triggers. Tables that belong to no project are named with the reason.
func TestTablesCanBeSpreadByProject(t *testing.T) {
	t.Parallel()
	c, err := pgx.Connect(t.Context(), pgtest.DSN(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(t.Context()) }()
	copied := slices.Collect(maps.Keys(sqlstore.CopiedTables))
	for what, query := range map[string]string{
		"tables without project_id": `SELECT table_name FROM information_schema.tables AS t WHERE table_schema = 'public' AND table_name <> 'goose_db_version' AND NOT table_name = ANY ($1)
			AND NOT EXISTS (SELECT 1 FROM information_schema.columns AS c WHERE c.table_schema = 'public' AND c.table_name = t.table_name AND c.column_name = 'project_id')`,
		"unique keys that do not begin with project_id": `SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' AND tablename <> 'goose_db_version' AND NOT tablename = ANY ($1)
			AND indexdef LIKE 'CREATE UNIQUE %' AND indexdef NOT LIKE '% USING btree (project_id%'`,
		"foreign keys that do not begin with project_id": `SELECT conrelid::regclass || ': ' || pg_get_constraintdef(oid) FROM pg_constraint
			WHERE contype = 'f' AND NOT conrelid::regclass::text = ANY ($1) AND pg_get_constraintdef(oid) NOT LIKE 'FOREIGN KEY (project_id%REFERENCES %(project_id%'`,
		"triggers": `SELECT tgrelid::regclass || ': ' || tgname FROM pg_trigger WHERE NOT tgisinternal AND $1::text[] IS NOT NULL`,
	} {
		rows, err := c.Query(t.Context(), query, copied)
		if err != nil {
			t.Fatal(err)
		}
		found, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		if len(found) > 0 {
			t.Errorf("%s:\n%s", what, strings.Join(found, "\n"))
		}
	}
}

// Rows of these tables never change. SQLite refuses it by triggers; elsewhere, no statement of this package may try.
func TestNoStatementChangesWhatIsFrozen(t *testing.T) {
	t.Parallel()
	changes := regexp.MustCompile(`(?i)(UPDATE|DELETE\s+FROM|TRUNCATE)\s+(snapshots|deployments|snapshot_approvals)\b`)
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if found := changes.Find(text); found != nil {
			t.Errorf("%s: %s", name, found)
		}
	}
}
