package client

import (
	"context"
	"net/http"
	"net/url"

	"tenet/internal/rule"
	"tenet/internal/sandbox"
)

// Play is a rule to try, and the sample to try it on.
type Play struct {
	RuleID      string         `json:"rule_id,omitempty"` // id or slug of a stored rule
	Statement   string         `json:"rule_statement,omitempty"`
	Modality    rule.Modality  `json:"rule_modality,omitempty"`
	Severity    rule.Severity  `json:"rule_severity,omitempty"`
	Check       *rule.Check    `json:"check,omitempty"`
	SampleCode  string         `json:"sample_code,omitempty"`
	SamplePath  string         `json:"sample_path,omitempty"`
	SampleFacts map[string]any `json:"sample_facts,omitempty"`
}

// Played is the verdict on a sample.
type Played struct {
	Verdict          rule.Verdict    `json:"verdict"`
	Confidence       float64         `json:"confidence"`
	Reasoning        string          `json:"reasoning"`
	IssueDescription string          `json:"issue_description"`
	FixSuggestion    *string         `json:"fix_suggestion"` // nil for ALLOW
	Locations        []rule.Location `json:"locations"`
	Evidence         []rule.Evidence `json:"evidence"`
	DecidedBy        rule.DecidedBy  `json:"decided_by"`
	ModelIDsUsed     []string        `json:"model_ids_used"`
	Cost             rule.Cost       `json:"cost"`
}

// Play tries a rule on a sample. Nothing is kept.
func (c *Client) Play(ctx context.Context, p Play) (Played, error) {
	k, err := send(http.MethodPost, "/api/v1/playground/evaluate", p)
	if err != nil {
		return Played{}, err
	}
	k.repeatable = true
	return into[Played](ctx, c, k)
}

func testCasesPath(ref string) string {
	return "/api/v1/rules/" + url.PathEscape(ref) + "/test-cases"
}

// TestCases lists the test cases of a rule, oldest first.
func (c *Client) TestCases(ctx context.Context, ref string) ([]sandbox.Case, error) {
	return into[[]sandbox.Case](ctx, c, get(testCasesPath(ref), nil))
}

// NewTestCase is a test case to make.
type NewTestCase struct {
	Name            string       `json:"name"`
	SampleInput     string       `json:"sample_input"`
	InputType       string       `json:"input_type,omitempty"` // code (default) or facts
	ExpectedVerdict rule.Verdict `json:"expected_verdict"`
}

// AddTestCase keeps a test case with a rule.
func (c *Client) AddTestCase(ctx context.Context, ref string, n NewTestCase) (sandbox.Case, error) {
	k, err := send(http.MethodPost, testCasesPath(ref), n)
	if err != nil {
		return sandbox.Case{}, err
	}
	return into[sandbox.Case](ctx, c, k)
}

// DeleteTestCase removes a test case.
func (c *Client) DeleteTestCase(ctx context.Context, ref, id string) error {
	_, err := c.do(ctx, call{method: http.MethodDelete, path: testCasesPath(ref) + "/" + url.PathEscape(id)})
	return err
}

// ConfirmTestCase stands by a test case that a model has written.
func (c *Client) ConfirmTestCase(ctx context.Context, ref, id string) (sandbox.Case, error) {
	return into[sandbox.Case](ctx, c, call{method: http.MethodPost, path: testCasesPath(ref) + "/" + url.PathEscape(id) + "/confirm"})
}

// RunTestCases runs the test cases of a rule.
func (c *Client) RunTestCases(ctx context.Context, ref string) (sandbox.Report, error) {
	return into[sandbox.Report](ctx, c, call{method: http.MethodPost, path: testCasesPath(ref) + "/run", repeatable: true})
}

// GenerateTestCases lets the model write test cases for a rule.
func (c *Client) GenerateTestCases(ctx context.Context, ref string, count int) ([]sandbox.Case, error) {
	k, err := send(http.MethodPost, testCasesPath(ref)+"/generate", map[string]int{"count": count})
	if err != nil {
		return nil, err
	}
	return into[[]sandbox.Case](ctx, c, k)
}

const testRunsPath = "/api/v1/test-runs"

// StartTestRun runs the test cases of many rules in the background; ask for it with [Client.TestRun].
func (c *Client) StartTestRun(ctx context.Context, f sandbox.RunFilter) (sandbox.TestRun, error) {
	k, err := send(http.MethodPost, testRunsPath, f)
	if err != nil {
		return sandbox.TestRun{}, err
	}
	return into[sandbox.TestRun](ctx, c, k)
}

// TestRun returns a test run as far as it has come.
func (c *Client) TestRun(ctx context.Context, id string) (sandbox.TestRun, error) {
	return into[sandbox.TestRun](ctx, c, get(testRunsPath+"/"+url.PathEscape(id), nil))
}
