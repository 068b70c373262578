package catalog

import (
	"context"
	"strings"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/federation"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// AttachInput says which rule to attach to a node, and how.
type AttachInput struct {
	Rule string // id or slug
	// Overrides is the id or slug of the ancestors' rule to stand in for; empty for none.
	Overrides string
	// AllowWeakening lets the rule stand in for a CRITICAL one that it loosens; it needs a reason.
	AllowWeakening bool
	Reason         string
}

// Attach attaches a rule to a federation node: not_found without the node or the rule; conflict if it is attached there
// already, or would loosen a CRITICAL rule and may not; invalid if it is to override a rule that no ancestor has.
func (c *Catalog) Attach(ctx context.Context, projectID, nodeID string, in AttachInput) (rule.Attachment, error) {
	if err := in.validate(); err != nil {
		return rule.Attachment{}, err
	}
	if _, err := c.views.View(ctx, projectID); err != nil {
		return rule.Attachment{}, err
	}
	w := &attaching{who: auth.ActorFrom(ctx).Name, nodeID: nodeID, in: in, done: make(chan struct{})}
	if c.attachments.put(projectID, w) {
		go c.attachWaiting(projectID)
	}
	select {
	case <-w.done:
		return w.made, w.err
	case <-ctx.Done():
		return rule.Attachment{}, ctx.Err() // it may be attached nevertheless
	}
}

func (in *AttachInput) validate() error {
	in.Reason = strings.TrimSpace(in.Reason)
	var p rule.Problems
	if in.Rule == "" {
		p.Add("rule_id", "is empty; name the rule by its id or slug")
	}
	if in.AllowWeakening && in.Reason == "" {
		p.Add("reason", "is missing; say why the override may loosen a CRITICAL rule")
	}
	if in.AllowWeakening && in.Overrides == "" {
		p.Add("allow_weakening", "goes with override_parent_rule_id: without an override nothing is loosened")
	}
	if len(in.Reason) > rule.MaxRationale {
		p.Add("reason", "has %d bytes; at most %d are allowed", len(in.Reason), rule.MaxRationale)
	}
	return p.Err("the attachment is invalid")
}

// attach checks an attachment, and lets those that are made with it see it. It writes nothing.
func (f *federating) attach(w *attaching) (rule.Attachment, audit.Record, error) {
	var none rule.Attachment
	n, err := f.node(w.nodeID)
	if err != nil {
		return none, audit.Record{}, err
	}
	e, ok := f.view.Get(w.in.Rule)
	if !ok {
		return none, audit.Record{}, rule.NotFound("rule", w.in.Rule)
	}
	if e.Rule.Status == rule.Retired {
		return none, audit.Record{}, rule.Errorf(rule.CodeConflict, "the rule %s is retired and holds nowhere", label(e.Rule))
	}
	a := rule.Attachment{
		NodeID: n.ID, RuleID: e.Rule.ID, AllowWeakening: w.in.AllowWeakening, Reason: w.in.Reason, CreatedAt: f.c.instant(), CreatedBy: w.who,
	}
	if w.in.Overrides != "" {
		over := w.in.Overrides // a rule that is not there, or not ours, is attached to no ancestor
		if target, ok := f.view.Get(over); ok {
			over = target.Rule.ID
		}
		a.OverrideID = &over
	}
	if err := federation.MayAttach(f, &a, e.Rule); err != nil {
		return none, audit.Record{}, err
	}
	f.tree = f.tree.Apply(nil, []store.AttachmentState{{Attachment: a}})
	return a, audit.Record{
		Kind: audit.KindFederation, At: a.CreatedAt, Actor: w.who,
		Body: audit.JSON(map[string]any{
			"action": "rule attached", "attachment": a, "rule": label(e.Rule), "rule_version": e.Rule.Version,
		}),
	}, nil
}

// Detach takes a rule off a federation node; not_found if it is not attached there.
func (c *Catalog) Detach(ctx context.Context, projectID, nodeID, ref string) error {
	return c.federate(ctx, projectID, func(f *federating) error {
		n, ok := f.tree.Node(nodeID)
		if !ok {
			return rule.NotFound("node", nodeID)
		}
		if e, ok := f.view.Get(ref); ok {
			if a := n.Attachment(e.Rule.ID); a != nil {
				return f.detach(ctx, *a)
			}
		}
		return rule.Errorf(rule.CodeNotFound, "the rule %q is not attached to %s", ref, n.Name)
	})
}

func (f *federating) detach(ctx context.Context, a rule.Attachment) error {
	if err := f.tx.RemoveAttachment(ctx, f.project.ID, f.cv, a.NodeID, a.RuleID); err != nil {
		return err
	}
	return f.note(ctx, "rule removed", map[string]any{"attachment": a})
}
