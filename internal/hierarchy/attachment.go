package hierarchy

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
	// Overrides is the id or slug of the ancestors' rule to replace; empty for none.
	Overrides string
	// AllowWeakening lets the rule replace a CRITICAL one that it loosens; it needs a reason.
	AllowWeakening bool
	Reason         string
}

// Attach attaches a rule to a federation node: not_found without the node or the rule; conflict if it is attached there
// already, or would loosen a CRITICAL rule and may not; invalid if it is to override a rule that no ancestor has.
func (h *Hierarchy) Attach(ctx context.Context, projectID, nodeID string, in AttachInput) (rule.Attachment, error) {
	if err := in.validate(); err != nil {
		return rule.Attachment{}, err
	}
	if _, err := h.views.View(ctx, projectID); err != nil {
		return rule.Attachment{}, err
	}
	w := &attaching{who: auth.ActorFrom(ctx).Name, nodeID: nodeID, in: in, done: make(chan struct{})}
	if h.attachments.put(projectID, w) {
		go h.attachWaiting(projectID)
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
func (e *edit) attach(w *attaching) (audit.Record, error) {
	var none audit.Record
	n, err := e.node(w.nodeID)
	if err != nil {
		return none, err
	}
	entry, ok := e.view.Get(w.in.Rule)
	if !ok {
		return none, rule.NotFound("rule", w.in.Rule)
	}
	r := entry.Rule
	if r.Status == rule.Retired {
		return none, rule.Errorf(rule.CodeConflict, "the rule %s is retired and holds nowhere", r.Label())
	}
	w.made = rule.Attachment{
		NodeID: n.ID, RuleID: r.ID, AllowWeakening: w.in.AllowWeakening, Reason: w.in.Reason, CreatedAt: e.At, CreatedBy: w.who,
	}
	if w.in.Overrides != "" {
		over := w.in.Overrides // no ancestor has a rule that does not exist in the project
		if target, ok := e.view.Get(over); ok {
			over = target.Rule.ID
		}
		w.made.OverrideID = &over
	}
	if err := federation.MayAttach(e, &w.made, r); err != nil {
		return none, err
	}
	e.tree = e.tree.Apply(nil, []store.AttachmentState{{Attachment: w.made}})
	record := e.Record(audit.KindFederation, map[string]any{
		"action": "rule attached", "attachment": w.made, "rule": r.Label(), "rule_version": r.Version,
	})
	record.Actor = w.who
	return record, nil
}

// Detach takes a rule off a federation node; not_found if it is not attached there.
func (h *Hierarchy) Detach(ctx context.Context, projectID, nodeID, ref string) error {
	return h.change(ctx, projectID, func(e *edit) error {
		n, err := e.node(nodeID)
		if err != nil {
			return err
		}
		var a *rule.Attachment
		if entry, ok := e.view.Get(ref); ok {
			a = n.Attachment(entry.Rule.ID)
		}
		if a == nil {
			return rule.Errorf(rule.CodeNotFound, "the rule %q is not attached to %s", ref, n.Name)
		}
		if err := e.Tx.Federation.RemoveAttachment(ctx, projectID, e.Version, a.NodeID, a.RuleID); err != nil {
			return err
		}
		return e.note(ctx, "rule removed", map[string]any{"attachment": *a})
	})
}
