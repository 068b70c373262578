package sqlstore

import (
	"context"
	"time"

	"tenet/internal/rule"
	"tenet/internal/store"
)

// Get implements store.RunReader.
func (t runTable) Get(ctx context.Context, projectID, kind, id string) (store.Run, error) {
	run := store.Run{ProjectID: projectID, ID: id, Kind: kind}
	err := t.row(ctx, "run", "SELECT job_id, request, created_at, created_by, result, finished_at FROM runs WHERE project_id = ? AND id = ? AND kind = ?",
		[]any{projectID, id, kind}, &run.JobID, &run.Request, timeColumn{&run.CreatedAt}, &run.CreatedBy, &run.Result, optionalTimeColumn{&run.FinishedAt})
	return run, notFound(err, "run", id)
}

// Find implements store.RunReader.
func (t runTable) Find(ctx context.Context, f store.RunFilter) ([]store.Run, int, error) {
	from, args := "FROM runs WHERE project_id = ? AND kind = ?", []any{f.ProjectID, f.Kind}
	for _, id := range f.Mentions {
		if !rule.IsID(id) { // nothing else is free of the marks of a pattern
			return nil, 0, nil
		}
		from, args = from+" AND request LIKE ?", append(args, "%"+canonical(id)+"%")
	}
	return page(ctx, t.session, unlocked, "runs", "project_id, id, kind, job_id, request, created_at, created_by, result, finished_at", from,
		"created_at DESC, id DESC", args, window{f.Offset, f.Limit}, func(r *store.Run) []any {
			return []any{&r.ProjectID, &r.ID, &r.Kind, &r.JobID, &r.Request, timeColumn{&r.CreatedAt}, &r.CreatedBy, &r.Result, optionalTimeColumn{&r.FinishedAt}}
		})
}

// Insert implements store.RunTx.
func (t runTable) Insert(ctx context.Context, r store.Run) error {
	n, err := t.exec(ctx, "insert run", `INSERT INTO runs (project_id, id, kind, job_id, request, created_at, created_by, result)
			VALUES (?, ?, ?, ?, ?, ?, ?, '') ON CONFLICT DO NOTHING`,
		r.ProjectID, r.ID, r.Kind, r.JobID, string(r.Request), micros(r.CreatedAt), r.CreatedBy)
	return unlessNone(n, err, rule.Errorf(rule.CodeConflict, "a run with this id exists already; give it a new one"))
}

// Finish implements store.RunTx.
func (t runTable) Finish(ctx context.Context, projectID, id string, result []byte, at time.Time) error {
	n, err := t.exec(ctx, "finish run", "UPDATE runs SET result = ?, finished_at = ? WHERE project_id = ? AND id = ?",
		string(result), micros(at), projectID, id)
	return unlessNone(n, err, rule.NotFound("run", id))
}

// DeleteOld implements store.RunTx.
func (t runTable) DeleteOld(ctx context.Context, before time.Time, limit int) (int, error) {
	n, err := t.exec(ctx, "delete runs", `DELETE FROM runs WHERE (project_id, id) IN
			(SELECT project_id, id FROM runs WHERE created_at < ? ORDER BY created_at LIMIT ?)`, micros(before), limit)
	return int(n), err
}
