package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"tenet/internal/rule"
	"tenet/internal/store"
)

// Follow implements store.FederationReader.
func (t federationTable) Follow(ctx context.Context, projectID string, after int64, onRule func(store.RuleState) error,
	onNode func(store.NodeState) error, onAttachment func(store.AttachmentState) error,
) (int64, error) {
	return ruleTable(t).changes(ctx, projectID, after, onRule, func(r *session) error {
		if err := (federationTable{r}).changedNodes(ctx, projectID, after, onNode); err != nil {
			return err
		}
		return federationTable{r}.changedAttachments(ctx, projectID, after, onAttachment)
	})
}

// changed returns the condition for rows that have changed after a corpus version; with 0 it omits removed ones.
func changed(after int64) string {
	if after == 0 {
		return " WHERE project_id = ? AND corpus_version > ? AND NOT removed"
	}
	return " WHERE project_id = ? AND corpus_version > ?"
}

// changedNodes collects nodes before it calls fn, which may use the same transaction.
func (t federationTable) changedNodes(ctx context.Context, projectID string, after int64, fn func(store.NodeState) error) error {
	list, err := many(ctx, t.session, unlocked, "changed nodes", "SELECT body, removed FROM nodes"+changed(after)+" ORDER BY id", []any{projectID, after},
		func(s *store.NodeState) []any { return []any{jsonColumn{&s.Node}, &s.Removed} })
	return callEach(list, err, fn)
}

// changedAttachments is like changedNodes.
func (t federationTable) changedAttachments(ctx context.Context, projectID string, after int64, fn func(store.AttachmentState) error) error {
	list, err := many(ctx, t.session, unlocked, "changed attachments",
		"SELECT node_id, rule_id, override_id, allow_weakening, reason, created_at, created_by, COALESCE(approved_by, ''), removed FROM node_rules"+
			changed(after)+" ORDER BY node_id, rule_id", []any{projectID, after}, func(s *store.AttachmentState) []any {
			a := &s.Attachment
			return []any{&a.NodeID, &a.RuleID, &a.OverrideID, &a.AllowWeakening, &a.Reason, timeColumn{&a.CreatedAt}, &a.CreatedBy, &a.ApprovedBy, &s.Removed}
		})
	return callEach(list, err, fn)
}

func callEach[T any](list []T, err error, fn func(T) error) error {
	for i := 0; i < len(list) && err == nil; i++ {
		err = fn(list[i])
	}
	return err
}

func encodeNode(n rule.Node) (string, error) {
	n.CreatedAt, n.UpdatedAt = fromMicros(micros(n.CreatedAt)), fromMicros(micros(n.UpdatedAt))
	b, err := json.Marshal(n)
	if err != nil {
		return "", fmt.Errorf("sqlstore: node %s: %w", n.ID, err)
	}
	if body := string(b); text(n.Name+n.Description+n.DefaultScope) && text(body) {
		return body, nil
	}
	return "", rule.Errorf(rule.CodeInvalid, "text must be valid UTF-8 without NUL characters")
}

// InsertNodes implements store.FederationTx.
func (t federationTable) InsertNodes(ctx context.Context, projectID string, cv int64, nodes []rule.Node) error {
	if err := t.lock(ctx, corpusOf(projectID)); err != nil {
		return err
	}
	for _, n := range nodes {
		n.ProjectID = projectID
		body, err := encodeNode(n)
		if err != nil {
			return err
		}
		count, err := t.exec(ctx, "insert node",
			"INSERT INTO nodes (project_id, id, parent_id, removed, corpus_version, body) VALUES (?, ?, ?, ?, ?, ?)"+
				" ON CONFLICT (project_id, id) DO UPDATE SET parent_id = excluded.parent_id, removed = excluded.removed,"+
				" corpus_version = excluded.corpus_version, body = excluded.body WHERE nodes.removed",
			projectID, n.ID, optional(n.ParentID), false, cv, body)
		t.changedInForce(projectID, store.NodeInForce, n.ID)
		if err := unlessNone(count, err, rule.Errorf(rule.CodeConflict, "there is a node with the id %s already", n.ID)); err != nil {
			return err
		}
	}
	return nil
}

// UpdateNode implements store.FederationTx.
func (t federationTable) UpdateNode(ctx context.Context, projectID string, cv int64, n rule.Node) error {
	if err := t.lock(ctx, corpusOf(projectID)); err != nil {
		return err
	}
	n.ProjectID = projectID
	body, err := encodeNode(n)
	if err != nil {
		return err
	}
	if err := t.beforeChange(ctx, projectID, store.NodeInForce, n.ID); err != nil {
		return err
	}
	count, err := t.exec(ctx, "update node",
		"UPDATE nodes SET parent_id = ?, corpus_version = ?, body = ? WHERE project_id = ? AND id = ? AND NOT removed",
		optional(n.ParentID), cv, body, projectID, n.ID)
	t.changedInForce(projectID, store.NodeInForce, n.ID)
	return unlessNone(count, err, rule.NotFound("node", n.ID))
}

// RemoveNode implements store.FederationTx. The mark that stays has no parent, so that the parent can be removed.
func (t federationTable) RemoveNode(ctx context.Context, projectID string, cv int64, id string) error {
	count, err := t.lockedExec(ctx, corpusOf(projectID), "remove node",
		"UPDATE nodes SET parent_id = NULL, removed = ?, corpus_version = ? WHERE project_id = ? AND id = ? AND NOT removed", true, cv, projectID, id)
	if err == nil && count == 0 {
		return rule.NotFound("node", id)
	}
	if err != nil {
		return err
	}
	t.changedInForce(projectID, store.NodeInForce, id)
	attached, err := many(ctx, t.session, unlocked, "attachments of node", "SELECT rule_id FROM node_rules WHERE project_id = ? AND node_id = ? AND NOT removed",
		[]any{projectID, id}, textFields)
	if err != nil {
		return err
	}
	for _, ruleID := range attached {
		t.changedInForce(projectID, store.AttachmentInForce, id+"/"+ruleID)
	}
	_, err = t.exec(ctx, "remove attachments of node",
		"UPDATE node_rules SET removed = ?, corpus_version = ? WHERE project_id = ? AND node_id = ? AND NOT removed", true, cv, projectID, id)
	return err
}

const insertAttachment = `INSERT INTO node_rules (project_id, node_id, rule_id, override_id, allow_weakening, reason, created_at, created_by, approved_by,
	removed, corpus_version) SELECT r.project_id, n.id, r.id, ?, ?, ?, ?, ?, ?, ?, ? FROM rules r JOIN nodes n ON n.project_id = r.project_id
	WHERE r.project_id = ? AND r.id = ? AND n.id = ? AND NOT n.removed
	ON CONFLICT (project_id, node_id, rule_id) DO UPDATE SET override_id = excluded.override_id,
	allow_weakening = excluded.allow_weakening, reason = excluded.reason, created_at = excluded.created_at, created_by = excluded.created_by,
	approved_by = excluded.approved_by, removed = excluded.removed, corpus_version = excluded.corpus_version WHERE node_rules.removed`

// InsertAttachments implements store.FederationTx.
func (t federationTable) InsertAttachments(ctx context.Context, projectID string, cv int64, list []rule.Attachment) error {
	if err := t.lock(ctx, corpusOf(projectID)); err != nil {
		return err
	}
	for i := range list {
		a := &list[i]
		count, err := t.exec(ctx, "insert attachment", insertAttachment, optional(a.OverrideID), a.AllowWeakening, a.Reason, micros(a.CreatedAt),
			a.CreatedBy, sql.NullString{String: a.ApprovedBy, Valid: a.ApprovedBy != ""}, false, cv, projectID, a.RuleID, a.NodeID)
		t.changedInForce(projectID, store.AttachmentInForce, a.NodeID+"/"+a.RuleID)
		if err := unlessNone(count, err, t.notAttachable(ctx, projectID, a)); err != nil {
			return err
		}
	}
	return nil
}

// notAttachable returns the reason why an attachment was not stored.
func (t federationTable) notAttachable(ctx context.Context, projectID string, a *rule.Attachment) error {
	if err := t.exists(ctx, "rule", a.RuleID, "SELECT 1 FROM rules WHERE project_id = ? AND id = ?", projectID, a.RuleID); err != nil {
		return err
	}
	if err := t.exists(ctx, "node", a.NodeID, "SELECT 1 FROM nodes WHERE project_id = ? AND id = ? AND NOT removed", projectID, a.NodeID); err != nil {
		return err
	}
	return rule.Errorf(rule.CodeConflict, "the rule %s is attached to the node already", a.RuleID)
}

// RemoveAttachment implements store.FederationTx.
func (t federationTable) RemoveAttachment(ctx context.Context, projectID string, cv int64, nodeID, ruleID string) error {
	count, err := t.lockedExec(ctx, corpusOf(projectID), "remove attachment",
		"UPDATE node_rules SET removed = ?, corpus_version = ? WHERE project_id = ? AND node_id = ? AND rule_id = ? AND NOT removed",
		true, cv, projectID, nodeID, ruleID)
	t.changedInForce(projectID, store.AttachmentInForce, nodeID+"/"+ruleID)
	return unlessNone(count, err, rule.Errorf(rule.CodeNotFound, "the rule %q is not attached to the node", ruleID))
}

// optional turns an optional text into a column value.
func optional(s *string) any {
	if s == nil {
		return nil
	}
	return *s
}
