package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"tenet/internal/rule"
)

const waiverColumns = "project_id, id, rule_id, severity, fingerprint, reason, approver, expires_at, created_at, created_by, approved_at, " +
	"approved_by, revoked_at, revoked_by"

func scanWaiver(scan func(...any) error) (rule.Waiver, error) {
	var w rule.Waiver
	var expires, created int64
	var approved, revoked sql.NullInt64
	err := scan(&w.ProjectID, &w.ID, &w.RuleID, &w.Severity, &w.Fingerprint, &w.Reason, &w.Approver, &expires, &created, &w.CreatedBy, &approved,
		&w.ApprovedBy, &revoked, &w.RevokedBy)
	w.ExpiresAt, w.CreatedAt, w.ApprovedAt, w.RevokedAt = fromMicros(expires), fromMicros(created), fromNullable(approved), fromNullable(revoked)
	return w, err
}

func (r *reader) waivers(ctx context.Context, projectID, condition string, args ...any) ([]rule.Waiver, error) {
	if err := r.hold(ctx, corpusOf(projectID)); err != nil {
		return nil, err
	}
	list := []rule.Waiver{}
	err := r.each(ctx, "waivers", "SELECT "+waiverColumns+" FROM waivers WHERE project_id = ? "+condition, append([]any{projectID}, args...),
		func(rows *sql.Rows) error {
			w, err := scanWaiver(rows.Scan)
			list = append(list, w)
			return err
		})
	return list, err
}

// Waiver implements store.WaiverReader.
func (r *reader) Waiver(ctx context.Context, projectID, id string) (rule.Waiver, error) {
	list, err := r.waivers(ctx, projectID, "AND id = ?", id)
	if err == nil && len(list) == 0 {
		err = rule.NotFound("waiver", id)
	}
	if err != nil {
		return rule.Waiver{}, err
	}
	return list[0], nil
}

// Waivers implements store.WaiverReader.
func (r *reader) Waivers(ctx context.Context, projectID, ruleID string, offset, limit int) ([]rule.Waiver, int, error) {
	all, err := r.waivers(ctx, projectID, "AND (? = '' OR rule_id = ?) ORDER BY created_at DESC, id DESC LIMIT ? OFFSET ?", ruleID, ruleID, limit, offset)
	if err != nil {
		return nil, 0, err
	}
	total := 0
	err = r.each(ctx, "count waivers", "SELECT COUNT(*) FROM waivers WHERE project_id = ? AND (? = '' OR rule_id = ?)",
		[]any{projectID, ruleID, ruleID}, func(rows *sql.Rows) error { return rows.Scan(&total) })
	return all, total, err
}

// LiveWaivers implements store.WaiverReader.
func (r *reader) LiveWaivers(ctx context.Context, projectID string, now time.Time) ([]rule.Waiver, error) {
	return r.waivers(ctx, projectID, "AND revoked_at IS NULL AND expires_at > ? ORDER BY created_at DESC, id DESC", micros(now))
}

// InsertWaiver implements store.WaiverTx.
func (t *tx) InsertWaiver(ctx context.Context, w rule.Waiver) error {
	if err := t.hold(ctx, corpusOf(w.ProjectID)); err != nil {
		return err
	}
	err := t.execRows(ctx, "insert waiver", "INSERT INTO waivers ("+waiverColumns+") VALUES ", 14, "", []any{
		w.ProjectID, w.ID, w.RuleID, string(w.Severity), w.Fingerprint, w.Reason, w.Approver, micros(w.ExpiresAt), micros(w.CreatedAt), w.CreatedBy,
		nullable(w.ApprovedAt), w.ApprovedBy, nullable(w.RevokedAt), w.RevokedBy,
	})
	if t.d.duplicate(err) {
		return errors.Join(rule.Errorf(rule.CodeConflict, "a waiver with this id exists already; give it a new one"), err)
	}
	return err
}

// MarkWaiver implements store.WaiverTx.
func (t *tx) MarkWaiver(ctx context.Context, w rule.Waiver) error {
	if _, err := t.Waiver(ctx, w.ProjectID, w.ID); err != nil {
		return err
	}
	_, err := t.exec(ctx, "mark waiver", "UPDATE waivers SET approved_at = ?, approved_by = ?, revoked_at = ?, revoked_by = ? WHERE project_id = ? AND id = ?",
		nullable(w.ApprovedAt), w.ApprovedBy, nullable(w.RevokedAt), w.RevokedBy, w.ProjectID, w.ID)
	return err
}
