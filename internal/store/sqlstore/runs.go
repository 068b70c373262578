package sqlstore

import (
	"context"
	"database/sql"
	"time"

	"tenet/internal/rule"
	"tenet/internal/store"
)

// Run implements store.RunReader.
func (r *reader) Run(ctx context.Context, projectID, kind, id string) (store.Run, error) {
	run := store.Run{ProjectID: projectID, ID: id, Kind: kind}
	var created int64
	var finished sql.NullInt64
	err := r.row(ctx, "run", "SELECT job_id, request, created_at, created_by, result, finished_at FROM runs WHERE project_id = ? AND id = ? AND kind = ?",
		[]any{projectID, id, kind}, &run.JobID, &run.Request, &created, &run.CreatedBy, &run.Result, &finished)
	run.CreatedAt, run.FinishedAt = fromMicros(created), fromNullable(finished)
	return run, missing(err, "run", id)
}

// InsertRun implements store.RunTx.
func (t *tx) InsertRun(ctx context.Context, r store.Run) error {
	n, err := t.exec(ctx, "insert run", `INSERT INTO runs (project_id, id, kind, job_id, request, created_at, created_by, result)
			VALUES (?, ?, ?, ?, ?, ?, ?, '') ON CONFLICT DO NOTHING`,
		r.ProjectID, r.ID, r.Kind, r.JobID, string(r.Request), micros(r.CreatedAt), r.CreatedBy)
	if err == nil && n == 0 {
		return rule.Errorf(rule.CodeConflict, "a run with this id exists already; give it a new one")
	}
	return err
}

// FinishRun implements store.RunTx.
func (t *tx) FinishRun(ctx context.Context, projectID, id string, result []byte, at time.Time) error {
	n, err := t.exec(ctx, "finish run", "UPDATE runs SET result = ?, finished_at = ? WHERE project_id = ? AND id = ?",
		string(result), micros(at), projectID, id)
	if err == nil && n == 0 {
		return rule.NotFound("run", id)
	}
	return err
}

// DeleteRuns implements store.RunTx.
func (t *tx) DeleteRuns(ctx context.Context, before time.Time, limit int) (int, error) {
	n, err := t.exec(ctx, "delete runs", `DELETE FROM runs WHERE (project_id, id) IN
			(SELECT project_id, id FROM runs WHERE created_at < ? ORDER BY created_at LIMIT ?)`, micros(before), limit)
	return int(n), err
}
