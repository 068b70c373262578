package hierarchy

import (
	"context"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/federation"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// AttachInput says which rule to attach to a node, and how.
type AttachInput struct {
	Rule string // id or slug
	// Overrides is the id or slug of the ancestors' rule to replace; empty for none.
	Overrides string
	// Permission lets the rule replace a CRITICAL one that it loosens, and guarded rules end where they hold.
	rule.Permission
}

// Attach attaches a rule to a federation node: not_found without the node or the rule; conflict if it is attached there
// already, or would loosen a CRITICAL rule or end a guarded one somewhere and may not; invalid if it is to override a rule that no ancestor has.
func (h *Hierarchy) Attach(ctx context.Context, projectID, nodeID string, in AttachInput) (wire.Attached, error) {
	var made wire.Attached
	if err := in.validate(); err != nil {
		return made, err
	}
	if _, err := h.views.View(ctx, projectID); err != nil {
		return made, err
	}
	preview := wire.PreviewNodes{Action: previewAttach, NodeID: nodeID, RuleID: in.Rule, OverrideID: in.Overrides}
	err := agreement{h, projectID, preview, NodeInput{}}.make(ctx, in.Permission, func(p rule.Permission) error {
		in := in
		in.Permission = p
		w := &attaching{who: auth.ActorFrom(ctx).Name, nodeID: nodeID, in: in, done: make(chan struct{})}
		if p.Approved != nil {
			w.err = w.alone(ctx, h, projectID)
		} else {
			if h.attachments.put(projectID, w) {
				go h.attachWaiting(projectID)
			}
			select {
			case <-w.done:
			case <-ctx.Done():
				return ctx.Err() // it may be attached nevertheless
			}
		}
		made = wire.Attached{Attachment: w.made, Effect: wire.EffectOf(w.silenced)}
		return w.err
	})
	return made, err
}

// alone makes an attachment that people have approved, in a transaction of its own.
func (w *attaching) alone(ctx context.Context, h *Hierarchy, projectID string) error {
	return h.change(ctx, projectID, func(e *edit) error {
		record, err := e.attach(w)
		if err != nil {
			return err
		}
		if err := e.use(ctx, w.in.Permission); err != nil {
			return err
		}
		if err := e.Tx.Federation.InsertAttachments(ctx, projectID, e.Version, []rule.Attachment{w.made}); err != nil {
			return err
		}
		return audit.Append(ctx, e.Tx, projectID, record)
	})
}

func (in *AttachInput) validate() error {
	var p rule.Problems
	if in.Rule == "" {
		p.Add("rule_id", "is empty; name the rule by its id or slug")
	}
	in.Permission.Check(&p, "the attachment may loosen a CRITICAL rule, or end one somewhere")
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
		NodeID: n.ID, RuleID: r.ID, AllowWeakening: e.permission(w.in.Permission).AllowWeakening, Reason: w.in.Reason, CreatedAt: e.At, CreatedBy: w.who,
		ApprovedBy: w.in.Approvers(),
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
	w.silenced, err = e.take(w.who, w.in.Permission, e.tree.Apply(nil, []store.AttachmentState{{Attachment: w.made}}))
	if err != nil {
		return none, err
	}
	record := e.Record(audit.KindFederation, noted("rule attached", w.in.Permission, w.silenced, map[string]any{
		"attachment": w.made, "rule": r.Label(), "rule_version": r.Version,
	}))
	record.Actor = w.who
	return record, nil
}

// Detach takes a rule off a federation node: not_found if it is not attached there; conflict if guarded rules would end somewhere without
// permission.
func (h *Hierarchy) Detach(ctx context.Context, projectID, nodeID, ref string, permission rule.Permission) error {
	if err := checkPermission(&permission); err != nil {
		return err
	}
	preview := wire.PreviewNodes{Action: previewDetach, NodeID: nodeID, RuleID: ref}
	return agreement{h, projectID, preview, NodeInput{}}.make(ctx, permission, func(p rule.Permission) error {
		return h.change(ctx, projectID, func(e *edit) error { return e.detach(ctx, nodeID, ref, p) })
	})
}

func (e *edit) detach(ctx context.Context, nodeID, ref string, permission rule.Permission) error {
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
	silenced, err := e.take(e.By, permission, e.tree.Apply(nil, []store.AttachmentState{{Attachment: *a, Removed: true}}))
	if err != nil {
		return err
	}
	if err := e.Tx.Federation.RemoveAttachment(ctx, e.Project.ID, e.Version, a.NodeID, a.RuleID); err != nil {
		return err
	}
	return e.note(ctx, "rule removed", permission, silenced, map[string]any{"attachment": *a})
}
