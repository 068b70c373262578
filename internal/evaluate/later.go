package evaluate

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/job"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/subject"
)

// JobKind is the kind of the jobs that carry out submissions in the background; [Evaluator.CarryOut] is their handler.
const JobKind = "submission.evaluate"

// Later accepts a request that is carried out in the background. It is checked now, so that what is accepted can be carried
// out; it survives a restart.
func (e *Evaluator) Later(ctx context.Context, n Named, req Request) (*Submission, error) {
	if e.cfg.Queue == nil {
		return nil, rule.Errorf(rule.CodeUnavailable, "this server does no work in the background; leave out Prefer: respond-async")
	}
	for {
		known, err := e.known(ctx, n, req.ProjectID)
		if err != nil {
			return nil, err
		}
		if known != nil {
			return e.state(ctx, known)
		}
		r, err := e.prepare(ctx, req)
		if err != nil {
			return nil, err
		}
		sub := e.newSubmission(ctx, n, r)
		sub.Request = audit.Compress(audit.JSON(r.later()))
		err = e.cfg.Records.Update(ctx, func(tx store.Tx) error {
			id, err := e.cfg.Queue.Enqueue(ctx, tx, JobKind, sub.ProjectID, laterArgs{sub.ID}, job.Options{Priority: job.First})
			if err != nil {
				return err
			}
			sub.Owner = ownerJob(id)
			return tx.InsertSubmission(ctx, sub)
		})
		if rule.CodeOf(err) == rule.CodeConflict {
			continue // somebody was faster
		}
		if err != nil {
			return nil, err
		}
		return e.state(ctx, &sub)
	}
}

// ownerJob is the owner of a submission that a job carries out.
func ownerJob(id int64) string { return store.JobOwner + strconv.FormatInt(id, 10) }

// abandoned tells why a submission that waits for its job will not be carried out: the job was cancelled, or ended in a way
// that let it tell nothing. Nil as long as it may yet be.
func (e *Evaluator) abandoned(ctx context.Context, sub *store.Submission) (*Failure, error) {
	digits, ok := strings.CutPrefix(sub.Owner, store.JobOwner)
	if len(sub.Request) == 0 || !ok || sub.LeaseUntil.After(e.cfg.Now()) {
		return nil, nil
	}
	id, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return nil, nil //nolint:nilerr // it has no job
	}
	what := "is gone; send it under another name"
	j, err := e.cfg.Records.Job(ctx, sub.ProjectID, id)
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

// laterRequest is a request as it is kept until it is carried out, with the text of the document that it named.
type laterRequest struct {
	Input       subject.Input `json:"input"`
	NodeID      string        `json:"node_id,omitempty"`
	Environment string        `json:"environment,omitempty"`
	Mode        rule.Mode     `json:"mode"`
	MaxRules    int           `json:"max_rules"`
	SeverityMin rule.Severity `json:"severity_min"`
}

func (r *run) later() laterRequest {
	q := r.req
	return laterRequest{Input: q.Input, NodeID: q.NodeID, Environment: q.Environment, Mode: q.Mode, MaxRules: q.MaxRules, SeverityMin: q.SeverityMin}
}

// CarryOut is the handler of the jobs that carry out submissions. It bears being run twice: a submission is evaluated
// under an id that is fixed from the start.
func (e *Evaluator) CarryOut(ctx context.Context, j job.Job, progress func(done, total int)) error {
	var args laterArgs
	if err := j.Decode(&args); err != nil {
		return err
	}
	sub, err := e.cfg.Records.Submission(ctx, j.ProjectID, args.SubmissionID)
	switch {
	case rule.CodeOf(err) == rule.CodeNotFound:
		return nil // nobody wants it any more
	case err != nil:
		return err
	case sub.FinishedAt != nil:
		return nil
	}
	// The job's own lease keeps others away; this one tells that the work goes on, and passes from attempt to attempt.
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
		return tx.FinishSubmission(ctx, sub.ProjectID, sub.ID, failure, e.cfg.Now())
	})
}

// background evaluates a leased submission from what was kept of its request.
func (e *Evaluator) background(ctx context.Context, sub store.Submission) error {
	_, err := e.recorded(ctx, &sub)
	if rule.CodeOf(err) != rule.CodeNotFound || isPruned(err) {
		return err
	}
	data, err := audit.Decompress(sub.Request)
	if err != nil {
		return fmt.Errorf("evaluate: submission %s: %w", sub.ID, err)
	}
	var q laterRequest
	if err := json.Unmarshal(data, &q); err != nil {
		return fmt.Errorf("evaluate: submission %s: %w", sub.ID, err)
	}
	ctx = auth.WithActor(ctx, auth.Actor{Name: sub.Actor})
	r, err := e.prepare(ctx, Request{
		ProjectID: sub.ProjectID, Input: q.Input, NodeID: q.NodeID, Environment: q.Environment, Mode: q.Mode, MaxRules: q.MaxRules,
		SeverityMin: q.SeverityMin,
	})
	if err != nil {
		return err
	}
	_, err = e.leased(ctx, sub, r)
	return err
}

// temporary tells errors that may pass.
func temporary(err error) bool {
	c := rule.CodeOf(err)
	return c == rule.CodeUnavailable || c == rule.CodeInternal || c == rule.CodeRateLimited
}
