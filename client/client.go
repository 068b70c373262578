// Package client is the Go client of a Tenet server. It asks for evaluations and agents, reads rules and makes waivers; [Client.Do]
// carries out every other operation of the HTTP API.
//
//	c, err := client.New("https://tenet.example.com", os.Getenv("TENET_KEY"), nil)
//	e, err := c.InProject("payments").Evaluate(ctx, client.Evaluate{Diff: diff})
//	if err != nil || e.OverallVerdict != client.Allow {
//		// not allowed: an error is never a pass
//	}
//
// Time limits are those of the context. The client repeats calls when the server asks it to wait, as long as the context lasts.
package client

import (
	"net/http"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire"
)

// Client calls one server. It is safe for concurrent use.
type Client = client.Client

// New makes a client of the server at baseURL, such as http://127.0.0.1:8080. The key may be empty, and so may be httpClient, which
// then is one that follows redirects on the same host only.
func New(baseURL, key string, httpClient *http.Client) (*Client, error) {
	return client.New(baseURL, key, httpClient)
}

// Requests.
type (
	// Evaluate asks for an evaluation of a diff, files or facts.
	Evaluate = client.Evaluate
	// Quick asks about an action in plain words.
	Quick = client.Quick
	// Submit asks for an evaluation of a subject of any kind, under a name.
	Submit = client.Submit
	// Applicable asks which rules would apply.
	Applicable = wire.ApplicableRequest
	// File is a file to evaluate; one without content is known by its path only.
	File = wire.InputFile
	// RuleFilter selects rules.
	RuleFilter = client.RuleFilter
	// EvaluationFilter selects recorded evaluations.
	EvaluationFilter = client.EvaluationFilter
	// RuleOutcome selects evaluations by the outcome of a rule: violated, confirm, kept, not_concerned or waived.
	RuleOutcome = wire.RuleOutcome
	// NewWaiver asks for a waiver.
	NewWaiver = wire.CreateWaiver
	// AgentRequest asks an agent something in plain words.
	AgentRequest = client.AgentRequest
)

// Answers.
type (
	// Evaluation is the answer to an evaluation request.
	Evaluation = rule.Evaluation
	// EvaluationPage is a page of recorded evaluations.
	EvaluationPage = wire.EvaluationPage
	// RuleVerdict is the answer of one rule.
	RuleVerdict = rule.RuleVerdict
	// Location is a place in a file, in lines of its new version.
	Location = rule.Location
	// Evidence is one piece of proof.
	Evidence = rule.Evidence
	// Rule is a rule.
	Rule = rule.Rule
	// Waiver lets a denial pass until a date.
	Waiver = rule.Waiver
	// AskResult answers a question from the rules.
	AskResult = wire.AgentAskResult
	// CheckResult is the verdict of the rules on an action. Only Allowed is a permission.
	CheckResult = wire.AgentCheckResult
	// ReviewResult is a review of a change.
	ReviewResult = wire.AgentReviewResult
	// AuthorResult is a draft of a rule.
	AuthorResult = wire.AgentAuthorResult
	// Error is an answer that is not a success, with its HTTP status; [CodeOf] returns its kind.
	Error = client.Error
)

// AgentAnswer is the answer of an agent. Its result is nil where the agent asks back.
type AgentAnswer[T any] = client.AgentAnswer[T]

// AgentStatus says what became of a request to an agent.
type AgentStatus = wire.AgentStatus

// Statuses of agents' answers. A failed agent gives an error instead.
const (
	Completed           = wire.AgentCompleted
	PendingApproval     = wire.AgentPendingApproval
	ClarificationNeeded = wire.AgentClarificationNeeded
)

// Verdict is the answer of one rule, or of a whole evaluation.
type Verdict = rule.Verdict

// Verdicts.
const (
	Allow             = rule.Allow
	Deny              = rule.Deny
	NeedsConfirmation = rule.NeedsConfirmation
)

// Mode says whether an action is still to be taken or has happened.
type Mode = rule.Mode

// Modes.
const (
	Preflight = rule.Preflight
	Posthoc   = rule.Posthoc
)

// Severity says how much a violation matters.
type Severity = rule.Severity

// Severities.
const (
	Low      = rule.Low
	Medium   = rule.Medium
	High     = rule.High
	Critical = rule.Critical
)

// Code is the kind of an error.
type Code = rule.Code

// Codes of errors.
const (
	CodeInvalid         = rule.CodeInvalid
	CodeNotFound        = rule.CodeNotFound
	CodeConflict        = rule.CodeConflict
	CodePrecondition    = rule.CodePrecondition
	CodeUnauthenticated = rule.CodeUnauthenticated
	CodeForbidden       = rule.CodeForbidden
	CodeUnavailable     = rule.CodeUnavailable
	CodeTooLarge        = rule.CodeTooLarge
	CodeRateLimited     = rule.CodeRateLimited
	CodeInternal        = rule.CodeInternal
)

// CodeOf is the kind of an error of this package; empty for nil.
func CodeOf(err error) Code { return rule.CodeOf(err) }
