package sqlstore

import (
	"context"
	"database/sql"
	"slices"
	"strconv"
	"time"

	"tenet/internal/store"
)

// Like jobs, webhooks belong to no lock domain: an evaluation that publishes a violation must not wait for another one that
// does. Transactions lock their rows one by one, and each statement decides on the current row.

const webhookPolicyColumns = "project_id, id, name, url, event_types, filter, format, enabled, disabled_reason, secret, old_secret, " +
	"old_until, created_at, created_by, updated_at, failures, paused_until"

func webhookPolicyFields(p *store.WebhookPolicy) []any {
	return []any{
		&p.ProjectID, &p.ID, &p.Name, &p.URL,
		jsonColumn{&p.EventTypes},
		jsonColumn{&p.Filter},
		&p.Format, &p.Enabled, &p.DisabledReason, &p.Secret,
		&p.OldSecret,
		optionalTimeColumn{&p.OldUntil},
		timeColumn{&p.CreatedAt},
		&p.CreatedBy,
		timeColumn{&p.UpdatedAt},
		&p.Failures,
		optionalTimeColumn{&p.PausedUntil},
	}
}

// List implements store.WebhookReader.
func (t webhookTable) List(ctx context.Context, projectID string) ([]store.WebhookPolicy, error) {
	if t.state != nil && t.state.webhooks[projectID] != nil {
		return slices.Clone(t.state.webhooks[projectID]), nil
	}
	list, err := many(ctx, t.session, unlocked, "webhook policies", "SELECT "+webhookPolicyColumns+" FROM webhook_policies WHERE project_id = ? ORDER BY created_at, id",
		[]any{projectID}, webhookPolicyFields)
	if err == nil && t.state != nil {
		t.state.webhooks[projectID] = slices.Clone(list)
	}
	return list, err
}

// Get implements store.WebhookReader.
func (t webhookTable) Get(ctx context.Context, projectID, id string) (store.WebhookPolicy, error) {
	query := "SELECT " + webhookPolicyColumns + " FROM webhook_policies WHERE project_id = ? AND id = ?"
	if t.state != nil && t.d.rowLocks {
		query += " FOR NO KEY UPDATE"
	}
	p, err := one(ctx, t.session, unlocked, "webhook policy", query, []any{projectID, canonical(id)}, webhookPolicyFields)
	return p, notFound(err, "webhook policy", id)
}

const deliveryColumns = "project_id, id, policy_id, event_id, event_type, state, attempts, created_at, next_at, expires_at, ended_at, " +
	"last_at, last_status, reason, answer"

func deliveryFields(d *store.WebhookDelivery) []any {
	return []any{
		&d.ProjectID, &d.ID, &d.PolicyID, &d.EventID, &d.EventType, &d.State, &d.Attempts,
		timeColumn{&d.CreatedAt},
		timeColumn{&d.NextAt},
		timeColumn{&d.ExpiresAt},
		optionalTimeColumn{&d.EndedAt},
		optionalTimeColumn{&d.LastAt},
		&d.LastStatus, &d.Reason, &d.Answer,
	}
}

// Get implements store.DeliveryReader.
func (t deliveryTable) Get(ctx context.Context, projectID, policyID string, id int64) (store.WebhookDelivery, error) {
	d, err := one(ctx, t.session, unlocked, "delivery", "SELECT "+deliveryColumns+" FROM webhook_deliveries WHERE project_id = ? AND policy_id = ? AND id = ?",
		[]any{projectID, canonical(policyID), id}, deliveryFields)
	return d, notFound(err, "delivery", strconv.FormatInt(id, 10))
}

// Find implements store.DeliveryReader.
func (t deliveryTable) Find(ctx context.Context, f store.DeliveryFilter) ([]store.WebhookDelivery, int, error) {
	from, args := equal("FROM webhook_deliveries WHERE project_id = ? AND policy_id = ?", []any{f.ProjectID, canonical(f.PolicyID)}, "state", f.State)
	return page(ctx, t.session, unlocked, "deliveries", deliveryColumns, from, "id DESC", args, window{f.Offset, f.Limit}, deliveryFields)
}

// ListDue implements store.DeliveryReader.
func (t deliveryTable) ListDue(ctx context.Context, projectID, policyID string, now time.Time, limit int) ([]store.WebhookDelivery, error) {
	const query = `SELECT d.project_id, d.id, d.policy_id, d.event_id, d.event_type, d.state, d.attempts, d.created_at, d.next_at,
			d.expires_at, d.ended_at, d.last_at, d.last_status, d.reason, d.answer, e.at, e.severity, e.data
		FROM webhook_deliveries AS d JOIN webhook_events AS e ON e.project_id = d.project_id AND e.id = d.event_id
		WHERE d.project_id = ? AND d.policy_id = ? AND d.state = 'pending' AND d.next_at <= ? AND d.expires_at > ? ORDER BY d.id LIMIT ?`
	args := []any{projectID, policyID, micros(now), micros(now), max(limit, 0)}
	list, err := many(ctx, t.session, unlocked, "due deliveries", query, args, func(d *store.WebhookDelivery) []any {
		d.Event = &store.WebhookEvent{}
		return append(deliveryFields(d), timeColumn{&d.Event.Time}, &d.Event.Severity, (*[]byte)(&d.Event.Data))
	})
	for _, d := range list {
		d.Event.ProjectID, d.Event.ID, d.Event.Type = d.ProjectID, d.EventID, d.EventType
	}
	return list, err
}

// Next implements store.DeliveryReader.
func (t deliveryTable) Next(ctx context.Context, projectID, policyID string) (time.Time, bool, error) {
	var at sql.NullInt64
	err := t.row(ctx, "next delivery", "SELECT MIN(next_at) FROM webhook_deliveries WHERE project_id = ? AND policy_id = ? AND state = 'pending'",
		[]any{projectID, policyID}, &at)
	return fromMicros(at.Int64), at.Valid, err
}

// ListWaiting implements store.WebhookReader.
func (t webhookTable) ListWaiting(ctx context.Context) ([]store.WaitingWebhook, error) {
	const query = `SELECT p.project_id, p.id, p.paused_until, (SELECT COUNT(*) FROM webhook_deliveries AS d WHERE d.project_id = p.project_id
			AND d.policy_id = p.id AND d.state = 'pending') AS pending FROM webhook_policies AS p WHERE p.enabled ORDER BY p.project_id, p.id`
	list, err := many(ctx, t.session, unlocked, "waiting webhooks", query, nil, func(w *store.WaitingWebhook) []any {
		return []any{&w.ProjectID, &w.PolicyID, optionalTimeColumn{&w.PausedUntil}, &w.Pending}
	})
	return slices.DeleteFunc(list, func(w store.WaitingWebhook) bool { return w.Pending == 0 }), err
}
