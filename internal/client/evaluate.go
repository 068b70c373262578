package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"tenet/internal/evaluate"
	"tenet/internal/rule"
	"tenet/internal/subject"
)

// Evaluate is a request for an evaluation. Zero fields are absent, and the server's defaults apply.
type Evaluate struct {
	Diff        string              `json:"diff,omitempty"`
	Files       []subject.InputFile `json:"files,omitempty"`
	Facts       json.RawMessage     `json:"facts,omitempty"` // a JSON object
	Intent      string              `json:"intent,omitempty"`
	Scope       string              `json:"scope,omitempty"`
	Repository  string              `json:"repository,omitempty"`
	Mode        rule.Mode           `json:"mode,omitempty"`
	MaxRules    int                 `json:"max_rules,omitempty"`
	SeverityMin rule.Severity       `json:"severity_min,omitempty"`
	NodeID      string              `json:"node_id,omitempty"`     // federation node
	Environment string              `json:"environment,omitempty"` // whose active snapshot judges; empty for the live rules
}

// Quick asks about an action in plain words.
type Quick struct {
	Action      string `json:"action"`
	Scope       string `json:"scope,omitempty"`
	NodeID      string `json:"node_id,omitempty"`     // federation node
	Environment string `json:"environment,omitempty"` // whose active snapshot judges; empty for the live rules
}

// Applicable asks which rules would apply; empty fields leave open what they describe.
type Applicable struct {
	FilePaths   []string `json:"file_paths,omitempty"`
	Repository  string   `json:"repository,omitempty"`
	Scope       string   `json:"scope,omitempty"`
	NodeID      string   `json:"node_id,omitempty"`     // federation node
	Environment string   `json:"environment,omitempty"` // whose active snapshot judges; empty for the live rules
}

// Evaluate judges a diff, files or facts and records the evaluation. It is sent again where the server was unavailable:
// the worst that can come of it is a second record.
func (c *Client) Evaluate(ctx context.Context, r Evaluate) (*rule.Evaluation, error) {
	return c.judge(ctx, "/api/v1/evaluate", r)
}

// EvaluateQuick judges an action and records the evaluation.
func (c *Client) EvaluateQuick(ctx context.Context, r Quick) (*rule.Evaluation, error) {
	return c.judge(ctx, "/api/v1/evaluate/quick", r)
}

func (c *Client) judge(ctx context.Context, path string, request any) (*rule.Evaluation, error) {
	k, err := send(http.MethodPost, path, request)
	if err != nil {
		return nil, err
	}
	k.repeatable = true
	e, err := into[rule.Evaluation](ctx, c, k)
	if err != nil {
		return nil, err
	}
	if err := whole(&e); err != nil {
		return nil, err
	}
	return &e, nil
}

// whole refuses half an evaluation and one that contradicts itself: taking it for a pass would fail open.
func whole(e *rule.Evaluation) error {
	if flaw := e.Flaw(); flaw != "" {
		return rule.Errorf(rule.CodeInternal, "%s", flaw)
	}
	return nil
}

// known refuses an answer without a verdict: taking it for a pass would fail open.
func known(v rule.Verdict) error {
	if _, ok := rule.Parse(string(v), rule.Verdicts); !ok {
		return rule.Errorf(rule.CodeInternal, "the server's answer has no verdict; is it a Tenet server?")
	}
	return nil
}

// ApplicableRules lists the rules that would apply, best ranked first. Nothing is evaluated.
func (c *Client) ApplicableRules(ctx context.Context, r Applicable) ([]rule.Rule, error) {
	k, err := send(http.MethodPost, "/api/v1/evaluate/applicable-rules", r)
	if err != nil {
		return nil, err
	}
	k.repeatable = true
	return into[[]rule.Rule](ctx, c, k)
}

// EvaluationFilter selects evaluations; empty fields select everything.
type EvaluationFilter struct {
	Verdict      rule.Verdict
	Mode         rule.Mode
	Actor        string
	Since, Until time.Time
	Page         int // from 1; 0 is the first
	PageSize     int // up to 100; 0 leaves the choice to the server
}

// Evaluations returns a page of recorded evaluations, newest first.
func (c *Client) Evaluations(ctx context.Context, f EvaluationFilter) (List[evaluate.Summary], error) {
	q := url.Values{}
	setText(q, "verdict", f.Verdict)
	setText(q, "mode", f.Mode)
	setText(q, "actor", f.Actor)
	for name, t := range map[string]time.Time{"since": f.Since, "until": f.Until} {
		if !t.IsZero() {
			q.Set(name, t.UTC().Format(time.RFC3339Nano))
		}
	}
	page(q, f.Page, f.PageSize)
	return into[List[evaluate.Summary]](ctx, c, get("/api/v1/evaluations", q))
}

// Evaluation returns the record of an evaluation.
func (c *Client) Evaluation(ctx context.Context, id string) (evaluate.Record, error) {
	return into[evaluate.Record](ctx, c, get("/api/v1/evaluations/"+url.PathEscape(id), nil))
}
