package evaluate

import (
	"context"

	"tenet/internal/audit"
	"tenet/internal/rule"
)

// suspension returns the suspension of the agent that asks; nil if it is not suspended.
func suspension(ctx context.Context, r *run) (*rule.Suspension, error) {
	if r.e.cfg.Agents == nil {
		return nil, nil
	}
	return r.e.cfg.Agents.Suspended(ctx, r.req.ProjectID, audit.IdentityFrom(ctx))
}

// stop denies the evaluation because of a suspension.
func stop(r *run, s *rule.Suspension) stage {
	return func(context.Context) error {
		r.answer.Suspended = s
		r.answer.Overridden = orEmpty(r.answer.Overridden)
		r.answer.Notices = append(r.answer.Notices, s.Notice())
		r.answer.Tally()
		return nil
	}
}

// stopMeanwhile denies the evaluation of an agent that was suspended while its rules were decided.
func stopMeanwhile(r *run) stage {
	return func(ctx context.Context) error {
		s, err := suspension(ctx, r)
		if err != nil || s == nil {
			return err
		}
		return stop(r, s)(ctx)
	}
}
