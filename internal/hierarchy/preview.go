package hierarchy

import (
	"context"

	"tenet/internal/change"
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

// Preview returns what a change of nodes or attachments would end, without making it. It refuses what the change itself would refuse,
// except for want of a permission to end rules.
func (h *Hierarchy) Preview(ctx context.Context, projectID string, in *wire.PreviewNodes, node NodeInput) (wire.Effect, error) {
	permission := in.Permission()
	if err := checkPermission(&permission); err != nil {
		return wire.Effect{}, err
	}
	attach := AttachInput{Rule: in.RuleID, Overrides: in.OverrideID, Permission: permission}
	if in.Action == previewAttach {
		if err := attach.validate(); err != nil {
			return wire.Effect{}, err
		}
	}
	var effect wire.Effect
	err := h.change(ctx, projectID, func(e *edit) error {
		e.preview = true
		silenced, err := e.previewed(ctx, in, attach, node)
		if err != nil {
			return err
		}
		effect = wire.EffectOf(silenced)
		return change.ErrUndo
	})
	return effect, err
}

func (e *edit) previewed(ctx context.Context, in *wire.PreviewNodes, attach AttachInput, node NodeInput) (*rule.Silenced, error) {
	node.Permission = attach.Permission
	switch in.Action {
	case previewAttach:
		w := &attaching{who: e.By, nodeID: in.NodeID, in: attach}
		_, err := e.attach(w)
		return w.silenced, err
	case previewDetach:
		return e.detach(ctx, in.NodeID, in.RuleID, attach.Permission)
	case previewCreate:
		made, err := e.createNode(ctx, node)
		return made.Silenced, err
	case previewChange:
		made, err := e.updateNode(ctx, in.NodeID, node)
		return made.Silenced, err
	case previewDelete:
		return e.deleteNode(ctx, in.NodeID, attach.Permission)
	}
	var p rule.Problems
	p.Add("action", "is %q; use attach, detach, create, change or delete", in.Action)
	return nil, p.Err("the preview is invalid")
}
