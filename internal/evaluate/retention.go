package evaluate

import (
	"context"
	"errors"
	"time"

	"tenet/internal/audit"
	"tenet/internal/job"
	"tenet/internal/store"
)

// PruneKind is the kind of the jobs that remove what is kept no longer; [Evaluator.Prune] makes their handler.
const PruneKind = "records.prune"

// PruneEvery is how often that is done.
const PruneEvery = time.Hour

// Retention is how long things are kept.
type Retention struct {
	Records     time.Duration // bodies of the records of evaluations; 0 means for ever
	Submissions time.Duration // submissions and idempotency keys; 0 means for ever
}

// dropBatch is how many submissions one transaction removes.
const dropBatch = 1000

// Prune gives the handler of the jobs that remove what is kept no longer, in all projects. One project's fault does not keep
// others from it.
func (e *Evaluator) Prune(keep Retention) job.Handler {
	return func(ctx context.Context, _ job.Job, progress func(done, total int)) error {
		projects, err := e.cfg.Records.Projects(ctx)
		if err != nil {
			return err
		}
		var errs []error
		for i, p := range projects {
			errs = append(errs, e.prune(ctx, p.ID, keep))
			progress(i+1, len(projects))
		}
		return errors.Join(errs...)
	}
}

func (e *Evaluator) prune(ctx context.Context, projectID string, keep Retention) error {
	now := e.cfg.Now()
	if keep.Records > 0 {
		if _, err := audit.Prune(ctx, e.cfg.Records, projectID, now.Add(-keep.Records), now); err != nil {
			return err
		}
	}
	for keep.Submissions > 0 {
		dropped := 0
		err := e.cfg.Records.Update(ctx, func(tx store.Tx) (err error) {
			dropped, err = tx.DropSubmissions(ctx, projectID, now.Add(-keep.Submissions), dropBatch)
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
