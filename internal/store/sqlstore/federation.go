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
func (r *reader) Follow(ctx context.Context, projectID string, after int64, onRule func(store.RuleState) error,
	onNode func(store.NodeState) error, onAttachment func(store.AttachmentState) error,
) (int64, error) {
	return r.changes(ctx, projectID, after, onRule, func(r *reader) error {
		if err := r.changedNodes(ctx, projectID, after, onNode); err != nil {
			return err
		}
		return r.changedAttachments(ctx, projectID, after, onAttachment)
	})
}

// changed is the condition for what has changed after a corpus version; what is gone from the start is left out.
func changed(after int64) string {
	if after == 0 {
		return " WHERE project_id = ? AND corpus_version > ? AND NOT removed"
	}
	return " WHERE project_id = ? AND corpus_version > ?"
}

// changedNodes collects nodes before it calls fn, which may use the same transaction.
func (r *reader) changedNodes(ctx context.Context, projectID string, after int64, fn func(store.NodeState) error) error {
	var list []store.NodeState
	err := r.each(ctx, "changed nodes", "SELECT body, removed FROM nodes"+changed(after)+" ORDER BY id", []any{projectID, after},
		func(rows *sql.Rows) error {
			var body []byte
			var s store.NodeState
			if err := rows.Scan(&body, &s.Removed); err != nil {
				return err
			}
			if err := json.Unmarshal(body, &s.Node); err != nil {
				return fmt.Errorf("sqlstore: a stored node cannot be read: %w", err)
			}
			list = append(list, s)
			return nil
		})
	return callEach(list, err, fn)
}

// changedAttachments is like changedNodes.
func (r *reader) changedAttachments(ctx context.Context, projectID string, after int64, fn func(store.AttachmentState) error) error {
	var list []store.AttachmentState
	err := r.each(ctx, "changed attachments",
		"SELECT node_id, rule_id, override_id, allow_weakening, reason, created_at, created_by, removed FROM node_rules"+
			changed(after)+" ORDER BY node_id, rule_id", []any{projectID, after},
		func(rows *sql.Rows) error {
			var s store.AttachmentState
			var override sql.NullString
			var created int64
			a := &s.Attachment
			err := rows.Scan(&a.NodeID, &a.RuleID, &override, &a.AllowWeakening, &a.Reason, &created, &a.CreatedBy, &s.Removed)
			if override.Valid {
				a.OverrideID = &override.String
			}
			a.CreatedAt = fromMicros(created)
			list = append(list, s)
			return err
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
func (t *tx) InsertNodes(ctx context.Context, projectID string, cv int64, nodes []rule.Node) error {
	if err := t.hold(ctx, corpusOf(projectID)); err != nil {
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
		if err != nil {
			return err
		}
		if count == 0 {
			return rule.Errorf(rule.CodeConflict, "there is a node with the id %s already", n.ID)
		}
	}
	return nil
}

// UpdateNode implements store.FederationTx.
func (t *tx) UpdateNode(ctx context.Context, projectID string, cv int64, n rule.Node) error {
	if err := t.hold(ctx, corpusOf(projectID)); err != nil {
		return err
	}
	n.ProjectID = projectID
	body, err := encodeNode(n)
	if err != nil {
		return err
	}
	count, err := t.exec(ctx, "update node",
		"UPDATE nodes SET parent_id = ?, corpus_version = ?, body = ? WHERE project_id = ? AND id = ? AND NOT removed",
		optional(n.ParentID), cv, body, projectID, n.ID)
	if err == nil && count == 0 {
		return rule.NotFound("node", n.ID)
	}
	return err
}

// RemoveNode implements store.FederationTx. The mark that stays has no parent, so that the parent can be removed.
func (t *tx) RemoveNode(ctx context.Context, projectID string, cv int64, id string) error {
	if err := t.hold(ctx, corpusOf(projectID)); err != nil {
		return err
	}
	count, err := t.exec(ctx, "remove node",
		"UPDATE nodes SET parent_id = NULL, removed = ?, corpus_version = ? WHERE project_id = ? AND id = ? AND NOT removed", true, cv, projectID, id)
	if err == nil && count == 0 {
		return rule.NotFound("node", id)
	}
	if err != nil {
		return err
	}
	_, err = t.exec(ctx, "remove attachments of node",
		"UPDATE node_rules SET removed = ?, corpus_version = ? WHERE project_id = ? AND node_id = ? AND NOT removed", true, cv, projectID, id)
	return err
}

const insertAttachment = `INSERT INTO node_rules (project_id, node_id, rule_id, override_id, allow_weakening, reason, created_at, created_by,
	removed, corpus_version) SELECT r.project_id, n.id, r.id, ?, ?, ?, ?, ?, ?, ? FROM rules r JOIN nodes n ON n.project_id = r.project_id
	WHERE r.project_id = ? AND r.id = ? AND n.id = ? AND NOT n.removed
	ON CONFLICT (project_id, node_id, rule_id) DO UPDATE SET override_id = excluded.override_id,
	allow_weakening = excluded.allow_weakening, reason = excluded.reason, created_at = excluded.created_at, created_by = excluded.created_by,
	removed = excluded.removed, corpus_version = excluded.corpus_version WHERE node_rules.removed`

// InsertAttachments implements store.FederationTx.
func (t *tx) InsertAttachments(ctx context.Context, projectID string, cv int64, list []rule.Attachment) error {
	if err := t.hold(ctx, corpusOf(projectID)); err != nil {
		return err
	}
	for i := range list {
		a := &list[i]
		count, err := t.exec(ctx, "insert attachment", insertAttachment, optional(a.OverrideID), a.AllowWeakening, a.Reason, micros(a.CreatedAt),
			a.CreatedBy, false, cv, projectID, a.RuleID, a.NodeID)
		if err != nil {
			return err
		}
		if count == 0 {
			return t.notAttachable(ctx, projectID, a)
		}
	}
	return nil
}

// notAttachable tells why an attachment was not stored.
func (t *tx) notAttachable(ctx context.Context, projectID string, a *rule.Attachment) error {
	var one int
	err := t.row(ctx, "rule of attachment", "SELECT 1 FROM rules WHERE project_id = ? AND id = ?", []any{projectID, a.RuleID}, &one)
	if err != nil {
		return missing(err, "rule", a.RuleID)
	}
	err = t.row(ctx, "node of attachment", "SELECT 1 FROM nodes WHERE project_id = ? AND id = ? AND NOT removed", []any{projectID, a.NodeID}, &one)
	if err != nil {
		return missing(err, "node", a.NodeID)
	}
	return rule.Errorf(rule.CodeConflict, "the rule %s is attached to the node already", a.RuleID)
}

// RemoveAttachment implements store.FederationTx.
func (t *tx) RemoveAttachment(ctx context.Context, projectID string, cv int64, nodeID, ruleID string) error {
	if err := t.hold(ctx, corpusOf(projectID)); err != nil {
		return err
	}
	count, err := t.exec(ctx, "remove attachment",
		"UPDATE node_rules SET removed = ?, corpus_version = ? WHERE project_id = ? AND node_id = ? AND rule_id = ? AND NOT removed",
		true, cv, projectID, nodeID, ruleID)
	if err == nil && count == 0 {
		return rule.Errorf(rule.CodeNotFound, "the rule %q is not attached to the node", ruleID)
	}
	return err
}

// optional turns an optional text into a column value.
func optional(s *string) any {
	if s == nil {
		return nil
	}
	return *s
}
