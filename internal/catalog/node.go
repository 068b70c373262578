package catalog

import (
	"context"
	"errors"
	"slices"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/corpus"
	"tenet/internal/federation"
	"tenet/internal/rule"
	"tenet/internal/store"
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
	set(&n.Name, in.Name)
	set(&n.Level, in.Level)
	set(&n.Description, in.Description)
	set(&n.DefaultScope, in.DefaultScope)
	if in.Repositories != nil {
		n.Repositories = slices.Clone(*in.Repositories)
	}
	if in.ParentID != nil {
		parent := *in.ParentID
		n.ParentID = &parent
	}
}

// federating is a change of the federation inside a transaction.
type federating struct {
	c       *Catalog
	tx      store.Tx
	project rule.Project
	cv      int64
	// view is the corpus as it is before the change. All other changes wait for this one, so what it shows is certain.
	view *corpus.View
	tree *federation.Tree
}

// Federation is the tree, with what the change has done so far.
func (f *federating) Federation() *federation.Tree { return f.tree }

// Rule finds a rule by its id.
func (f *federating) Rule(id string) (*rule.Rule, bool) { return f.view.Rule(id) }

// federate runs a change of the federation, of which fn sees the exact state before.
func (c *Catalog) federate(ctx context.Context, projectID string, fn func(*federating) error) error {
	known, err := c.views.View(ctx, projectID)
	if err != nil {
		return err
	}
	err = c.change(ctx, projectID, func(tx store.Tx, project rule.Project, cv int64) error {
		f := &federating{c: c, tx: tx, project: project, cv: cv, view: known}
		if known.Version() != cv-1 { // something was changed between
			if f.view, err = known.Follow(ctx, tx, projectID); err != nil {
				return err
			}
		}
		f.tree = f.view.Federation()
		return fn(f)
	})
	if errors.Is(err, errUnchanged) {
		return nil
	}
	return err
}

func (f *federating) node(id string) (rule.Node, error) {
	n, ok := f.tree.Node(id)
	if !ok {
		return rule.Node{}, rule.NotFound("node", id)
	}
	return *n.Node, nil
}

// mayStand checks a node and its place.
func (f *federating) mayStand(n *rule.Node) error {
	n.Normalize()
	if err := validateNode(n); err != nil {
		return err
	}
	if err := f.tree.MayStand(n); err != nil {
		return err
	}
	return f.tree.Taken(n)
}

func validateNode(n *rule.Node) error {
	if n.ID != "" && !rule.IsID(n.ID) {
		var p rule.Problems
		p.Add("id", "must be a UUID")
		return p.Err("the node is invalid")
	}
	if err := n.Validate(); err != nil {
		return err
	}
	var p rule.Problems
	globs(&p, "repositories", n.Repositories)
	return p.Err("the node is invalid")
}

// CreateNode makes a federation node: invalid if it may not stand below its parent, conflict if a node of its level has its
// repositories already.
func (c *Catalog) CreateNode(ctx context.Context, projectID string, in NodeInput) (rule.Node, error) {
	var made rule.Node
	err := c.federate(ctx, projectID, func(f *federating) (err error) {
		made, err = f.create(ctx, audit.NewID(), in)
		return err
	})
	return made, err
}

func (f *federating) create(ctx context.Context, id string, in NodeInput) (rule.Node, error) {
	now, who := f.c.instant(), auth.ActorFrom(ctx).Name
	n := rule.Node{ID: id, ProjectID: f.project.ID, CreatedAt: now, CreatedBy: who, UpdatedAt: now, UpdatedBy: who}
	in.apply(&n)
	if err := f.mayStand(&n); err != nil {
		return rule.Node{}, err
	}
	if err := f.tx.InsertNodes(ctx, f.project.ID, f.cv, []rule.Node{n}); err != nil {
		return rule.Node{}, err
	}
	return n, f.note(ctx, "node created", map[string]any{"node": n})
}

// UpdateNode changes a federation node; with another parent it moves, with all that is below it. Conflict if it would come to
// stand below itself, invalid if its level would not be between those of its parent and its children. An update that changes
// nothing leaves no trace.
func (c *Catalog) UpdateNode(ctx context.Context, projectID, id string, in NodeInput) (rule.Node, error) {
	var updated rule.Node
	err := c.federate(ctx, projectID, func(f *federating) error {
		before, err := f.node(id)
		if err != nil {
			return err
		}
		updated, err = f.update(ctx, before, in)
		return err
	})
	return updated, err
}

// update returns errUnchanged for an input that changes nothing.
func (f *federating) update(ctx context.Context, before rule.Node, in NodeInput) (rule.Node, error) {
	n := before
	in.apply(&n)
	if err := f.mayStand(&n); err != nil {
		return before, err
	}
	changed := rule.NodeDiff(before, n)
	if len(changed) == 0 {
		return before, errUnchanged
	}
	n.UpdatedAt, n.UpdatedBy = f.c.instant(), auth.ActorFrom(ctx).Name
	if err := f.tx.UpdateNode(ctx, f.project.ID, f.cv, n); err != nil {
		return before, err
	}
	return n, f.note(ctx, "node changed", map[string]any{"node": n, "changed": changed})
}

// DeleteNode removes a federation node; conflict if there are nodes below it or rules attached to it.
func (c *Catalog) DeleteNode(ctx context.Context, projectID, id string) error {
	return c.federate(ctx, projectID, func(f *federating) error {
		n, ok := f.tree.Node(id)
		if !ok {
			return rule.NotFound("node", id)
		}
		if below := len(f.tree.Children(n.ID)); below > 0 {
			return rule.Errorf(rule.CodeConflict, "%d nodes stand below %s; move or delete them first", below, n.Name)
		}
		if len(n.Attached) > 0 {
			return rule.Errorf(rule.CodeConflict, "%d rules are attached to %s; remove them first", len(n.Attached), n.Name)
		}
		return f.remove(ctx, *n.Node)
	})
}

func (f *federating) remove(ctx context.Context, n rule.Node) error {
	if err := f.tx.RemoveNode(ctx, f.project.ID, f.cv, n.ID); err != nil {
		return err
	}
	return f.note(ctx, "node deleted", map[string]any{"node": n})
}

func (f *federating) note(ctx context.Context, action string, body map[string]any) error {
	body["action"] = action
	return audit.Append(ctx, f.tx, f.project.ID, audit.Record{
		Kind: audit.KindFederation, At: f.c.instant(), Actor: auth.ActorFrom(ctx).Name, Body: audit.JSON(body),
	})
}
