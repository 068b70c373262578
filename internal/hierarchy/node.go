package hierarchy

import (
	"context"
	"iter"
	"slices"

	"tenet/internal/audit"
	"tenet/internal/change"
	"tenet/internal/corpus"
	"tenet/internal/federation"
	"tenet/internal/rule"
	"tenet/internal/subject"
)

// NodeInput is a federation node as its author writes it. On an update, absent fields stay as they are; an empty parent is none.
type NodeInput struct {
	Name         *string
	Level        *rule.Level
	ParentID     *string
	Description  *string
	DefaultScope *string
	Repositories *[]string
}

func (in *NodeInput) apply(n *rule.Node) {
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
}

// edit is a change of the federation inside its transaction.
type edit struct {
	*change.Change
	view *corpus.View     // before the change
	tree *federation.Tree // with what the change has done so far
}

// Federation returns the tree with what the change has done so far.
func (e *edit) Federation() *federation.Tree { return e.tree }

// Rule finds a rule by its id.
func (e *edit) Rule(id string) (*rule.Rule, bool) { return e.view.Rule(id) }

// Guarded lists the rules that the weakening guard protects.
func (e *edit) Guarded() iter.Seq[*rule.Rule] { return e.view.Guarded() }

// change runs fn on the exact state of a project's federation.
func (h *Hierarchy) change(ctx context.Context, projectID string, fn func(*edit) error) error {
	latest, err := h.views.View(ctx, projectID)
	if err != nil {
		return err
	}
	return h.changes.Run(ctx, projectID, func(ch *change.Change) error {
		before, err := ch.Before(ctx, latest)
		if err != nil {
			return err
		}
		return fn(&edit{Change: ch, view: before, tree: before.Federation()})
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
// repositories already.
func (h *Hierarchy) CreateNode(ctx context.Context, projectID string, in NodeInput) (rule.Node, error) {
	var n rule.Node
	err := h.change(ctx, projectID, func(e *edit) error {
		n = rule.Node{ID: audit.NewID(), ProjectID: projectID, CreatedAt: e.At, CreatedBy: e.By, UpdatedAt: e.At, UpdatedBy: e.By}
		in.apply(&n)
		n.Normalize()
		if err := checkNode(e.tree, &n); err != nil {
			return err
		}
		if err := e.Tx.Federation.InsertNodes(ctx, projectID, e.Version, []rule.Node{n}); err != nil {
			return err
		}
		return e.note(ctx, "node created", map[string]any{"node": n})
	})
	return n, err
}

// UpdateNode changes a federation node; with another parent it moves, with all nodes below it. Conflict if it would be below
// itself, invalid if its level would not be between those of its parent and its children. An update that changes nothing
// leaves no trace.
func (h *Hierarchy) UpdateNode(ctx context.Context, projectID, id string, in NodeInput) (rule.Node, error) {
	var n rule.Node
	err := h.change(ctx, projectID, func(e *edit) error {
		before, err := e.node(id)
		if err != nil {
			return err
		}
		n = *before.Node
		in.apply(&n)
		n.Normalize()
		if err := checkNode(e.tree, &n); err != nil {
			return err
		}
		changed := rule.NodeDiff(*before.Node, n)
		if len(changed) == 0 {
			return change.ErrUndo
		}
		n.UpdatedAt, n.UpdatedBy = e.At, e.By
		if err := e.Tx.Federation.UpdateNode(ctx, projectID, e.Version, n); err != nil {
			return err
		}
		return e.note(ctx, "node changed", map[string]any{"node": n, "changed": changed})
	})
	return n, err
}

// DeleteNode removes a federation node; conflict if it has nodes below it or rules attached.
func (h *Hierarchy) DeleteNode(ctx context.Context, projectID, id string) error {
	return h.change(ctx, projectID, func(e *edit) error {
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
		if err := e.Tx.Federation.RemoveNode(ctx, projectID, e.Version, n.ID); err != nil {
			return err
		}
		return e.note(ctx, "node deleted", map[string]any{"node": *n.Node})
	})
}

func (e *edit) note(ctx context.Context, action string, body map[string]any) error {
	body["action"] = action
	return e.Note(ctx, audit.KindFederation, body)
}
