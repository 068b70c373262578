package cli

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"tenet/internal/client"
	"tenet/internal/gateway"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// approver asks people to confirm calls that need it, and waits for them.
type approver struct {
	client *client.Client
	most   time.Duration // that one call waits
	ask    func(context.Context, client.Submit) (*rule.Evaluation, error)
	note   func(format string, args ...any)
}

// confirm waits for an approval of what e has found and evaluates the call again, which uses it. The error says what became of the approval.
func (a *approver) confirm(ctx context.Context, e *rule.Evaluation, call client.Submit) (*rule.Evaluation, error) {
	id, url, err := a.request(ctx, e)
	if err != nil {
		return nil, fmt.Errorf("nobody could be asked to confirm it: %w", err)
	}
	a.note("evaluation %s waits for an approval until %s: %s", e.EvaluationID, time.Now().Add(a.most).Format(time.TimeOnly), url)
	decided, err := awaitApproval(ctx, a.client, id, a.most)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the approval %s cannot be waited for: %w", id, err)
	case decided.State == rule.ApprovalPending:
		return nil, fmt.Errorf("nobody has decided within %s; once it is approved, the same call passes: %s", a.most, url)
	case decided.State != rule.ApprovalApproved:
		return nil, fmt.Errorf("the approval %s is %s%s", id, decided.State, lastReason(&decided))
	}
	return a.ask(ctx, call)
}

// request asks for an approval, unless the evaluation has asked by the policy of the project.
func (a *approver) request(ctx context.Context, e *rule.Evaluation) (id, url string, err error) {
	if e.Approval != nil {
		return e.Approval.ID, e.Approval.URL, nil
	}
	terms := wire.ApprovalTerms{Reason: "A call waits at the gateway.", ExpiresIn: max(a.most, time.Second).String()}
	made, err := client.Call(ctx, a.client, op.CreateApproval, wire.CreateApproval{EvaluationID: e.EvaluationID, ApprovalTerms: terms})
	return made.ID, cmp.Or(made.URL, made.ID), err
}

// lastReason gives the reason of the last decision.
func lastReason(a *rule.Approval) string {
	if a.Unanswered() {
		return ": nobody has decided in time"
	}
	if n := len(a.Decisions); n > 0 && a.Decisions[n-1].Reason != "" {
		return ": " + gateway.Visible(a.Decisions[n-1].Reason)
	}
	return ""
}
