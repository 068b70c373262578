package job

import (
	"context"
	"time"

	"tenet/internal/store"
	"tenet/internal/wire"
)

// Jobs lists jobs for people and lets them retry and cancel.
type Jobs struct {
	store store.Updater
	jobs  store.JobReader
	now   func() time.Time
}

// NewJobs makes Jobs on a store. now is the clock.
func NewJobs(s store.Updater, jobs store.JobReader, now func() time.Time) *Jobs {
	return &Jobs{s, jobs, now}
}

// List returns a page of jobs, newest first, and how many match.
func (b *Jobs) List(ctx context.Context, f store.JobFilter) ([]wire.Job, int, error) {
	stored, total, err := b.jobs.Find(ctx, f)
	list := make([]wire.Job, len(stored))
	for i, j := range stored {
		list[i] = jobOf(j)
	}
	return list, total, err
}

// Get returns a job, or not_found.
func (b *Jobs) Get(ctx context.Context, projectID string, id int64) (wire.Job, error) {
	j, err := b.jobs.Get(ctx, projectID, id)
	return jobOf(j), err
}

// Retry makes a failed or cancelled job start again, at once and with all its attempts. The error is conflict if it is in another
// state or another job that does the same waits, not_found without it.
func (b *Jobs) Retry(ctx context.Context, projectID string, id int64) (wire.Job, error) {
	return b.change(ctx, func(tx store.Tx) (store.Job, error) { return tx.Jobs.Retry(ctx, projectID, id, b.now()) })
}

// Cancel ends a job. One that runs is interrupted within seconds, and is Cancelling until then. The error is conflict if it
// has ended already, not_found without it.
func (b *Jobs) Cancel(ctx context.Context, projectID string, id int64) (wire.Job, error) {
	return b.change(ctx, func(tx store.Tx) (store.Job, error) { return tx.Jobs.Cancel(ctx, projectID, id, b.now()) })
}

func (b *Jobs) change(ctx context.Context, fn func(store.Tx) (store.Job, error)) (wire.Job, error) {
	var j store.Job
	err := b.store.Update(ctx, func(tx store.Tx) (err error) {
		j, err = fn(tx)
		return err
	})
	return jobOf(j), err
}

// Count counts the jobs that are queued or running by kind and state.
func (b *Jobs) Count(ctx context.Context) ([]store.JobCount, error) { return b.jobs.Count(ctx) }
