package store

import (
	"context"
	"time"

	"tenet/internal/rule"
)

// Submission is a request for an evaluation that has a name of the caller, or that runs in the background.
type Submission struct {
	ProjectID string
	ID        string
	// Key is the caller's idempotency key; empty without one.
	Key string
	// BodyHash is the SHA-256 of the request, in hex. Another request under the same name is a conflict.
	BodyHash string
	Kind     string // of the subject
	// EvaluationID is set from the start: the submission is complete exactly when the audit chain holds this entry.
	EvaluationID string
	Actor        string
	// Request is the request to run in the background; empty when it has run, and for one that is answered at once.
	Request []byte
	// Failure is the JSON of the error that ended it, or empty.
	Failure string
	// Owner is the process that runs it until LeaseUntil; or [JobOwner] and the id of the job that runs it.
	Owner      string
	LeaseUntil time.Time
	CreatedAt  time.Time
	FinishedAt *time.Time
}

// JobOwner is the prefix of the owner of submissions that jobs run.
const JobOwner = "job:"

// Feedback is the opinion of a person on the verdict of one rule in one evaluation.
type Feedback struct {
	ProjectID    string
	EvaluationID string
	RuleID       string
	Actor        string
	Correct      bool
	Note         string
	// RuleVersion and ContentHash identify the content of the rule, and Verdict is the answer; Judged is true if a model decided.
	RuleVersion int
	ContentHash string
	Verdict     rule.Verdict
	Judged      bool
	At          time.Time
}

// FeedbackCount is the number of equal feedback on one content of a rule.
type FeedbackCount struct {
	RuleID      string
	ContentHash string
	Verdict     rule.Verdict
	Judged      bool
	Correct     bool
	Count       int
}

// SubmissionReader reads submissions.
type SubmissionReader interface {
	// Get returns the submission with an id, or not_found.
	Get(ctx context.Context, projectID, id string) (Submission, error)
	// GetByKey returns the submission with an idempotency key, or not_found.
	GetByKey(ctx context.Context, projectID, key string) (Submission, error)
}

// SubmissionTx writes submissions.
type SubmissionTx interface {
	SubmissionReader

	// Insert stores a submission; conflict if the id or the key is taken.
	Insert(ctx context.Context, s Submission) error
	// Lease makes owner run a submission until a time, and reports whether it does. It does not if another owner's lease
	// ends after now, or the submission is finished or gone.
	Lease(ctx context.Context, projectID, id, owner string, now, until time.Time) (bool, error)
	// Finish ends a submission, with a failure if it is not empty, and drops its request; not_found without it. A finished
	// one stays unchanged.
	Finish(ctx context.Context, projectID, id, failure string, at time.Time) error
	// Delete removes a submission of an owner, so that its names are free again, if it exists.
	Delete(ctx context.Context, projectID, id, owner string) error
	// DeleteOld removes up to limit submissions created before a time that have no owner (they are finished, or their lease
	// has ended and they have no request, or no job to run it), and returns their number.
	DeleteOld(ctx context.Context, projectID string, before time.Time, limit int) (int, error)
}

// FeedbackReader reads feedback.
type FeedbackReader interface {
	// List lists the feedback on an evaluation, by rule and actor.
	List(ctx context.Context, projectID, evaluationID string) ([]Feedback, error)
	// Count counts the feedback on one rule, or on all rules if ruleID is empty, in a fixed order.
	Count(ctx context.Context, projectID, ruleID string) ([]FeedbackCount, error)
}

// FeedbackTx writes feedback.
type FeedbackTx interface {
	FeedbackReader

	// Put stores feedback and replaces that of the same actor on the same rule in the same evaluation.
	Put(ctx context.Context, f Feedback) error
}
