package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"tenet/internal/evaluate"
	"tenet/internal/rule"
)

// Submit is a request for an evaluation of a subject of any kind. Zero fields are absent, and the server's defaults apply.
type Submit struct {
	Subject      json.RawMessage `json:"subject"` // a JSON object with its kind; subject.Submitted encodes as one
	Scope        string          `json:"scope,omitempty"`
	ProjectID    string          `json:"project_id,omitempty"`
	NodeID       string          `json:"node_id,omitempty"`
	Environment  string          `json:"environment,omitempty"`
	Mode         rule.Mode       `json:"mode,omitempty"`
	MaxRules     int             `json:"max_rules,omitempty"`
	SeverityMin  rule.Severity   `json:"severity_min,omitempty"`
	SubmissionID string          `json:"submission_id,omitempty"`
	// Key is the idempotency key, sent as a header; empty for none.
	Key string `json:"-"`
}

// SubmissionAnswer is an evaluation with the submission it answers.
type SubmissionAnswer struct {
	rule.Evaluation
	SubmissionID string `json:"submission_id"`
	SubjectKind  string `json:"subject_kind"`
}

const submissionsPath = "/api/v1/submissions"

// Submit evaluates a subject of any kind and records the evaluation. It is sent again where the server was unavailable; without
// a name, the worst that can come of it is a second record.
func (c *Client) Submit(ctx context.Context, s Submit) (*SubmissionAnswer, error) {
	k, err := s.call()
	if err != nil {
		return nil, err
	}
	a, err := into[SubmissionAnswer](ctx, c, k)
	if err != nil {
		return nil, err
	}
	if err := whole(&a.Evaluation); err != nil {
		return nil, err
	}
	return &a, nil
}

// SubmitLater has a subject evaluated in the background; ask for it with [Client.Submission].
func (c *Client) SubmitLater(ctx context.Context, s Submit) (evaluate.Submission, error) {
	k, err := s.call()
	if err != nil {
		return evaluate.Submission{}, err
	}
	k.header.Set("Prefer", "respond-async")
	return into[evaluate.Submission](ctx, c, k)
}

func (s *Submit) call() (call, error) {
	k, err := send(http.MethodPost, submissionsPath, s)
	k.repeatable, k.header = true, http.Header{}
	if s.Key != "" {
		k.header.Set("Idempotency-Key", s.Key)
	}
	return k, err
}

// Submission returns a submission and how far it has come.
func (c *Client) Submission(ctx context.Context, id string) (evaluate.Submission, error) {
	return into[evaluate.Submission](ctx, c, get(submissionsPath+"/"+url.PathEscape(id), nil))
}

// Replay decides a recorded evaluation again; live asks the model again.
func (c *Client) Replay(ctx context.Context, evaluationID string, live bool) (evaluate.Replay, error) {
	k, err := send(http.MethodPost, "/api/v1/evaluations/"+url.PathEscape(evaluationID)+"/replay", map[string]bool{"live": live})
	if err != nil {
		return evaluate.Replay{}, err
	}
	k.repeatable = true
	return into[evaluate.Replay](ctx, c, k)
}

// Feedback says whether the verdict of a rule in an evaluation was right.
type Feedback struct {
	RuleID  string `json:"rule_id"` // or its slug
	Correct bool   `json:"correct"`
	Note    string `json:"note,omitempty"`
}

// GiveFeedback notes feedback, in place of what the same key has said about the same verdict before.
func (c *Client) GiveFeedback(ctx context.Context, evaluationID string, f Feedback) (evaluate.Feedback, error) {
	k, err := send(http.MethodPost, "/api/v1/evaluations/"+url.PathEscape(evaluationID)+"/feedback", f)
	if err != nil {
		return evaluate.Feedback{}, err
	}
	k.repeatable = true
	return into[evaluate.Feedback](ctx, c, k)
}

// FeedbackOn lists the feedback on an evaluation, by rule and reviewer.
func (c *Client) FeedbackOn(ctx context.Context, evaluationID string) ([]evaluate.Feedback, error) {
	list, err := into[struct {
		Items []evaluate.Feedback `json:"items"`
	}](ctx, c, get("/api/v1/evaluations/"+url.PathEscape(evaluationID)+"/feedback", nil))
	return list.Items, err
}

// RuleQuality tells how often a rule, named by id or slug, was right.
func (c *Client) RuleQuality(ctx context.Context, ref string) (evaluate.Quality, error) {
	return into[evaluate.Quality](ctx, c, get("/api/v1/rules/"+url.PathEscape(ref)+"/quality", nil))
}
