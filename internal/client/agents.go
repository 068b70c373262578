package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"tenet/internal/agent"
	"tenet/internal/rule"
	"tenet/internal/subject"
)

// AgentRequest is what is asked of an agent. Zero fields are absent; an agent refuses those that it does not take.
type AgentRequest struct {
	Intent      string              `json:"intent"`
	SessionID   string              `json:"session_id,omitempty"`
	Diff        string              `json:"diff,omitempty"`
	Files       []subject.InputFile `json:"files,omitempty"`
	Facts       json.RawMessage     `json:"facts,omitempty"` // a JSON object
	Repository  string              `json:"repository,omitempty"`
	Mode        rule.Mode           `json:"mode,omitempty"`
	Scope       string              `json:"scope,omitempty"`
	NodeID      string              `json:"node_id,omitempty"`
	Environment string              `json:"environment,omitempty"`
	Store       bool                `json:"store,omitempty"`
}

// AgentAnswer is the envelope of an agent's answer around a result of type T, which is nil where the agent asks back.
type AgentAnswer[T any] struct {
	Result     *T             `json:"result"`
	Status     agent.Status   `json:"status"`
	Confidence float64        `json:"confidence"`
	Reasoning  string         `json:"reasoning"`
	FollowUps  []string       `json:"follow_up_suggestions"`
	Error      *agent.Failure `json:"error"`
	TraceID    string         `json:"execution_trace_id"`
	SessionID  string         `json:"session_id"`
}

// runAgent asks an agent. Where the agent could do nothing, the error says why.
func runAgent[T any](ctx context.Context, c *Client, name string, r AgentRequest) (AgentAnswer[T], error) {
	k, err := send(http.MethodPost, "/agent/"+url.PathEscape(name), r)
	if err != nil {
		return AgentAnswer[T]{}, err
	}
	a, err := into[AgentAnswer[T]](ctx, c, k)
	if err == nil && (a.Status == "" || a.Status == agent.Failed) {
		err = rule.Errorf(rule.CodeInternal, "the server's answer has no result; is it a Tenet server?")
	}
	return a, err
}

// Ask answers a question from the rules.
func (c *Client) Ask(ctx context.Context, r AgentRequest) (AgentAnswer[agent.AskResult], error) {
	return runAgent[agent.AskResult](ctx, c, agent.Ask, r)
}

// Check tells whether something may be done.
func (c *Client) Check(ctx context.Context, r AgentRequest) (AgentAnswer[agent.CheckResult], error) {
	a, err := runAgent[agent.CheckResult](ctx, c, agent.Check, r)
	if err == nil && a.Result != nil {
		e := a.Result.Evaluation
		if e == nil || e.OverallVerdict != a.Result.Verdict || a.Result.Allowed && (e.OverallVerdict != rule.Allow || e.Coverage.RulesCut > 0) {
			return a, rule.Errorf(rule.CodeInternal, "the server's answer contradicts itself; is it a Tenet server?")
		}
		err = whole(e)
	}
	return a, err
}

// Author drafts a rule from a wish.
func (c *Client) Author(ctx context.Context, r AgentRequest) (AgentAnswer[agent.AuthorResult], error) {
	return runAgent[agent.AuthorResult](ctx, c, agent.Author, r)
}

// Review reviews a change.
func (c *Client) Review(ctx context.Context, r AgentRequest) (AgentAnswer[agent.ReviewResult], error) {
	a, err := runAgent[agent.ReviewResult](ctx, c, agent.Review, r)
	if err == nil && a.Result != nil {
		err = known(a.Result.Verdict)
	}
	return a, err
}

// Agent asks an agent of any name.
func (c *Client) Agent(ctx context.Context, name string, r AgentRequest) (AgentAnswer[json.RawMessage], error) {
	return runAgent[json.RawMessage](ctx, c, name, r)
}
