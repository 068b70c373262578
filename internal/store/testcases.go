package store

import (
	"context"
	"time"
)

// TestCase is a sample with the verdict that a rule must give on it, and the result of the last run.
type TestCase struct {
	ProjectID, RuleID, ID string
	Name                  string
	SampleInput           string
	InputType             string // code or facts
	Expected              string
	Origin                string // manual, generated or import
	Confirmed             bool   // by a person
	CreatedAt             time.Time
	CreatedBy             string

	LastResult    string // empty before the first run, like the fields below
	LastReasoning string
	LastDecidedBy string
	LastModel     string
	LastVersion   int    // of the rule
	LastHash      string // of the content of the rule
	LastRunAt     *time.Time
}

// TestCount is the number of test cases of a rule that are alike.
type TestCount struct {
	RuleID     string
	LastHash   string // of the content of the rule in their last run; empty before the first
	Expected   string
	LastResult string
	Confirmed  bool
	Total      int
	LastRunAt  *time.Time // latest
}

// Passing returns the number of test cases that pass.
func (c *TestCount) Passing() int {
	if c.LastResult == c.Expected {
		return c.Total
	}
	return 0
}

// TestTotal is the number of test cases of a rule.
type TestTotal struct {
	RuleID string
	Total  int
}

// TestCaseReader reads test cases. To transactions they are part of the rules of a project.
type TestCaseReader interface {
	// List returns the test cases of a rule, oldest first.
	List(ctx context.Context, projectID, ruleID string) ([]TestCase, error)
	// Count counts the test cases of rules.
	Count(ctx context.Context, projectID string, ruleIDs []string) ([]TestCount, error)
	// Totals counts the test cases of all rules that have some, by rule.
	Totals(ctx context.Context, projectID string) ([]TestTotal, error)
	// Contradictory returns the rules that have two test cases with the same sample and different expected verdicts.
	Contradictory(ctx context.Context, projectID string, ruleIDs []string) ([]string, error)
}

// TestCaseTx writes test cases.
type TestCaseTx interface {
	TestCaseReader

	// Insert stores new test cases; conflict if an id is taken. The rules must exist.
	Insert(ctx context.Context, cases []TestCase) error
	// Confirm marks a test case as confirmed and returns it; not_found without it.
	Confirm(ctx context.Context, projectID, ruleID, id string) (TestCase, error)
	// Delete removes a test case and returns it; not_found without it.
	Delete(ctx context.Context, projectID, ruleID, id string) (TestCase, error)
	// PutResults stores the Last fields of test cases. It ignores deleted ones.
	PutResults(ctx context.Context, cases []TestCase) error
}
