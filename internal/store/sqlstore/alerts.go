package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"tenet/internal/rule"
	"tenet/internal/store"
)

const alertColumns = "project_id, id, type, status, rule_id, message, metadata, created_at, acknowledged_at, acknowledged_by, " +
	"resolved_at, resolved_by, resolution_note"

func scanAlert(scan func(...any) error) (rule.Alert, error) {
	var a rule.Alert
	var metadata string
	var created int64
	var acknowledged, resolved sql.NullInt64
	err := scan(&a.ProjectID, &a.ID, &a.Type, &a.Status, &a.RuleID, &a.Message, &metadata, &created, &acknowledged, &a.AcknowledgedBy,
		&resolved, &a.ResolvedBy, &a.ResolutionNote)
	if err != nil {
		return a, err
	}
	a.CreatedAt, a.AcknowledgedAt, a.ResolvedAt = fromMicros(created), fromNullable(acknowledged), fromNullable(resolved)
	if err := json.Unmarshal([]byte(metadata), &a.Metadata); err != nil {
		return a, fmt.Errorf("sqlstore: metadata of alert %s: %w", a.ID, err)
	}
	return a, nil
}

func (r *reader) alertList(ctx context.Context, query string, args ...any) ([]rule.Alert, error) {
	list := []rule.Alert{}
	err := r.each(ctx, "alerts", query, args, func(rows *sql.Rows) error {
		a, err := scanAlert(rows.Scan)
		list = append(list, a)
		return err
	})
	return list, err
}

// Alert implements store.AlertReader.
func (r *reader) Alert(ctx context.Context, projectID, id string) (rule.Alert, error) {
	if err := r.hold(ctx, alertsOf(projectID)); err != nil {
		return rule.Alert{}, err
	}
	a, err := scanAlert(func(dest ...any) error {
		return r.row(ctx, "alert", "SELECT "+alertColumns+" FROM alerts WHERE project_id = ? AND id = ?", []any{projectID, id}, dest...)
	})
	return a, missing(err, "alert", id)
}

// FindAlerts implements store.AlertReader.
func (r *reader) FindAlerts(ctx context.Context, f store.AlertFilter) ([]rule.Alert, int, error) {
	where, args := " FROM alerts WHERE project_id = ?", []any{f.ProjectID}
	for _, c := range []struct{ column, value string }{{"status", string(f.Status)}, {"type", string(f.Type)}, {"rule_id", f.RuleID}} {
		if c.value != "" {
			where, args = where+" AND "+c.column+" = ?", append(args, c.value)
		}
	}
	var list []rule.Alert
	total := 0
	err := r.holding(ctx, alertsOf(f.ProjectID), func(r *reader) error {
		if err := r.row(ctx, "count alerts", "SELECT COUNT(*)"+where, args, &total); err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		var err error
		list, err = r.alertList(ctx, "SELECT "+alertColumns+where+" ORDER BY created_at DESC, id DESC LIMIT ? OFFSET ?",
			append(args, max(f.Limit, 0), max(f.Offset, 0))...)
		return err
	})
	return list, total, err
}

// CountAlerts implements store.AlertReader.
func (r *reader) CountAlerts(ctx context.Context, projectID string) ([]store.AlertCount, error) {
	where, args := "", []any(nil)
	if projectID != store.AllProjects {
		if err := r.hold(ctx, alertsOf(projectID)); err != nil {
			return nil, err
		}
		where, args = " WHERE project_id = ?", []any{projectID}
	}
	list := []store.AlertCount{}
	err := r.each(ctx, "count alerts", "SELECT status, type, COUNT(*) FROM alerts"+where+" GROUP BY status, type ORDER BY status, type",
		args, func(rows *sql.Rows) error {
			var c store.AlertCount
			err := rows.Scan(&c.Status, &c.Type, &c.Count)
			list = append(list, c)
			return err
		})
	return list, err
}

// OpenAlerts implements store.AlertReader.
func (r *reader) OpenAlerts(ctx context.Context, projectID string, t rule.AlertType, ruleIDs []string) ([]rule.Alert, error) {
	if err := r.hold(ctx, alertsOf(projectID)); err != nil {
		return nil, err
	}
	where, args := " FROM alerts WHERE project_id = ? AND type = ? AND status <> 'resolved'", []any{projectID, string(t)}
	if ruleIDs != nil {
		named, ids := r.d.in("rule_id", ruleIDs)
		where, args = where+" AND "+named, append(args, ids)
	}
	return r.alertList(ctx, "SELECT "+alertColumns+where+" ORDER BY rule_id", args...)
}

// ResolvedAlerts implements store.AlertReader.
func (r *reader) ResolvedAlerts(ctx context.Context, projectID string, t rule.AlertType, since time.Time, but string) ([]string, error) {
	if err := r.hold(ctx, alertsOf(projectID)); err != nil {
		return nil, err
	}
	list := []string{}
	err := r.each(ctx, "resolved alerts", `SELECT DISTINCT rule_id FROM alerts WHERE project_id = ? AND type = ? AND status = 'resolved'
			AND resolved_at >= ? AND resolved_by <> ? ORDER BY rule_id`,
		[]any{projectID, string(t), micros(since), but}, func(rows *sql.Rows) error {
			var id string
			err := rows.Scan(&id)
			list = append(list, id)
			return err
		})
	return list, err
}

// InsertAlert implements store.AlertTx.
func (t *tx) InsertAlert(ctx context.Context, a rule.Alert) (bool, error) {
	if err := t.hold(ctx, alertsOf(a.ProjectID)); err != nil {
		return false, err
	}
	metadata, err := json.Marshal(a.Metadata)
	if err != nil {
		return false, fmt.Errorf("sqlstore: metadata of alert %s: %w", a.ID, err)
	}
	n, err := t.exec(ctx, "insert alert", "INSERT INTO alerts ("+alertColumns+") VALUES "+marks(1, 13)+
		" ON CONFLICT (project_id, type, rule_id) WHERE status <> 'resolved' DO NOTHING",
		a.ProjectID, a.ID, string(a.Type), string(a.Status), a.RuleID, a.Message, string(metadata), micros(a.CreatedAt),
		nullable(a.AcknowledgedAt), a.AcknowledgedBy, nullable(a.ResolvedAt), a.ResolvedBy, a.ResolutionNote)
	return n > 0, err
}

// UpdateAlert implements store.AlertTx.
func (t *tx) UpdateAlert(ctx context.Context, a rule.Alert) error {
	if err := t.hold(ctx, alertsOf(a.ProjectID)); err != nil {
		return err
	}
	n, err := t.exec(ctx, "update alert", `UPDATE alerts SET status = ?, acknowledged_at = ?, acknowledged_by = ?, resolved_at = ?,
			resolved_by = ?, resolution_note = ? WHERE project_id = ? AND id = ?`,
		string(a.Status), nullable(a.AcknowledgedAt), a.AcknowledgedBy, nullable(a.ResolvedAt), a.ResolvedBy, a.ResolutionNote, a.ProjectID, a.ID)
	if err == nil && n == 0 {
		return rule.NotFound("alert", a.ID)
	}
	return err
}
