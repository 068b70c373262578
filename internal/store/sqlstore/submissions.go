package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"time"

	"tenet/internal/rule"
	"tenet/internal/store"
)

const submissionColumns = "project_id, id, idempotency_key, body_hash, kind, evaluation_id, actor, request, failure, owner, " +
	"lease_until, created_at, finished_at"

func submissionFields(s *store.Submission) []any {
	return []any{
		&s.ProjectID, &s.ID, &s.Key, &s.BodyHash, &s.Kind, &s.EvaluationID, &s.Actor, &s.Request, &s.Failure, &s.Owner,
		timeColumn{&s.LeaseUntil},
		timeColumn{&s.CreatedAt},
		optionalTimeColumn{&s.FinishedAt},
	}
}

// Get implements store.SubmissionReader.
func (t submissionTable) Get(ctx context.Context, projectID, id string) (store.Submission, error) {
	s, err := t.submission(ctx, projectID, "id", id)
	return s, notFound(err, "submission", id)
}

// GetByKey implements store.SubmissionReader.
func (t submissionTable) GetByKey(ctx context.Context, projectID, key string) (store.Submission, error) {
	if key == "" {
		return store.Submission{}, rule.NotFound("idempotency key", key)
	}
	s, err := t.submission(ctx, projectID, "idempotency_key <> '' AND idempotency_key", key)
	return s, notFound(err, "idempotency key", key)
}

func (t submissionTable) submission(ctx context.Context, projectID, column, value string) (store.Submission, error) {
	return one(ctx, t.session, submissionsOf(projectID), "submission", "SELECT "+submissionColumns+" FROM submissions WHERE project_id = ? AND "+column+" = ?",
		[]any{projectID, value}, submissionFields)
}

// Insert implements store.SubmissionTx.
func (t submissionTable) Insert(ctx context.Context, s store.Submission) error {
	n, err := t.lockedExec(ctx, submissionsOf(s.ProjectID), "insert submission",
		"INSERT INTO submissions ("+submissionColumns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
		s.ProjectID, s.ID, s.Key, s.BodyHash, s.Kind, s.EvaluationID, s.Actor, blob(s.Request), s.Failure, s.Owner,
		micros(s.LeaseUntil), micros(s.CreatedAt), nullable(s.FinishedAt))
	return unlessNone(n, err, rule.Errorf(rule.CodeConflict, "there is a submission with this id or key already; use another one"))
}

// blob returns bytes for a column that cannot be null.
func blob(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// Lease implements store.SubmissionTx.
func (t submissionTable) Lease(ctx context.Context, projectID, id, owner string, now, until time.Time) (bool, error) {
	n, err := t.lockedExec(ctx, submissionsOf(projectID), "lease submission",
		"UPDATE submissions SET owner = ?, lease_until = ? WHERE project_id = ? AND id = ? AND finished_at IS NULL AND (owner = ? OR lease_until <= ?)",
		owner, micros(until), projectID, id, owner, micros(now))
	return n > 0, err
}

// Finish implements store.SubmissionTx.
func (t submissionTable) Finish(ctx context.Context, projectID, id, failure string, at time.Time) error {
	n, err := t.lockedExec(ctx, submissionsOf(projectID), "finish submission",
		"UPDATE submissions SET failure = ?, finished_at = ?, request = ? WHERE project_id = ? AND id = ? AND finished_at IS NULL",
		failure, micros(at), []byte{}, projectID, id)
	if err != nil || n > 0 {
		return err
	}
	_, err = t.Get(ctx, projectID, id)
	return err
}

// Delete implements store.SubmissionTx.
func (t submissionTable) Delete(ctx context.Context, projectID, id, owner string) error {
	_, err := t.lockedExec(ctx, submissionsOf(projectID), "delete submission", "DELETE FROM submissions WHERE project_id = ? AND id = ? AND owner = ?", projectID, id, owner)
	return err
}

// DeleteOld implements store.SubmissionTx.
func (t submissionTable) DeleteOld(ctx context.Context, projectID string, before time.Time, limit int) (int, error) {
	n, err := t.lockedExec(ctx, submissionsOf(projectID), "drop submissions",
		"DELETE FROM submissions WHERE project_id = ? AND id IN (SELECT id FROM submissions WHERE project_id = ? AND created_at < ?"+
			" AND (finished_at IS NOT NULL OR (lease_until < ? AND (length(request) = 0 OR NOT EXISTS (SELECT 1 FROM jobs"+
			" WHERE jobs.project_id = submissions.project_id AND submissions.owner = ? || jobs.id AND jobs.state IN (?, ?)))))"+
			" ORDER BY created_at"+t.d.limit+")",
		projectID, projectID, micros(before), micros(before), store.JobOwner, store.JobQueued, store.JobRunning, max(limit, 0))
	return int(n), err
}

// DropBodies implements store.AuditTx.
func (t auditTable) DropBodies(ctx context.Context, projectID, kind string, after, through int64, limit int, except []int64) (int64, int, error) {
	if err := t.lock(ctx, chainOf(projectID)); err != nil {
		return after, 0, err
	}
	done, dropped, err := bodies{"audit_entries", "project_id = ? AND kind = ?", []any{projectID, kind}}.drop(ctx, t.session, after, through, limit, except)
	if err != nil {
		return after, 0, err
	}
	if t.d.parts != nil && kind == store.KindApart {
		n, err := t.dropApart(ctx, projectID, after, done, except)
		if err != nil {
			return after, 0, err
		}
		dropped += n
	}
	if dropped > 0 || done == through {
		return done, dropped, nil
	}
	// Where all was removed before, the next bodies may be far away.
	ahead := min(through, done+lookAhead)
	next, err := t.nextBody(ctx, projectID, kind, done, ahead)
	if err != nil {
		return after, 0, err
	}
	if next > 0 {
		return next - 1, 0, nil
	}
	return ahead, 0, nil
}

// bodies are those of the entries of a table that meet a condition.
type bodies struct {
	table, where string
	args         []any
}

// drop empties the bodies with after < seq <= through, lowest first, up to limit, except some.
func (b bodies) drop(ctx context.Context, s *session, after, through int64, limit int, except []int64) (int64, int, error) {
	var last sql.NullInt64
	err := s.row(ctx, "next bodies to drop",
		"SELECT MAX(seq) FROM (SELECT seq FROM "+b.table+" WHERE "+b.where+" AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?) AS next",
		append(slices.Clone(b.args), after, through, max(limit, 0)), &last)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return after, 0, err
	}
	if !last.Valid {
		return through, 0, nil
	}
	where, args := "", append([]any{[]byte{}}, b.args...)
	args = append(args, after, last.Int64)
	if len(except) > 0 {
		where = " AND seq NOT IN (" + strings.Repeat("?, ", len(except)-1) + "?)"
		for _, seq := range except {
			args = append(args, seq)
		}
	}
	n, err := s.exec(ctx, "drop bodies", "UPDATE "+b.table+" SET body = ? WHERE "+b.where+" AND seq > ? AND seq <= ? AND length(body) > 0"+where, args...)
	return last.Int64, int(n), err
}
