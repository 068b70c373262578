package job

import (
	"context"
	"encoding/json"
	"time"

	"tenet/internal/audit"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// keepRuns is how long the results of runs are kept.
const keepRuns = 90 * 24 * time.Hour

// RunStore is the part of the database that [Runs] uses.
type RunStore struct {
	store.Updater
	Runs store.RunReader
	Jobs store.JobReader
}

// Runs carries out work of one kind whose result callers fetch later. Q is the request, R the result; both are stored as JSON.
type Runs[Q, R any] struct {
	// Kind is the kind of the jobs, and Name what people call a run.
	Kind, Name string
	Store      RunStore
	Queue      Queue
	Now        func() time.Time
	// Do does the work. What it returns is kept; its errors, and the progress, are those of a [Handler].
	Do func(ctx context.Context, projectID string, q Q, progress func(done, total int)) (R, error)
}

// Run is a run as far as it has come.
type Run[Q, R any] struct {
	ID         string
	JobID      int64
	State      string        // state of the job
	Progress   wire.Progress // while it has not finished; the result has the rest
	Request    Q
	CreatedAt  time.Time
	CreatedBy  string
	FinishedAt *time.Time
	Error      string
	Result     *R // once it has finished
}

// runArgs are the arguments of the jobs.
type runArgs struct {
	RunID string `json:"run_id"`
}

// Start asks for a run on behalf of an actor; not_found without the project.
func (r *Runs[Q, R]) Start(ctx context.Context, projectID, actor string, q Q) (Run[Q, R], error) {
	request, err := json.Marshal(q)
	if err != nil {
		return Run[Q, R]{}, err
	}
	run := store.Run{
		ProjectID: projectID, ID: audit.NewID(), Kind: r.Kind, Request: request, CreatedAt: rule.Instant(r.Now()), CreatedBy: actor,
	}
	err = r.Store.Update(ctx, func(tx store.Tx) (err error) {
		if _, err := tx.Projects.Get(ctx, projectID); err != nil {
			return err
		}
		if run.JobID, err = r.Queue.Enqueue(ctx, tx, r.Kind, projectID, runArgs{run.ID}, Options{MaxAttempts: 3}); err != nil {
			return err
		}
		return tx.Runs.Insert(ctx, run)
	})
	return Run[Q, R]{ID: run.ID, JobID: run.JobID, State: Queued, Request: q, CreatedAt: run.CreatedAt, CreatedBy: actor}, err
}

// Get returns a run as far as it has come, or not_found.
func (r *Runs[Q, R]) Get(ctx context.Context, projectID, id string) (Run[Q, R], error) {
	run := Run[Q, R]{ID: id}
	if !rule.IsID(id) {
		return run, rule.NotFound(r.Name, id)
	}
	stored, err := r.Store.Runs.Get(ctx, projectID, r.Kind, id)
	if rule.CodeOf(err) == rule.CodeNotFound {
		return run, rule.NotFound(r.Name, id)
	}
	if err != nil {
		return run, err
	}
	return r.read(ctx, stored)
}

// Find returns a page of the runs of the kind, newest first, whose requests mention all the ids, and how many there are.
func (r *Runs[Q, R]) Find(ctx context.Context, projectID string, mentions []string, offset, limit int) ([]Run[Q, R], int, error) {
	found, total, err := r.Store.Runs.Find(ctx, store.RunFilter{ProjectID: projectID, Kind: r.Kind, Mentions: mentions, Offset: offset, Limit: limit})
	out := make([]Run[Q, R], len(found))
	for i := range found {
		if out[i], err = r.read(ctx, found[i]); err != nil {
			return nil, 0, err
		}
	}
	return out, total, err
}

// read returns a stored run with the state of its job.
func (r *Runs[Q, R]) read(ctx context.Context, stored store.Run) (Run[Q, R], error) {
	run, projectID, id := Run[Q, R]{ID: stored.ID}, stored.ProjectID, stored.ID
	var err error
	var j store.Job
	if stored.FinishedAt == nil {
		if j, err = r.Store.Jobs.Get(ctx, projectID, stored.JobID); err == nil && j.State == Succeeded {
			stored, err = r.Store.Runs.Get(ctx, projectID, r.Kind, id) // it has finished since the run was read
		}
		switch {
		case rule.CodeOf(err) == rule.CodeNotFound: // it ended long ago, without a result
			j.State = Failed
		case err != nil:
			return run, err
		}
	}
	run.JobID, run.CreatedAt, run.CreatedBy, run.FinishedAt = stored.JobID, stored.CreatedAt, stored.CreatedBy, stored.FinishedAt
	if err := json.Unmarshal(stored.Request, &run.Request); err != nil {
		return run, err
	}
	run.State, run.Error, run.Progress = j.State, j.Error, wire.Progress{Done: j.Done, Total: j.Total}
	if stored.FinishedAt != nil {
		run.State = Succeeded
		return run, json.Unmarshal(stored.Result, &run.Result)
	}
	return run, nil
}

// Handle is the handler of the jobs.
func (r *Runs[Q, R]) Handle(ctx context.Context, j wire.Job, progress func(done, total int)) error {
	var args runArgs
	if err := DecodeArgs(&j, &args); err != nil {
		return err
	}
	stored, err := r.Store.Runs.Get(ctx, j.ProjectID, r.Kind, args.RunID)
	if err != nil || stored.FinishedAt != nil {
		return err
	}
	var q Q
	if err := json.Unmarshal(stored.Request, &q); err != nil {
		return rule.Errorf(rule.CodeInvalid, "what the run was asked cannot be read: %w", err)
	}
	result, err := r.Do(ctx, j.ProjectID, q, progress)
	if err != nil {
		return err
	}
	data, err := json.Marshal(result)
	if err != nil {
		return err
	}
	return r.Store.Update(ctx, func(tx store.Tx) error { return tx.Runs.Finish(ctx, j.ProjectID, args.RunID, data, r.Now()) })
}
