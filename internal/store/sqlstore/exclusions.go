package sqlstore

import (
	"context"

	"tenet/internal/rule"
	"tenet/internal/store"
)

const exclusionColumns = "project_id, id, repository, path, reason, created_at, created_by"

func exclusionFields(e *store.Exclusion) []any {
	return []any{&e.ProjectID, &e.ID, &e.Repository, &e.Path, &e.Reason, timeColumn{&e.CreatedAt}, &e.CreatedBy}
}

// Get implements store.ExclusionReader.
func (t exclusionTable) Get(ctx context.Context, projectID, id string) (store.Exclusion, error) {
	e, err := one(ctx, t.session, discoveryOf(projectID), "exclusion", "SELECT "+exclusionColumns+" FROM scan_exclusions WHERE project_id = ? AND id = ?",
		[]any{projectID, id}, exclusionFields)
	return e, notFound(err, "exclusion", id)
}

// List implements store.ExclusionReader.
func (t exclusionTable) List(ctx context.Context, projectID string, offset, limit int) ([]store.Exclusion, int, error) {
	return page(ctx, t.session, discoveryOf(projectID), "exclusions", exclusionColumns, "FROM scan_exclusions WHERE project_id = ?", "repository, path",
		[]any{projectID}, window{offset, limit}, exclusionFields)
}

// For implements store.ExclusionReader.
func (t exclusionTable) For(ctx context.Context, projectID, repository string) ([]store.Exclusion, error) {
	return many(ctx, t.session, discoveryOf(projectID), "exclusions of a repository",
		"SELECT "+exclusionColumns+" FROM scan_exclusions WHERE project_id = ? AND repository IN ('', ?) ORDER BY repository, path", []any{projectID, repository}, exclusionFields)
}

// Insert implements store.ExclusionTx.
func (t exclusionTable) Insert(ctx context.Context, e store.Exclusion) error {
	n, err := t.lockedExec(ctx, discoveryOf(e.ProjectID), "insert exclusion", "INSERT INTO scan_exclusions ("+exclusionColumns+") VALUES "+marks(1, 7)+" ON CONFLICT DO NOTHING",
		e.ProjectID, e.ID, e.Repository, e.Path, e.Reason, micros(e.CreatedAt), e.CreatedBy)
	return unlessNone(n, err, rule.Errorf(rule.CodeConflict, "%s is excluded already", e.Path))
}

// Delete implements store.ExclusionTx.
func (t exclusionTable) Delete(ctx context.Context, projectID, id string) (reopened int, err error) {
	n, err := t.lockedExec(ctx, discoveryOf(projectID), "delete exclusion", "DELETE FROM scan_exclusions WHERE project_id = ? AND id = ?", projectID, id)
	if err := unlessNone(n, err, rule.NotFound("exclusion", id)); err != nil {
		return 0, err
	}
	t.queueChanged(projectID, store.WaitingCandidate)
	n, err = t.exec(ctx, "reopen excluded candidates", `UPDATE candidates SET status = 'pending', exclusion_id = '', reason = '', decided_at = NULL, decided_by = ''
			WHERE project_id = ? AND exclusion_id = ? AND exclusion_id <> ''`, projectID, id)
	return int(n), err
}
