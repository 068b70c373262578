package evaluate

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/rule"
	"tenet/internal/store"
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
