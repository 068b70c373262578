package evaluate

import (
	"context"
	"errors"
	"time"

	"tenet/internal/auth"
	"tenet/internal/evaluate/record"
	"tenet/internal/rule"
	"tenet/internal/store"
)

const (
	// leaseTime is how long a process that has died keeps others from taking over its submission.
	leaseTime = 30 * time.Second
	// firstPoll and longestPoll bound the pauses between looks for the evaluation of another owner.
	firstPoll   = 5 * time.Millisecond
	longestPoll = 250 * time.Millisecond
)

// evaluateOnce evaluates a submission that this process has leased. If that fails, it removes the submission, so that it can
// be sent again.
func (e *Evaluator) evaluateOnce(ctx context.Context, sub store.Submission, r *run) (*Answer, error) {
	ev, theirs, err := e.underLease(ctx, sub, mayConfirm(r))
	if err == nil && theirs {
		if err := e.mayRepeat(ctx, &sub, ev); err != nil {
			return nil, err // the name is that of the evaluation of another, so it is not free
		}
	}
	if err == nil {
		return &Answer{Evaluation: ev, SubmissionID: sub.ID, SubjectKind: sub.Kind}, nil
	}
	return nil, errors.Join(err, e.giveUp(ctx, &sub))
}

// giveUp removes a submission that this process has leased, which frees its names.
func (e *Evaluator) giveUp(ctx context.Context, sub *store.Submission) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaseTime)
	defer cancel()
	return e.cfg.Records.Update(ctx, func(tx store.Tx) error { return tx.Submissions.Delete(ctx, sub.ProjectID, sub.ID, sub.Owner) })
}

// underLease evaluates under the id that the submission fixes, and renews the lease meanwhile. If another process took the
// lease and was faster, it returns the evaluation of that one, and theirs is true: the chain takes an id only once.
func (e *Evaluator) underLease(ctx context.Context, sub store.Submission, r *run) (ev *rule.Evaluation, theirs bool, err error) {
	working, done := context.WithCancel(ctx)
	defer done()
	go e.renew(working, sub)
	r.req.id = sub.EvaluationID
	if ev, err = r.conduct(ctx); rule.CodeOf(err) == rule.CodeConflict {
		ev, err = e.evaluationOf(ctx, &sub)
		return ev, true, err
	}
	return ev, false, err
}

func (e *Evaluator) renew(ctx context.Context, sub store.Submission) {
	tick := time.NewTicker(leaseTime / 3)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			// A lease that cannot be renewed may be lost; writing the record then decides who was first.
			_, _ = e.lease(ctx, &sub)
		}
	}
}

// lease makes sub.Owner the owner of a submission, and reports whether it is.
func (e *Evaluator) lease(ctx context.Context, sub *store.Submission) (got bool, err error) {
	err = e.cfg.Records.Update(ctx, func(tx store.Tx) (err error) {
		now := e.cfg.Now()
		got, err = tx.Submissions.Lease(ctx, sub.ProjectID, sub.ID, sub.Owner, now, now.Add(leaseTime))
		return err
	})
	return got, err
}

// evaluationOf returns the evaluation of a submission, or not_found as long as its record is not in the chain.
func (e *Evaluator) evaluationOf(ctx context.Context, sub *store.Submission) (*rule.Evaluation, error) {
	rec, err := e.Get(ctx, sub.ProjectID, sub.EvaluationID)
	if err != nil {
		return nil, err
	}
	return rec.Evaluation, nil
}

// await waits for the answer of a submission that another request or process evaluates. It takes over the work of a process
// that has died. If the submission was removed, again is true.
func (e *Evaluator) await(ctx context.Context, sub *store.Submission, req Request) (answer *Answer, again bool, err error) {
	for pause := firstPoll; ; pause = min(2*pause, longestPoll) {
		ev, err := e.evaluationOf(ctx, sub)
		switch {
		case err == nil:
			if err := e.mayRepeat(ctx, sub, ev); err != nil {
				return nil, false, err
			}
			return &Answer{Evaluation: ev, SubmissionID: sub.ID, SubjectKind: sub.Kind}, false, nil
		case rule.CodeOf(err) != rule.CodeNotFound || record.IsPruned(err):
			return nil, false, err
		case sub.Failure != "":
			return nil, false, failureError(failureOf(sub))
		case len(sub.Request) == 0 && !sub.LeaseUntil.After(e.cfg.Now()):
			return e.takeOver(ctx, sub, req)
		}
		if f, err := e.jobFailure(ctx, sub); f != nil || err != nil {
			if err == nil {
				err = failureError(*f)
			}
			return nil, false, err
		}
		select {
		case <-ctx.Done():
			return nil, false, ctx.Err()
		case <-time.After(pause):
		}
		now, err := e.cfg.Records.Submissions.Get(ctx, sub.ProjectID, sub.ID)
		if rule.CodeOf(err) == rule.CodeNotFound || (err == nil && now.EvaluationID != sub.EvaluationID) {
			return nil, true, nil
		}
		if err != nil {
			return nil, false, err
		}
		sub = &now
	}
}

// takeOver evaluates a submission whose owner has died, for the actor that sent it.
func (e *Evaluator) takeOver(ctx context.Context, sub *store.Submission, req Request) (*Answer, bool, error) {
	if sub.Actor != auth.ActorFrom(ctx).Name {
		return nil, false, errOtherAsker()
	}
	sub.Owner = e.owner
	got, err := e.lease(ctx, sub)
	if err != nil || !got {
		return nil, err == nil, err
	}
	r, err := e.prepare(ctx, req)
	if err != nil {
		return nil, false, errors.Join(err, e.giveUp(ctx, sub))
	}
	answer, err := e.evaluateOnce(ctx, *sub, r)
	return answer, false, err
}
