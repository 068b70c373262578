package store

import (
	"context"
	"time"
)

// TestCase is a sample with the verdict that a rule must give on it, and what the last run has given.
type TestCase struct {
	ProjectID, RuleID, ID string
	Name                  string
	SampleInput           string
	InputType             string // code or facts
	Expected              string
	Origin                string // manual, generated or import
	Confirmed             bool   // a person stands by it
	CreatedAt             time.Time
	CreatedBy             string

	LastResult    string // empty before the first run, like the fields below
	LastReasoning string
	LastDecidedBy string
	LastModel     string
	LastVersion   int    // of the rule
	LastHash      string // of what the rule said
	LastRunAt     *time.Time
}

// TestCount counts the test cases of a rule that are alike.
type TestCount struct {
	RuleID     string
	LastHash   string // of what the rule said in their last run; empty before the first
	Expected   string
	LastResult string
	Confirmed  bool
	Total      int
	LastRunAt  *time.Time // latest
}

// Passing is how many of them have passed.
func (c *TestCount) Passing() int {
	if c.LastResult == c.Expected {
		return c.Total
	}
	return 0
}

// TestCaseReader reads test cases. They belong to what transactions see as the rules of a project.
type TestCaseReader interface {
	// TestCases returns the test cases of a rule, oldest first.
	TestCases(ctx context.Context, projectID, ruleID string) ([]TestCase, error)
	// CountTests counts the test cases of rules.
	CountTests(ctx context.Context, projectID string, ruleIDs []string) ([]TestCount, error)
	// ContradictoryTests returns which of the rules have two test cases with the same sample and different expected verdicts.
	ContradictoryTests(ctx context.Context, projectID string, ruleIDs []string) ([]string, error)
}

// TestCaseTx writes test cases.
type TestCaseTx interface {
	// InsertTestCases stores new test cases; conflict if an id is taken. The rules must exist.
	InsertTestCases(ctx context.Context, cases []TestCase) error
	// ConfirmTestCase marks a test case as confirmed and returns it; not_found without it.
	ConfirmTestCase(ctx context.Context, projectID, ruleID, id string) (TestCase, error)
	// DeleteTestCase removes a test case and returns it; not_found without it.
	DeleteTestCase(ctx context.Context, projectID, ruleID, id string) (TestCase, error)
	// StoreTestResults stores the Last fields of test cases. Those that have been deleted are passed over.
	StoreTestResults(ctx context.Context, cases []TestCase) error
}
