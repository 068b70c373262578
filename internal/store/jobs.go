package store

import (
	"context"
	"time"
)

// States of a [Job].
const (
	JobQueued    = "queued"
	JobRunning   = "running"
	JobSucceeded = "succeeded"
	JobFailed    = "failed"
	JobCancelled = "cancelled"
)

// Job is a row of background work. Package job defines its meaning.
type Job struct {
	ID          int64 // unique over all projects
	ProjectID   string
	Kind        string
	UniqueKey   string
	Args        []byte // JSON
	State       string
	Priority    int // 1 is first
	Attempt     int
	MaxAttempts int
	Done, Total int
	Error       string
	Cancel      bool   // asks a running one to end
	Owner       string // of a running one
	LeaseUntil  time.Time
	RunAt       time.Time
	CreatedAt   time.Time
	StartedAt   *time.Time // of the last attempt
	FinishedAt  *time.Time
}

// JobClaim says which jobs an owner wants.
type JobClaim struct {
	Now   time.Time
	Kinds []string
	Owner string
	Lease time.Time // until when they are the owner's
	Limit int
	// Running counts the jobs that the owner runs already, by project.
	Running map[string]int
	// Share is how many jobs of one project the owner runs at most; 0 means no bound. Jobs of [AllProjects] have none.
	Share int
	// After names a project: where many have jobs due, those behind it in the order of names are looked at first.
	After string
}

// JobFilter selects jobs. Empty fields select everything; ProjectID is required, and [AllProjects] means the jobs that work
// on all projects.
type JobFilter struct {
	ProjectID string
	// Every selects the jobs of every project and those that work on all; ProjectID is then empty.
	Every  bool
	Kind   string
	State  string
	Offset int
	Limit  int
}

// JobCount is the number of jobs of a kind in a state.
type JobCount struct {
	Kind, State string
	Count       int
}

// JobWatcher reports new jobs.
type JobWatcher interface {
	// WatchJobs returns a channel that gets a value after transactions of this process that have made jobs to claim, until
	// stop is called. Values that no receiver takes are not counted.
	WatchJobs() (added <-chan struct{}, stop func())
}

// JobReader reads jobs. Jobs are not part of the one state that a transaction sees: each method sees the committed rows, and
// the transaction's own writes, at the time of the call.
type JobReader interface {
	// Get returns a job, or not_found.
	Get(ctx context.Context, projectID string, id int64) (Job, error)
	// Find returns a page of jobs that match f, newest first, and the total.
	Find(ctx context.Context, f JobFilter) ([]Job, int, error)
	// Count counts the jobs that are queued, running or failed by kind and state.
	Count(ctx context.Context) ([]JobCount, error)
	// Next returns the time of the next job to claim: the earliest start of a queued job or end of a lease; false
	// without any. It is a cheap read for polling.
	Next(ctx context.Context) (time.Time, bool, error)
}

// JobTx writes jobs.
type JobTx interface {
	JobReader

	// Insert stores a queued job and returns its id. If the job has a unique key and one of its project, kind and key is
	// queued already, Insert only moves the start of the queued one forward if needed, and returns its id.
	Insert(ctx context.Context, j Job) (int64, error)
	// Claim makes an owner run queued jobs that are due, raises their Attempt, and returns them by priority and start. Of more than are wanted of a priority, projects
	// that run fewest come first. It passes over a job while another of its unique key is running.
	Claim(ctx context.Context, c JobClaim) ([]Job, error)
	// Renew moves the leases of the jobs that still run with the same Owner and Attempt, and stores their progress. It
	// returns these jobs with the stored Cancel.
	Renew(ctx context.Context, lease time.Time, jobs []Job) ([]Job, error)
	// Finish ends the attempts of the jobs that still run with the same Owner and Attempt: it stores State, RunAt,
	// MaxAttempts, Error, Done, Total and FinishedAt. Instead of queueing a job again, it cancels it at the time of its RunAt
	// if it was asked to cancel it, or if another of its unique key is queued. It ignores the other jobs.
	Finish(ctx context.Context, jobs []Job) error
	// ListExpired returns up to limit running jobs whose lease has ended before now, without those that another
	// transaction has locked. The transaction finishes them for their owners.
	ListExpired(ctx context.Context, now time.Time, limit int) ([]Job, error)
	// Retry queues a failed or cancelled job at now with all its attempts; conflict if it is in another state, or
	// another of its unique key is queued; not_found without it.
	Retry(ctx context.Context, projectID string, id int64, now time.Time) (Job, error)
	// Cancel cancels a queued job, and asks a running one to end; conflict if it has ended; not_found without it.
	Cancel(ctx context.Context, projectID string, id int64, now time.Time) (Job, error)
	// DeleteOld removes up to limit jobs that have ended before a time, and returns their number.
	DeleteOld(ctx context.Context, before time.Time, limit int) (int, error)
	// TakeRound takes the round of a kind that begins at round, and reports whether it was free. Of concurrent
	// transactions, one takes it.
	TakeRound(ctx context.Context, kind string, round time.Time) (bool, error)
}
