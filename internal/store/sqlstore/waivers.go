package sqlstore

import (
	"context"
	"errors"
	"time"

	"tenet/internal/rule"
	"tenet/internal/store"
)

const waiverColumns = "project_id, id, rule_id, severity, fingerprint, repository, reason, approver, expires_at, created_at, created_by, approved_at, " +
	"approved_by, revoked_at, revoked_by"

func waiverFields(w *rule.Waiver) []any {
	return []any{
		&w.ProjectID, &w.ID, &w.RuleID, &w.Severity, &w.Fingerprint, &w.Repository, &w.Reason, &w.Approver,
		timeColumn{&w.ExpiresAt},
		timeColumn{&w.CreatedAt},
		&w.CreatedBy,
		optionalTimeColumn{&w.ApprovedAt},
		&w.ApprovedBy,
		optionalTimeColumn{&w.RevokedAt},
		&w.RevokedBy,
	}
}

// Get implements store.WaiverReader.
func (t waiverTable) Get(ctx context.Context, projectID, id string) (rule.Waiver, error) {
	w, err := one(ctx, t.session, corpusOf(projectID), "waiver", "SELECT "+waiverColumns+" FROM waivers WHERE project_id = ? AND id = ?"+keeping(t.session),
		[]any{projectID, id}, waiverFields)
	return w, notFound(err, "waiver", id)
}

// List implements store.WaiverReader.
func (t waiverTable) List(ctx context.Context, projectID, ruleID string, offset, limit int) ([]rule.Waiver, int, error) {
	from, args := equal("FROM waivers WHERE project_id = ?", []any{projectID}, "rule_id", ruleID)
	return page(ctx, t.session, corpusOf(projectID), "waivers", waiverColumns, from, "created_at DESC, id DESC", args, window{offset, limit}, waiverFields)
}

// Within implements store.WaiverReader.
func (t waiverTable) Within(ctx context.Context, s store.WaiverSpan) ([]rule.Waiver, int, error) {
	column, from := "expires_at", "FROM waivers WHERE project_id = ? AND revoked_at IS NULL"
	if s.Made {
		column, from = "created_at", "FROM waivers WHERE project_id = ?"
	}
	return page(ctx, t.session, corpusOf(s.ProjectID), "waivers", waiverColumns, from+" AND "+column+" >= ? AND "+column+" < ?", column+", id",
		[]any{s.ProjectID, micros(s.From), micros(s.Until)}, window{s.Offset, s.Limit}, waiverFields)
}

// ListLive implements store.WaiverReader.
func (t waiverTable) ListLive(ctx context.Context, projectID string, now time.Time) ([]rule.Waiver, error) {
	return many(ctx, t.session, corpusOf(projectID), "waivers", "SELECT "+waiverColumns+` FROM waivers
		WHERE project_id = ? AND revoked_at IS NULL AND expires_at > ? ORDER BY created_at DESC, id DESC`, []any{projectID, micros(now)}, waiverFields)
}

// Insert implements store.WaiverTx.
func (t waiverTable) Insert(ctx context.Context, w rule.Waiver) error {
	if err := t.lock(ctx, corpusOf(w.ProjectID)); err != nil {
		return err
	}
	err := t.execRows(ctx, "insert waiver", "INSERT INTO waivers ("+waiverColumns+") VALUES ", 15, "", []any{
		w.ProjectID, w.ID, w.RuleID, string(w.Severity), w.Fingerprint, w.Repository, w.Reason, w.Approver, micros(w.ExpiresAt), micros(w.CreatedAt), w.CreatedBy,
		nullable(w.ApprovedAt), w.ApprovedBy, nullable(w.RevokedAt), w.RevokedBy,
	})
	t.changedInForce(w.ProjectID, store.WaiverInForce, w.ID)
	if t.d.duplicate(err) {
		return errors.Join(rule.Errorf(rule.CodeConflict, "a waiver with this id exists already; give it a new one"), err)
	}
	return err
}

// Mark implements store.WaiverTx.
func (t waiverTable) Mark(ctx context.Context, w rule.Waiver) error {
	if _, err := t.Get(ctx, w.ProjectID, w.ID); err != nil {
		return err
	}
	if err := t.beforeChange(ctx, w.ProjectID, store.WaiverInForce, w.ID); err != nil {
		return err
	}
	t.changedInForce(w.ProjectID, store.WaiverInForce, w.ID)
	_, err := t.exec(ctx, "mark waiver", "UPDATE waivers SET approved_at = ?, approved_by = ?, revoked_at = ?, revoked_by = ? WHERE project_id = ? AND id = ?",
		nullable(w.ApprovedAt), w.ApprovedBy, nullable(w.RevokedAt), w.RevokedBy, w.ProjectID, w.ID)
	return err
}
