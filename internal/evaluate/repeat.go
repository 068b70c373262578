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
// who asks, so an answer is for the actor, person and agent that asked first. A suspended agent gets none. Nil is an evaluation that is yet to be read.
func (e *Evaluator) mayRepeat(ctx context.Context, sub *store.Submission, ev *rule.Evaluation) error {
	if sub.Actor != auth.ActorFrom(ctx).Name {
		return errOtherAsker()
	}
	asks := audit.IdentityFrom(ctx)
	if e.cfg.Agents != nil {
		switch s, err := e.cfg.Agents.Suspended(ctx, sub.ProjectID, asks); {
		case err != nil:
			return err
		case s != nil:
			return rule.Errorf(rule.CodeForbidden, "%s", s.Notice())
		}
	}
	if len(sub.Request) > 0 {
		q, err := storedRequestOf(sub)
		if err != nil {
			return err
		}
		return sameAsker(&q.Identity, &asks)
	}
	if ev == nil {
		var err error
		if ev, err = e.evaluationOf(ctx, sub); err != nil {
			if rule.CodeOf(err) == rule.CodeNotFound && !record.IsPruned(err) { // under way, or given up
				return nil
			}
			return err
		}
	}
	return sameAsker(ev.Identity, &asks)
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
