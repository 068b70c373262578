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

// WebhookPolicy says which events are told to which endpoint. What it means is the business of package webhook.
type WebhookPolicy struct {
	ProjectID  string
	ID         string
	Name       string // unique within the project
	URL        string
	EventTypes []rule.EventType
	Filter     WebhookFilter
	Format     string
	Enabled    bool
	// DisabledReason says why the server has disabled it by itself; empty otherwise.
	DisabledReason string
	Secret         string
	// OldSecret signs too, until OldUntil.
	OldSecret string
	OldUntil  *time.Time
	CreatedAt time.Time
	CreatedBy string
	UpdatedAt time.Time
	// Failures counts the attempts that have failed since the last success; nothing is sent before PausedUntil. Both are
	// changed by [WebhookTx.PauseWebhook] and [WebhookTx.WakeWebhook] alone.
	Failures    int
	PausedUntil *time.Time
}

// WebhookFilter selects events by the rules that they concern. Empty fields select everything.
type WebhookFilter struct {
	SeverityMin rule.Severity `json:"severity_min,omitempty"`
	Scope       string        `json:"scope,omitempty"`
	RuleIDs     []string      `json:"rule_ids,omitempty"`
}

// WebhookDelivery is the telling of one event to one policy's endpoint.
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
	ExpiresAt time.Time // it is given up then
	EndedAt   *time.Time
	// Of the last attempt: when, the status of the answer (0 without one), why it has failed, and how the answer begins.
	LastAt     *time.Time
	LastStatus int
	Reason     string
	Answer     string
	// Event is what is told; only [WebhookReader.DueWebhookDeliveries] gives it.
	Event *WebhookEvent
}

// WebhookEvent is an event as it is kept until its deliveries have ended.
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

// WebhookReader reads webhook policies and deliveries. Like jobs, they are not part of what transactions see as one: each method
// sees what is committed, and the transaction's own writes, when it is called.
type WebhookReader interface {
	// WebhookPolicies lists the policies of a project, oldest first. A transaction that writes reads them once: after that it
	// knows of its own changes only, so that it can ask for each of many events.
	WebhookPolicies(ctx context.Context, projectID string) ([]WebhookPolicy, error)
	// WebhookPolicy returns a policy, or not_found. In a transaction that writes it keeps others from changing the policy.
	WebhookPolicy(ctx context.Context, projectID, id string) (WebhookPolicy, error)
	// WebhookDelivery returns a delivery of a policy, or not_found.
	WebhookDelivery(ctx context.Context, projectID, policyID string, id int64) (WebhookDelivery, error)
	// FindWebhookDeliveries returns a page of deliveries that match f, newest first, and how many match.
	FindWebhookDeliveries(ctx context.Context, f DeliveryFilter) ([]WebhookDelivery, int, error)
	// DueWebhookDeliveries returns up to limit pending deliveries of a policy whose next attempt is due at now and that have not
	// expired, oldest first, with their events.
	DueWebhookDeliveries(ctx context.Context, projectID, policyID string, now time.Time, limit int) ([]WebhookDelivery, error)
	// NextWebhookDelivery returns when the next attempt of a policy's pending deliveries is due; false without any.
	NextWebhookDelivery(ctx context.Context, projectID, policyID string) (time.Time, bool, error)
	// WaitingWebhooks lists the enabled policies of all projects that have pending deliveries, by project and id.
	WaitingWebhooks(ctx context.Context) ([]WaitingWebhook, error)
}

// WaitingWebhook is a policy with pending deliveries.
type WaitingWebhook struct {
	ProjectID, PolicyID string
	Pending             int
	PausedUntil         *time.Time
}

// WebhookTx writes webhook policies and deliveries.
type WebhookTx interface {
	// InsertWebhookPolicy stores a policy; conflict if the id or the name is taken, not_found without the project.
	InsertWebhookPolicy(ctx context.Context, p WebhookPolicy) error
	// UpdateWebhookPolicy replaces all of a policy but its creation, Failures and PausedUntil; conflict if the name is taken,
	// not_found without it.
	UpdateWebhookPolicy(ctx context.Context, p WebhookPolicy) error
	// PauseWebhook changes Failures and PausedUntil of a policy, if it is still there.
	PauseWebhook(ctx context.Context, projectID, id string, failures int, until *time.Time) error
	// WakeWebhook clears Failures and PausedUntil of a policy, if it is still there, and makes its pending deliveries due at now at
	// the latest.
	WakeWebhook(ctx context.Context, projectID, id string, now time.Time) error
	// DeleteWebhookPolicy removes a policy; not_found without it. Its deliveries are left to DropWebhooks.
	DeleteWebhookPolicy(ctx context.Context, projectID, id string) error
	// InsertWebhookEvent stores an event with a pending delivery, due at once, for each of some policies. An event that is
	// there already, and a delivery of it to the same policy, stay as they are.
	InsertWebhookEvent(ctx context.Context, e WebhookEvent, policyIDs []string, now, expires time.Time) error
	// FinishWebhookDeliveries stores State, Attempts, NextAt, EndedAt and the last attempt of those of the deliveries that are
	// still pending.
	FinishWebhookDeliveries(ctx context.Context, list []WebhookDelivery) error
	// RedeliverWebhook makes a delivery that has ended pending anew, due at now and without attempts; conflict if it is
	// pending, not_found without it.
	RedeliverWebhook(ctx context.Context, projectID, policyID string, id int64, now, expires time.Time) (WebhookDelivery, error)
	// ExpireWebhooks makes up to limit pending deliveries that have expired at now dead, for a reason that is put before that of
	// their last attempt, and returns how many.
	ExpireWebhooks(ctx context.Context, now time.Time, reason string, limit int) (int, error)
	// DropWebhooks removes up to limit deliveries that have ended before a time, and returns how many. Those of a policy that is gone
	// end when they expire. Events without any delivery go with them.
	DropWebhooks(ctx context.Context, before time.Time, limit int) (int, error)
}
