package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"

	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// revisionBody is a stored revision without what the columns have.
type revisionBody struct {
	Revision      rule.Revision            `json:"revision"`
	Rule          json.RawMessage          `json:"rule"`
	Relationships []wire.RelationshipInput `json:"relationships"` // null and [] differ
}

// revisionColumn reads a stored revision.
type revisionColumn struct{ r *store.Revision }

// Scan implements sql.Scanner.
func (c revisionColumn) Scan(value any) (err error) {
	var body revisionBody
	if err := (jsonColumn{&body}).Scan(value); err != nil {
		return err
	}
	c.r.Revision, c.r.Relationships = body.Revision, body.Relationships
	c.r.Rule, err = decodeRule(body.Rule)
	return err
}

func revisionFields(r *store.Revision) []any { return []any{&r.ProjectID, revisionColumn{r}} }

// encodeRevision returns the column values of a revision, except its keys.
func encodeRevision(r *store.Revision) (body string, err error) {
	stored := revisionBody{Revision: r.Revision, Relationships: r.Relationships}
	stored.Revision.Stale, stored.Revision.Findings, stored.Revision.Conflicts = false, nil, nil
	stored.Revision.At = rule.Instant(r.At)
	if r.DecidedAt != nil {
		at := rule.Instant(*r.DecidedAt)
		stored.Revision.DecidedAt = &at
	}
	text, err := encodeRule(r.Rule)
	if err != nil {
		return "", err
	}
	stored.Rule = json.RawMessage(text)
	b, err := json.Marshal(stored)
	if err != nil {
		return "", fmt.Errorf("sqlstore: revision of rule %s: %w", r.RuleID, err)
	}
	return string(b), nil
}

// Get implements store.RevisionReader.
func (t revisionTable) Get(ctx context.Context, projectID, ruleID string, number int) (store.Revision, error) {
	r, err := one(ctx, t.session, corpusOf(projectID), "revision", "SELECT project_id, body FROM rule_revisions WHERE project_id = ? AND rule_id = ? AND number = ?",
		[]any{projectID, canonical(ruleID), number}, revisionFields)
	return r, notFound(err, "revision", fmt.Sprintf("%s/%d", ruleID, number))
}

// List implements store.RevisionReader.
func (t revisionTable) List(ctx context.Context, projectID string, f store.RevisionFilter, offset, limit int) ([]store.Revision, int, error) {
	from, args := equal("FROM rule_revisions WHERE project_id = ?", []any{projectID}, "state", string(f.State), "author", f.Author)
	from, args = t.d.amongRules(from, args, f.RuleIDs)
	return page(ctx, t.session, corpusOf(projectID), "revisions", "project_id, body", from, "created_at, rule_id, number", args, window{offset, limit}, revisionFields)
}

// Insert implements store.RevisionTx.
func (t revisionTable) Insert(ctx context.Context, r store.Revision) (int, error) {
	if err := t.lock(ctx, corpusOf(r.ProjectID)); err != nil {
		return 0, err
	}
	if err := t.exists(ctx, "rule", r.RuleID, "SELECT 1 FROM rules WHERE project_id = ? AND id = ?", r.ProjectID, r.RuleID); err != nil {
		return 0, err
	}
	err := t.row(ctx, "number of a revision", "SELECT COALESCE(MAX(number), 0) + 1 FROM rule_revisions WHERE project_id = ? AND rule_id = ?",
		[]any{r.ProjectID, r.RuleID}, &r.Number)
	if err != nil {
		return 0, err
	}
	body, err := encodeRevision(&r)
	if err != nil {
		return 0, err
	}
	t.queueChanged(r.ProjectID, store.WaitingRevision)
	_, err = t.exec(ctx, "insert revision", "INSERT INTO rule_revisions (project_id, rule_id, number, state, author, created_at, body) VALUES (?, ?, ?, ?, ?, ?, ?)",
		r.ProjectID, r.RuleID, r.Number, string(r.State), r.Author, micros(r.At), body)
	return r.Number, err
}

// Decide implements store.RevisionTx.
func (t revisionTable) Decide(ctx context.Context, r store.Revision) error {
	have, err := t.Get(ctx, r.ProjectID, r.RuleID, r.Number)
	if err != nil {
		return err
	}
	if have.State != rule.RevisionPending {
		return rule.Errorf(rule.CodeConflict, "revision %d of the rule is %s already", r.Number, have.State)
	}
	have.State, have.DecidedAt, have.DecidedBy, have.Decision, have.Version = r.State, r.DecidedAt, r.DecidedBy, r.Decision, r.Version
	body, err := encodeRevision(&have)
	if err != nil {
		return err
	}
	t.queueChanged(r.ProjectID, store.WaitingRevision)
	_, err = t.exec(ctx, "decide on a revision", "UPDATE rule_revisions SET state = ?, body = ? WHERE project_id = ? AND rule_id = ? AND number = ?",
		string(r.State), body, r.ProjectID, r.RuleID, r.Number)
	return err
}
