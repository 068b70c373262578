package evaluate

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/evaluate/record"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
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

// Submit evaluates a request that may have a name. The same name with the same body gives the answer of the first time, also
// when both come at once: one of them is evaluated, the others wait for it. The same name with another body is a conflict.
// A request that cannot be evaluated leaves its name free.
func (e *Evaluator) Submit(ctx context.Context, n Named, req Request) (*Answer, error) {
	if n.empty() {
		return e.unnamed(ctx, req)
	}
	for {
		sub, r, err := e.accept(ctx, n, req, func(ctx context.Context, tx store.Tx, sub *store.Submission, _ *run) error {
			sub.Owner, sub.LeaseUntil = e.owner, e.cfg.Now().Add(leaseTime)
			return tx.Submissions.Insert(ctx, *sub)
		})
		if err != nil {
			return nil, err
		}
		if r != nil {
			return e.evaluateOnce(ctx, *sub, r)
		}
		answer, again, err := e.await(ctx, sub, req)
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
	ev, err := mayConfirm(r).conduct(ctx)
	if err != nil {
		return nil, err
	}
	return &Answer{Evaluation: ev, SubmissionID: ev.EvaluationID, SubjectKind: kindOf(r.subject)}, nil
}

// accept stores a request under its name by insert, and returns the submission and its run. If the name is taken already, it
// returns the submission that has it, and no run.
func (e *Evaluator) accept(
	ctx context.Context, n Named, req Request, insert func(ctx context.Context, tx store.Tx, sub *store.Submission, r *run) error,
) (*store.Submission, *run, error) {
	for {
		sub, err := e.submissionNamed(ctx, n, req.ProjectID)
		if sub != nil || err != nil {
			return sub, nil, err
		}
		r, err := e.prepare(ctx, req)
		if err != nil {
			return nil, nil, err
		}
		sub = e.newSubmission(ctx, n, r)
		err = e.cfg.Records.Update(ctx, func(tx store.Tx) error { return insert(ctx, tx, sub, r) })
		if rule.CodeOf(err) == rule.CodeConflict {
			continue // another request took the name first
		}
		return sub, r, err
	}
}

// submissionNamed returns the submission that has a name; nil if none has. The name of another request is a conflict.
func (e *Evaluator) submissionNamed(ctx context.Context, n Named, projectID string) (*store.Submission, error) {
	var s store.Submission
	err := error(rule.NotFound("submission", ""))
	if n.SubmissionID != "" {
		s, err = e.cfg.Records.Submissions.Get(ctx, projectID, n.SubmissionID)
	}
	if n.Key != "" && rule.CodeOf(err) == rule.CodeNotFound {
		s, err = e.cfg.Records.Submissions.GetByKey(ctx, projectID, n.Key)
	}
	switch {
	case rule.CodeOf(err) == rule.CodeNotFound:
		return nil, freeID(ctx, e, projectID, n.SubmissionID)
	case err != nil:
		return nil, err
	case n.SubmissionID != "" && (s.ID != n.SubmissionID || s.BodyHash != n.BodyHash):
		return nil, rule.Errorf(rule.CodeConflict, "the submission_id %q stands for another request, or its idempotency key does; use new ones", n.SubmissionID)
	case n.Key != "" && (s.Key != n.Key || s.BodyHash != n.BodyHash):
		return nil, rule.Errorf(rule.CodeConflict, "the idempotency key %q stands for another request; use a new one", n.Key)
	}
	return &s, nil
}

// freeID reports a conflict if a submission id is that of an evaluation. A request without a name goes by that id, which must not lead to
// another answer.
func freeID(ctx context.Context, e *Evaluator, projectID, id string) error {
	if !rule.IsID(id) {
		return nil
	}
	switch _, err := e.Get(ctx, projectID, id); {
	case err == nil, record.IsPruned(err):
		return rule.Errorf(rule.CodeConflict, "the submission_id %q is that of an evaluation; use another one", id)
	case rule.CodeOf(err) != rule.CodeNotFound:
		return err
	}
	return nil
}

func (e *Evaluator) newSubmission(ctx context.Context, n Named, r *run) *store.Submission {
	id := n.SubmissionID
	if id == "" {
		id = audit.NewID()
	}
	return &store.Submission{
		ProjectID: r.req.ProjectID, ID: id, Key: n.Key, BodyHash: n.BodyHash, Kind: kindOf(r.subject), EvaluationID: audit.NewID(),
		Actor: auth.ActorFrom(ctx).Name, CreatedAt: rule.Instant(e.cfg.Now()),
	}
}

// Submission returns a submission and how far it has come, or not_found. What was answered at once and had no name goes by
// the id of its evaluation.
func (e *Evaluator) Submission(ctx context.Context, projectID, id string) (*wire.SubmissionState, error) {
	sub, err := e.cfg.Records.Submissions.Get(ctx, projectID, id)
	if err == nil {
		return e.state(ctx, &sub)
	}
	if rule.CodeOf(err) != rule.CodeNotFound || !rule.IsID(id) {
		return nil, err
	}
	rec, errGet := e.Get(ctx, projectID, id)
	if rule.CodeOf(errGet) == rule.CodeNotFound && !record.IsPruned(errGet) {
		return nil, err
	}
	if errGet != nil {
		return nil, errGet
	}
	return &wire.SubmissionState{
		SubmissionID: id, SubjectKind: rec.Kind(), Status: wire.Completed, Evaluation: rec.Evaluation, CreatedAt: rec.Evaluation.Timestamp,
	}, nil
}

// state says how far a submission has come. It is complete exactly when its record is in the chain.
func (e *Evaluator) state(ctx context.Context, sub *store.Submission) (*wire.SubmissionState, error) {
	s := &wire.SubmissionState{SubmissionID: sub.ID, SubjectKind: sub.Kind, Status: wire.Pending, CreatedAt: sub.CreatedAt}
	ev, err := e.evaluationOf(ctx, sub)
	switch {
	case err == nil:
		s.Status, s.Evaluation = wire.Completed, ev
	case rule.CodeOf(err) != rule.CodeNotFound || record.IsPruned(err):
		return nil, err
	case sub.Failure != "":
		f := failureOf(sub)
		s.Status, s.Error = wire.Failed, &f
	case sub.LeaseUntil.After(e.cfg.Now()):
		s.Status = wire.Running
	case len(sub.Request) == 0:
		f := failed(rule.Errorf(rule.CodeUnavailable, "the server stopped before it was evaluated; send it again"))
		s.Status, s.Error = wire.Failed, &f
	default:
		if s.Error, err = e.jobFailure(ctx, sub); err != nil {
			return nil, err
		}
		if s.Error != nil {
			s.Status = wire.Failed
		}
	}
	return s, nil
}

// failed returns the part of an error that callers may see.
func failed(err error) wire.SubmissionFailure {
	e, ok := errors.AsType[*rule.Error](err)
	if !ok || e.Code == rule.CodeInternal {
		return wire.SubmissionFailure{Code: rule.CodeInternal, Message: "internal error"}
	}
	message := e.Message
	if cause := e.Unwrap(); e.Code == rule.CodeUnavailable && cause != nil {
		message = strings.TrimSuffix(message, ": "+cause.Error()) // what the cause says (addresses, user names) is for the log
	}
	return wire.SubmissionFailure{Code: e.Code, Message: message, Fields: e.Fields}
}

func failureOf(sub *store.Submission) wire.SubmissionFailure {
	var f wire.SubmissionFailure
	if err := json.Unmarshal([]byte(sub.Failure), &f); err != nil {
		return wire.SubmissionFailure{Code: rule.CodeInternal, Message: "internal error"}
	}
	return f
}

func failureError(f wire.SubmissionFailure) error {
	e := rule.Errorf(f.Code, "%s", f.Message)
	e.Fields = f.Fields
	return e
}
