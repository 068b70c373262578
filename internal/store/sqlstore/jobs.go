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

// Jobs belong to no lump: a job that is enqueued as part of an evaluation must not wait until another transaction that has
// enqueued one has ended. Their rows are locked one by one, each statement decides on the row as it is then, and unique
// indices keep what must hold of several rows.

const jobColumns = "project_id, id, kind, unique_key, args, state, priority, attempt, max_attempts, done, total, error, cancel, " +
	"owner, lease_until, run_at, created_at, started_at, finished_at"

func scanJob(scan func(...any) error) (store.Job, error) {
	var j store.Job
	var lease, run, created int64
	var started, finished sql.NullInt64
	err := scan(&j.ProjectID, &j.ID, &j.Kind, &j.UniqueKey, &j.Args, &j.State, &j.Priority, &j.Attempt, &j.MaxAttempts, &j.Done, &j.Total,
		&j.Error, &j.Cancel, &j.Owner, &lease, &run, &created, &started, &finished)
	j.LeaseUntil, j.RunAt, j.CreatedAt = fromMicros(lease), fromMicros(run), fromMicros(created)
	j.StartedAt, j.FinishedAt = fromNullable(started), fromNullable(finished)
	return j, err
}

func (r *reader) jobList(ctx context.Context, query string, args ...any) ([]store.Job, error) {
	list := []store.Job{}
	err := r.each(ctx, "jobs", query, args, func(rows *sql.Rows) error {
		j, err := scanJob(rows.Scan)
		list = append(list, j)
		return err
	})
	return list, err
}

// Job implements store.JobReader.
func (r *reader) Job(ctx context.Context, projectID string, id int64) (store.Job, error) {
	j, err := scanJob(func(dest ...any) error {
		return r.row(ctx, "job", "SELECT "+jobColumns+" FROM jobs WHERE project_id = ? AND id = ?", []any{projectID, id}, dest...)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return j, noJob(id)
	}
	return j, err
}

func noJob(id int64) error { return rule.Errorf(rule.CodeNotFound, "there is no job %d", id) }

// FindJobs implements store.JobReader.
func (r *reader) FindJobs(ctx context.Context, f store.JobFilter) ([]store.Job, int, error) {
	where, args := " FROM jobs WHERE project_id = ?", []any{f.ProjectID}
	if f.Kind != "" {
		where, args = where+" AND kind = ?", append(args, f.Kind)
	}
	if f.State != "" {
		where, args = where+" AND state = ?", append(args, f.State)
	}
	var list []store.Job
	total := 0
	err := r.snapshot(ctx, func(r *reader) error {
		if err := r.row(ctx, "count jobs", "SELECT COUNT(*)"+where, args, &total); err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		var err error
		list, err = r.jobList(ctx, "SELECT "+jobColumns+where+" ORDER BY id DESC LIMIT ? OFFSET ?", append(args, max(f.Limit, 0), max(f.Offset, 0))...)
		return err
	})
	return list, total, err
}

// CountJobs implements store.JobReader.
func (r *reader) CountJobs(ctx context.Context) ([]store.JobCount, error) {
	list := []store.JobCount{}
	err := r.each(ctx, "count jobs", `SELECT kind, state, COUNT(*) FROM jobs WHERE state = 'queued' GROUP BY kind, state UNION ALL
		SELECT kind, state, COUNT(*) FROM jobs WHERE state = 'running' GROUP BY kind, state ORDER BY kind, state`, nil, func(rows *sql.Rows) error {
		var c store.JobCount
		err := rows.Scan(&c.Kind, &c.State, &c.Count)
		list = append(list, c)
		return err
	})
	return list, err
}

// NextJob implements store.JobReader.
func (r *reader) NextJob(ctx context.Context) (time.Time, bool, error) {
	// MIN over a union of single index entries: each part reads one.
	const next = `SELECT MIN(at) FROM (
		SELECT MIN(run_at) AS at FROM jobs WHERE state = 'queued' AND priority = 1 UNION ALL
		SELECT MIN(run_at) AS at FROM jobs WHERE state = 'queued' AND priority = 2 UNION ALL
		SELECT MIN(run_at) AS at FROM jobs WHERE state = 'queued' AND priority = 3 UNION ALL
		SELECT MIN(lease_until) AS at FROM jobs WHERE state = 'running') AS ends`
	var at sql.NullInt64
	err := r.row(ctx, "next job", next, nil, &at)
	return fromMicros(at.Int64), at.Valid, err
}

// WatchJobs implements store.Store.
func (s *Store) WatchJobs() (added <-chan struct{}, stop func()) { return s.added.watch() }

// watchers are told that something has happened.
type watchers struct {
	mu  sync.Mutex
	all map[chan struct{}]bool
}

func (w *watchers) watch() (told <-chan struct{}, stop func()) {
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

func (w *watchers) tell() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for ch := range w.all {
		select {
		case ch <- struct{}{}:
		default: // it has been told and has not looked yet
		}
	}
}
