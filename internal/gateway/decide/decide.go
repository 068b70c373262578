// Package decide asks Tenet on behalf of gateways that speak gRPC, and says in their words why it could not be asked.
package decide

import (
	"context"
	"errors"
	"strings"

	"tenet/internal/client"
	"tenet/internal/gateway"
	"tenet/internal/rule"
)

// Decision is the outcome of an evaluation for a gateway.
type Decision struct {
	// Allowed is true only for a clear ALLOW.
	Allowed bool
	// Text says why it is not allowed, and what to do.
	Text string
	// EvaluationID names the record.
	EvaluationID string
	// Evaluation is the whole answer.
	Evaluation *rule.Evaluation
}

// maxRules is how many verdicts are asked for: as many as there may be.
const maxRules = 100

// Call has a call of a tool, or its result, evaluated.
func Call(ctx context.Context, c *client.Client, call *gateway.Call) (Decision, error) {
	subject, err := call.Subject()
	if err != nil {
		return Decision{}, err
	}
	mode := rule.Preflight
	if call.Result != nil {
		mode = rule.Posthoc
	}
	a, err := c.Submit(ctx, client.Submit{Subject: subject, Mode: mode, MaxRules: maxRules})
	if err != nil {
		return Decision{}, err
	}
	d := Decision{Allowed: gateway.Passes(&a.Evaluation), EvaluationID: a.EvaluationID, Evaluation: &a.Evaluation}
	if !d.Allowed {
		d.Text = withApproval(gateway.Refusal(call, d.Evaluation), d.Evaluation)
	}
	return d, nil
}

// Action has an action with its facts evaluated.
func Action(ctx context.Context, c *client.Client, action string, facts []byte) (Decision, error) {
	e, err := c.Evaluate(ctx, client.Evaluate{Action: action, Facts: facts, MaxRules: maxRules})
	if err != nil {
		return Decision{}, err
	}
	d := Decision{Allowed: gateway.Passes(e), EvaluationID: e.EvaluationID, Evaluation: e}
	switch {
	case d.Allowed:
	case e.OverallVerdict == rule.Deny:
		d.Text = "The request breaks rules and was not passed on."
	default:
		d.Text = withApproval("The request needs the confirmation of a person and was not passed on.", e)
	}
	return d, nil
}

// withApproval adds the address at which people confirm a subject, if they are asked to.
func withApproval(text string, e *rule.Evaluation) string {
	if a := e.Approval; a != nil && a.URL != "" && !strings.Contains(text, a.ID) {
		text += "\nPeople are asked to confirm it: " + a.URL
	}
	return text
}

// Reason says in words why a question got no answer. What only the operator may know is left to the log.
func Reason(err error) string {
	if e, ok := errors.AsType[*rule.Error](err); ok && rule.IsSuspended(err) {
		return e.Message
	}
	switch rule.CodeOf(err) {
	case rule.CodeInvalid, rule.CodeTooLarge, rule.CodeConflict, rule.CodeNotFound:
		if e, ok := errors.AsType[*rule.Error](err); ok {
			return strings.TrimSuffix(e.Error(), ".")
		}
		return "the request is invalid"
	case rule.CodeUnauthenticated:
		return "the gateway has no valid key of Tenet"
	case rule.CodeForbidden:
		return "the gateway's key may not ask for evaluations"
	case rule.CodeRateLimited:
		return "the gateway asks too often"
	default:
		return "Tenet is not available"
	}
}
