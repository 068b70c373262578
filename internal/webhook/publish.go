package webhook

import (
	"context"
	"slices"
	"time"

	"tenet/internal/job"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// Lifetime is how long after its event a delivery is given up, or after its redelivery.
const Lifetime = 24 * time.Hour

// attemptsOfJob is after how many errors of its own (the database is away, say) the job of a policy has failed. Sweep asks for
// another one then.
const attemptsOfJob = 1000

// Publish adds deliveries of an event to the policies that want it, as part of the transaction of its cause. The policies are those
// in the database now, including one that another node has just made. Without policies it costs one read by index. Callers publish
// last in a transaction, after the audit record, so that all lock in one order.
func (w *Webhooks) Publish(ctx context.Context, tx store.Tx, e rule.Event) error {
	policies, err := tx.Webhooks.List(ctx, e.ProjectID)
	if err != nil {
		return err
	}
	policies = slices.DeleteFunc(policies, func(p store.WebhookPolicy) bool { return !wants(&p, &e) })
	if len(policies) == 0 {
		return nil
	}
	ids := make([]string, len(policies))
	for i := range policies {
		ids[i] = policies[i].ID
	}
	now := w.instant()
	err = tx.Deliveries.Insert(ctx, store.WebhookEvent{
		ProjectID: e.ProjectID, ID: e.ID, Type: e.Type, Time: e.Time, Severity: e.Severity, Data: e.Data,
	}, ids, now, now.Add(Lifetime))
	if err != nil {
		return err
	}
	for i := range policies {
		p := &policies[i]
		at := time.Time{}
		if p.PausedUntil != nil {
			at = *p.PausedUntil // an event must not wake what is left alone
		}
		if err := w.enqueue(ctx, tx, p, at); err != nil {
			return err
		}
	}
	return nil
}

// enqueue asks for the job of a policy, at once or at a time.
func (w *Webhooks) enqueue(ctx context.Context, tx store.Tx, p *store.WebhookPolicy, at time.Time) error {
	_, err := w.cfg.Queue.Enqueue(ctx, tx, DeliverKind, p.ProjectID, deliverArgs{p.ID}, job.Options{
		UniqueKey: p.ID, RunAt: at, MaxAttempts: attemptsOfJob,
	})
	return err
}

// deliverArgs are the arguments of the job of a policy.
type deliverArgs struct {
	PolicyID string `json:"policy_id"`
}

// wants reports whether a policy gets an event. A condition of the filter on a field that the event does not have lets it through.
func wants(p *store.WebhookPolicy, e *rule.Event) bool {
	if !p.Enabled || !slices.Contains(p.EventTypes, e.Type) {
		return false
	}
	f := &p.Filter
	if f.SeverityMin != "" && e.Severity != "" && e.Severity.Rank() < f.SeverityMin.Rank() {
		return false
	}
	if len(f.RuleIDs) > 0 && len(e.RuleIDs) > 0 && !slices.ContainsFunc(e.RuleIDs, func(id string) bool { return slices.Contains(f.RuleIDs, id) }) {
		return false
	}
	return f.Scope == "" || len(e.Scope) == 0 || slices.Contains(e.Scope, "*") || rule.ScopeFinds(e.Scope, f.Scope)
}
