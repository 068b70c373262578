package sqlstore_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tenet/internal/audit"
	"tenet/internal/corpus"
	"tenet/internal/health"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/store/pgtest"
	"tenet/internal/store/sqlstore"
	"tenet/internal/wire"
)

// older is the last version of the schema without counts of teams, nodes, reasons and repositories.
const older = 28

// What an older version has stored is found, counted and summed up after the migration.
func TestADatabaseOfAnOlderVersion(t *testing.T) {
	t.Parallel()
	for _, driver := range []string{"sqlite", "pgx"} {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			at := time.Now().UTC().Add(-time.Hour)
			source := recordedWork(t, at)
			dir, dsn := t.TempDir(), ""
			name := filepath.Join(dir, sqlstore.FileName)
			if driver == "pgx" {
				dsn = pgtest.Empty(t, "")
				name = dsn
			}
			db, err := sql.Open(driver, name)
			if err != nil {
				t.Fatal(err)
			}
			if err := sqlstore.MigrateTo(t.Context(), db, dsn != "", older); err != nil {
				t.Fatal(err)
			}
			for _, table := range []string{"projects", "rules", "audit_heads", "audit_entries"} {
				copyRows(t, source, db, table, dsn != "")
			}
			writeCounts(t, db, at)
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}

			s, err := sqlstore.OpenSQLite, error(nil)
			var st store.Store
			if dsn == "" {
				st, err = s(t.Context(), dir, sqlstore.Options{})
			} else {
				st, err = sqlstore.OpenPostgres(t.Context(), dsn, sqlstore.Options{})
			}
			opened(t, st, err)
			checkMigrated(t, st, at)
		})
	}
}

// Ids of the rules of the tests of older databases.
const (
	evalRule = "00000000-0000-4000-8000-000000000001"
	logRule  = "00000000-0000-4000-8000-000000000002"
)

// recordedWork returns a database of this version with two rules and three evaluations.
func recordedWork(t *testing.T, at time.Time) *sql.DB {
	t.Helper()
	dir := t.TempDir()
	s, err := sqlstore.OpenSQLite(t.Context(), dir, sqlstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	made := func(id, slug, owner string, severity rule.Severity) rule.Rule {
		return rule.Rule{
			ID: id, ProjectID: "p", Slug: slug, Version: 1, Statement: "The rule " + slug + " must hold.", Status: rule.Effective, Severity: severity, Modality: rule.Must,
			Enforcement: rule.Enforce, Owner: owner, CreatedAt: at, UpdatedAt: at,
		}
	}
	err = s.Update(t.Context(), func(tx store.Tx) error {
		if err := tx.Projects.Create(t.Context(), rule.Project{ID: "p", Name: "p"}); err != nil {
			return err
		}
		cv, err := tx.Projects.RaiseCorpus(t.Context(), "p")
		if err != nil {
			return err
		}
		if err := tx.Rules.Insert(t.Context(), cv, []rule.Rule{made(evalRule, "SEC-1", "appsec", rule.High), made(logRule, "LOG-1", "web", rule.Low)}); err != nil {
			return err
		}
		for i, verdict := range []rule.Verdict{rule.Deny, rule.Allow, rule.Deny} {
			list := []rule.RuleVerdict{
				{RuleID: evalRule, RuleVersion: 1, Verdict: verdict, DecidedBy: rule.ByCheck, Modality: rule.Must, Enforcement: rule.Enforce, Severity: rule.High, Concerned: true},
			}
			e := rule.Evaluation{EvaluationID: audit.NewID(), ProjectID: "p", RuleVerdicts: list, Timestamp: at, Mode: rule.Preflight, RulesEvaluated: 1}
			e.Tally()
			body := map[string]any{"evaluation": e, "subject": map[string]any{"kind": "code_change", "repository": fmt.Sprintf("acme/app-%d", i/2)}}
			if err := audit.Append(t.Context(), tx, "p", audit.Record{
				ID: e.EvaluationID, Kind: audit.KindEvaluation, At: at, Actor: "ci", Verdict: string(e.OverallVerdict), Mode: string(rule.Preflight), Body: audit.JSON(body),
			}); err != nil {
				return err
			}
		}
		return nil
	})
	if err := firstOf(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", filepath.Join(dir, sqlstore.FileName))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// copyRows copies the rows of a table, of the columns that it had.
func copyRows(t *testing.T, from, to *sql.DB, table string, numbered bool) {
	t.Helper()
	old, err := to.QueryContext(t.Context(), "SELECT * FROM "+table)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = old.Close() }() // only its columns count
	columns, err := old.Columns()
	if err := firstOf(err, old.Err()); err != nil {
		t.Fatal(err)
	}
	rows, err := from.QueryContext(t.Context(), "SELECT "+strings.Join(columns, ", ")+" FROM "+table)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	marks := make([]string, len(columns))
	for i := range marks {
		if marks[i] = "?"; numbered {
			marks[i] = fmt.Sprintf("$%d", i+1)
		}
	}
	n := 0
	for ; rows.Next(); n++ {
		values := make([]any, len(columns))
		into := make([]any, len(columns))
		for i := range into {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		for i, name := range columns {
			if n, ok := values[i].(int64); ok && slices.Contains([]string{"two_person", "tests_required"}, name) {
				values[i] = n != 0
			}
		}
		if _, err := to.ExecContext(t.Context(), "INSERT INTO "+table+" ("+strings.Join(columns, ", ")+") VALUES ("+strings.Join(marks, ", ")+")", values...); err != nil {
			t.Fatalf("%s: %v", table, err)
		}
	}
	if rows.Err() != nil || n == 0 {
		t.Fatalf("%d rows of %s: %v", n, table, rows.Err())
	}
}

// writeCounts writes what the older version had counted of the evaluations, and a conflict.
func writeCounts(t *testing.T, db *sql.DB, at time.Time) {
	t.Helper()
	day, us := int64(store.DayOf(at)), at.UnixMicro()
	for _, statement := range []string{
		fmt.Sprintf("INSERT INTO count_marks (project_id, seq, at) VALUES ('p', 3, %d)", us),
		fmt.Sprintf("INSERT INTO rule_counts (project_id, day, rule_id, allowed, denied, unsure, by_check, by_model, by_cache, calls, call_ms, tokens) VALUES ('p', %d, '%s', 1, 2, 0, 3, 0, 0, 0, 0, 0)", day, evalRule),
		fmt.Sprintf("INSERT INTO rule_counts (project_id, day, rule_id, allowed, denied, unsure, by_check, by_model, by_cache, calls, call_ms, tokens) VALUES ('p', %d, '%s', 0, 1, 4, 0, 5, 0, 5, 50, 99)", day-1, logRule),
		fmt.Sprintf("INSERT INTO day_counts (project_id, day, evaluations, allowed, denied, unsure, incidents, latency_ms, max_latency_ms) VALUES ('p', %d, 3, 1, 2, 0, 0, 9, 5)", day),
		fmt.Sprintf("INSERT INTO day_counts (project_id, day, evaluations, allowed, denied, unsure, incidents, latency_ms, max_latency_ms) VALUES ('p', %d, 5, 0, 1, 4, 0, 9, 5)", day-1),
		fmt.Sprintf("INSERT INTO rule_activity (project_id, rule_id, last_at) VALUES ('p', '%s', %d)", evalRule, us),
		fmt.Sprintf(`INSERT INTO conflicts (project_id, id, low_id, high_id, rule_id, other_id, state, found_by, reason, confidence, rule_hash, other_hash, detected_at, decided_by, note, relationship_id)
			VALUES ('p', 'c', '%s', '%s', '%s', '%s', 'suggested', 'force', 'One Demands what the other forbids', 0.9, '', '', %d, '', '', '')`, evalRule, logRule, logRule, evalRule, us),
	} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

func checkMigrated(t *testing.T, s store.Store, at time.Time) {
	t.Helper()
	days, err := s.Counts.Days(t.Context(), "p", store.DayOf(at)-1)
	if err != nil || len(days) != 2 {
		t.Fatalf("days %+v, %v", days, err)
	}
	slices.SortFunc(days, func(a, b store.DayCount) int { return int(a.Day - b.Day) })
	if c := days[0].Rules; c.Denied != 1 || c.Unsure != 4 || c.ByModel != 5 {
		t.Errorf("verdicts of the first day: %+v", c)
	}
	if c := days[1].Rules; c.Allowed != 1 || c.Denied != 2 || c.ByCheck != 3 {
		t.Errorf("verdicts of the second day: %+v", c)
	}
	top, err := s.Counts.Top(t.Context(), store.TopFilter{ProjectID: "p", From: store.DayOf(at) - 1, Limit: 5})
	if err != nil || len(top) != 2 || top[0].RuleID != evalRule || top[0].Denied != 2 || top[1].Denied != 1 {
		t.Errorf("most denied: %+v, %v", top, err)
	}
	mark, err := s.Counts.Mark(t.Context(), "p")
	if err != nil || mark.Unfilled() != 3 {
		t.Errorf("%d entries lack counts of groups, %v", mark.Unfilled(), err)
	}
	for _, f := range []store.ConflictFilter{{Text: "sec-1"}, {Text: "LOG-1 must"}, {Text: "demands"}, {SeverityMin: rule.High}} {
		f.ProjectID, f.Limit = "p", 5
		if list, n, err := s.Conflicts.Find(t.Context(), f); err != nil || n != 1 || list[0].ID != "c" {
			t.Errorf("conflicts by %+v: %+v, %v", f, list, err)
		}
	}
	if _, n, err := s.Conflicts.Find(t.Context(), store.ConflictFilter{ProjectID: "p", SeverityMin: rule.Critical, Limit: 5}); err != nil || n != 0 {
		t.Errorf("critical conflicts: %d, %v", n, err)
	}

	live := corpus.NewLive(corpus.Config{Store: corpus.Store{Projects: s.Projects, Federation: s.Federation, Embeddings: s.Embeddings, Waivers: s.Waivers}})
	m := health.New(health.Config{
		Store: health.Store{
			Updater: s, Alerts: s.Alerts, Audit: s.Audit, Counts: s.Counts, Feedback: s.Feedback, Health: s.Health, Projects: s.Projects, Rules: s.Rules,
			Releases: s.Releases, TestCases: s.TestCases, Waivers: s.Waivers,
		},
		Views: live, Off: true,
	})
	o, err := m.Overview(t.Context(), "p", &wire.InsightsQuery{PeriodDays: 7})
	if err != nil {
		t.Fatal(err)
	}
	if o.Totals.Total != 8 || o.Totals.Deny != 3 || o.Verdicts.DecidedBy.Check != 3 || o.Verdicts.DecidedBy.Model != 5 || o.Unfilled != 0 || o.Uncounted != 0 {
		t.Errorf("the overview has totals %+v, verdicts %+v, unfilled %d, uncounted %d", o.Totals, o.Verdicts, o.Unfilled, o.Uncounted)
	}
	if r := o.Repositories; r.Total != 2 || r.WithoutNode != 2 || len(r.Latest) != 2 || r.Latest[0].Total+r.Latest[1].Total != 3 || r.Latest[0].Deny+r.Latest[1].Deny != 2 {
		t.Errorf("repositories: %+v", r)
	}
	if len(o.Teams) != 2 || o.Teams[0].Team != "appsec" || o.Teams[0].Deny != 2 || len(o.MostDenied) != 2 || o.MostDenied[0].Slug != "SEC-1" {
		t.Errorf("teams %+v, most denied %+v", o.Teams, o.MostDenied)
	}
	if o.Health.Measured != 2 {
		t.Errorf("health of %d rules", o.Health.Measured)
	}
}
