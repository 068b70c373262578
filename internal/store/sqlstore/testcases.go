package sqlstore

import (
	"context"
	"errors"

	"tenet/internal/rule"
	"tenet/internal/store"
)

const testCaseColumns = "project_id, rule_id, id, name, sample_input, input_type, expected, origin, confirmed, created_at, created_by, " +
	"last_result, last_reasoning, last_decided_by, last_model, last_version, last_hash, last_run_at"

func testCaseFields(c *store.TestCase) []any {
	return []any{
		&c.ProjectID, &c.RuleID, &c.ID, &c.Name, &c.SampleInput, &c.InputType, &c.Expected, &c.Origin, &c.Confirmed,
		timeColumn{&c.CreatedAt},
		&c.CreatedBy, &c.LastResult, &c.LastReasoning, &c.LastDecidedBy, &c.LastModel, &c.LastVersion, &c.LastHash,
		optionalTimeColumn{&c.LastRunAt},
	}
}

// List implements store.TestCaseReader.
func (t testCaseTable) List(ctx context.Context, projectID, ruleID string) ([]store.TestCase, error) {
	return many(ctx, t.session, corpusOf(projectID), "test cases", "SELECT "+testCaseColumns+" FROM test_cases WHERE project_id = ? AND rule_id = ? ORDER BY created_at, id",
		[]any{projectID, ruleID}, testCaseFields)
}

// Count implements store.TestCaseReader.
func (t testCaseTable) Count(ctx context.Context, projectID string, ruleIDs []string) ([]store.TestCount, error) {
	const groups = "rule_id, last_hash, expected, last_result, confirmed"
	named, ids := t.d.in("rule_id", ruleIDs)
	return many(ctx, t.session, corpusOf(projectID), "count test cases",
		"SELECT "+groups+", COUNT(*), MAX(last_run_at) FROM test_cases WHERE project_id = ? AND "+named+" GROUP BY "+groups+" ORDER BY "+groups,
		[]any{projectID, ids}, func(c *store.TestCount) []any {
			return []any{&c.RuleID, &c.LastHash, &c.Expected, &c.LastResult, &c.Confirmed, &c.Total, optionalTimeColumn{&c.LastRunAt}}
		})
}

// Totals implements store.TestCaseReader.
func (t testCaseTable) Totals(ctx context.Context, projectID string) ([]store.TestTotal, error) {
	return many(ctx, t.session, corpusOf(projectID), "totals of test cases",
		"SELECT rule_id, COUNT(*) FROM test_cases WHERE project_id = ? GROUP BY rule_id ORDER BY rule_id",
		[]any{projectID}, func(c *store.TestTotal) []any { return []any{&c.RuleID, &c.Total} })
}

// Contradictory implements store.TestCaseReader.
func (t testCaseTable) Contradictory(ctx context.Context, projectID string, ruleIDs []string) ([]string, error) {
	named, ids := t.d.in("rule_id", ruleIDs)
	return many(ctx, t.session, corpusOf(projectID), "contradictory test cases",
		`SELECT DISTINCT rule_id FROM (SELECT rule_id FROM test_cases WHERE project_id = ? AND `+named+`
			GROUP BY rule_id, input_type, sample_input HAVING COUNT(DISTINCT expected) > 1) AS twofold ORDER BY rule_id`,
		[]any{projectID, ids}, textFields)
}

// Insert implements store.TestCaseTx.
func (t testCaseTable) Insert(ctx context.Context, cases []store.TestCase) error {
	var args []any
	for i := range cases {
		c := &cases[i]
		if err := t.lock(ctx, corpusOf(c.ProjectID)); err != nil {
			return err
		}
		args = append(args, c.ProjectID, c.RuleID, c.ID, c.Name, c.SampleInput, c.InputType, c.Expected, c.Origin, c.Confirmed, micros(c.CreatedAt),
			c.CreatedBy, c.LastResult, c.LastReasoning, c.LastDecidedBy, c.LastModel, c.LastVersion, c.LastHash, nullable(c.LastRunAt))
	}
	for i := range cases {
		if i > 0 && cases[i].ProjectID == cases[i-1].ProjectID {
			continue
		}
		if err := t.countChange(ctx, cases[i].ProjectID, testFigures); err != nil {
			return err
		}
	}
	err := t.execRows(ctx, "insert test cases", "INSERT INTO test_cases ("+testCaseColumns+") VALUES ", 18, "", args)
	if t.d.duplicate(err) {
		return errors.Join(rule.Errorf(rule.CodeConflict, "a test case with this id exists already; give it a new one"), err)
	}
	return err
}

// Confirm implements store.TestCaseTx.
func (t testCaseTable) Confirm(ctx context.Context, projectID, ruleID, id string) (store.TestCase, error) {
	return t.oneTestCase(ctx, "confirm test case", "UPDATE test_cases SET confirmed = TRUE", projectID, ruleID, id)
}

// Delete implements store.TestCaseTx.
func (t testCaseTable) Delete(ctx context.Context, projectID, ruleID, id string) (store.TestCase, error) {
	c, err := t.oneTestCase(ctx, "delete test case", "DELETE FROM test_cases", projectID, ruleID, id)
	if err != nil {
		return c, err
	}
	return c, t.countChange(ctx, projectID, testFigures)
}

func (t testCaseTable) oneTestCase(ctx context.Context, doing, change, projectID, ruleID, id string) (store.TestCase, error) {
	c, err := one(ctx, t.session, corpusOf(projectID), doing, change+" WHERE project_id = ? AND rule_id = ? AND id = ? RETURNING "+testCaseColumns, []any{projectID, ruleID, id}, testCaseFields)
	return c, notFound(err, "test case", id)
}

// PutResults implements store.TestCaseTx.
func (t testCaseTable) PutResults(ctx context.Context, cases []store.TestCase) error {
	for i := range cases {
		c := &cases[i]
		if err := t.lock(ctx, corpusOf(c.ProjectID)); err != nil {
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
