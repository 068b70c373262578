package evaluate

import (
	"context"
	"strconv"
	"strings"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/evaluate/record"
	"tenet/internal/job"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/subject"
	"tenet/internal/wire"
)

// JobKind is the kind of the jobs that evaluate submissions in the background; [Evaluator.HandleSubmission] handles them.
const JobKind = "submission.evaluate"

// Later accepts a request that a job evaluates in the background. It refuses now what could not be evaluated. The job survives
// a restart.
func (e *Evaluator) Later(ctx context.Context, n Named, req Request) (*wire.SubmissionState, error) {
	if e.cfg.Queue == nil {
		return nil, rule.Errorf(rule.CodeUnavailable, "this server does no work in the background; leave out Prefer: respond-async")
	}
	sub, r, err := e.accept(ctx, n, req, func(ctx context.Context, tx store.Tx, sub *store.Submission, r *run) error {
		sub.Request = audit.Compress(audit.JSON(storedRequest{r.req.Input, r.req.EvaluateOptions, audit.IdentityFrom(ctx)}))
		id, err := e.cfg.Queue.Enqueue(ctx, tx, JobKind, sub.ProjectID, laterArgs{sub.ID}, job.Options{Priority: job.First})
		if err != nil {
			return err
		}
		sub.Owner = ownerJob(id)
		return tx.Submissions.Insert(ctx, *sub)
	})
	if err == nil && r == nil {
		err = e.mayRepeat(ctx, sub, nil)
	}
	if err != nil {
		return nil, err
	}
	return e.state(ctx, sub)
}

// ownerJob returns the owner of a submission that a job evaluates.
func ownerJob(id int64) string { return store.JobOwner + strconv.FormatInt(id, 10) }

// jobFailure returns why the job of a submission will not evaluate it: the job was cancelled, or failed without storing why.
// It returns nil as long as the job may yet run.
func (e *Evaluator) jobFailure(ctx context.Context, sub *store.Submission) (*wire.SubmissionFailure, error) {
	digits, ok := strings.CutPrefix(sub.Owner, store.JobOwner)
	if len(sub.Request) == 0 || !ok || sub.LeaseUntil.After(e.cfg.Now()) {
		return nil, nil
	}
	id, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return nil, nil //nolint:nilerr // it has no job
	}
	what := "is gone; send it under another name"
	j, err := e.cfg.Records.Jobs.Get(ctx, sub.ProjectID, id)
	switch {
	case rule.CodeOf(err) == rule.CodeNotFound:
	case err != nil:
		return nil, err
	case j.State == job.Failed, j.State == job.Cancelled:
		what = "is " + j.State + "; retry the job, or send it under another name"
	default:
		return nil, nil
	}
	f := failed(rule.Errorf(rule.CodeUnavailable, "the submission was not evaluated: its job %d %s", id, what))
	return &f, nil
}

// laterArgs are the arguments of the job of a submission.
type laterArgs struct {
	SubmissionID string `json:"submission_id"`
}

// storedRequest is a request as it is stored until its job runs, with the text of the document that it named.
type storedRequest struct {
	Input subject.Input `json:"input"`
	wire.EvaluateOptions
	Identity rule.Identity `json:"identity,omitzero"`
}

// HandleSubmission handles the jobs that evaluate submissions. It may run twice: the submission fixes the id of the evaluation.
func (e *Evaluator) HandleSubmission(ctx context.Context, j wire.Job, progress func(done, total int)) error {
	var args laterArgs
	if err := job.DecodeArgs(&j, &args); err != nil {
		return err
	}
	sub, err := e.cfg.Records.Submissions.Get(ctx, j.ProjectID, args.SubmissionID)
	switch {
	case rule.CodeOf(err) == rule.CodeNotFound:
		return nil // retention has removed it
	case err != nil:
		return err
	case sub.FinishedAt != nil:
		return nil
	}
	// The job's own lease keeps others away; this one shows that the work goes on, and passes from attempt to attempt.
	sub.Owner = ownerJob(j.ID)
	if _, err := e.lease(ctx, &sub); err != nil {
		return err
	}
	err = e.background(ctx, sub)
	failure := ""
	if err != nil {
		if temporary(err) && j.Attempt < j.MaxAttempts {
			return err
		}
		failure = string(audit.JSON(failed(err)))
	}
	progress(1, 1)
	return e.cfg.Records.Update(ctx, func(tx store.Tx) error {
		return tx.Submissions.Finish(ctx, sub.ProjectID, sub.ID, failure, e.cfg.Now())
	})
}

// background evaluates a leased submission from its stored request.
func (e *Evaluator) background(ctx context.Context, sub store.Submission) error {
	_, err := e.evaluationOf(ctx, &sub)
	if rule.CodeOf(err) != rule.CodeNotFound || record.IsPruned(err) {
		return err
	}
	q, err := storedRequestOf(&sub)
	if err != nil {
		return err
	}
	ctx = audit.WithIdentity(auth.WithActor(ctx, auth.Actor{Name: sub.Actor}), q.Identity)
	r, err := e.prepare(ctx, Request{ProjectID: sub.ProjectID, Input: q.Input, EvaluateOptions: q.EvaluateOptions})
	if err != nil {
		return err
	}
	_, _, err = e.underLease(ctx, sub, r)
	return err
}

// temporary reports whether an error may pass.
func temporary(err error) bool {
	c := rule.CodeOf(err)
	return c == rule.CodeUnavailable || c == rule.CodeInternal || c == rule.CodeRateLimited
}
