package sqlstore

import (
	"context"

	"tenet/internal/rule"
	"tenet/internal/store"
)

const relationshipColumns = "id, from_id, to_id, kind, reason, allow_weakening, created_at, created_by"

func relationshipFields(r *rule.Relationship) []any {
	return []any{&r.ID, &r.FromID, &r.ToID, &r.Kind, &r.Reason, &r.AllowWeakening, timeColumn{&r.CreatedAt}, &r.CreatedBy}
}

// Relationships implements store.RuleReader.
func (t ruleTable) Relationships(ctx context.Context, projectID, ruleID string) ([]rule.Relationship, error) {
	return t.relationships(ctx, "(from_id = ? OR to_id = ?)", []any{projectID, ruleID, ruleID})
}

// relationships lists the relationships of a project, the first of args, that meet a condition, oldest first.
func (t ruleTable) relationships(ctx context.Context, condition string, args []any) ([]rule.Relationship, error) {
	return many(ctx, t.session, corpusOf(args[0].(string)), "relationships",
		"SELECT "+relationshipColumns+" FROM relationships WHERE project_id = ? AND "+condition+" ORDER BY created_at, id", args, relationshipFields)
}

// InsertRelationship implements store.RuleTx.
func (t ruleTable) InsertRelationship(ctx context.Context, projectID string, cv int64, rel rule.Relationship) error {
	if err := t.lock(ctx, corpusOf(projectID)); err != nil {
		return err
	}
	for _, id := range []string{rel.FromID, rel.ToID} {
		if err := t.exists(ctx, "rule", id, "SELECT 1 FROM rules WHERE project_id = ? AND id = ?", projectID, id); err != nil {
			return err
		}
	}
	n, err := t.exec(ctx, "insert relationship",
		"INSERT INTO relationships (project_id, "+relationshipColumns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
		projectID, rel.ID, rel.FromID, rel.ToID, string(rel.Kind), rel.Reason, rel.AllowWeakening, micros(rel.CreatedAt), rel.CreatedBy)
	if err := unlessNone(n, err, rule.Errorf(rule.CodeConflict, "there is a %s relationship between these rules already", rel.Kind)); err != nil {
		return err
	}
	t.changedInForce(projectID, store.RelationshipInForce, rel.ID)
	return t.touch(ctx, projectID, cv, rel.FromID)
}

// DeleteRelationship implements store.RuleTx.
func (t ruleTable) DeleteRelationship(ctx context.Context, projectID string, cv int64, ruleID, id string) error {
	if err := t.lock(ctx, corpusOf(projectID)); err != nil {
		return err
	}
	var from string
	err := t.row(ctx, "delete relationship",
		"DELETE FROM relationships WHERE project_id = ? AND id = ? AND (from_id = ? OR to_id = ?) RETURNING from_id",
		[]any{projectID, id, ruleID, ruleID}, &from)
	if err != nil {
		return notFound(err, "relationship", id)
	}
	t.changedInForce(projectID, store.RelationshipInForce, id)
	return t.touch(ctx, projectID, cv, from)
}

// touch marks a rule as changed, so that views read its relationships again.
func (t ruleTable) touch(ctx context.Context, projectID string, cv int64, ruleID string) error {
	_, err := t.exec(ctx, "touch rule", "UPDATE rules SET corpus_version = ? WHERE project_id = ? AND id = ?", cv, projectID, ruleID)
	return err
}
