package sqlstore

import (
	"context"
	"database/sql"
	"errors"

	"tenet/internal/rule"
	"tenet/internal/store"
)

const testCaseColumns = "project_id, rule_id, id, name, sample_input, input_type, expected, origin, confirmed, created_at, created_by, " +
	"last_result, last_reasoning, last_decided_by, last_model, last_version, last_hash, last_run_at"

func scanTestCase(scan func(...any) error) (store.TestCase, error) {
	var c store.TestCase
	var created int64
	var run sql.NullInt64
	err := scan(&c.ProjectID, &c.RuleID, &c.ID, &c.Name, &c.SampleInput, &c.InputType, &c.Expected, &c.Origin, &c.Confirmed, &created, &c.CreatedBy,
		&c.LastResult, &c.LastReasoning, &c.LastDecidedBy, &c.LastModel, &c.LastVersion, &c.LastHash, &run)
	c.CreatedAt, c.LastRunAt = fromMicros(created), fromNullable(run)
	return c, err
}

// TestCases implements store.TestCaseReader.
func (r *reader) TestCases(ctx context.Context, projectID, ruleID string) ([]store.TestCase, error) {
	if err := r.hold(ctx, corpusOf(projectID)); err != nil {
		return nil, err
	}
	list := []store.TestCase{}
	err := r.each(ctx, "test cases", "SELECT "+testCaseColumns+" FROM test_cases WHERE project_id = ? AND rule_id = ? ORDER BY created_at, id",
		[]any{projectID, ruleID}, func(rows *sql.Rows) error {
			c, err := scanTestCase(rows.Scan)
			list = append(list, c)
			return err
		})
	return list, err
}

// CountTests implements store.TestCaseReader.
func (r *reader) CountTests(ctx context.Context, projectID string, ruleIDs []string) ([]store.TestCount, error) {
	if err := r.hold(ctx, corpusOf(projectID)); err != nil {
		return nil, err
	}
	named, ids := r.d.in("rule_id", ruleIDs)
	list := []store.TestCount{}
	err := r.each(ctx, "count test cases", `SELECT rule_id, last_hash, expected, last_result, confirmed, COUNT(*), MAX(last_run_at)
			FROM test_cases WHERE project_id = ? AND `+named+` GROUP BY rule_id, last_hash, expected, last_result, confirmed
			ORDER BY rule_id, last_hash, expected, last_result, confirmed`,
		[]any{projectID, ids}, func(rows *sql.Rows) error {
			var c store.TestCount
			var run sql.NullInt64
			err := rows.Scan(&c.RuleID, &c.LastHash, &c.Expected, &c.LastResult, &c.Confirmed, &c.Total, &run)
			c.LastRunAt = fromNullable(run)
			list = append(list, c)
			return err
		})
	return list, err
}

// ContradictoryTests implements store.TestCaseReader.
func (r *reader) ContradictoryTests(ctx context.Context, projectID string, ruleIDs []string) ([]string, error) {
	if err := r.hold(ctx, corpusOf(projectID)); err != nil {
		return nil, err
	}
	named, ids := r.d.in("rule_id", ruleIDs)
	list := []string{}
	err := r.each(ctx, "contradictory test cases", `SELECT DISTINCT rule_id FROM (SELECT rule_id FROM test_cases WHERE project_id = ? AND `+named+`
			GROUP BY rule_id, input_type, sample_input HAVING COUNT(DISTINCT expected) > 1) AS twofold ORDER BY rule_id`,
		[]any{projectID, ids}, func(rows *sql.Rows) error {
			var id string
			err := rows.Scan(&id)
			list = append(list, id)
			return err
		})
	return list, err
}

// InsertTestCases implements store.TestCaseTx.
func (t *tx) InsertTestCases(ctx context.Context, cases []store.TestCase) error {
	var args []any
	for i := range cases {
		c := &cases[i]
		if err := t.hold(ctx, corpusOf(c.ProjectID)); err != nil {
			return err
		}
		args = append(args, c.ProjectID, c.RuleID, c.ID, c.Name, c.SampleInput, c.InputType, c.Expected, c.Origin, c.Confirmed, micros(c.CreatedAt),
			c.CreatedBy, c.LastResult, c.LastReasoning, c.LastDecidedBy, c.LastModel, c.LastVersion, c.LastHash, nullable(c.LastRunAt))
	}
	err := t.execRows(ctx, "insert test cases", "INSERT INTO test_cases ("+testCaseColumns+") VALUES ", 18, "", args)
	if t.d.duplicate(err) {
		return errors.Join(rule.Errorf(rule.CodeConflict, "a test case with this id exists already; give it a new one"), err)
	}
	return err
}

// ConfirmTestCase implements store.TestCaseTx.
func (t *tx) ConfirmTestCase(ctx context.Context, projectID, ruleID, id string) (store.TestCase, error) {
	return t.oneTestCase(ctx, "confirm test case", "UPDATE test_cases SET confirmed = TRUE", projectID, ruleID, id)
}

// DeleteTestCase implements store.TestCaseTx.
func (t *tx) DeleteTestCase(ctx context.Context, projectID, ruleID, id string) (store.TestCase, error) {
	return t.oneTestCase(ctx, "delete test case", "DELETE FROM test_cases", projectID, ruleID, id)
}

func (t *tx) oneTestCase(ctx context.Context, doing, change, projectID, ruleID, id string) (store.TestCase, error) {
	if err := t.hold(ctx, corpusOf(projectID)); err != nil {
		return store.TestCase{}, err
	}
	c, err := scanTestCase(func(dest ...any) error {
		return t.row(ctx, doing, change+" WHERE project_id = ? AND rule_id = ? AND id = ? RETURNING "+testCaseColumns, []any{projectID, ruleID, id}, dest...)
	})
	return c, missing(err, "test case", id)
}

// StoreTestResults implements store.TestCaseTx.
func (t *tx) StoreTestResults(ctx context.Context, cases []store.TestCase) error {
	for i := range cases {
		c := &cases[i]
		if err := t.hold(ctx, corpusOf(c.ProjectID)); err != nil {
			return err
		}
		_, err := t.exec(ctx, "store test results", `UPDATE test_cases SET last_result = ?, last_reasoning = ?, last_decided_by = ?, last_model = ?,
				last_version = ?, last_hash = ?, last_run_at = ? WHERE project_id = ? AND rule_id = ? AND id = ?`,
			c.LastResult, c.LastReasoning, c.LastDecidedBy, c.LastModel, c.LastVersion, c.LastHash, nullable(c.LastRunAt), c.ProjectID, c.RuleID, c.ID)
		if err != nil {
			return err
		}
	}
	return nil
}
