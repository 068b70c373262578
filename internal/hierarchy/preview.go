package hierarchy

import (
	"context"
	"errors"

	"tenet/internal/auth"
	"tenet/internal/change"
	"tenet/internal/federation"
	"tenet/internal/rule"
	"tenet/internal/wire"
)

// Actions that a preview knows.
const (
	previewAttach = "attach"
	previewDetach = "detach"
	previewCreate = "create"
	previewChange = "change"
	previewDelete = "delete"
)

// Preview returns which rules start and stop to hold where by a change of nodes or attachments, without making it. It refuses what the
// change itself would refuse, except for want of a permission to end rules.
func (h *Hierarchy) Preview(ctx context.Context, projectID string, in *wire.PreviewNodes, node NodeInput) (wire.PreviewedNodes, error) {
	var out wire.PreviewedNodes
	permission := in.Permission()
	if err := checkPermission(&permission); err != nil {
		return out, err
	}
	attach := AttachInput{Rule: in.RuleID, Overrides: in.OverrideID, Permission: permission}
	if in.Action == previewAttach {
		if err := attach.validate(); err != nil {
			return out, err
		}
	}
	view, err := h.changes.Latest(ctx, projectID)
	if err != nil {
		return out, err
	}
	e := &edit{
		Change: &change.Change{Project: rule.Project{ID: projectID}, At: rule.Instant(h.now()), By: auth.ActorFrom(ctx).Name},
		state:  state{view, view.Federation()}, preview: true,
	}
	if err := e.previewed(ctx, in, attach, node); err != nil && !errors.Is(err, change.ErrUndo) {
		return out, err
	}
	return e.previewOf(), nil
}

func (e *edit) previewOf() wire.PreviewedNodes {
	out := wire.PreviewedNodes{Effect: wire.EffectOf(e.silenced)}
	shift := e.shift
	if shift == nil { // the change changes nothing
		shift = &federation.Shift{}
	}
	out.Starts, out.Stops = e.shiftedRules(shift.Starts), e.shiftedRules(shift.Stops)
	out.Nodes, out.NodesCompared = shift.Nodes, shift.Compared
	return out
}

func (e *edit) shiftedRules(list []federation.Shifted) wire.ShiftedRules {
	out := wire.ShiftedRules{Total: len(list), Rules: []wire.ShiftedRule{}}
	for _, s := range list[:min(len(list), wire.MaxShifted)] {
		one := wire.ShiftedRule{
			RuleID: s.Rule.ID, Slug: s.Rule.Slug, Statement: s.Rule.Statement, Severity: s.Rule.Severity, Nodes: s.Total,
			At: []string{}, Repositories: append([]string{}, s.Repositories...), OtherID: s.Other, OtherSlug: slugOf(e.view, s.Other),
		}
		for _, id := range s.Nodes {
			one.At = append(one.At, e.tree.Path(id)) // e.tree is that after the change
		}
		out.Rules = append(out.Rules, one)
	}
	return out
}

// previewed begins the change. What would write comes after [edit.take], which ends a preview.
func (e *edit) previewed(ctx context.Context, in *wire.PreviewNodes, attach AttachInput, node NodeInput) (err error) {
	node.Permission = attach.Permission
	switch in.Action {
	case previewAttach:
		_, err = e.attach(&attaching{who: e.By, nodeID: in.NodeID, in: attach})
	case previewDetach:
		err = e.detach(ctx, in.NodeID, in.RuleID, attach.Permission)
	case previewCreate:
		_, err = e.createNode(ctx, node)
	case previewChange:
		_, err = e.updateNode(ctx, in.NodeID, node)
	case previewDelete:
		err = e.deleteNode(ctx, in.NodeID, attach.Permission)
	default:
		var p rule.Problems
		p.Add("action", "is %q; use attach, detach, create, change or delete", in.Action)
		err = p.Err("the preview is invalid")
	}
	return err
}
