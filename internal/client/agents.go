package client

import (
	"context"
	"encoding/json"

	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// AgentRequest is a request to an agent. Zero fields are absent; an agent refuses those that it does not take.
type AgentRequest struct {
	Intent      string           `json:"intent"`
	SessionID   string           `json:"session_id,omitempty"`
	Diff        string           `json:"diff,omitempty"`
	Files       []wire.InputFile `json:"files,omitempty"`
	Facts       json.RawMessage  `json:"facts,omitempty"` // a JSON object
	Repository  string           `json:"repository,omitempty"`
	Mode        rule.Mode        `json:"mode,omitempty"`
	Scope       string           `json:"scope,omitempty"`
	NodeID      string           `json:"node_id,omitempty"`
	Environment string           `json:"environment,omitempty"`
	Store       bool             `json:"store,omitempty"`
}

// AgentAnswer is the answer of an agent around a result of type T, which is nil where the agent asks back.
type AgentAnswer[T any] = wire.AgentAnswerOf[T]

// runAgent asks an agent. Where the agent could do nothing, the error says why.
func runAgent[T any](ctx context.Context, c *Client, name string, r AgentRequest) (AgentAnswer[T], error) {
	a, err := Call(ctx, c, op.Agent[T](name), any(r))
	if err == nil && (a.Status == "" || a.Status == wire.AgentFailed) {
		err = rule.Errorf(rule.CodeInternal, "the server's answer has no result; is it a Tenet server?")
	}
	return a, err
}

// Ask answers a question from the rules.
func (c *Client) Ask(ctx context.Context, r AgentRequest) (AgentAnswer[wire.AgentAskResult], error) {
	return runAgent[wire.AgentAskResult](ctx, c, "ask", r)
}

// Check says whether something may be done.
func (c *Client) Check(ctx context.Context, r AgentRequest) (AgentAnswer[wire.AgentCheckResult], error) {
	a, err := runAgent[wire.AgentCheckResult](ctx, c, "check", r)
	if err == nil && a.Result != nil {
		e := a.Result.Evaluation
		if e == nil || e.OverallVerdict != a.Result.Verdict || a.Result.Allowed && (e.OverallVerdict != rule.Allow || e.Coverage.RulesCut > 0) {
			return a, rule.Errorf(rule.CodeInternal, "the server's answer contradicts itself; is it a Tenet server?")
		}
		_, err = checked(e, nil)
	}
	return a, err
}

// Author drafts a rule from a wish.
func (c *Client) Author(ctx context.Context, r AgentRequest) (AgentAnswer[wire.AgentAuthorResult], error) {
	return runAgent[wire.AgentAuthorResult](ctx, c, "author", r)
}

// Review reviews a change. An answer without a verdict is an error: taking it for a pass would fail open.
func (c *Client) Review(ctx context.Context, r AgentRequest) (AgentAnswer[wire.AgentReviewResult], error) {
	a, err := runAgent[wire.AgentReviewResult](ctx, c, "review", r)
	if err == nil && a.Result != nil {
		if _, ok := rule.Parse(string(a.Result.Verdict), rule.Verdicts); !ok {
			err = rule.Errorf(rule.CodeInternal, "the server's answer has no verdict; is it a Tenet server?")
		}
	}
	return a, err
}

// Agent asks an agent of any name.
func (c *Client) Agent(ctx context.Context, name string, r AgentRequest) (AgentAnswer[json.RawMessage], error) {
	return runAgent[json.RawMessage](ctx, c, name, r)
}
