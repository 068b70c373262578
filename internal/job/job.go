// Package job is the one way in which work is done in the background, on both databases. A job is a row that is written in
// the same transaction as its cause; any node carries it out, at least once, under a stable id.
//
// A node claims a job for a short lease and renews it during the work. If the node dies, the lease ends, and another
// node (or the same one, started again) does the work from the beginning. So a handler must tolerate that its work is done twice.
package job

import (
	"context"
	"time"

	"tenet/internal/store"
	"tenet/internal/wire"
)

// States of a job.
const (
	Queued    = store.JobQueued    // waits for its time, or for a free worker
	Running   = store.JobRunning   // is being worked on
	Succeeded = store.JobSucceeded // done
	Failed    = store.JobFailed    // given up; it can be retried by hand
	Cancelled = store.JobCancelled // ended by a person, or because another waiting job does the same
)

// Priorities: of the jobs that are due, all of a better priority start first.
const (
	First  = 1
	Normal = 2 // the meaning of 0
	Last   = 3
)

// DecodeArgs reads the arguments that were given to Enqueue. A job whose arguments cannot be read never can be: the error is
// invalid, and so final.
func DecodeArgs(j *wire.Job, args any) error { return decode(j.Args, args) }

// Handler does the work of one kind of job. ctx ends when the job is cancelled, when the node stops and cannot wait any
// longer, or when the node has lost its claim; the handler must return soon then. progress may be called as often as is
// convenient; it is written about once a second.
//
// An error with the code invalid or not_found is final. After any other the job is tried again later, see [RetryIn], until
// its attempts are used up. A panic counts as an error.
type Handler func(ctx context.Context, j wire.Job, progress func(done, total int)) error

// Options say how a job is to be run. The zero value is useful.
type Options struct {
	// UniqueKey, if not empty, makes jobs of this project and kind with the same key do the same: while one waits, Enqueue
	// adds no other, and gives the id of the waiting one; and two never run at once. A job that is asked for while one runs
	// waits, since the running one may have looked already.
	UniqueKey string
	// RunAt is the earliest start; zero means now.
	RunAt time.Time
	// MaxAttempts is after how many attempts a job has failed; 0 means 10, which with the usual pauses takes a quarter of an
	// hour.
	MaxAttempts int
	// Priority is First, Normal (0 too) or Last.
	Priority int
}

// Queue takes jobs.
type Queue interface {
	// Enqueue adds a job as part of the caller's transaction: it exists once that has been committed, and never if that is
	// rolled back. projectID is a project, or [store.AllProjects]. args are kept as JSON, 1 MiB at most. It returns the job's id.
	Enqueue(ctx context.Context, tx store.Tx, kind, projectID string, args any, o Options) (int64, error)
}

// Periodic is work that comes round again. Over all nodes together it is enqueued once a period, as a job of the project
// [store.AllProjects] without arguments; a round that was missed because no node ran is made up for once.
type Periodic struct {
	Kind string
	// Every is the period. Rounds begin at its multiples in UTC: every 24 h is at midnight.
	Every       time.Duration
	MaxAttempts int // as in [Options]
	Priority    int // as in [Options]
}
