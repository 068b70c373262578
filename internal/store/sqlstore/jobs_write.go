package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"tenet/internal/rule"
	"tenet/internal/store"
)

// Insert implements store.JobTx.
func (t jobTable) Insert(ctx context.Context, j store.Job) (int64, error) {
	const insert = `INSERT INTO jobs (project_id, kind, unique_key, args, state, priority, attempt, max_attempts, done, total, error,
			cancel, owner, lease_until, run_at, created_at)
		VALUES (?, ?, ?, ?, 'queued', ?, 0, ?, 0, 0, '', FALSE, '', 0, ?, ?)
		ON CONFLICT (project_id, kind, unique_key) WHERE unique_key <> '' AND state = 'queued'
		DO UPDATE SET run_at = CASE WHEN excluded.run_at < jobs.run_at THEN excluded.run_at ELSE jobs.run_at END,
			priority = CASE WHEN excluded.priority < jobs.priority THEN excluded.priority ELSE jobs.priority END
		RETURNING id`
	var id int64
	err := t.row(ctx, "insert job", insert, []any{
		j.ProjectID, j.Kind, j.UniqueKey, string(j.Args), j.Priority, j.MaxAttempts, micros(j.RunAt), micros(j.CreatedAt),
	}, &id)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, rule.Errorf(rule.CodeInvalid, "text must be valid UTF-8 without NUL characters")
	}
	t.state.jobs = true
	return id, err
}

// ofAttempt returns the condition that a job runs with the same owner and attempt, with its arguments.
const ofAttempt = " WHERE project_id = ? AND id = ? AND state = 'running' AND owner = ? AND attempt = ?"

func attemptOf(j *store.Job) []any { return []any{j.ProjectID, j.ID, j.Owner, j.Attempt} }

// Renew implements store.JobTx.
func (t jobTable) Renew(ctx context.Context, lease time.Time, jobs []store.Job) ([]store.Job, error) {
	var had []store.Job
	for _, j := range jobs {
		err := t.row(ctx, "renew job", "UPDATE jobs SET lease_until = ?, done = ?, total = ?"+ofAttempt+" RETURNING cancel",
			append([]any{micros(lease), j.Done, j.Total}, attemptOf(&j)...), &j.Cancel)
		if errors.Is(err, sql.ErrNoRows) {
			continue
		}
		if err != nil {
			return nil, err
		}
		had = append(had, j)
	}
	return had, nil
}

// Finish implements store.JobTx.
func (t jobTable) Finish(ctx context.Context, jobs []store.Job) error {
	for i := range jobs {
		if err := t.finishJob(ctx, jobs[i]); err != nil {
			return err
		}
	}
	return nil
}

func (t jobTable) finishJob(ctx context.Context, j store.Job) error {
	if j.State == store.JobQueued {
		if err := t.mayWait(ctx, &j); err != nil {
			return err
		}
	}
	_, err := t.exec(ctx, "finish job", `UPDATE jobs SET state = ?, run_at = ?, max_attempts = ?, error = ?, done = ?, total = ?,
			finished_at = ?, cancel = FALSE, owner = '', lease_until = 0`+ofAttempt,
		append([]any{j.State, micros(j.RunAt), j.MaxAttempts, j.Error, j.Done, j.Total, nullable(j.FinishedAt)}, attemptOf(&j)...)...)
	if t.d.duplicate(err) && t.state.retry == nil {
		t.state.retry = err // another of its key has been queued since mayWait: the next try sees it
	}
	return err
}

// mayWait makes a job that must not be queued again a cancelled one.
func (t jobTable) mayWait(ctx context.Context, j *store.Job) error {
	var cancel, twin bool
	err := t.row(ctx, "job to queue again", `SELECT cancel, unique_key <> '' AND EXISTS (SELECT 1 FROM jobs AS other
			WHERE other.project_id = jobs.project_id AND other.kind = jobs.kind AND other.unique_key = jobs.unique_key
			AND other.unique_key <> '' AND other.state = 'queued') FROM jobs`+ofAttempt, attemptOf(j), &cancel, &twin)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if cancel || twin {
		at := j.RunAt
		j.State, j.FinishedAt = store.JobCancelled, &at
	}
	return nil
}

// ListExpired implements store.JobTx.
func (t jobTable) ListExpired(ctx context.Context, now time.Time, limit int) ([]store.Job, error) {
	const expired = "jobs AS j WHERE state = 'running' AND lease_until < ?"
	if t.state.spread {
		return t.expiredSpread(ctx, expired, micros(now), limit)
	}
	return t.jobList(ctx, "SELECT "+jobColumns+" FROM "+expired+" ORDER BY lease_until LIMIT ?"+t.d.skipLocked, micros(now), limit)
}

// Retry implements store.JobTx.
func (t jobTable) Retry(ctx context.Context, projectID string, id int64, now time.Time) (store.Job, error) {
	const retry = `UPDATE jobs SET state = 'queued', attempt = 0, done = 0, total = 0, error = '', run_at = ?, started_at = NULL, finished_at = NULL
		WHERE project_id = ? AND id = ? AND state IN ('failed', 'cancelled') AND NOT EXISTS (SELECT 1 FROM jobs AS other
			WHERE other.project_id = jobs.project_id AND other.kind = jobs.kind AND other.unique_key = jobs.unique_key
			AND other.unique_key <> '' AND other.state = 'queued')
		RETURNING ` + jobColumns
	t.state.jobs = true
	return t.changeJob(ctx, "retry job", retry, projectID, id, now, func(j store.Job) error {
		if j.State == store.JobFailed || j.State == store.JobCancelled {
			return rule.Errorf(rule.CodeConflict, "another job that does the same as job %d waits already", id)
		}
		return rule.Errorf(rule.CodeConflict, "job %d is %s; only failed and cancelled jobs can be retried", id, j.State)
	})
}

// Cancel implements store.JobTx.
func (t jobTable) Cancel(ctx context.Context, projectID string, id int64, now time.Time) (store.Job, error) {
	const cancel = `UPDATE jobs SET cancel = state = 'running', finished_at = CASE WHEN state = 'queued' THEN CAST(? AS BIGINT) END,
			state = CASE WHEN state = 'queued' THEN 'cancelled' ELSE state END
		WHERE project_id = ? AND id = ? AND state IN ('queued', 'running') RETURNING ` + jobColumns
	return t.changeJob(ctx, "cancel job", cancel, projectID, id, now, func(j store.Job) error {
		return rule.Errorf(rule.CodeConflict, "job %d has ended already: it is %s", id, j.State)
	})
}

// changeJob runs a statement on one job; refused returns the error for a job that the statement has not touched.
func (t jobTable) changeJob(ctx context.Context, doing, query, projectID string, id int64, now time.Time, refused func(store.Job) error) (store.Job, error) {
	j, err := one(ctx, t.session, unlocked, doing, query, []any{micros(now), projectID, id}, jobFields)
	if !errors.Is(err, sql.ErrNoRows) {
		if t.d.duplicate(err) && t.state.retry == nil {
			t.state.retry = err
		}
		return j, err
	}
	if j, err = t.Get(ctx, projectID, id); err != nil {
		return j, err
	}
	return store.Job{}, refused(j)
}

// DeleteOld implements store.JobTx.
func (t jobTable) DeleteOld(ctx context.Context, before time.Time, limit int) (int, error) {
	n, err := t.exec(ctx, "delete jobs", `DELETE FROM jobs WHERE id IN (SELECT id FROM jobs
			WHERE state IN ('succeeded', 'failed', 'cancelled') AND finished_at < ? ORDER BY finished_at LIMIT ?)`, micros(before), limit)
	return int(n), err
}

// TakeRound implements store.JobTx.
func (t jobTable) TakeRound(ctx context.Context, kind string, round time.Time) (bool, error) {
	n, err := t.exec(ctx, "take round", `INSERT INTO job_rounds (project_id, kind, begun_at) VALUES (?, ?, ?)
		ON CONFLICT (project_id, kind) DO UPDATE SET begun_at = excluded.begun_at WHERE job_rounds.begun_at < excluded.begun_at`,
		store.AllProjects, kind, micros(round))
	if err != nil {
		return false, fmt.Errorf("round of %s: %w", kind, err)
	}
	return n > 0, nil
}
