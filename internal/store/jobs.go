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

// Job is a row of background work. What it means is the business of package job.
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
	Cancel      bool   // a running one shall end
	Owner       string // of a running one
	LeaseUntil  time.Time
	RunAt       time.Time
	CreatedAt   time.Time
	StartedAt   *time.Time // of the last attempt
	FinishedAt  *time.Time
}

// JobReader reads jobs. Jobs are not part of what transactions see as one: each method sees what is committed, and the
// transaction's own writes, when it is called.
type JobReader interface {
	// Job returns a job, or not_found.
	Job(ctx context.Context, projectID string, id int64) (Job, error)
	// FindJobs returns a page of jobs that match f, newest first, and how many match.
	FindJobs(ctx context.Context, f JobFilter) ([]Job, int, error)
	// CountJobs counts the jobs that are queued or running by kind and state.
	CountJobs(ctx context.Context) ([]JobCount, error)
	// NextJob returns when there is next something to claim: the earliest start of a queued job or end of a lease; false
	// without any. It is a cheap read, meant to be polled.
	NextJob(ctx context.Context) (time.Time, bool, error)
}

// JobTx writes jobs.
type JobTx interface {
	// InsertJob stores a queued job and returns its id. If it has a unique key and one of its project, kind and key is
	// queued already, that one stays alone, starts no later than this one would have, and its id is returned.
	InsertJob(ctx context.Context, j Job) (int64, error)
	// ClaimJobs makes up to limit queued jobs that are due at now running ones of owner until lease, with one attempt more,
	// and returns them, those of a better priority and an earlier start first. Only jobs of the given kinds are taken, and
	// none of whose unique key one is running.
	ClaimJobs(ctx context.Context, now time.Time, kinds []string, owner string, lease time.Time, limit int) ([]Job, error)
	// RenewJobs moves the leases of those of the running jobs that their Owner still has in their Attempt, and stores their
	// progress. It returns the jobs that are still had, with Cancel as it is stored.
	RenewJobs(ctx context.Context, lease time.Time, jobs []Job) ([]Job, error)
	// FinishJobs ends the attempts of those of the running jobs that their Owner still has in their Attempt: State, RunAt,
	// MaxAttempts, Error, Done, Total and FinishedAt become those given. One that would be queued again is cancelled at the
	// time of its RunAt instead if that was asked for, or if another of its unique key is queued. What has been lost is left alone.
	FinishJobs(ctx context.Context, jobs []Job) error
	// ExpiredJobs returns up to limit running jobs whose lease has ended before now and that no other transaction looks at.
	// The transaction finishes them in the place of their owners.
	ExpiredJobs(ctx context.Context, now time.Time, limit int) ([]Job, error)
	// RetryJob makes a failed or cancelled job queued at now with all its attempts; conflict if it is in another state, or
	// another of its unique key is queued; not_found without it.
	RetryJob(ctx context.Context, projectID string, id int64, now time.Time) (Job, error)
	// CancelJob makes a queued job cancelled, and asks a running one to end; conflict if it has ended; not_found without it.
	CancelJob(ctx context.Context, projectID string, id int64, now time.Time) (Job, error)
	// DeleteJobs removes up to limit jobs that have ended before a time, and returns how many.
	DeleteJobs(ctx context.Context, before time.Time, limit int) (int, error)
	// TakeRound reports whether the round of a kind that begins at round has not been taken yet, and takes it. Of
	// transactions that race for it, one gets it.
	TakeRound(ctx context.Context, kind string, round time.Time) (bool, error)
}

// JobFilter selects jobs. Empty fields select everything; ProjectID is required, and [AllProjects] means the jobs that work
// on all of them.
type JobFilter struct {
	ProjectID string
	Kind      string
	State     string
	Offset    int
	Limit     int
}

// JobCount is how many jobs of a kind are in a state.
type JobCount struct {
	Kind, State string
	Count       int
}
