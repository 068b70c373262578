package store

import (
	"context"
	"encoding/json"
	"time"

	"tenet/internal/rule"
)

// States of a [WebhookDelivery].
const (
	DeliveryPending   = "pending"
	DeliveryDelivered = "delivered"
	DeliveryDead      = "dead"
)

// WebhookPolicy selects the events that an endpoint receives. Package webhook defines its meaning.
type WebhookPolicy struct {
	ProjectID  string
	ID         string
	Name       string // unique within the project
	URL        string
	EventTypes []rule.EventType
	Filter     WebhookFilter
	Format     string
	Enabled    bool
	// DisabledReason is the reason why the server has disabled it; else empty.
	DisabledReason string
	Secret         string
	// OldSecret signs too, until OldUntil.
	OldSecret string
	OldUntil  *time.Time
	CreatedAt time.Time
	CreatedBy string
	UpdatedAt time.Time
	// Failures counts the attempts that have failed since the last success; the server sends nothing before PausedUntil. Only
	// [WebhookTx.Pause] and [WebhookTx.Wake] change them.
	Failures    int
	PausedUntil *time.Time
}

// WebhookFilter selects events by the rules that they concern. Empty fields select everything.
type WebhookFilter struct {
	SeverityMin rule.Severity `json:"severity_min,omitempty"`
	Scope       string        `json:"scope,omitempty"`
	RuleIDs     []string      `json:"rule_ids,omitempty"`
}

// WebhookDelivery is the delivery of one event to the endpoint of one policy.
type WebhookDelivery struct {
	ID        int64 // unique over all projects, in the order in which they were written
	ProjectID string
	PolicyID  string
	EventID   string
	EventType rule.EventType
	State     string
	Attempts  int
	CreatedAt time.Time
	NextAt    time.Time // of the next attempt, while it is pending
	ExpiresAt time.Time // of the last attempt
	EndedAt   *time.Time
	// Of the last attempt: when, the status of the answer (0 without one), the reason of its failure, and the beginning of the answer.
	LastAt     *time.Time
	LastStatus int
	Reason     string
	Answer     string
	// Event is the event; only [DeliveryReader.ListDue] sets it.
	Event *WebhookEvent
}

// WebhookEvent is an event, stored until its deliveries have ended.
type WebhookEvent struct {
	ProjectID string
	ID        string
	Type      rule.EventType
	Time      time.Time
	Severity  rule.Severity
	Data      json.RawMessage
}

// DeliveryFilter selects deliveries of one policy. An empty State selects all.
type DeliveryFilter struct {
	ProjectID string
	PolicyID  string
	State     string
	Offset    int
	Limit     int
}

// WaitingWebhook is a policy with pending deliveries.
type WaitingWebhook struct {
	ProjectID, PolicyID string
	Pending             int
	PausedUntil         *time.Time
}

// WebhookReader reads webhook policies. Like jobs, they are not part of the one state that a transaction sees: each
// method sees the committed rows, and the transaction's own writes, at the time of the call.
type WebhookReader interface {
	// List lists the policies of a project, oldest first. A transaction that writes reads them once and then
	// sees only its own changes, so that it can ask for each of many events.
	List(ctx context.Context, projectID string) ([]WebhookPolicy, error)
	// Get returns a policy, or not_found. In a transaction that writes it locks the policy.
	Get(ctx context.Context, projectID, id string) (WebhookPolicy, error)
	// ListWaiting lists the enabled policies of all projects that have pending deliveries, by project and id.
	ListWaiting(ctx context.Context) ([]WaitingWebhook, error)
}

// WebhookTx writes webhook policies.
type WebhookTx interface {
	WebhookReader

	// Insert stores a policy; conflict if the id or the name is taken, not_found without the project.
	Insert(ctx context.Context, p WebhookPolicy) error
	// Update replaces all of a policy except its creation, Failures and PausedUntil; conflict if the name is taken,
	// not_found without it.
	Update(ctx context.Context, p WebhookPolicy) error
	// Pause changes Failures and PausedUntil of a policy, if it exists.
	Pause(ctx context.Context, projectID, id string, failures int, until *time.Time) error
	// Wake clears Failures and PausedUntil of a policy, if it exists, and makes its pending deliveries due at now at
	// the latest.
	Wake(ctx context.Context, projectID, id string, now time.Time) error
	// Delete removes a policy; not_found without it. [DeliveryTx.DeleteOld] removes its deliveries.
	Delete(ctx context.Context, projectID, id string) error
}

// DeliveryReader reads webhook deliveries, which are not part of the one state that a transaction sees, like webhook policies.
type DeliveryReader interface {
	// Get returns a delivery of a policy, or not_found.
	Get(ctx context.Context, projectID, policyID string, id int64) (WebhookDelivery, error)
	// Find returns a page of deliveries that match f, newest first, and the total.
	Find(ctx context.Context, f DeliveryFilter) ([]WebhookDelivery, int, error)
	// ListDue returns up to limit pending deliveries of a policy whose next attempt is due at now and that have not
	// expired, oldest first, with their events.
	ListDue(ctx context.Context, projectID, policyID string, now time.Time, limit int) ([]WebhookDelivery, error)
	// Next returns when the next attempt of a policy's pending deliveries is due; false without any.
	Next(ctx context.Context, projectID, policyID string) (time.Time, bool, error)
}

// DeliveryTx writes webhook deliveries.
type DeliveryTx interface {
	DeliveryReader

	// Insert stores an event with a pending delivery, due at once, for each policy. An existing event and its
	// existing deliveries stay unchanged.
	Insert(ctx context.Context, e WebhookEvent, policyIDs []string, now, expires time.Time) error
	// Finish stores State, Attempts, NextAt, EndedAt and the last attempt of the deliveries that are
	// still pending.
	Finish(ctx context.Context, list []WebhookDelivery) error
	// Redeliver makes a delivery that has ended pending again, due at now and without attempts; conflict if it is
	// pending, not_found without it.
	Redeliver(ctx context.Context, projectID, policyID string, id int64, now, expires time.Time) (WebhookDelivery, error)
	// Expire marks up to limit pending deliveries that have expired at now as dead, prefixes the reason of their last attempt
	// with reason, and returns their number.
	Expire(ctx context.Context, now time.Time, reason string, limit int) (int, error)
	// DeleteOld removes up to limit deliveries that have ended before a time, and returns their number. Deliveries of a
	// removed policy end when they expire. DeleteOld also removes events without a delivery.
	DeleteOld(ctx context.Context, before time.Time, limit int) (int, error)
}
