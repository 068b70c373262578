package sqlstore

import (
	"database/sql"
	"strings"
	"testing"
	"time"

	"tenet/internal/store"
)

// plan is how a database would carry out a query.
func plan(t *testing.T, s store.Store, explain, query string, args ...any) string {
	t.Helper()
	db := s.Database.(*database)
	tx, err := db.write.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	if db.d.rowLocks { // an empty table is walked whatever its indexes
		for _, off := range []string{"enable_seqscan", "enable_bitmapscan"} {
			if _, err := tx.ExecContext(t.Context(), "SET LOCAL "+off+" = off"); err != nil {
				t.Fatal(err)
			}
		}
	}
	rows, err := tx.QueryContext(t.Context(), explain+db.d.bind(query), args...)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for rows.Next() {
		cells := make([]sql.NullString, len(columns))
		into := make([]any, len(columns))
		for i := range cells {
			into[i] = &cells[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		text.WriteString(cells[len(cells)-1].String + "\n")
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// AuditLogPlan is a query behind the audit log: how the database would carry it out, and what the plan must name.
type AuditLogPlan struct{ Query, Plan, Index string }

// AuditLogPlans returns the plans of the queries behind the audit log.
func AuditLogPlans(t *testing.T, s store.Store) []AuditLogPlan {
	d := s.Database.(*database).d
	blocks := d.numbers([]int64{1, 2})
	list := []AuditLogPlan{
		{Query: d.withinQuery(), Index: "COVERING INDEX audit_entries_by_kind"},
		{Query: d.setsQuery(), Index: "block=? AND term=?"},
		{Query: d.entriesQuery(), Index: "seq=?"},
	}
	explain := "EXPLAIN QUERY PLAN "
	if d.rowLocks {
		explain = "EXPLAIN "
		list[0].Index, list[1].Index, list[2].Index = "audit_entries_by_kind", "evaluation_terms_pkey", "audit_entries_pkey"
	}
	for i, args := range [][]any{{"p", d.list([]string{"rule", "waiver"}), 0, 7168, 0, 9}, {"p", blocks, blocks}, {"p", blocks}} {
		list[i].Plan = plan(t, s, explain, list[i].Query, args...)
	}
	return list
}

// BodyPlans returns the plans of the queries for bodies that lie apart, of entries from one time until another.
func BodyPlans(t *testing.T, s store.Store, from, until time.Time) map[string]string {
	plans := map[string]string{}
	for name, seqs := range map[string][]int64{"a range": {1, 2, 3}, "some": {1, 50}} {
		query, args := s.Database.(*database).d.bodiesQuery("p", seqs, []int64{micros(from), micros(until)})
		plans[name] = plan(t, s, "EXPLAIN ", query, args...)
	}
	return plans
}

// OverviewPlans returns the plans of the queries behind the overview that would else walk what grows with the rules, nodes and days.
func OverviewPlans(t *testing.T, s store.Store) []AuditLogPlan {
	d := s.Database.(*database).d
	node, args := grouped("p", 1, 9, store.OfNode, new("n"))
	part, partArgs := grouped("p", 1, 9, store.OfNodeRule, new("n"))
	named, names := d.in("name", []string{"r"})
	const measured = "FROM rule_health WHERE project_id = ?"
	list := []AuditLogPlan{
		{Query: dailyQuery(node), Index: "COVERING INDEX group_counts_by_name (project_id=? AND dimension=? AND name=? AND day>? AND day<?)"},
		{Query: partsQuery(part), Index: "COVERING INDEX part_counts_by_name (project_id=? AND dimension=? AND name=? AND day>? AND day<?)"},
		{Query: measuredQuery(measured+notEnded, measuredByScore), Index: "rule_health_by_score (project_id=?)"},
		{Query: measuredQuery(measured+" AND owner = ?"+notEnded, measuredByScore), Index: "rule_health_by_owner (project_id=? AND owner=?)"},
		{Query: measuredQuery(measured+" AND standing = ?", measuredByIdle), Index: "rule_health_by_standing (project_id=? AND standing=?)"},
		{Query: teamQuery, Index: "rule_health_by_owner (project_id=? AND owner=?)"},
		{Query: numberedQuery + named, Index: "count_names_by_name (project_id=? AND noun=? AND name=?)"},
	}
	explain := "EXPLAIN QUERY PLAN "
	if d.rowLocks {
		explain = "EXPLAIN "
		for i, index := range []string{
			"group_counts_by_name", "part_counts_by_name", "rule_health_by_score", "rule_health_by_owner", "rule_health_by_standing", "rule_health_by_owner", "count_names_by_name",
		} {
			list[i].Index = index
		}
	}
	for i, args := range [][]any{args, partArgs, {"p", 9, 0}, {"p", "web", 9, 0}, {"p", 2, 9, 0}, {"p", "web"}, {"p", "rule", names}} {
		list[i].Plan = plan(t, s, explain, list[i].Query, args...)
	}
	return list
}

// QueuePlans returns the plans of the queries behind the queue, of a project and of all.
func QueuePlans(t *testing.T, s store.Store) []AuditLogPlan {
	explain := "EXPLAIN QUERY PLAN "
	if s.Database.(*database).d.rowLocks {
		explain = "EXPLAIN "
	}
	var list []AuditLogPlan
	for _, q := range []struct {
		index string
		query func(projectID string) (string, []any)
	}{
		{"rules_in_review", rulesInReview},
		{"candidates_waiting", pendingCandidates},
		{"conflicts_waiting", suggestedConflicts},
		{"audit_entries_waiting", func(projectID string) (string, []any) { return unconfirmed(projectID, time.Time{}) }},
	} {
		for projectID, suffix := range map[string]string{"p": " ", store.AllProjects: "_of_all"} {
			if explain == "EXPLAIN " && projectID == "p" {
				suffix = "" // for an empty table, PostgreSQL may take either
			}
			query, args := q.query(projectID)
			list = append(list, AuditLogPlan{query, plan(t, s, explain, query, append(args, 9)...), q.index + suffix})
		}
	}
	return list
}

// PackAgain empties the packed counts and fills them as the migration does that brings them.
func PackAgain(t *testing.T, s store.Store) error {
	db := s.Database.(*database)
	tx, err := db.write.BeginTx(t.Context(), nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	for _, table := range []string{"packed_counts", "count_names"} {
		if _, err := tx.ExecContext(t.Context(), "DELETE FROM "+table); err != nil {
			return err
		}
	}
	if err := fillings["packed_counts"](t.Context(), &session{db: tx, d: db.d, damage: &damage{}}); err != nil {
		return err
	}
	return tx.Commit()
}
