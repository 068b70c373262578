package sqlstore

import (
	"context"
	"database/sql"

	"tenet/internal/rule"
)

const relationshipColumns = "id, from_id, to_id, kind, reason, created_at, created_by"

func scanRelationship(rows *sql.Rows) (rule.Relationship, error) {
	var rel rule.Relationship
	var created int64
	err := rows.Scan(&rel.ID, &rel.FromID, &rel.ToID, &rel.Kind, &rel.Reason, &created, &rel.CreatedBy)
	rel.CreatedAt = fromMicros(created)
	return rel, err
}

// Relationships implements store.Reader.
func (r *reader) Relationships(ctx context.Context, projectID, ruleID string) ([]rule.Relationship, error) {
	if err := r.hold(ctx, corpusOf(projectID)); err != nil {
		return nil, err
	}
	return r.relationships(ctx, "(from_id = ? OR to_id = ?)", []any{projectID, ruleID, ruleID})
}

// relationships lists the relationships of a project, the first of args, that meet a condition, oldest first.
func (r *reader) relationships(ctx context.Context, condition string, args []any) ([]rule.Relationship, error) {
	list := []rule.Relationship{}
	err := r.each(ctx, "relationships",
		"SELECT "+relationshipColumns+" FROM relationships WHERE project_id = ? AND "+condition+" ORDER BY created_at, id",
		args, func(rows *sql.Rows) error {
			rel, err := scanRelationship(rows)
			list = append(list, rel)
			return err
		})
	return list, err
}

// InsertRelationship implements store.Tx.
func (t *tx) InsertRelationship(ctx context.Context, projectID string, cv int64, rel rule.Relationship) error {
	if err := t.hold(ctx, corpusOf(projectID)); err != nil {
		return err
	}
	for _, id := range []string{rel.FromID, rel.ToID} {
		var one int
		err := t.row(ctx, "rule of relationship", "SELECT 1 FROM rules WHERE project_id = ? AND id = ?", []any{projectID, id}, &one)
		if err != nil {
			return missing(err, "rule", id)
		}
	}
	n, err := t.exec(ctx, "insert relationship",
		"INSERT INTO relationships (project_id, "+relationshipColumns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
		projectID, rel.ID, rel.FromID, rel.ToID, string(rel.Kind), rel.Reason, micros(rel.CreatedAt), rel.CreatedBy)
	if err != nil {
		return err
	}
	if n == 0 {
		return rule.Errorf(rule.CodeConflict, "there is a %s relationship between these rules already", rel.Kind)
	}
	return t.touch(ctx, projectID, cv, rel.FromID)
}

// DeleteRelationship implements store.Tx.
func (t *tx) DeleteRelationship(ctx context.Context, projectID string, cv int64, ruleID, id string) error {
	if err := t.hold(ctx, corpusOf(projectID)); err != nil {
		return err
	}
	var from string
	err := t.row(ctx, "delete relationship",
		"DELETE FROM relationships WHERE project_id = ? AND id = ? AND (from_id = ? OR to_id = ?) RETURNING from_id",
		[]any{projectID, id, ruleID, ruleID}, &from)
	if err != nil {
		return missing(err, "relationship", id)
	}
	return t.touch(ctx, projectID, cv, from)
}

// touch marks a rule as changed, so that views read its relationships anew.
func (t *tx) touch(ctx context.Context, projectID string, cv int64, ruleID string) error {
	_, err := t.exec(ctx, "touch rule", "UPDATE rules SET corpus_version = ? WHERE project_id = ? AND id = ?", cv, projectID, ruleID)
	return err
}
