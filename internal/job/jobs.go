package job

import (
	"context"
	"time"

	"tenet/internal/store"
)

// Jobs shows jobs to people and lets them retry and cancel.
type Jobs struct {
	store store.Store
	now   func() time.Time
}

// NewJobs makes Jobs on a store. now is the clock.
func NewJobs(s store.Store, now func() time.Time) *Jobs { return &Jobs{s, now} }

// List returns a page of jobs, newest first, and how many match.
func (b *Jobs) List(ctx context.Context, f store.JobFilter) ([]Job, int, error) {
	stored, total, err := b.store.FindJobs(ctx, f)
	list := make([]Job, len(stored))
	for i, j := range stored {
		list[i] = jobOf(j)
	}
	return list, total, err
}

// Get returns a job, or not_found.
func (b *Jobs) Get(ctx context.Context, projectID string, id int64) (Job, error) {
	j, err := b.store.Job(ctx, projectID, id)
	return jobOf(j), err
}

// Retry lets a failed or cancelled job begin anew, at once and with all its attempts; conflict if it is in another state or
// another job that does the same waits; not_found without it.
func (b *Jobs) Retry(ctx context.Context, projectID string, id int64) (Job, error) {
	return b.change(ctx, func(tx store.Tx) (store.Job, error) { return tx.RetryJob(ctx, projectID, id, b.now()) })
}

// Cancel ends a job. One that runs is interrupted within seconds, and is Cancelling until then. The error is conflict if it
// has ended already, not_found without it.
func (b *Jobs) Cancel(ctx context.Context, projectID string, id int64) (Job, error) {
	return b.change(ctx, func(tx store.Tx) (store.Job, error) { return tx.CancelJob(ctx, projectID, id, b.now()) })
}

func (b *Jobs) change(ctx context.Context, fn func(store.Tx) (store.Job, error)) (Job, error) {
	var j store.Job
	err := b.store.Update(ctx, func(tx store.Tx) (err error) {
		j, err = fn(tx)
		return err
	})
	return jobOf(j), err
}

// Count counts the jobs that are queued or running by kind and state.
func (b *Jobs) Count(ctx context.Context) ([]store.JobCount, error) { return b.store.CountJobs(ctx) }
