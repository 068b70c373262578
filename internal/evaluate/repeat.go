package evaluate

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/evaluate/record"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// mayRepeat returns an error unless the caller may have the answer of a submission again: approvals, stored verdicts and suspensions depend on
// who asks, so an answer is for the actor, person and agent that asked first. A suspended agent gets none but that it is suspended. Nil is an
// evaluation that is yet to be read.
func (e *Evaluator) mayRepeat(ctx context.Context, sub *store.Submission, ev *rule.Evaluation) error {
	if sub.Actor != auth.ActorFrom(ctx).Name {
		return errOtherAsker()
	}
	if ev == nil {
		var err error
		if ev, err = e.evaluationOf(ctx, sub); err != nil && (rule.CodeOf(err) != rule.CodeNotFound || record.IsPruned(err)) {
			return err
		}
	}
	asks := audit.IdentityFrom(ctx)
	if e.cfg.Agents != nil && (ev == nil || ev.Suspended == nil) {
		switch s, err := e.cfg.Agents.Suspended(ctx, sub.ProjectID, asks); {
		case err != nil:
			return err
		case s != nil:
			return s.Refusal()
		}
	}
	if ev == nil && sub.Failure != "" {
		return nil // the error that ended it allows nothing
	}
	first, err := askerOf(sub, ev)
	if err != nil {
		return err
	}
	return sameAsker(first, &asks)
}

// askerOf returns who sent a submission first. The error is a conflict as long as that is not known: a request that is answered at once says it
// with its evaluation.
func askerOf(sub *store.Submission, ev *rule.Evaluation) (*rule.Identity, error) {
	switch {
	case len(sub.Request) > 0:
		q, err := storedRequestOf(sub)
		return &q.Identity, err
	case ev != nil:
		return ev.Identity, nil
	}
	return nil, rule.Errorf(rule.CodeConflict, "the submission_id or idempotency key stands for a request that is being answered at once; send it again without Prefer: respond-async")
}

// sameAsker returns a conflict unless two requests name the same person, agent and session. Nil names none.
func sameAsker(first, again *rule.Identity) error {
	if first == nil {
		first = &rule.Identity{}
	}
	if first.Person != again.Person || first.Agent != again.Agent || first.Session != again.Session || first.Client != again.Client ||
		!slices.Equal(first.Claimed, again.Claimed) {
		return errOtherAsker()
	}
	return nil
}

func errOtherAsker() error {
	return rule.Errorf(rule.CodeConflict, "the submission_id or idempotency key stands for a request of another actor, person, agent or session; use a new one")
}

// storedRequestOf decodes the request of a submission for the background.
func storedRequestOf(sub *store.Submission) (q storedRequest, err error) {
	data, err := audit.Decompress(sub.Request)
	if err == nil {
		err = json.Unmarshal(data, &q)
	}
	if err != nil {
		return q, fmt.Errorf("evaluate: submission %s: %w", sub.ID, err)
	}
	return q, nil
}
