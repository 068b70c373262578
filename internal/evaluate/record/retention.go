package record

import (
	"context"
	"errors"
	"time"

	"tenet/internal/audit"
	"tenet/internal/job"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// PruneKind is the kind of the jobs that remove records after their retention; [Archive.Prune] makes their handler.
const PruneKind = "records.prune"

// PruneEvery is how often the jobs run.
const PruneEvery = time.Hour

// Retention is how long records and submissions are kept.
type Retention struct {
	Records     time.Duration // bodies of the records of evaluations; 0 means without limit
	Submissions time.Duration // submissions and idempotency keys; 0 means without limit
}

// dropBatch is how many submissions one transaction removes.
const dropBatch = 1000

// Prune returns the handler of the jobs that remove records and submissions after their retention, in all projects. A fault in
// one project does not stop the others.
func (a *Archive) Prune(keep Retention) job.Handler {
	return func(ctx context.Context, _ wire.Job, progress func(done, total int)) error {
		projects, err := a.store.Projects.List(ctx)
		if err != nil {
			return err
		}
		var errs []error
		for i, p := range projects {
			errs = append(errs, a.prune(ctx, p.ID, keep))
			progress(i+1, len(projects))
		}
		return errors.Join(errs...)
	}
}

func (a *Archive) prune(ctx context.Context, projectID string, keep Retention) error {
	now := a.now()
	if keep.Records > 0 {
		if _, err := audit.Prune(ctx, a.store, a.store.Audit, projectID, now.Add(-keep.Records), now); err != nil {
			return err
		}
	}
	if err := a.index.Forget(ctx, projectID); err != nil {
		return err
	}
	for keep.Submissions > 0 {
		dropped := 0
		err := a.store.Update(ctx, func(tx store.Tx) (err error) {
			dropped, err = tx.Submissions.DeleteOld(ctx, projectID, now.Add(-keep.Submissions), dropBatch)
			return err
		})
		if err != nil {
			return err
		}
		if dropped < dropBatch {
			break
		}
	}
	return nil
}
