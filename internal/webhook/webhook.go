// Package webhook tells endpoints outside of what has happened: policies say which events go where, and deliveries carry them
// there, signed by the Standard Webhooks specification, at least once, until they arrive or a day has passed.
//
// One job for each policy sends its pending deliveries one after the other, in the order in which the events happened. A
// delivery that fails is tried again later and lets others pass; an endpoint that fails again and again is left alone for a
// while, and then probed with one delivery.
package webhook

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"time"

	"tenet/internal/job"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// Kinds of the jobs that [Webhooks.Deliver] and [Webhooks.Sweep] carry out.
const (
	DeliverKind = "webhook.deliver"
	SweepKind   = "webhook.sweep"
)

// SweepEvery is how often [Webhooks.Sweep] is due.
const SweepEvery = 5 * time.Minute

// DefaultTimeout bounds one attempt, from the connection to the end of the answer.
const DefaultTimeout = 15 * time.Second

// DefaultRetention is how long deliveries are kept once they have ended.
const DefaultRetention = 7 * 24 * time.Hour

// Config sets up [New]. Store, Queue and Now are required.
type Config struct {
	Store  store.Store
	Queue  job.Queue
	Now    func() time.Time
	Logger *slog.Logger // nil logs nothing
	// AllowNetworks may be reached although they are not on the public internet.
	AllowNetworks []netip.Prefix
	Timeout       time.Duration // of an attempt; 0 means [DefaultTimeout]
	Retention     time.Duration // of ended deliveries; 0 means [DefaultRetention]
	// Observe is told of every attempt that has ended: delivered, failed, or gone if the endpoint wants no more.
	Observe func(outcome string, took time.Duration)
	// Resolver finds the addresses of endpoints; nil is the system's.
	Resolver *net.Resolver
}

// Webhooks keeps policies and delivers events. It is safe for concurrent use.
type Webhooks struct {
	cfg    Config
	sender *sender
}

// New makes Webhooks.
func New(c Config) *Webhooks {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Timeout <= 0 {
		c.Timeout = DefaultTimeout
	}
	if c.Retention <= 0 {
		c.Retention = DefaultRetention
	}
	if c.Observe == nil {
		c.Observe = func(string, time.Duration) {}
	}
	return &Webhooks{cfg: c, sender: newSender(c)}
}

func (w *Webhooks) instant() time.Time { return w.cfg.Now().UTC().Truncate(time.Microsecond) }

// ParseNetworks reads a list of networks with commas between, such as 10.1.0.0/16, fd00::/8.
func ParseNetworks(list string) ([]netip.Prefix, error) { return parseNetworks(list) }

// Format is how an event is written.
type Format string

// Formats: the body of the Standard Webhooks specification, or a message that Slack and what is compatible with it shows.
const (
	Standard Format = "standard"
	Slack    Format = "slack"
)

// Formats lists all formats.
var Formats = []Format{Standard, Slack}

// Filter selects events by the rules that they concern. What an event does not have (a deployment has no severity) holds it
// back in no way.
type Filter struct {
	SeverityMin rule.Severity `json:"severity_min,omitempty" enum:"LOW,MEDIUM,HIGH,CRITICAL" doc:"Least severity of the rules concerned."`
	Scope       string        `json:"scope,omitempty" doc:"Scope path: finds rules in it and below, and those that hold everywhere." example:"finance"`
	RuleIDs     []string      `json:"rule_ids,omitempty" nullable:"false" doc:"Rules, one of which must be concerned."`
}

// State says whether an endpoint is being told of events.
type State string

// States of a policy.
const (
	Active   State = "active"   // events are sent
	Paused   State = "paused"   // the endpoint fails, and is tried again later
	Disabled State = "disabled" // nothing is sent, and new events are not kept for it
)

// Policy says which events are told to which endpoint.
type Policy struct {
	ID             string           `json:"id" doc:"Identifier."`
	ProjectID      string           `json:"project_id" doc:"Project whose events are told."`
	Name           string           `json:"name" doc:"Name, unique within the project."`
	URL            string           `json:"url" doc:"Where events are sent."`
	EventTypes     []rule.EventType `json:"event_types" nullable:"false" doc:"Events that are told."`
	Filter         Filter           `json:"filter" doc:"Which of them."`
	Format         Format           `json:"format" enum:"standard,slack" doc:"How they are written."`
	Enabled        bool             `json:"enabled" doc:"Whether events are told."`
	DisabledReason string           `json:"disabled_reason,omitempty" doc:"Why the server has disabled it by itself."`
	State          State            `json:"state" enum:"active,paused,disabled" doc:"Whether the endpoint is being told."`
	Failures       int              `json:"failures" doc:"Attempts that have failed since the last success."`
	PausedUntil    *time.Time       `json:"paused_until,omitempty" doc:"When a paused endpoint is tried again."`
	OldSecretUntil *time.Time       `json:"old_secret_until,omitempty" doc:"Until then the secret before signs too."`
	CreatedAt      time.Time        `json:"created_at" doc:"Creation time."`
	CreatedBy      string           `json:"created_by" doc:"Who made it."`
	UpdatedAt      time.Time        `json:"updated_at" doc:"Time of the last change."`
}

// PolicyWithSecret is a policy whose secret is shown, this once.
type PolicyWithSecret struct {
	Policy
	Secret string `json:"secret" doc:"What receivers verify signatures with. It is shown this once."`
}

// policyOf is a stored policy as callers see it at a time: without its secrets.
func policyOf(p store.WebhookPolicy, now time.Time) Policy {
	out := Policy{
		ID: p.ID, ProjectID: p.ProjectID, Name: p.Name, URL: p.URL, EventTypes: p.EventTypes, Filter: Filter(p.Filter), Format: Format(p.Format),
		Enabled: p.Enabled, DisabledReason: p.DisabledReason, State: Active, Failures: p.Failures, CreatedAt: p.CreatedAt, CreatedBy: p.CreatedBy,
		UpdatedAt: p.UpdatedAt,
	}
	if p.OldUntil != nil && p.OldUntil.After(now) {
		out.OldSecretUntil = p.OldUntil
	}
	switch {
	case !p.Enabled:
		out.State = Disabled
	case p.PausedUntil != nil && p.PausedUntil.After(now):
		out.State, out.PausedUntil = Paused, p.PausedUntil
	}
	return out
}

// Delivery is the telling of one event to one endpoint, and how far it has come.
type Delivery struct {
	ID         int64          `json:"id" doc:"Identifier of the delivery."`
	EventID    string         `json:"event_id" doc:"Identifier of the event: the webhook-id of every attempt."`
	EventType  rule.EventType `json:"event_type" doc:"What has happened."`
	State      string         `json:"state" enum:"pending,delivered,dead" doc:"How far it has come; dead is given up."`
	Attempts   int            `json:"attempts" doc:"Attempts so far."`
	CreatedAt  time.Time      `json:"created_at" doc:"When the event was published."`
	NextAt     *time.Time     `json:"next_attempt_at,omitempty" doc:"When a pending one is tried next, if the endpoint is not paused."`
	ExpiresAt  time.Time      `json:"expires_at" doc:"When it is given up."`
	EndedAt    *time.Time     `json:"ended_at,omitempty" doc:"When it was delivered or given up."`
	LastAt     *time.Time     `json:"last_attempt_at,omitempty" doc:"When it was tried last."`
	LastStatus int            `json:"last_status,omitempty" doc:"HTTP status of the last answer; absent if there was none."`
	Reason     string         `json:"reason,omitempty" doc:"Why the last attempt has failed, or why it was given up."`
	Answer     string         `json:"answer,omitempty" doc:"How the last answer began, up to 4 KiB."`
}

func deliveryOf(d store.WebhookDelivery) Delivery {
	out := Delivery{
		ID: d.ID, EventID: d.EventID, EventType: d.EventType, State: d.State, Attempts: d.Attempts, CreatedAt: d.CreatedAt, ExpiresAt: d.ExpiresAt,
		EndedAt: d.EndedAt, LastAt: d.LastAt, LastStatus: d.LastStatus, Reason: d.Reason, Answer: d.Answer,
	}
	if d.State == store.DeliveryPending {
		out.NextAt = &d.NextAt
	}
	return out
}

// Deliveries returns a page of a policy's deliveries, newest first, and how many there are. An empty state selects all.
func (w *Webhooks) Deliveries(ctx context.Context, projectID, policyID, state string, offset, limit int) ([]Delivery, int, error) {
	p, err := w.cfg.Store.WebhookPolicy(ctx, projectID, policyID)
	if err != nil {
		return nil, 0, err
	}
	list, total, err := w.cfg.Store.FindWebhookDeliveries(ctx, store.DeliveryFilter{
		ProjectID: projectID, PolicyID: p.ID, State: state, Offset: offset, Limit: limit,
	})
	out := make([]Delivery, len(list))
	for i, d := range list {
		out[i] = deliveryOf(d)
	}
	return out, total, err
}
