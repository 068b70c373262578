package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"tenet/internal/rule"
	"tenet/internal/store"
)

// encoded returns a part of a policy as JSON. It consists of strings, so it always encodes.
func encoded(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}

// Insert implements store.WebhookTx.
func (t webhookTable) Insert(ctx context.Context, p store.WebhookPolicy) error {
	clear(t.state.webhooks)
	if _, err := projectTable(t).Get(ctx, p.ProjectID); err != nil {
		return err
	}
	n, err := t.exec(ctx, "insert webhook policy",
		"INSERT INTO webhook_policies ("+webhookPolicyColumns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
		p.ProjectID, p.ID, p.Name, p.URL, encoded(p.EventTypes), encoded(p.Filter), p.Format, p.Enabled, p.DisabledReason, p.Secret, p.OldSecret,
		nullable(p.OldUntil), micros(p.CreatedAt), p.CreatedBy, micros(p.UpdatedAt), p.Failures, nullable(p.PausedUntil))
	return unlessNone(n, err, nameTaken(p.Name))
}

func nameTaken(name string) error {
	return rule.Errorf(rule.CodeConflict, "there is a webhook policy named %q already; choose another name", name)
}

// Update implements store.WebhookTx.
func (t webhookTable) Update(ctx context.Context, p store.WebhookPolicy) error {
	clear(t.state.webhooks)
	n, err := t.exec(ctx, "update webhook policy",
		`UPDATE webhook_policies SET name = ?, url = ?, event_types = ?, filter = ?, format = ?, enabled = ?, disabled_reason = ?, secret = ?,
			old_secret = ?, old_until = ?, updated_at = ? WHERE project_id = ? AND id = ?`,
		p.Name, p.URL, encoded(p.EventTypes), encoded(p.Filter), p.Format, p.Enabled, p.DisabledReason, p.Secret,
		p.OldSecret, nullable(p.OldUntil), micros(p.UpdatedAt), p.ProjectID, p.ID)
	if t.d.duplicate(err) {
		return errors.Join(nameTaken(p.Name), err)
	}
	return unlessNone(n, err, rule.NotFound("webhook policy", p.ID))
}

// Pause implements store.WebhookTx.
func (t webhookTable) Pause(ctx context.Context, projectID, id string, failures int, until *time.Time) error {
	clear(t.state.webhooks)
	_, err := t.exec(ctx, "pause webhook", "UPDATE webhook_policies SET failures = ?, paused_until = ? WHERE project_id = ? AND id = ?",
		failures, nullable(until), projectID, id)
	return err
}

// Wake implements store.WebhookTx.
func (t webhookTable) Wake(ctx context.Context, projectID, id string, now time.Time) error {
	if err := t.Pause(ctx, projectID, id, 0, nil); err != nil {
		return err
	}
	_, err := t.exec(ctx, "wake webhook", "UPDATE webhook_deliveries SET next_at = ? WHERE project_id = ? AND policy_id = ? AND state = 'pending' AND next_at > ?",
		micros(now), projectID, id, micros(now))
	return err
}

// Delete implements store.WebhookTx.
func (t webhookTable) Delete(ctx context.Context, projectID, id string) error {
	clear(t.state.webhooks)
	n, err := t.exec(ctx, "delete webhook policy", "DELETE FROM webhook_policies WHERE project_id = ? AND id = ?", projectID, canonical(id))
	return unlessNone(n, err, rule.NotFound("webhook policy", id))
}

// Insert implements store.DeliveryTx.
func (t deliveryTable) Insert(ctx context.Context, e store.WebhookEvent, policyIDs []string, now, expires time.Time) error {
	_, err := t.exec(ctx, "insert webhook event",
		"INSERT INTO webhook_events (project_id, id, type, at, severity, data) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
		e.ProjectID, e.ID, string(e.Type), micros(e.Time), string(e.Severity), string(e.Data))
	if err != nil {
		return err
	}
	var args []any
	for _, id := range policyIDs {
		args = append(args, e.ProjectID, id, e.ID, string(e.Type), store.DeliveryPending, 0, micros(now), micros(now), micros(expires), 0, "", "")
	}
	return t.execRows(ctx, "insert deliveries", `INSERT INTO webhook_deliveries (project_id, policy_id, event_id, event_type, state, attempts,
			created_at, next_at, expires_at, last_status, reason, answer) VALUES `, 12, " ON CONFLICT DO NOTHING", args)
}

// Finish implements store.DeliveryTx.
func (t deliveryTable) Finish(ctx context.Context, list []store.WebhookDelivery) error {
	for i := range list {
		d := &list[i]
		_, err := t.exec(ctx, "finish delivery",
			`UPDATE webhook_deliveries SET state = ?, attempts = ?, next_at = ?, ended_at = ?, last_at = ?, last_status = ?, reason = ?, answer = ?
				WHERE project_id = ? AND id = ? AND state = 'pending'`,
			d.State, d.Attempts, micros(d.NextAt), nullable(d.EndedAt), nullable(d.LastAt), d.LastStatus, d.Reason, d.Answer, d.ProjectID, d.ID)
		if err != nil {
			return err
		}
	}
	return nil
}

// Redeliver implements store.DeliveryTx.
func (t deliveryTable) Redeliver(ctx context.Context, projectID, policyID string, id int64, now, expires time.Time) (store.WebhookDelivery, error) {
	d, err := one(ctx, t.session, unlocked, "redeliver", `UPDATE webhook_deliveries SET state = 'pending', attempts = 0, next_at = ?, expires_at = ?, ended_at = NULL
			WHERE project_id = ? AND policy_id = ? AND id = ? AND state <> 'pending' RETURNING `+deliveryColumns,
		[]any{micros(now), micros(expires), projectID, canonical(policyID), id}, deliveryFields)
	if !errors.Is(err, sql.ErrNoRows) {
		return d, err
	}
	if d, err = t.Get(ctx, projectID, policyID, id); err != nil {
		return d, err
	}
	return d, rule.Errorf(rule.CodeConflict, "delivery %d is still pending; it is tried again automatically", id)
}

// Expire implements store.DeliveryTx.
func (t deliveryTable) Expire(ctx context.Context, now time.Time, reason string, limit int) (int, error) {
	n, err := t.exec(ctx, "expire deliveries", `UPDATE webhook_deliveries SET state = 'dead', ended_at = ?,
			reason = CAST(? AS TEXT) || CASE WHEN reason = '' THEN '' ELSE ': ' || reason END
		WHERE id IN (SELECT id FROM webhook_deliveries WHERE state = 'pending' AND expires_at <= ? ORDER BY expires_at LIMIT ?) AND state = 'pending'`,
		micros(now), reason, micros(now), max(limit, 0))
	return int(n), err
}

// DeleteOld implements store.DeliveryTx.
func (t deliveryTable) DeleteOld(ctx context.Context, before time.Time, limit int) (int, error) {
	n := 0
	events := map[string][]string{} // by project
	err := t.each(ctx, "drop deliveries", `DELETE FROM webhook_deliveries WHERE id IN (SELECT id FROM webhook_deliveries
			WHERE state <> 'pending' AND ended_at < ? ORDER BY ended_at LIMIT ?) AND state <> 'pending' RETURNING project_id, event_id`,
		[]any{micros(before), max(limit, 0)}, func(rows *sql.Rows) error {
			var project, event string
			err := rows.Scan(&project, &event)
			events[project] = append(events[project], event)
			n++
			return err
		})
	if err != nil {
		return n, err
	}
	for project, ids := range events {
		named, arg := t.d.in("id", ids)
		_, err := t.exec(ctx, "drop webhook events", "DELETE FROM webhook_events WHERE project_id = ? AND "+named+
			" AND NOT EXISTS (SELECT 1 FROM webhook_deliveries AS d WHERE d.project_id = webhook_events.project_id AND d.event_id = webhook_events.id)",
			project, arg)
		if err != nil {
			return n, err
		}
	}
	return n, nil
}
