package evaluate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/job"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/subject"
)

// Named is how a caller names a request, so that the same request again gets the same answer instead of another evaluation.
type Named struct {
	// SubmissionID is the caller's own id of the submission; empty makes one.
	SubmissionID string
	// Key is the caller's idempotency key; empty for none.
	Key string
	// BodyHash is the SHA-256 of what is asked, in hex.
	BodyHash string
}

func (n *Named) empty() bool { return n.SubmissionID == "" && n.Key == "" }

// Answer is an evaluation with the submission it answers.
type Answer struct {
	Evaluation   *rule.Evaluation
	SubmissionID string
	SubjectKind  string
}

// Status says how far a submission has come.
type Status string

// Statuses of a submission.
const (
	Pending   Status = "pending"
	Running   Status = "running"
	Completed Status = "completed"
	Failed    Status = "failed"
)

// Submission is a submission and how far it has come.
type Submission struct {
	SubmissionID string           `json:"submission_id" doc:"Identifier of the submission."`
	SubjectKind  string           `json:"subject_kind" doc:"Kind of the subject."`
	Status       Status           `json:"status" enum:"pending,running,completed,failed" doc:"How far it has come."`
	Evaluation   *rule.Evaluation `json:"evaluation,omitempty" doc:"The answer, once it is completed."`
	Error        *Failure         `json:"error,omitempty" doc:"Why it has failed."`
	CreatedAt    time.Time        `json:"created_at" doc:"When it was accepted."`
}

// Failure is why a submission could not be evaluated.
type Failure struct {
	Code    rule.Code         `json:"code" doc:"Kind of problem for programs."`
	Message string            `json:"message" doc:"What is wrong, and what to do."`
	Fields  []rule.FieldError `json:"errors,omitempty" nullable:"false" doc:"The fields that are wrong."`
}

const (
	// leaseTime is how long a process that has died keeps others from taking over its submission.
	leaseTime = 30 * time.Second
	// firstPoll and longestPoll bound how often somebody else's evaluation is looked for.
	firstPoll   = 5 * time.Millisecond
	longestPoll = 250 * time.Millisecond
)

// JobKind is the kind of the jobs that carry out submissions in the background; [Evaluator.CarryOut] is their handler.
const JobKind = "submission.evaluate"

// Submit evaluates a request that may have a name. The same name with the same body gives the answer of the first time, also
// when both come at once: one of them is evaluated, the others wait for it. The same name with another body is a conflict.
// A request that cannot be evaluated leaves its name free.
func (e *Evaluator) Submit(ctx context.Context, n Named, req Request) (*Answer, error) {
	if n.empty() {
		return e.unnamed(ctx, req)
	}
	for {
		known, err := e.known(ctx, n, req.ProjectID)
		if err != nil {
			return nil, err
		}
		if known == nil {
			r, err := e.prepare(ctx, req)
			if err != nil {
				return nil, err
			}
			sub := e.newSubmission(ctx, n, r)
			sub.Owner, sub.LeaseUntil = e.owner, e.cfg.Now().Add(leaseTime)
			err = e.cfg.Records.Update(ctx, func(tx store.Tx) error { return tx.InsertSubmission(ctx, sub) })
			if rule.CodeOf(err) == rule.CodeConflict {
				continue // somebody was faster
			}
			if err != nil {
				return nil, err
			}
			return e.carryOut(ctx, sub, r)
		}
		answer, again, err := e.await(ctx, known, req)
		if !again {
			return answer, err
		}
	}
}

// unnamed evaluates a request that nobody will ask for by a name; it goes by the id of its evaluation.
func (e *Evaluator) unnamed(ctx context.Context, req Request) (*Answer, error) {
	r, err := e.prepare(ctx, req)
	if err != nil {
		return nil, err
	}
	ev, err := r.conduct(ctx)
	if err != nil {
		return nil, err
	}
	return &Answer{Evaluation: ev, SubmissionID: ev.EvaluationID, SubjectKind: r.kind()}, nil
}

// known returns the submission that has a name already; nil if there is none. The name of another request is a conflict.
func (e *Evaluator) known(ctx context.Context, n Named, projectID string) (*store.Submission, error) {
	var s store.Submission
	err := error(rule.NotFound("submission", ""))
	if n.SubmissionID != "" {
		s, err = e.cfg.Records.Submission(ctx, projectID, n.SubmissionID)
	}
	if n.Key != "" && rule.CodeOf(err) == rule.CodeNotFound {
		s, err = e.cfg.Records.SubmissionByKey(ctx, projectID, n.Key)
	}
	switch {
	case rule.CodeOf(err) == rule.CodeNotFound:
		return nil, nil
	case err != nil:
		return nil, err
	case n.SubmissionID != "" && (s.ID != n.SubmissionID || s.BodyHash != n.BodyHash):
		return nil, rule.Errorf(rule.CodeConflict, "the submission_id %q stands for another request, or its idempotency key does; use new ones", n.SubmissionID)
	case n.Key != "" && (s.Key != n.Key || s.BodyHash != n.BodyHash):
		return nil, rule.Errorf(rule.CodeConflict, "the idempotency key %q stands for another request; use a new one", n.Key)
	}
	return &s, nil
}

func (e *Evaluator) newSubmission(ctx context.Context, n Named, r *run) store.Submission {
	id := n.SubmissionID
	if id == "" {
		id = audit.NewID()
	}
	return store.Submission{
		ProjectID: r.req.ProjectID, ID: id, Key: n.Key, BodyHash: n.BodyHash, Kind: r.kind(), EvaluationID: audit.NewID(),
		Actor: auth.ActorFrom(ctx).Name, CreatedAt: e.cfg.Now().UTC().Truncate(time.Microsecond),
	}
}

// carryOut evaluates a submission that this process has leased. If that fails, the submission is removed, so that it can
// be sent again.
func (e *Evaluator) carryOut(ctx context.Context, sub store.Submission, r *run) (*Answer, error) {
	ev, err := e.leased(ctx, sub, r)
	if err == nil {
		return &Answer{Evaluation: ev, SubmissionID: sub.ID, SubjectKind: sub.Kind}, nil
	}
	return nil, errors.Join(err, e.giveUp(ctx, &sub))
}

// giveUp removes a submission that this process has leased, so that its names are free again.
func (e *Evaluator) giveUp(ctx context.Context, sub *store.Submission) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaseTime)
	defer cancel()
	return e.cfg.Records.Update(ctx, func(tx store.Tx) error { return tx.DeleteSubmission(ctx, sub.ProjectID, sub.ID, sub.Owner) })
}

// leased evaluates under the id that the submission fixes, and renews the lease meanwhile. If the lease was lost to somebody
// who was faster, theirs is the answer: the chain takes an id only once.
func (e *Evaluator) leased(ctx context.Context, sub store.Submission, r *run) (*rule.Evaluation, error) {
	working, done := context.WithCancel(ctx)
	defer done()
	go e.renew(working, sub)
	r.req.id = sub.EvaluationID
	ev, err := r.conduct(ctx)
	if rule.CodeOf(err) == rule.CodeConflict {
		return e.recorded(ctx, &sub)
	}
	return ev, err
}

func (e *Evaluator) renew(ctx context.Context, sub store.Submission) {
	tick := time.NewTicker(leaseTime / 3)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			// A lease that cannot be renewed may be lost; what that means is settled when the record is written.
			_, _ = e.lease(ctx, &sub)
		}
	}
}

// lease makes sub.Owner the one that carries out a submission, and reports whether it is.
func (e *Evaluator) lease(ctx context.Context, sub *store.Submission) (got bool, err error) {
	err = e.cfg.Records.Update(ctx, func(tx store.Tx) (err error) {
		now := e.cfg.Now()
		got, err = tx.LeaseSubmission(ctx, sub.ProjectID, sub.ID, sub.Owner, now, now.Add(leaseTime))
		return err
	})
	return got, err
}

// recorded returns the evaluation of a submission, or not_found as long as there is none.
func (e *Evaluator) recorded(ctx context.Context, sub *store.Submission) (*rule.Evaluation, error) {
	rec, err := e.Get(ctx, sub.ProjectID, sub.EvaluationID)
	if err != nil {
		return nil, err
	}
	return rec.Evaluation, nil
}

// await waits for the answer of a submission that somebody else carries out. If that one has died, its work is taken over;
// if the submission has been given up, again is true.
func (e *Evaluator) await(ctx context.Context, sub *store.Submission, req Request) (answer *Answer, again bool, err error) {
	for pause := firstPoll; ; pause = min(2*pause, longestPoll) {
		ev, err := e.recorded(ctx, sub)
		switch {
		case err == nil:
			return &Answer{Evaluation: ev, SubmissionID: sub.ID, SubjectKind: sub.Kind}, false, nil
		case rule.CodeOf(err) != rule.CodeNotFound || isPruned(err):
			return nil, false, err
		case sub.Failure != "":
			return nil, false, failureOf(sub).err()
		case len(sub.Request) == 0 && !sub.LeaseUntil.After(e.cfg.Now()):
			return e.takeOver(ctx, sub, req)
		}
		if f, err := e.abandoned(ctx, sub); f != nil || err != nil {
			if err == nil {
				err = f.err()
			}
			return nil, false, err
		}
		select {
		case <-ctx.Done():
			return nil, false, ctx.Err()
		case <-time.After(pause):
		}
		now, err := e.cfg.Records.Submission(ctx, sub.ProjectID, sub.ID)
		if rule.CodeOf(err) == rule.CodeNotFound || (err == nil && now.EvaluationID != sub.EvaluationID) {
			return nil, true, nil
		}
		if err != nil {
			return nil, false, err
		}
		sub = &now
	}
}

// takeOver carries out a submission whose owner has died.
func (e *Evaluator) takeOver(ctx context.Context, sub *store.Submission, req Request) (*Answer, bool, error) {
	sub.Owner = e.owner
	got, err := e.lease(ctx, sub)
	if err != nil || !got {
		return nil, err == nil, err
	}
	r, err := e.prepare(ctx, req)
	if err != nil {
		return nil, false, errors.Join(err, e.giveUp(ctx, sub))
	}
	answer, err := e.carryOut(ctx, *sub, r)
	return answer, false, err
}

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

// Submission returns a submission and how far it has come, or not_found. What was answered at once and had no name goes by
// the id of its evaluation.
func (e *Evaluator) Submission(ctx context.Context, projectID, id string) (*Submission, error) {
	sub, err := e.cfg.Records.Submission(ctx, projectID, id)
	if err == nil {
		return e.state(ctx, &sub)
	}
	if rule.CodeOf(err) != rule.CodeNotFound || !rule.IsID(id) {
		return nil, err
	}
	rec, errGet := e.Get(ctx, projectID, id)
	if rule.CodeOf(errGet) == rule.CodeNotFound && !isPruned(errGet) {
		return nil, err
	}
	if errGet != nil {
		return nil, errGet
	}
	return &Submission{
		SubmissionID: id, SubjectKind: rec.kind(), Status: Completed, Evaluation: rec.Evaluation, CreatedAt: rec.Evaluation.Timestamp,
	}, nil
}

// state says how far a submission has come. It is complete exactly when its record is in the chain.
func (e *Evaluator) state(ctx context.Context, sub *store.Submission) (*Submission, error) {
	s := &Submission{SubmissionID: sub.ID, SubjectKind: sub.Kind, Status: Pending, CreatedAt: sub.CreatedAt}
	ev, err := e.recorded(ctx, sub)
	switch {
	case err == nil:
		s.Status, s.Evaluation = Completed, ev
	case rule.CodeOf(err) != rule.CodeNotFound || isPruned(err):
		return nil, err
	case sub.Failure != "":
		f := failureOf(sub)
		s.Status, s.Error = Failed, &f
	case sub.LeaseUntil.After(e.cfg.Now()):
		s.Status = Running
	case len(sub.Request) == 0:
		f := failed(rule.Errorf(rule.CodeUnavailable, "the server stopped before it was evaluated; send it again"))
		s.Status, s.Error = Failed, &f
	default:
		if s.Error, err = e.abandoned(ctx, sub); err != nil {
			return nil, err
		}
		if s.Error != nil {
			s.Status = Failed
		}
	}
	return s, nil
}

// failed is what callers may see of an error.
func failed(err error) Failure {
	e, ok := errors.AsType[*rule.Error](err)
	if !ok || e.Code == rule.CodeInternal {
		return Failure{Code: rule.CodeInternal, Message: "internal error"}
	}
	message := e.Message
	if cause := e.Unwrap(); e.Code == rule.CodeUnavailable && cause != nil {
		message = strings.TrimSuffix(message, ": "+cause.Error()) // what the cause says (addresses, user names) is for the log
	}
	return Failure{Code: e.Code, Message: message, Fields: e.Fields}
}

func failureOf(sub *store.Submission) Failure {
	var f Failure
	if err := json.Unmarshal([]byte(sub.Failure), &f); err != nil {
		return Failure{Code: rule.CodeInternal, Message: "internal error"}
	}
	return f
}

func (f Failure) err() error {
	e := rule.Errorf(f.Code, "%s", f.Message)
	e.Fields = f.Fields
	return e
}
