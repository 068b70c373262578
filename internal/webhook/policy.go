package webhook

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/rule"
	"tenet/internal/signature"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// Limits of policies.
const (
	MaxPolicies = 100 // of a project; each event is held against all of them
	MaxName     = 200 // characters
	MaxRuleIDs  = 1000
)

// How long the previous secret signs too after a rotation.
const (
	DefaultOverlap = 24 * time.Hour
	MaxOverlap     = 30 * 24 * time.Hour
)

// Input has the fields of a policy that a caller sets. Nil fields stay as they are, or take the defaults of a new policy.
type Input struct {
	Name       *string
	URL        *string
	EventTypes *[]rule.EventType
	Filter     *wire.Filter
	Format     *wire.WebhookFormat
	Enabled    *bool
}

// Create makes a policy. An empty secret makes one at random.
func (w *Webhooks) Create(ctx context.Context, projectID string, in Input, secret string) (wire.PolicyWithSecret, error) {
	now := w.instant()
	p := store.WebhookPolicy{
		ProjectID: projectID, ID: audit.NewID(), Format: string(wire.FormatStandard), Enabled: true, Secret: secret, CreatedAt: now,
		CreatedBy: auth.ActorFrom(ctx).Name, UpdatedAt: now,
	}
	err := w.cfg.Store.Update(ctx, func(tx store.Tx) error {
		p := &p
		if err := w.apply(ctx, tx, p, in, &secret); err != nil {
			return err
		}
		all, err := tx.Webhooks.List(ctx, projectID)
		if err != nil {
			return err
		}
		if len(all) >= MaxPolicies {
			return rule.Errorf(rule.CodeConflict, "the project has %d webhook policies, and more are not allowed; delete one first", len(all))
		}
		if err := tx.Webhooks.Insert(ctx, *p); err != nil {
			return err
		}
		return note(ctx, tx, "create", nil, p)
	})
	return wire.PolicyWithSecret{Policy: policyOf(p, now), Secret: p.Secret}, err
}

// apply puts what a caller says into a policy, checks it, and resolves the rules that it names. secret is nil where it stays.
func (w *Webhooks) apply(ctx context.Context, tx store.Tx, p *store.WebhookPolicy, in Input, secret *string) error {
	var problems rule.Problems
	set(&p.Name, in.Name)
	set(&p.URL, in.URL)
	set(&p.EventTypes, in.EventTypes)
	set(&p.Enabled, in.Enabled)
	p.Name, p.URL = strings.TrimSpace(p.Name), strings.TrimSpace(p.URL)
	if n := utf8.RuneCountInString(p.Name); n == 0 || n > MaxName {
		problems.Add("name", "must have 1 to %d characters", MaxName)
	}
	if in.URL != nil || p.URL == "" {
		if err := checkURL(w.sender.guard, p.URL); err != nil {
			problems.Add("url", "%s", err.Error())
		}
	}
	if in.Format != nil {
		format, ok := rule.Parse(string(*in.Format), wire.WebhookFormats)
		if p.Format = string(format); !ok {
			problems.Add("format", "is %q; use one of %s", string(*in.Format), rule.Names(wire.WebhookFormats))
		}
	}
	p.EventTypes = eventTypes(&problems, p.EventTypes)
	if secret != nil {
		if *secret == "" {
			*secret = signature.NewSecret()
		}
		problems.AddAll("secret", signature.CheckSecret(*secret))
		p.Secret = *secret
	}
	if in.Filter != nil {
		if err := applyFilter(ctx, tx, p, *in.Filter, &problems); err != nil {
			return err
		}
	}
	return problems.Err("the webhook policy is invalid")
}

func set[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

// eventTypes brings the names of events to their form, each once and in their order.
func eventTypes(problems *rule.Problems, given []rule.EventType) []rule.EventType {
	var known []rule.EventType
	for _, t := range given {
		e, ok := rule.Parse(strings.TrimSpace(string(t)), rule.EventTypes)
		if !ok {
			problems.Add("event_types", "has %q; use some of %s", string(t), rule.Names(rule.EventTypes))
		}
		known = append(known, e)
	}
	if len(given) == 0 {
		problems.Add("event_types", "must name at least one of %s", rule.Names(rule.EventTypes))
	}
	return slices.DeleteFunc(slices.Clone(rule.EventTypes), func(t rule.EventType) bool { return !slices.Contains(known, t) })
}

func applyFilter(ctx context.Context, tx store.Tx, p *store.WebhookPolicy, f wire.Filter, problems *rule.Problems) error {
	if f.SeverityMin != "" {
		s, ok := rule.Parse(string(f.SeverityMin), rule.Severities)
		if !ok {
			problems.Add("filter.severity_min", "is %q; use one of %s", string(f.SeverityMin), rule.Names(rule.Severities))
		}
		f.SeverityMin = s
	}
	if f.Scope = rule.CleanScope(f.Scope); f.Scope == "*" {
		f.Scope = ""
	}
	if len(f.RuleIDs) > MaxRuleIDs {
		problems.Add("filter.rule_ids", "has %d rules; at most %d are allowed", len(f.RuleIDs), MaxRuleIDs)
		return nil
	}
	rules, err := tx.Rules.GetMany(ctx, p.ProjectID, f.RuleIDs)
	if err != nil {
		return err
	}
	ids := []string{}
	for _, ref := range f.RuleIDs {
		r, ok := rules[ref]
		switch {
		case !ok:
			problems.Add("filter.rule_ids", "there is no rule %q", ref)
		case !slices.Contains(ids, r.ID):
			ids = append(ids, r.ID)
		}
	}
	if f.RuleIDs = ids; len(ids) == 0 {
		f.RuleIDs = nil
	}
	p.Filter = store.WebhookFilter(f)
	return nil
}

// Policies lists the policies of a project, oldest first.
func (w *Webhooks) Policies(ctx context.Context, projectID string) ([]wire.Policy, error) {
	list, err := w.cfg.Store.Webhooks.List(ctx, projectID)
	out := make([]wire.Policy, len(list))
	for i, p := range list {
		out[i] = policyOf(p, w.cfg.Now())
	}
	return out, err
}

// Policy returns a policy.
func (w *Webhooks) Policy(ctx context.Context, projectID, id string) (wire.Policy, error) {
	p, err := w.cfg.Store.Webhooks.Get(ctx, projectID, id)
	return policyOf(p, w.cfg.Now()), err
}

// Change changes a policy. Enabling one that is disabled, or giving it another URL, lets it begin afresh: it is not paused, and
// what is pending is sent at once.
func (w *Webhooks) Change(ctx context.Context, projectID, id string, in Input) (wire.Policy, error) {
	var p store.WebhookPolicy
	err := w.cfg.Store.Update(ctx, func(tx store.Tx) (err error) {
		if p, err = tx.Webhooks.Get(ctx, projectID, id); err != nil {
			return err
		}
		before := p
		if err := w.apply(ctx, tx, &p, in, nil); err != nil {
			return err
		}
		p.UpdatedAt = w.instant()
		if in.Enabled != nil {
			p.DisabledReason = "" // whether it is enabled is now somebody's word
		}
		if err := tx.Webhooks.Update(ctx, p); err != nil {
			return err
		}
		if err := note(ctx, tx, "change", &before, &p); err != nil {
			return err
		}
		if p.Enabled && (!before.Enabled || p.URL != before.URL) {
			return w.refresh(ctx, tx, &p)
		}
		return nil
	})
	return policyOf(p, w.cfg.Now()), err
}

// refresh forgets the failures of an endpoint and sends what is pending, also what waits for its next attempt.
func (w *Webhooks) refresh(ctx context.Context, tx store.Tx, p *store.WebhookPolicy) error {
	p.Failures, p.PausedUntil = 0, nil
	if err := tx.Webhooks.Wake(ctx, p.ProjectID, p.ID, w.instant()); err != nil {
		return err
	}
	return w.enqueue(ctx, tx, p, time.Time{})
}

// Delete removes a policy. What is pending is not sent any more.
func (w *Webhooks) Delete(ctx context.Context, projectID, id string) error {
	return w.cfg.Store.Update(ctx, func(tx store.Tx) error {
		p, err := tx.Webhooks.Get(ctx, projectID, id)
		if err != nil {
			return err
		}
		if err := tx.Webhooks.Delete(ctx, projectID, p.ID); err != nil {
			return err
		}
		p.UpdatedAt = w.instant()
		return note(ctx, tx, "delete", &p, nil)
	})
}

// Rotate gives a policy another secret; an empty one is made at random. For the time overlap, which may be 0, messages are
// signed with the one before too, so that receivers can change over without losing any.
func (w *Webhooks) Rotate(ctx context.Context, projectID, id, secret string, overlap time.Duration) (wire.PolicyWithSecret, error) {
	if overlap < 0 || overlap > MaxOverlap {
		var problems rule.Problems
		problems.Add("overlap_seconds", "must be between 0 and %d", int(MaxOverlap.Seconds()))
		return wire.PolicyWithSecret{}, problems.Err("the rotation is invalid")
	}
	var p store.WebhookPolicy
	err := w.cfg.Store.Update(ctx, func(tx store.Tx) (err error) {
		if p, err = tx.Webhooks.Get(ctx, projectID, id); err != nil {
			return err
		}
		now := w.instant()
		until := now.Add(overlap)
		p.OldSecret, p.OldUntil, p.UpdatedAt = p.Secret, &until, now
		if err := w.apply(ctx, tx, &p, Input{}, &secret); err != nil {
			return err
		}
		if p.Secret == p.OldSecret {
			return rule.Errorf(rule.CodeConflict, "this is the secret that the policy has already; give another one, or none to have one made")
		}
		if overlap == 0 {
			p.OldSecret, p.OldUntil = "", nil
		}
		if err := tx.Webhooks.Update(ctx, p); err != nil {
			return err
		}
		return note(ctx, tx, "rotate", &p, &p)
	})
	return wire.PolicyWithSecret{Policy: policyOf(p, w.cfg.Now()), Secret: p.Secret}, err
}

// note writes a change of a policy into the audit chain, from its state before, nil for a new one, to that after, nil for one that is
// deleted. Of its address the chain gets only the host: the rest may be a secret.
func note(ctx context.Context, tx store.Tx, action string, before, after *store.WebhookPolicy) error {
	p := after
	if p == nil {
		p = before
	}
	body := noted(p)
	body["action"], body["policy_id"] = action, p.ID
	changed := audit.Changed(stateOf(before), stateOf(after))
	switch {
	case action == "rotate":
		changed = append(changed, rule.FieldChange{Field: "secret"})
	case before != nil && after != nil && before.URL != after.URL && hostOf(before.URL) == hostOf(after.URL):
		changed = append(changed, rule.FieldChange{Field: "url"}) // of which the chain holds no more
	}
	body["changed"] = changed
	return audit.Append(ctx, tx, p.ProjectID, audit.Record{
		Kind: audit.KindWebhook, At: p.UpdatedAt, Actor: auth.ActorFrom(ctx).Name, Body: audit.JSON(body),
	})
}

func stateOf(p *store.WebhookPolicy) any {
	if p == nil {
		return nil
	}
	return noted(p)
}

// noted returns the fields of a policy that the audit chain holds.
func noted(p *store.WebhookPolicy) map[string]any {
	return map[string]any{
		"name": p.Name, "host": hostOf(p.URL), "event_types": p.EventTypes, "filter": p.Filter, "format": p.Format, "enabled": p.Enabled,
		"disabled_reason": p.DisabledReason,
	}
}

func hostOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return u.Host
}
