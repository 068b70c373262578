package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"tenet/internal/store"
)

// Webhooks belong to no lump, as jobs do not: an evaluation that tells of a violation must not wait for another one that does.
// Rows are locked one by one, and each statement decides on the row as it is then.

const webhookPolicyColumns = "project_id, id, name, url, event_types, filter, format, enabled, disabled_reason, secret, old_secret, " +
	"old_until, created_at, created_by, updated_at, failures, paused_until"

func scanWebhookPolicy(scan func(...any) error) (store.WebhookPolicy, error) {
	var p store.WebhookPolicy
	var types, filter string
	var created, updated int64
	var old, paused sql.NullInt64
	err := scan(&p.ProjectID, &p.ID, &p.Name, &p.URL, &types, &filter, &p.Format, &p.Enabled, &p.DisabledReason, &p.Secret, &p.OldSecret,
		&old, &created, &p.CreatedBy, &updated, &p.Failures, &paused)
	if err != nil {
		return p, err
	}
	p.OldUntil, p.PausedUntil, p.CreatedAt, p.UpdatedAt = fromNullable(old), fromNullable(paused), fromMicros(created), fromMicros(updated)
	if err := errors.Join(json.Unmarshal([]byte(types), &p.EventTypes), json.Unmarshal([]byte(filter), &p.Filter)); err != nil {
		return p, fmt.Errorf("sqlstore: webhook policy %s: %w", p.ID, err)
	}
	return p, nil
}

// WebhookPolicies implements store.WebhookReader.
func (r *reader) WebhookPolicies(ctx context.Context, projectID string) ([]store.WebhookPolicy, error) {
	if r.inside != nil && r.inside.webhooks[projectID] != nil {
		return slices.Clone(r.inside.webhooks[projectID]), nil
	}
	list := []store.WebhookPolicy{}
	err := r.each(ctx, "webhook policies", "SELECT "+webhookPolicyColumns+" FROM webhook_policies WHERE project_id = ? ORDER BY created_at, id",
		[]any{projectID}, func(rows *sql.Rows) error {
			p, err := scanWebhookPolicy(rows.Scan)
			list = append(list, p)
			return err
		})
	if err == nil && r.inside != nil {
		if r.inside.webhooks == nil {
			r.inside.webhooks = map[string][]store.WebhookPolicy{}
		}
		r.inside.webhooks[projectID] = slices.Clone(list)
	}
	return list, err
}

// WebhookPolicy implements store.WebhookReader.
func (r *reader) WebhookPolicy(ctx context.Context, projectID, id string) (store.WebhookPolicy, error) {
	query := "SELECT " + webhookPolicyColumns + " FROM webhook_policies WHERE project_id = ? AND id = ?"
	if r.inside != nil && r.d.rowLocks {
		query += " FOR NO KEY UPDATE"
	}
	p, err := scanWebhookPolicy(func(dest ...any) error {
		return r.row(ctx, "webhook policy", query, []any{projectID, canonical(id)}, dest...)
	})
	return p, missing(err, "webhook policy", id)
}

const deliveryColumns = "project_id, id, policy_id, event_id, event_type, state, attempts, created_at, next_at, expires_at, ended_at, " +
	"last_at, last_status, reason, answer"

func scanDelivery(scan func(...any) error, more ...any) (store.WebhookDelivery, error) {
	var d store.WebhookDelivery
	var created, next, expires int64
	var ended, last sql.NullInt64
	err := scan(append([]any{
		&d.ProjectID, &d.ID, &d.PolicyID, &d.EventID, &d.EventType, &d.State, &d.Attempts, &created, &next, &expires, &ended,
		&last, &d.LastStatus, &d.Reason, &d.Answer,
	}, more...)...)
	d.CreatedAt, d.NextAt, d.ExpiresAt = fromMicros(created), fromMicros(next), fromMicros(expires)
	d.EndedAt, d.LastAt = fromNullable(ended), fromNullable(last)
	return d, err
}

// WebhookDelivery implements store.WebhookReader.
func (r *reader) WebhookDelivery(ctx context.Context, projectID, policyID string, id int64) (store.WebhookDelivery, error) {
	d, err := scanDelivery(func(dest ...any) error {
		return r.row(ctx, "delivery", "SELECT "+deliveryColumns+" FROM webhook_deliveries WHERE project_id = ? AND policy_id = ? AND id = ?",
			[]any{projectID, canonical(policyID), id}, dest...)
	})
	return d, missing(err, "delivery", strconv.FormatInt(id, 10))
}

// FindWebhookDeliveries implements store.WebhookReader.
func (r *reader) FindWebhookDeliveries(ctx context.Context, f store.DeliveryFilter) ([]store.WebhookDelivery, int, error) {
	where, args := " FROM webhook_deliveries WHERE project_id = ? AND policy_id = ?", []any{f.ProjectID, canonical(f.PolicyID)}
	if f.State != "" {
		where, args = where+" AND state = ?", append(args, f.State)
	}
	list, total := []store.WebhookDelivery{}, 0
	err := r.snapshot(ctx, func(r *reader) error {
		err := r.row(ctx, "count deliveries", "SELECT COUNT(*)"+where, args, &total)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		return r.each(ctx, "deliveries", "SELECT "+deliveryColumns+where+" ORDER BY id DESC LIMIT ? OFFSET ?",
			append(args, max(f.Limit, 0), max(f.Offset, 0)), func(rows *sql.Rows) error {
				d, err := scanDelivery(rows.Scan)
				list = append(list, d)
				return err
			})
	})
	return list, total, err
}

// DueWebhookDeliveries implements store.WebhookReader.
func (r *reader) DueWebhookDeliveries(ctx context.Context, projectID, policyID string, now time.Time, limit int) ([]store.WebhookDelivery, error) {
	const query = `SELECT d.project_id, d.id, d.policy_id, d.event_id, d.event_type, d.state, d.attempts, d.created_at, d.next_at,
			d.expires_at, d.ended_at, d.last_at, d.last_status, d.reason, d.answer, e.at, e.severity, e.data
		FROM webhook_deliveries AS d JOIN webhook_events AS e ON e.project_id = d.project_id AND e.id = d.event_id
		WHERE d.project_id = ? AND d.policy_id = ? AND d.state = 'pending' AND d.next_at <= ? AND d.expires_at > ? ORDER BY d.id LIMIT ?`
	list := []store.WebhookDelivery{}
	err := r.each(ctx, "due deliveries", query, []any{projectID, policyID, micros(now), micros(now), max(limit, 0)}, func(rows *sql.Rows) error {
		var at int64
		var e store.WebhookEvent
		var data string
		d, err := scanDelivery(rows.Scan, &at, &e.Severity, &data)
		e.ProjectID, e.ID, e.Type, e.Time, e.Data = d.ProjectID, d.EventID, d.EventType, fromMicros(at), json.RawMessage(data)
		d.Event = &e
		list = append(list, d)
		return err
	})
	return list, err
}

// NextWebhookDelivery implements store.WebhookReader.
func (r *reader) NextWebhookDelivery(ctx context.Context, projectID, policyID string) (time.Time, bool, error) {
	var at sql.NullInt64
	err := r.row(ctx, "next delivery", "SELECT MIN(next_at) FROM webhook_deliveries WHERE project_id = ? AND policy_id = ? AND state = 'pending'",
		[]any{projectID, policyID}, &at)
	return fromMicros(at.Int64), at.Valid, err
}

// WaitingWebhooks implements store.WebhookReader.
func (r *reader) WaitingWebhooks(ctx context.Context) ([]store.WaitingWebhook, error) {
	const query = `SELECT p.project_id, p.id, p.paused_until, (SELECT COUNT(*) FROM webhook_deliveries AS d WHERE d.project_id = p.project_id
			AND d.policy_id = p.id AND d.state = 'pending') AS pending FROM webhook_policies AS p WHERE p.enabled ORDER BY p.project_id, p.id`
	list := []store.WaitingWebhook{}
	err := r.each(ctx, "waiting webhooks", query, nil, func(rows *sql.Rows) error {
		var w store.WaitingWebhook
		var paused sql.NullInt64
		err := rows.Scan(&w.ProjectID, &w.PolicyID, &paused, &w.Pending)
		w.PausedUntil = fromNullable(paused)
		if w.Pending > 0 {
			list = append(list, w)
		}
		return err
	})
	return list, err
}
