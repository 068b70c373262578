package webhook

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/job"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

const (
	// batchSize is how many deliveries are read at a time.
	batchSize = 64
	// turn is how long a policy keeps a worker before others that wait have theirs.
	turn = 10 * time.Second
	// fresh is how long a policy counts as it was read while its deliveries are being sent.
	fresh = 50 * time.Millisecond
	// patience is after how many failures in a row an endpoint is left alone for a while.
	patience = 5
)

// Pauses after a failure, of a delivery as of an endpoint: twice as long each time, with up to a fifth more at random. The
// longest is short enough that it is soon noticed when an endpoint is back.
const (
	firstPause   = 5 * time.Second
	longestPause = 15 * time.Minute
)

// pause is how long to wait after a number of failures.
func pause(failures int) time.Duration {
	d := longestPause
	if n := max(failures-1, 0); n < 16 {
		d = min(firstPause<<n, longestPause)
	}
	return d + rand.N(d/5) //nolint:gosec // nobody gains by guessing a pause
}

// Deliver is the handler of the jobs that send what is pending for one policy. No two of a policy run at once.
func (w *Webhooks) Deliver(ctx context.Context, j wire.Job, progress func(done, total int)) error {
	var args deliverArgs
	if err := job.DecodeArgs(&j, &args); err != nil {
		return err
	}
	end := time.Now().Add(turn)
	for done := 0; ; progress(done, 0) {
		p, err := w.cfg.Store.Webhooks.Get(ctx, j.ProjectID, args.PolicyID)
		switch now := w.cfg.Now(); {
		case rule.CodeOf(err) == rule.CodeNotFound:
			return nil
		case err != nil:
			return err
		case !p.Enabled:
			return nil // enabling it asks for another job
		case p.PausedUntil != nil && p.PausedUntil.After(now):
			return w.later(ctx, &p, *p.PausedUntil)
		}
		list, err := w.cfg.Store.Deliveries.ListDue(ctx, p.ProjectID, p.ID, w.cfg.Now(), batchSize)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			next, any, err := w.cfg.Store.Deliveries.Next(ctx, p.ProjectID, p.ID)
			if err != nil || !any {
				return err
			}
			return w.later(ctx, &p, next)
		}
		n, err := w.sendAll(ctx, &p, list, end)
		if done += n; err != nil {
			return err
		}
		if time.Now().After(end) || job.Stopping(ctx) {
			return w.later(ctx, &p, time.Time{})
		}
	}
}

// later asks for the next job of a policy. What is pending but has expired does not hold it up: Sweep ends that.
func (w *Webhooks) later(ctx context.Context, p *store.WebhookPolicy, at time.Time) error {
	if now := w.cfg.Now(); !at.IsZero() && !at.After(now) {
		at = now.Add(firstPause)
	}
	return w.cfg.Store.Update(ctx, func(tx store.Tx) error { return w.enqueue(ctx, tx, p, at) })
}

// sendAll sends deliveries one after the other, until one leads to a pause or the turn ends, and returns how many attempts it
// has made. Each attempt is marked before the next batch; see [marks] for what a sudden end in between means.
func (w *Webhooks) sendAll(ctx context.Context, p *store.WebhookPolicy, list []store.WebhookDelivery, end time.Time) (n int, err error) {
	m, read := w.startMarks(), time.Now()
	for i := range list {
		if time.Now().After(end) || job.Stopping(ctx) {
			break
		}
		if time.Since(read) > fresh {
			if wanted, err := w.reread(ctx, p); err != nil || !wanted {
				return n, errors.Join(err, m.flush())
			}
			read = time.Now()
		}
		d := &list[i]
		r := w.sender.send(ctx, p, d.Event)
		if ctx.Err() != nil && !r.ok() {
			// The node stops, or has lost the job: whether this one has arrived is not known, so it is sent again.
			return n, errors.Join(m.flush(), ctx.Err())
		}
		n++
		w.conclude(d, p, r)
		if r.ok() && p.Failures == 0 {
			if !m.add(*d) {
				return n, m.flush()
			}
			continue
		}
		// What is known of the endpoint may change with this attempt, so both are written together.
		if err := m.flush(); err != nil {
			return n, err
		}
		if err := w.settle(ctx, p, d, r); err != nil {
			return n, err
		}
		if p.PausedUntil != nil {
			return n, nil
		}
		m, read = w.startMarks(), time.Time{}
	}
	return n, m.flush()
}

// reread reads a policy again, so that a new address or secret, or its end, counts from the next delivery on. It returns false if
// nothing is to be sent any more.
func (w *Webhooks) reread(ctx context.Context, p *store.WebhookPolicy) (wanted bool, err error) {
	now, err := w.cfg.Store.Webhooks.Get(ctx, p.ProjectID, p.ID)
	if rule.CodeOf(err) == rule.CodeNotFound {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	*p = now
	return p.Enabled && (p.PausedUntil == nil || !p.PausedUntil.After(w.cfg.Now())), nil
}

// conclude sets the state of a delivery after an attempt, except for pauses of its endpoint.
func (w *Webhooks) conclude(d *store.WebhookDelivery, p *store.WebhookPolicy, r result) {
	now := w.instant()
	d.Attempts++
	d.LastAt, d.LastStatus, d.Reason, d.Answer = &now, r.status, r.reason, r.answer
	outcome := "failed"
	switch {
	case r.ok():
		outcome, d.State, d.EndedAt = "delivered", store.DeliveryDelivered, &now
	case r.gone:
		outcome, d.State, d.EndedAt = "gone", store.DeliveryDead, &now
	default:
		d.NextAt = now.Add(max(pause(d.Attempts), r.after))
	}
	w.cfg.Observe(outcome, r.took)
	if !r.ok() {
		w.cfg.Logger.Debug("a webhook delivery has failed", slog.String("policy", p.ID), slog.Int64("delivery", d.ID),
			slog.Int("attempt", d.Attempts), slog.Int("status", r.status))
	}
}

// settle writes an attempt together with what it says about the endpoint: it works again, has failed once more, is to be left
// alone, or wants no more.
func (w *Webhooks) settle(ctx context.Context, p *store.WebhookPolicy, d *store.WebhookDelivery, r result) error {
	now := w.instant()
	if p.Failures++; r.ok() || r.refused {
		p.Failures = 0
	}
	p.PausedUntil = nil
	wait := r.after
	if p.Failures >= patience {
		wait = max(pause(p.Failures), wait)
	}
	if wait > 0 && !r.gone {
		until := now.Add(wait)
		p.PausedUntil = &until
		w.cfg.Logger.WarnContext(ctx, "a webhook endpoint fails and is left alone", slog.String("policy", p.ID), slog.String("project", p.ProjectID),
			slog.String("host", hostOf(p.URL)), slog.Int("failures", p.Failures), slog.Time("until", until))
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	return w.cfg.Store.Update(ctx, func(tx store.Tx) error {
		now, err := tx.Webhooks.Get(ctx, p.ProjectID, p.ID)
		if err != nil && rule.CodeOf(err) != rule.CodeNotFound {
			return err
		}
		elsewhere := err != nil || now.URL != p.URL
		if err := tx.Deliveries.Finish(ctx, []store.WebhookDelivery{*d}); err != nil {
			return err
		}
		if elsewhere {
			return nil // the policy has gone, or goes to another address, about which this attempt says nothing
		}
		if r.gone {
			if err := w.disable(ctx, tx, now, r.reason); err != nil {
				return err
			}
		}
		return tx.Webhooks.Pause(ctx, p.ProjectID, p.ID, p.Failures, p.PausedUntil)
	})
}

// disable ends a policy whose endpoint wants no more.
func (w *Webhooks) disable(ctx context.Context, tx store.Tx, p store.WebhookPolicy, reason string) error {
	before := p
	p.Enabled, p.DisabledReason, p.UpdatedAt = false, reason, w.instant()
	if err := tx.Webhooks.Update(ctx, p); err != nil {
		return err
	}
	return note(auth.WithActor(ctx, auth.Actor{Name: "system"}), tx, "disable", &before, &p)
}

// Redeliver sends a delivery that has ended once more, under the same webhook-id and with a lifetime of its own.
func (w *Webhooks) Redeliver(ctx context.Context, projectID, policyID string, id int64) (wire.Delivery, error) {
	var d store.WebhookDelivery
	err := w.cfg.Store.Update(ctx, func(tx store.Tx) error {
		p, err := tx.Webhooks.Get(ctx, projectID, policyID)
		if err != nil {
			return err
		}
		if !p.Enabled {
			return rule.Errorf(rule.CodeConflict, "the policy is disabled; enable it first")
		}
		now := w.instant()
		if d, err = tx.Deliveries.Redeliver(ctx, projectID, p.ID, id, now, now.Add(Lifetime)); err != nil {
			return err
		}
		at := time.Time{}
		if p.PausedUntil != nil {
			at = *p.PausedUntil
		}
		return w.enqueue(ctx, tx, &p, at)
	})
	return deliveryOf(d), err
}

// Test sends one ping to the endpoint of a policy, at once, and returns the result. It stores nothing and does not change the
// policy.
func (w *Webhooks) Test(ctx context.Context, projectID, id string) (wire.TestResult, error) {
	p, err := w.cfg.Store.Webhooks.Get(ctx, projectID, id)
	if err != nil {
		return wire.TestResult{}, err
	}
	e := store.WebhookEvent{ProjectID: projectID, ID: audit.NewID(), Type: Ping, Time: w.instant(), Data: audit.JSON(map[string]string{
		"policy_id": p.ID, "policy_name": p.Name, "message": "This is a test of the webhook policy " + p.Name + ".",
	})}
	r := w.sender.send(ctx, &p, &e)
	if err := ctx.Err(); err != nil {
		return wire.TestResult{}, err
	}
	return wire.TestResult{
		Delivered: r.ok(), EventID: e.ID, Status: r.status, Reason: r.reason, Answer: r.answer, DurationMS: r.took.Milliseconds(),
	}, nil
}
