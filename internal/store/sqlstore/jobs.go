package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"

	"tenet/internal/rule"
	"tenet/internal/store"
)

// Jobs belong to no lock domain: an evaluation that enqueues a job must not wait for another transaction that has enqueued
// one. Transactions lock their rows one by one, each statement decides on the current row, and unique indices check conditions
// on several rows.

const jobColumns = "project_id, id, kind, unique_key, args, state, priority, attempt, max_attempts, done, total, error, cancel, " +
	"owner, lease_until, run_at, created_at, started_at, finished_at"

func jobFields(j *store.Job) []any {
	return []any{
		&j.ProjectID, &j.ID, &j.Kind, &j.UniqueKey, &j.Args, &j.State, &j.Priority, &j.Attempt, &j.MaxAttempts, &j.Done, &j.Total,
		&j.Error, &j.Cancel, &j.Owner,
		timeColumn{&j.LeaseUntil},
		timeColumn{&j.RunAt},
		timeColumn{&j.CreatedAt},
		optionalTimeColumn{&j.StartedAt},
		optionalTimeColumn{&j.FinishedAt},
	}
}

func (t jobTable) jobList(ctx context.Context, query string, args ...any) ([]store.Job, error) {
	return many(ctx, t.session, unlocked, "jobs", query, args, jobFields)
}

// Get implements store.JobReader.
func (t jobTable) Get(ctx context.Context, projectID string, id int64) (store.Job, error) {
	j, err := one(ctx, t.session, unlocked, "job", "SELECT "+jobColumns+" FROM jobs WHERE project_id = ? AND id = ?", []any{projectID, id}, jobFields)
	if errors.Is(err, sql.ErrNoRows) {
		return j, noJob(id)
	}
	return j, err
}

func noJob(id int64) error { return rule.Errorf(rule.CodeNotFound, "there is no job %d", id) }

// Find implements store.JobReader.
func (t jobTable) Find(ctx context.Context, f store.JobFilter) ([]store.Job, int, error) {
	where, of := "FROM jobs WHERE project_id = ?", []any{f.ProjectID}
	if f.Every {
		where, of = "FROM jobs WHERE 1 = 1", nil
	}
	from, args := equal(where, of, "kind", f.Kind, "state", f.State)
	return page(ctx, t.session, unlocked, "jobs", jobColumns, from, "id DESC", args, window{f.Offset, f.Limit}, jobFields)
}

// Count implements store.JobReader.
func (t jobTable) Count(ctx context.Context) ([]store.JobCount, error) {
	return many(ctx, t.session, unlocked, "count jobs", `SELECT kind, state, COUNT(*) FROM jobs WHERE state = 'queued' GROUP BY kind, state UNION ALL
		SELECT kind, state, COUNT(*) FROM jobs WHERE state = 'running' GROUP BY kind, state UNION ALL
		SELECT kind, state, COUNT(*) FROM jobs WHERE state = 'failed' GROUP BY kind, state ORDER BY kind, state`, nil,
		func(c *store.JobCount) []any { return []any{&c.Kind, &c.State, &c.Count} })
}

// Next implements store.JobReader.
func (t jobTable) Next(ctx context.Context) (time.Time, bool, error) {
	// MIN over a union of single index entries: each part reads one.
	const next = `SELECT MIN(at) FROM (
		SELECT MIN(run_at) AS at FROM jobs WHERE state = 'queued' AND priority = 1 UNION ALL
		SELECT MIN(run_at) AS at FROM jobs WHERE state = 'queued' AND priority = 2 UNION ALL
		SELECT MIN(run_at) AS at FROM jobs WHERE state = 'queued' AND priority = 3 UNION ALL
		SELECT MIN(lease_until) AS at FROM jobs WHERE state = 'running') AS ends`
	var at sql.NullInt64
	err := t.row(ctx, "next job", next, nil, &at)
	return fromMicros(at.Int64), at.Valid, err
}

// WatchJobs implements store.Database.
func (s *database) WatchJobs() (added <-chan struct{}, stop func()) { return s.added.watch() }

// watchers are the channels that receive a value when something has happened.
type watchers struct {
	mu  sync.Mutex
	all map[chan struct{}]bool
}

func (w *watchers) watch() (notified <-chan struct{}, stop func()) {
	ch := make(chan struct{}, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all == nil {
		w.all = map[chan struct{}]bool{}
	}
	w.all[ch] = true
	return ch, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.all, ch)
	}
}

func (w *watchers) notify() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for ch := range w.all {
		select {
		case ch <- struct{}{}:
		default: // a value waits already
		}
	}
}
