package hierarchy

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"tenet/internal/audit"
	"tenet/internal/change"
	"tenet/internal/corpus"
	"tenet/internal/federation"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/subject"
	"tenet/internal/wire"
)

// NodeInput is a federation node as its author writes it. On an update, absent fields stay as they are; an empty parent is none.
type NodeInput struct {
	Name         *string
	Level        *rule.Level
	ParentID     *string
	Description  *string
	DefaultScope *string
	Repositories *[]string
	// OwnRulesOnly ends the guarded rules that no node has, at the node and below it. To set it needs the permission.
	OwnRulesOnly *bool
	rule.Permission
}

func (in *NodeInput) check() error {
	var p rule.Problems
	in.Permission.Check(&p, "rules may end somewhere")
	return p.Err("the node is invalid")
}

// apply writes the input into n. The error is a conflict if the node is to have only its own rules without permission.
func (in *NodeInput) apply(n *rule.Node, e *edit) error {
	rule.Set(&n.Name, in.Name)
	rule.Set(&n.Level, in.Level)
	rule.Set(&n.Description, in.Description)
	rule.Set(&n.DefaultScope, in.DefaultScope)
	if in.Repositories != nil {
		n.Repositories = slices.Clone(*in.Repositories)
	}
	if in.ParentID != nil {
		parent := *in.ParentID
		n.ParentID = &parent
	}
	if in.OwnRulesOnly != nil && *in.OwnRulesOnly != n.OwnRulesOnly {
		if n.OwnRulesOnly = *in.OwnRulesOnly; n.OwnRulesOnly {
			if !e.preview {
				if err := e.permission(in.Permission).Refuse("with own_rules_only, the CRITICAL and HIGH rules that no node has do not hold at %s and below it, nor do those made later", n.Name); err != nil {
					return err
				}
			}
			n.OwnRulesReason = cmp.Or(in.Reason, "none yet")
			n.OwnRulesSince, n.OwnRulesBy, n.OwnRulesApprovedBy = &e.At, e.By, in.Approvers()
		}
	}
	n.Normalize()
	return nil
}

// state is the rules of a view with a tree of nodes.
type state struct {
	view *corpus.View
	tree *federation.Tree
}

// Federation implements [federation.Source].
func (s state) Federation() *federation.Tree { return s.tree }

// Rule implements [federation.Source].
func (s state) Rule(id string) (*rule.Rule, bool) { return s.view.Rule(id) }

// Guarded implements [federation.Source].
func (s state) Guarded() iter.Seq[*rule.Rule] { return s.view.Guarded() }

// Rules implements [federation.Corpus].
func (s state) Rules() iter.Seq[*rule.Rule] { return rulesOf(s.view) }

func rulesOf(v *corpus.View) iter.Seq[*rule.Rule] {
	return func(yield func(*rule.Rule) bool) {
		for e := range v.All() {
			if !yield(e.Rule) {
				return
			}
		}
	}
}

// edit is a change of the federation inside its transaction. Its state has the rules from before the change, and the tree with what the
// change has done so far.
type edit struct {
	*change.Change
	state
	// preview is true if only the effects of the change are of interest. It has no transaction, and ends as soon as they are known.
	preview   bool
	shift     *federation.Shift // of a preview
	approvals Approvals         // that a change uses
	silenced  *rule.Silenced    // by a preview
}

// change runs fn on the exact state of a project's federation.
func (h *Hierarchy) change(ctx context.Context, projectID string, fn func(*edit) error) error {
	latest, err := h.views.View(ctx, projectID)
	if err != nil {
		return err
	}
	return h.changes.RunApart(ctx, projectID, func(ch *change.Change) error {
		before, err := ch.Before(ctx, latest)
		if err != nil {
			return err
		}
		return fn(&edit{Change: ch, state: state{before, before.Federation()}, approvals: h.approvals})
	})
}

func (e *edit) node(id string) (*federation.Node, error) {
	n, ok := e.tree.Node(id)
	if !ok {
		return nil, rule.NotFound("node", id)
	}
	return n, nil
}

// checkNode checks a normalized node and its place in a tree.
func checkNode(t *federation.Tree, n *rule.Node) error {
	var p rule.Problems
	if n.ID != "" && !rule.IsID(n.ID) {
		p.Add("id", "must be a UUID")
		return p.Err("the node is invalid")
	}
	if err := n.Validate(); err != nil {
		return err
	}
	subject.CheckRepositories(&p, "repositories", n.Repositories)
	if err := p.Err("the node is invalid"); err != nil {
		return err
	}
	if err := t.MayStand(n); err != nil {
		return err
	}
	return t.Taken(n)
}

// CreateNode makes a federation node: invalid if it may not be below its parent, conflict if a node of its level has its
// repositories already, or if guarded rules would end for its repositories without permission.
func (h *Hierarchy) CreateNode(ctx context.Context, projectID string, in NodeInput) (wire.ChangedNode, error) {
	return h.putNode(ctx, projectID, wire.PreviewNodes{Action: previewCreate}, in, func(e *edit, in NodeInput) (wire.ChangedNode, error) { return e.createNode(ctx, in) })
}

// UpdateNode changes a federation node; with another parent it moves, with all nodes below it. Conflict if it would be below
// itself, or if guarded rules would end somewhere without permission; invalid if its level would not be between those of its parent and
// its children. An update that changes nothing leaves no trace.
func (h *Hierarchy) UpdateNode(ctx context.Context, projectID, id string, in NodeInput) (wire.ChangedNode, error) {
	change := wire.PreviewNodes{Action: previewChange, NodeID: id}
	return h.putNode(ctx, projectID, change, in, func(e *edit, in NodeInput) (wire.ChangedNode, error) { return e.updateNode(ctx, id, in) })
}

func (h *Hierarchy) putNode(
	ctx context.Context, projectID string, change wire.PreviewNodes, in NodeInput, put func(*edit, NodeInput) (wire.ChangedNode, error),
) (n wire.ChangedNode, err error) {
	if err := in.check(); err != nil {
		return n, err
	}
	err = agreement{h, projectID, change, in}.make(ctx, in.Permission, func(p rule.Permission) error {
		in := in
		in.Permission = p
		return h.change(ctx, projectID, func(e *edit) (err error) {
			n, err = put(e, in)
			return err
		})
	})
	return n, err
}

func (e *edit) createNode(ctx context.Context, in NodeInput) (made wire.ChangedNode, err error) {
	n := rule.Node{ID: audit.NewID(), ProjectID: e.Project.ID, CreatedAt: e.At, CreatedBy: e.By, UpdatedAt: e.At, UpdatedBy: e.By}
	if err := in.apply(&n, e); err != nil {
		return made, err
	}
	if err := checkNode(e.tree, &n); err != nil {
		return made, err
	}
	silenced, err := e.put(in.Permission, store.NodeState{Node: n})
	if err != nil {
		return made, err
	}
	if err := e.Tx.Federation.InsertNodes(ctx, e.Project.ID, e.Version, []rule.Node{n}); err != nil {
		return made, err
	}
	return changedNode(n, silenced), e.note(ctx, "node created", in.Permission, silenced, map[string]any{"node": n})
}

func (e *edit) updateNode(ctx context.Context, id string, in NodeInput) (made wire.ChangedNode, err error) {
	before, err := e.node(id)
	if err != nil {
		return made, err
	}
	n := *before.Node
	if err := in.apply(&n, e); err != nil {
		return made, err
	}
	if err := checkNode(e.tree, &n); err != nil {
		return made, err
	}
	changed := rule.NodeDiff(*before.Node, n)
	if made.Node = n; len(changed) == 0 {
		return made, change.ErrUndo
	}
	n.UpdatedAt, n.UpdatedBy = e.At, e.By
	silenced, err := e.put(in.Permission, store.NodeState{Node: n})
	if err != nil {
		return made, err
	}
	if err := e.Tx.Federation.UpdateNode(ctx, e.Project.ID, e.Version, n); err != nil {
		return made, err
	}
	return changedNode(n, silenced), e.note(ctx, "node changed", in.Permission, silenced, map[string]any{"node": n, "changed": changed})
}

func changedNode(n rule.Node, silenced *rule.Silenced) wire.ChangedNode {
	return wire.ChangedNode{Node: n, Effect: wire.EffectOf(silenced)}
}

// DeleteNode removes a federation node; conflict if it has nodes below it or rules attached, or if guarded rules would end for its
// repositories without permission.
func (h *Hierarchy) DeleteNode(ctx context.Context, projectID, id string, permission rule.Permission) error {
	if err := checkPermission(&permission); err != nil {
		return err
	}
	return agreement{h, projectID, wire.PreviewNodes{Action: previewDelete, NodeID: id}, NodeInput{}}.make(ctx, permission, func(p rule.Permission) error {
		return h.change(ctx, projectID, func(e *edit) error { return e.deleteNode(ctx, id, p) })
	})
}

func (e *edit) deleteNode(ctx context.Context, id string, permission rule.Permission) error {
	n, err := e.node(id)
	if err != nil {
		return err
	}
	if below := len(e.tree.Children(n.ID)); below > 0 {
		return rule.Errorf(rule.CodeConflict, "%d nodes stand below %s; move or delete them first", below, n.Name)
	}
	if len(n.Attached) > 0 {
		return rule.Errorf(rule.CodeConflict, "%d rules are attached to %s; remove them first", len(n.Attached), n.Name)
	}
	silenced, err := e.put(permission, store.NodeState{Node: *n.Node, Removed: true})
	if err != nil {
		return err
	}
	if err := e.Tx.Federation.RemoveNode(ctx, e.Project.ID, e.Version, n.ID); err != nil {
		return err
	}
	return e.note(ctx, "node deleted", permission, silenced, map[string]any{"node": *n.Node})
}
