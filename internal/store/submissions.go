package store

import (
	"context"
	"time"

	"tenet/internal/rule"
)

// Submission is a request for an evaluation that its caller has named, or that is carried out in the background.
type Submission struct {
	ProjectID string
	ID        string
	// Key is the caller's idempotency key; empty if there is none.
	Key string
	// BodyHash is the SHA-256 of what was asked, in hex. Asking for something else under the same name is a conflict.
	BodyHash string
	Kind     string // of the subject
	// EvaluationID is fixed from the start: the submission is complete exactly when the audit chain holds this entry.
	EvaluationID string
	Actor        string
	// Request is what is to be carried out in the background; empty once it is, and for what is answered at once.
	Request []byte
	// Failure is the JSON of the error that ended it for good, or empty.
	Failure string
	// Owner is the process that carries it out, for as long as LeaseUntil lies ahead; or [JobOwner] and the id of the job that
	// carries it out or is to.
	Owner      string
	LeaseUntil time.Time
	CreatedAt  time.Time
	FinishedAt *time.Time
}

// JobOwner begins the owner of submissions that jobs carry out.
const JobOwner = "job:"

// SubmissionReader reads submissions.
type SubmissionReader interface {
	// Submission returns the submission with an id, or not_found.
	Submission(ctx context.Context, projectID, id string) (Submission, error)
	// SubmissionByKey returns the submission with an idempotency key, or not_found.
	SubmissionByKey(ctx context.Context, projectID, key string) (Submission, error)
}

// SubmissionTx writes submissions.
type SubmissionTx interface {
	// InsertSubmission stores a submission; conflict if the id or the key is taken.
	InsertSubmission(ctx context.Context, s Submission) error
	// LeaseSubmission makes owner the one that carries out a submission until a time, and reports whether it is: not if another
	// one's lease lies ahead of now, or the submission is finished or gone.
	LeaseSubmission(ctx context.Context, projectID, id, owner string, now, until time.Time) (bool, error)
	// FinishSubmission ends a submission, well or with a failure, and drops its request; not_found without it. What is finished
	// stays as it is.
	FinishSubmission(ctx context.Context, projectID, id, failure string, at time.Time) error
	// DeleteSubmission removes a submission of an owner, so that its names are free again; none is no error.
	DeleteSubmission(ctx context.Context, projectID, id, owner string) error
	// DropSubmissions removes up to limit submissions made before a time that nobody works on any more (they are finished, or
	// their lease has ended and they have nothing to carry out, or no job that would), and returns how many.
	DropSubmissions(ctx context.Context, projectID string, before time.Time, limit int) (int, error)
}

// Feedback is what a person says about the verdict of one rule in one evaluation.
type Feedback struct {
	ProjectID    string
	EvaluationID string
	RuleID       string
	Actor        string
	Correct      bool
	Note         string
	// RuleVersion and ContentHash name what was judged, Verdict what was answered; Judged is true if a model had decided.
	RuleVersion int
	ContentHash string
	Verdict     rule.Verdict
	Judged      bool
	At          time.Time
}

// FeedbackCount counts feedback of one sort on one content of a rule.
type FeedbackCount struct {
	RuleID      string
	ContentHash string
	Verdict     rule.Verdict
	Judged      bool
	Correct     bool
	Count       int
}

// FeedbackReader reads feedback.
type FeedbackReader interface {
	// Feedback lists the feedback on an evaluation, by rule and actor.
	Feedback(ctx context.Context, projectID, evaluationID string) ([]Feedback, error)
	// CountFeedback counts the feedback on one rule, or on all rules if ruleID is empty, in a fixed order.
	CountFeedback(ctx context.Context, projectID, ruleID string) ([]FeedbackCount, error)
}

// FeedbackTx writes feedback.
type FeedbackTx interface {
	// PutFeedback stores feedback in place of what the same actor has said about the same rule in the same evaluation.
	PutFeedback(ctx context.Context, f Feedback) error
}

// RetentionTx removes what is kept no longer.
type RetentionTx interface {
	// DropBodies empties the bodies of entries of a kind with after < Seq <= through, lowest first, up to limit, and returns
	// the Seq up to which that is done and how many bodies it has emptied. Hashes stay, so the chain stays whole.
	DropBodies(ctx context.Context, projectID, kind string, after, through int64, limit int) (done int64, dropped int, err error)
}
