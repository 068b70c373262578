package catalog

import (
	"context"
	"strings"

	"tenet/internal/auth"
	"tenet/internal/federation"
	"tenet/internal/rule"
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
	var made rule.Attachment
	err := c.federate(ctx, projectID, func(f *federating) error {
		n, err := f.node(nodeID)
		if err != nil {
			return err
		}
		made, err = f.attach(ctx, n.ID, in)
		return err
	})
	return made, err
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
	if len(in.Reason) > rule.MaxRationale {
		p.Add("reason", "has %d bytes; at most %d are allowed", len(in.Reason), rule.MaxRationale)
	}
	return p.Err("the attachment is invalid")
}

func (f *federating) attach(ctx context.Context, nodeID string, in AttachInput) (rule.Attachment, error) {
	e, ok := f.view.Get(in.Rule)
	if !ok {
		return rule.Attachment{}, rule.NotFound("rule", in.Rule)
	}
	if e.Rule.Status == rule.Retired {
		return rule.Attachment{}, rule.Errorf(rule.CodeConflict, "the rule %s is retired and holds nowhere", label(e.Rule))
	}
	a := rule.Attachment{
		NodeID: nodeID, RuleID: e.Rule.ID, AllowWeakening: in.AllowWeakening, Reason: in.Reason, CreatedAt: f.c.instant(),
		CreatedBy: auth.ActorFrom(ctx).Name,
	}
	if in.Overrides != "" {
		over := in.Overrides // a rule that is not there, or not ours, is attached to no ancestor
		if target, ok := f.view.Get(in.Overrides); ok {
			over = target.Rule.ID
		}
		a.OverrideID = &over
	}
	if err := federation.MayAttach(f.view, &a, e.Rule); err != nil {
		return rule.Attachment{}, err
	}
	if err := f.tx.InsertAttachments(ctx, f.project.ID, f.cv, []rule.Attachment{a}); err != nil {
		return rule.Attachment{}, err
	}
	return a, f.note(ctx, "rule attached", map[string]any{"attachment": a, "rule": label(e.Rule), "rule_version": e.Rule.Version})
}

// Detach takes a rule off a federation node; not_found if it is not attached there.
func (c *Catalog) Detach(ctx context.Context, projectID, nodeID, ref string) error {
	return c.federate(ctx, projectID, func(f *federating) error {
		n, ok := f.view.Federation().Node(nodeID)
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
