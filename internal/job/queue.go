package job

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"time"

	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

const (
	maxArgs            = 1 << 20 // bytes
	defaultMaxAttempts = 10
)

// NewQueue makes a queue. now is the clock.
func NewQueue(now func() time.Time) Queue { return queue{now} }

type queue struct{ now func() time.Time }

// Enqueue implements [Queue].
func (q queue) Enqueue(ctx context.Context, tx store.Tx, kind, projectID string, args any, o Options) (int64, error) {
	j, err := newJob(kind, projectID, args, o, q.now())
	if err != nil {
		return 0, err
	}
	return tx.Jobs.Insert(ctx, j)
}

func newJob(kind, projectID string, args any, o Options, now time.Time) (store.Job, error) {
	if kind == "" || projectID == "" {
		return store.Job{}, rule.Errorf(rule.CodeInternal, "a job needs a kind and a project; it has %q and %q", kind, projectID)
	}
	if args == nil {
		args = struct{}{}
	}
	data, err := json.Marshal(args)
	if err != nil {
		return store.Job{}, rule.Errorf(rule.CodeInternal, "encoding the arguments of a job %s: %w", kind, err)
	}
	if len(data) > maxArgs {
		return store.Job{}, rule.Errorf(rule.CodeTooLarge, "the arguments of a job %s have %d bytes; at most %d are kept", kind, len(data), maxArgs)
	}
	j := store.Job{
		ProjectID: projectID, Kind: kind, UniqueKey: o.UniqueKey, Args: data, State: Queued,
		Priority: min(o.Priority, Last), MaxAttempts: o.MaxAttempts, RunAt: o.RunAt, CreatedAt: now,
	}
	if j.Priority <= 0 {
		j.Priority = Normal
	}
	if j.MaxAttempts <= 0 {
		j.MaxAttempts = defaultMaxAttempts
	}
	if j.RunAt.IsZero() {
		j.RunAt = now
	}
	return j, nil
}

func decode(data []byte, args any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(args); err != nil {
		return rule.Errorf(rule.CodeInvalid, "the arguments of the job cannot be read: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

// jobOf is a stored job as callers see it.
func jobOf(j store.Job) wire.Job {
	return wire.Job{
		ID: j.ID, ProjectID: j.ProjectID, Kind: j.Kind, Args: j.Args, UniqueKey: j.UniqueKey, State: j.State, Priority: j.Priority,
		Attempt: j.Attempt, MaxAttempts: j.MaxAttempts, Progress: wire.Progress{Done: j.Done, Total: j.Total}, Error: j.Error,
		Cancelling: j.Cancel && j.State == Running, RunAt: j.RunAt, CreatedAt: j.CreatedAt, StartedAt: j.StartedAt, FinishedAt: j.FinishedAt,
	}
}
