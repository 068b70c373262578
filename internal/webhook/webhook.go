// Package webhook delivers events to endpoints outside: policies select which events go where, and deliveries carry them there,
// signed by the Standard Webhooks specification, at least once, until they arrive or a day has passed.
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
	"tenet/internal/wire"
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

// Store is the part of the database that this package uses.
type Store struct {
	store.Updater
	Webhooks   store.WebhookReader
	Deliveries store.DeliveryReader
}

// Config sets up [New]. Store, Queue and Now are required.
type Config struct {
	Store  Store
	Queue  job.Queue
	Now    func() time.Time
	Logger *slog.Logger // nil logs nothing
	// AllowNetworks may be reached although they are not on the public internet.
	AllowNetworks []netip.Prefix
	Timeout       time.Duration // of an attempt; 0 means [DefaultTimeout]
	Retention     time.Duration // of ended deliveries; 0 means [DefaultRetention]
	// Observe gets the outcome of every attempt: delivered, failed, or gone if the endpoint wants no more.
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

func (w *Webhooks) instant() time.Time { return rule.Instant(w.cfg.Now()) }

// ParseNetworks reads a list of networks with commas between, such as 10.1.0.0/16, fd00::/8.
func ParseNetworks(list string) ([]netip.Prefix, error) { return parseNetworks(list) }

// policyOf is a stored policy as callers see it at a time: without its secrets.
func policyOf(p store.WebhookPolicy, now time.Time) wire.Policy {
	out := wire.Policy{
		ID: p.ID, ProjectID: p.ProjectID, Name: p.Name, URL: p.URL, EventTypes: p.EventTypes, Filter: wire.Filter(p.Filter), Format: wire.WebhookFormat(p.Format),
		Enabled: p.Enabled, DisabledReason: p.DisabledReason, State: wire.PolicyActive, Failures: p.Failures, CreatedAt: p.CreatedAt, CreatedBy: p.CreatedBy,
		UpdatedAt: p.UpdatedAt,
	}
	if p.OldUntil != nil && p.OldUntil.After(now) {
		out.OldSecretUntil = p.OldUntil
	}
	switch {
	case !p.Enabled:
		out.State = wire.PolicyDisabled
	case p.PausedUntil != nil && p.PausedUntil.After(now):
		out.State, out.PausedUntil = wire.PolicyPaused, p.PausedUntil
	}
	return out
}

func deliveryOf(d store.WebhookDelivery) wire.Delivery {
	out := wire.Delivery{
		ID: d.ID, EventID: d.EventID, EventType: d.EventType, State: d.State, Attempts: d.Attempts, CreatedAt: d.CreatedAt, ExpiresAt: d.ExpiresAt,
		EndedAt: d.EndedAt, LastAt: d.LastAt, LastStatus: d.LastStatus, Reason: d.Reason, Answer: d.Answer,
	}
	if d.State == store.DeliveryPending {
		out.NextAt = &d.NextAt
	}
	return out
}

// Deliveries returns a page of a policy's deliveries, newest first, and their number. An empty state selects all.
func (w *Webhooks) Deliveries(ctx context.Context, projectID, policyID, state string, offset, limit int) ([]wire.Delivery, int, error) {
	p, err := w.cfg.Store.Webhooks.Get(ctx, projectID, policyID)
	if err != nil {
		return nil, 0, err
	}
	list, total, err := w.cfg.Store.Deliveries.Find(ctx, store.DeliveryFilter{
		ProjectID: projectID, PolicyID: p.ID, State: state, Offset: offset, Limit: limit,
	})
	out := make([]wire.Delivery, len(list))
	for i, d := range list {
		out[i] = deliveryOf(d)
	}
	return out, total, err
}
