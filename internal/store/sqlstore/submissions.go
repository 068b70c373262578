package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"tenet/internal/rule"
	"tenet/internal/store"
)

const submissionColumns = "project_id, id, idempotency_key, body_hash, kind, evaluation_id, actor, request, failure, owner, " +
	"lease_until, created_at, finished_at"

func scanSubmission(scan func(...any) error) (store.Submission, error) {
	var s store.Submission
	var lease, created int64
	var finished sql.NullInt64
	err := scan(&s.ProjectID, &s.ID, &s.Key, &s.BodyHash, &s.Kind, &s.EvaluationID, &s.Actor, &s.Request, &s.Failure, &s.Owner,
		&lease, &created, &finished)
	s.LeaseUntil, s.CreatedAt, s.FinishedAt = fromMicros(lease), fromMicros(created), fromNullable(finished)
	return s, err
}

// Submission implements store.SubmissionReader.
func (r *reader) Submission(ctx context.Context, projectID, id string) (store.Submission, error) {
	s, err := r.submission(ctx, projectID, "id", id)
	return s, missing(err, "submission", id)
}

// SubmissionByKey implements store.SubmissionReader.
func (r *reader) SubmissionByKey(ctx context.Context, projectID, key string) (store.Submission, error) {
	if key == "" {
		return store.Submission{}, rule.NotFound("idempotency key", key)
	}
	s, err := r.submission(ctx, projectID, "idempotency_key <> '' AND idempotency_key", key)
	return s, missing(err, "idempotency key", key)
}

func (r *reader) submission(ctx context.Context, projectID, column, value string) (store.Submission, error) {
	if err := r.hold(ctx, submissionsOf(projectID)); err != nil {
		return store.Submission{}, err
	}
	return scanSubmission(func(dest ...any) error {
		return r.row(ctx, "submission", "SELECT "+submissionColumns+" FROM submissions WHERE project_id = ? AND "+column+" = ?",
			[]any{projectID, value}, dest...)
	})
}

// InsertSubmission implements store.SubmissionTx.
func (t *tx) InsertSubmission(ctx context.Context, s store.Submission) error {
	if err := t.hold(ctx, submissionsOf(s.ProjectID)); err != nil {
		return err
	}
	n, err := t.exec(ctx, "insert submission",
		"INSERT INTO submissions ("+submissionColumns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
		s.ProjectID, s.ID, s.Key, s.BodyHash, s.Kind, s.EvaluationID, s.Actor, blob(s.Request), s.Failure, s.Owner,
		micros(s.LeaseUntil), micros(s.CreatedAt), nullable(s.FinishedAt))
	if err == nil && n == 0 {
		return rule.Errorf(rule.CodeConflict, "there is a submission with this id or key already; use another one")
	}
	return err
}

// blob is bytes for a column that cannot be null.
func blob(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// LeaseSubmission implements store.SubmissionTx.
func (t *tx) LeaseSubmission(ctx context.Context, projectID, id, owner string, now, until time.Time) (bool, error) {
	if err := t.hold(ctx, submissionsOf(projectID)); err != nil {
		return false, err
	}
	n, err := t.exec(ctx, "lease submission",
		"UPDATE submissions SET owner = ?, lease_until = ? WHERE project_id = ? AND id = ? AND finished_at IS NULL AND (owner = ? OR lease_until <= ?)",
		owner, micros(until), projectID, id, owner, micros(now))
	return n > 0, err
}

// FinishSubmission implements store.SubmissionTx.
func (t *tx) FinishSubmission(ctx context.Context, projectID, id, failure string, at time.Time) error {
	if err := t.hold(ctx, submissionsOf(projectID)); err != nil {
		return err
	}
	n, err := t.exec(ctx, "finish submission",
		"UPDATE submissions SET failure = ?, finished_at = ?, request = ? WHERE project_id = ? AND id = ? AND finished_at IS NULL",
		failure, micros(at), []byte{}, projectID, id)
	if err != nil || n > 0 {
		return err
	}
	_, err = t.Submission(ctx, projectID, id)
	return err
}

// DeleteSubmission implements store.SubmissionTx.
func (t *tx) DeleteSubmission(ctx context.Context, projectID, id, owner string) error {
	if err := t.hold(ctx, submissionsOf(projectID)); err != nil {
		return err
	}
	_, err := t.exec(ctx, "delete submission", "DELETE FROM submissions WHERE project_id = ? AND id = ? AND owner = ?", projectID, id, owner)
	return err
}

// DropSubmissions implements store.SubmissionTx.
func (t *tx) DropSubmissions(ctx context.Context, projectID string, before time.Time, limit int) (int, error) {
	if err := t.hold(ctx, submissionsOf(projectID)); err != nil {
		return 0, err
	}
	n, err := t.exec(ctx, "drop submissions",
		"DELETE FROM submissions WHERE project_id = ? AND id IN (SELECT id FROM submissions WHERE project_id = ? AND created_at < ?"+
			" AND (finished_at IS NOT NULL OR (lease_until < ? AND (length(request) = 0 OR NOT EXISTS (SELECT 1 FROM jobs"+
			" WHERE jobs.project_id = submissions.project_id AND submissions.owner = ? || jobs.id AND jobs.state IN (?, ?)))))"+
			" ORDER BY created_at LIMIT ?)",
		projectID, projectID, micros(before), micros(before), store.JobOwner, store.JobQueued, store.JobRunning, max(limit, 0))
	return int(n), err
}

// DropBodies implements store.RetentionTx.
func (t *tx) DropBodies(ctx context.Context, projectID, kind string, after, through int64, limit int) (int64, int, error) {
	if err := t.hold(ctx, chainOf(projectID)); err != nil {
		return after, 0, err
	}
	var last sql.NullInt64
	err := t.row(ctx, "next bodies to drop",
		"SELECT MAX(seq) FROM (SELECT seq FROM audit_entries WHERE project_id = ? AND kind = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?) AS next",
		[]any{projectID, kind, after, through, max(limit, 0)}, &last)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return after, 0, err
	}
	if !last.Valid {
		return through, 0, nil
	}
	n, err := t.exec(ctx, "drop bodies",
		"UPDATE audit_entries SET body = ? WHERE project_id = ? AND kind = ? AND seq > ? AND seq <= ? AND length(body) > 0",
		[]byte{}, projectID, kind, after, last.Int64)
	return last.Int64, int(n), err
}
