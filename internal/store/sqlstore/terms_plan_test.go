package sqlstore_test

import (
	"strings"
	"testing"

	"tenet/internal/store"
	"tenet/internal/store/pgtest"
	"tenet/internal/store/sqlstore"
)

// TestQueriesOfTheAuditLogUseIndexes holds the queries behind the audit log to their indexes: with 10 million entries a walk takes minutes. Times
// of entries come from an index that has them, without their large bodies.
func TestQueriesOfTheAuditLogUseIndexes(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func() (store.Store, error){
		"SQLite": func() (store.Store, error) { return sqlstore.OpenSQLite(t.Context(), t.TempDir(), sqlstore.Options{}) },
		"PostgreSQL": func() (store.Store, error) {
			return sqlstore.OpenPostgres(t.Context(), pgtest.DSN(t), sqlstore.Options{})
		},
	} {
		s, err := open()
		opened(t, s, err)
		for _, q := range sqlstore.AuditLogPlans(t, s) {
			if !strings.Contains(q.Plan, q.Index) || strings.Contains(q.Plan, "Seq Scan") || strings.Contains(q.Plan, "SCAN audit_entries") || strings.Contains(q.Plan, "SCAN evaluation_terms") {
				t.Errorf("%s carries out %s without %q:\n%s", name, q.Query, q.Index, q.Plan)
			}
		}
	}
}

// TestQueriesOfListsUseIndexes holds queries of the overview and the queue to indexes that give their rows in order, or those of one name only.
func TestQueriesOfListsUseIndexes(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func() (store.Store, error){
		"SQLite": func() (store.Store, error) { return sqlstore.OpenSQLite(t.Context(), t.TempDir(), sqlstore.Options{}) },
		"PostgreSQL": func() (store.Store, error) {
			return sqlstore.OpenPostgres(t.Context(), pgtest.DSN(t), sqlstore.Options{})
		},
	} {
		s, err := open()
		opened(t, s, err)
		for _, q := range append(sqlstore.OverviewPlans(t, s), sqlstore.QueuePlans(t, s)...) {
			ordered := strings.Contains(q.Query, "LIMIT")
			if !strings.Contains(q.Plan, q.Index) || ordered && (strings.Contains(q.Plan, "FOR ORDER BY") || strings.Contains(q.Plan, "Sort ")) {
				t.Errorf("%s carries out %s without %q:\n%s", name, q.Query, q.Index, q.Plan)
			}
		}
	}
}
