package client

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"time"

	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// Evaluate is a request for an evaluation. Zero fields are absent, and the server's defaults apply. It is [wire.EvaluateRequest] with
// facts that are sent as they are.
type Evaluate struct {
	Diff        string           `json:"diff,omitempty"`
	Files       []wire.InputFile `json:"files,omitempty"`
	Facts       json.RawMessage  `json:"facts,omitempty"` // a JSON object
	Action      string           `json:"action,omitempty"`
	Intent      string           `json:"intent,omitempty"`
	Scope       string           `json:"scope,omitempty"`
	Repository  string           `json:"repository,omitempty"`
	Mode        rule.Mode        `json:"mode,omitempty"`
	MaxRules    int              `json:"max_rules,omitempty"`
	SeverityMin rule.Severity    `json:"severity_min,omitempty"`
	NodeID      string           `json:"node_id,omitempty"`     // federation node
	Environment string           `json:"environment,omitempty"` // whose active snapshot judges; empty for the live rules
	wire.Acting
	wire.ApprovalAsk
	// Key is the idempotency key, sent as a header; empty lets the client choose one.
	Key string `json:"-"`
}

// Quick is a request for an evaluation of an action in plain words.
type Quick struct {
	Action      string `json:"action"`
	Scope       string `json:"scope,omitempty"`
	NodeID      string `json:"node_id,omitempty"`     // federation node
	Environment string `json:"environment,omitempty"` // whose active snapshot judges; empty for the live rules
	wire.Acting
	wire.ApprovalAsk
	// Key is the idempotency key, sent as a header; empty lets the client choose one.
	Key string `json:"-"`
}

// Submit is a request for an evaluation of a subject of any kind. Zero fields are absent, and the server's defaults apply. It is
// [wire.SubmissionRequest] with a subject that is sent as it is.
type Submit struct {
	Subject      json.RawMessage `json:"subject"` // a JSON object with its kind
	Scope        string          `json:"scope,omitempty"`
	ProjectID    string          `json:"project_id,omitempty"`
	NodeID       string          `json:"node_id,omitempty"`
	Environment  string          `json:"environment,omitempty"`
	Mode         rule.Mode       `json:"mode,omitempty"`
	MaxRules     int             `json:"max_rules,omitempty"`
	SeverityMin  rule.Severity   `json:"severity_min,omitempty"`
	SubmissionID string          `json:"submission_id,omitempty"`
	wire.Acting
	// Key is the idempotency key, sent as a header; empty lets the client choose one unless SubmissionID names the request.
	Key string `json:"-"`
}

// Evaluate judges a diff, files or facts and records the evaluation. It is repeated when the server was unavailable, under one
// idempotency key, so that a repetition makes no second record.
func (c *Client) Evaluate(ctx context.Context, r Evaluate) (*rule.Evaluation, error) {
	e, err := Call(ctx, c, op.Evaluate.With(idempotencyKey, name(c, r.Key)), any(r))
	return checked(&e, err)
}

// EvaluateQuick judges an action and records the evaluation. It is repeated as [Client.Evaluate] is.
func (c *Client) EvaluateQuick(ctx context.Context, r Quick) (*rule.Evaluation, error) {
	e, err := Call(ctx, c, op.EvaluateQuick.With(idempotencyKey, name(c, r.Key)), wire.QuickRequest{
		Action: r.Action, Scope: r.Scope, NodeID: r.NodeID, Environment: r.Environment, Acting: r.Acting, ApprovalAsk: r.ApprovalAsk,
	})
	return checked(&e, err)
}

// checked refuses half an evaluation and one that contradicts itself: taking it for a pass would fail open.
func checked(e *rule.Evaluation, err error) (*rule.Evaluation, error) {
	if err != nil {
		return nil, err
	}
	if flaw := e.Flaw(); flaw != "" {
		return nil, rule.Errorf(rule.CodeInternal, "%s", flaw)
	}
	return e, nil
}

// ApplicableRules lists the rules that would apply, best ranked first. Nothing is evaluated.
func (c *Client) ApplicableRules(ctx context.Context, r wire.ApplicableRequest) ([]rule.Rule, error) {
	return Call(ctx, c, op.ApplicableRules, r)
}

// EvaluationFilter selects evaluations; empty fields select everything.
type EvaluationFilter struct {
	Verdict rule.Verdict `query:"verdict"`
	Mode    rule.Mode    `query:"mode"`
	Actor   string       `query:"actor"`
	Person  string       `query:"person"` // for whom an agent asked
	Agent   string       `query:"agent"`
	Session string       `query:"session"`
	Since   time.Time    `query:"since"`
	Until   time.Time    `query:"until"`
	// Rule is the id or slug of a rule with a verdict in the evaluation, and RuleVerdict what it came to.
	Rule        string           `query:"rule"`
	RuleVerdict wire.RuleOutcome `query:"rule_verdict"`
	Scope       string           `query:"scope"` // finds narrower scopes too
	Repository  string           `query:"repository"`
	SubjectKind wire.SubjectKind `query:"subject_kind"`
	Facts       []string         `query:"fact"` // each a name and a value, such as payment_id:PMT-123
	Words       string           `query:"q"`    // that all occur in the subject
	Environment string           `query:"environment"`
	SnapshotID  string           `query:"snapshot_id"`
	NodeID      string           `query:"node_id"`
	// Undecided is why the overall verdict is NEEDS_CONFIRMATION.
	Undecided rule.UndecidedReason `query:"undecided"`
	Cursor    string               `query:"cursor"`    // NextCursor of the page before
	Page      int                  `query:"page"`      // from 1; 0 is the first
	PageSize  int                  `query:"page_size"` // up to 100; 0 leaves the choice to the server
}

// Evaluations returns a page of recorded evaluations, newest first.
func (c *Client) Evaluations(ctx context.Context, f EvaluationFilter) (wire.EvaluationPage, error) {
	return Get(ctx, c, op.ListEvaluations.Where(f))
}

// Evaluation returns the record of an evaluation.
func (c *Client) Evaluation(ctx context.Context, id string) (wire.EvaluationRecord, error) {
	return Get(ctx, c, op.GetEvaluation.At(id))
}

// Submit evaluates a subject of any kind and records the evaluation. It is repeated as [Client.Evaluate] is; its name is SubmissionID
// where that is set.
func (c *Client) Submit(ctx context.Context, s Submit) (*wire.SubmissionAnswer, error) {
	a, err := callDirectly(ctx, c, op.Submit.With(idempotencyKey, s.name(c)), any(s))
	if err != nil {
		return nil, err
	}
	if _, err = checked(&a.Evaluation, nil); err != nil {
		return nil, err
	}
	if !s.answeredBy(a) {
		return nil, rule.Errorf(rule.CodeInternal, "the server's answer is about another submission than the one sent")
	}
	return a, nil
}

// answeredBy reports whether an answer is about this submission: a permission for something else is none.
func (s *Submit) answeredBy(a *wire.SubmissionAnswer) bool {
	var subject struct {
		Kind string `json:"kind"`
	}
	return json.Unmarshal(s.Subject, &subject) == nil && a.SubjectKind == subject.Kind && (s.SubmissionID == "" || a.SubmissionID == s.SubmissionID)
}

// SubmitLater has a subject evaluated in the background; ask for it with [Client.Submission].
func (c *Client) SubmitLater(ctx context.Context, s Submit) (wire.SubmissionState, error) {
	return Call(ctx, c, op.SubmitLater.With(idempotencyKey, s.name(c)), any(s))
}

const idempotencyKey = "Idempotency-Key"

// name returns the idempotency key of a request: the caller's, or one at random. A request to a handler in this process has none, since
// no network can lose its answer, and a name costs the server a write.
func name(c *Client, key string) string {
	if _, inside := c.http.Transport.(inProcess); inside || key != "" {
		return key
	}
	return rand.Text()
}

// name returns the idempotency key of a submission.
func (s *Submit) name(c *Client) string {
	if s.SubmissionID != "" {
		return s.Key
	}
	return name(c, s.Key)
}

// Submission returns a submission and how far it has come.
func (c *Client) Submission(ctx context.Context, id string) (wire.SubmissionState, error) {
	return Get(ctx, c, op.GetSubmission.At(id))
}
