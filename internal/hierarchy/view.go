package hierarchy

import (
	"bytes"
	"context"
	"encoding/json"

	"tenet/internal/corpus"
	"tenet/internal/federation"
	"tenet/internal/rule"
	"tenet/internal/wire"
)

func brief(r *rule.Rule, scope []string) wire.RuleBrief {
	if scope == nil {
		scope = []string{}
	}
	return wire.RuleBrief{
		ID: r.ID, Slug: r.Slug, Version: r.Version, Statement: r.Statement, Modality: r.Modality, Severity: r.Severity, Scope: scope,
		Enforcement: r.Enforcement, Status: r.Status,
	}
}

// Tree returns the roots of a project's federation, by name, each with what is below it.
func (h *Hierarchy) Tree(ctx context.Context, projectID string) ([]wire.TreeNode, error) {
	view, err := h.views.View(ctx, projectID)
	if err != nil {
		return nil, err
	}
	return branches(view.Federation(), ""), nil
}

// EncodedTree is [Hierarchy.Tree] as the JSON of a [wire.NodeTree]. It must not be changed.
func (h *Hierarchy) EncodedTree(ctx context.Context, projectID string) ([]byte, error) {
	view, err := h.views.View(ctx, projectID)
	if err != nil {
		return nil, err
	}
	return view.Federation().Encoded(func() ([]byte, error) {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		err := enc.Encode(wire.NodeTree{Nodes: branches(view.Federation(), "")})
		return b.Bytes(), err
	})
}

func branches(t *federation.Tree, id string) []wire.TreeNode {
	children := t.Children(id)
	list := make([]wire.TreeNode, len(children))
	for i, n := range children {
		list[i] = wire.TreeNode{Node: *n, Children: branches(t, n.ID)}
	}
	return list
}

// NodeDetail returns a federation node by id.
func (h *Hierarchy) NodeDetail(ctx context.Context, projectID, id string) (*wire.NodeDetail, error) {
	view, within, err := h.within(ctx, projectID, id)
	if err != nil {
		return nil, err
	}
	chain := view.Federation().Chain(within.NodeID)
	n := chain[len(chain)-1]
	d := &wire.NodeDetail{Node: *n.Node, Rules: []wire.NodeRule{}, Ancestors: []rule.Node{}}
	for _, above := range chain[:len(chain)-1] {
		d.Ancestors = append(d.Ancestors, *above.Node)
	}
	for _, a := range n.Attached {
		r, ok := view.Rule(a.RuleID)
		if !ok {
			continue
		}
		e, holds := within.Entry(a.RuleID)
		scope := r.Scope
		if holds {
			scope = e.Scope()
		}
		d.Rules = append(d.Rules, wire.NodeRule{
			Attachment: *a, Rule: brief(r, scope), OverriddenSlug: slugOf(view, a.Override()), Holds: holds, Acts: holds && e.Overrides != "",
		})
	}
	return d, nil
}

func slugOf(view *corpus.View, ruleID string) string {
	if r, ok := view.Rule(ruleID); ok {
		return r.Slug
	}
	return ""
}

func (h *Hierarchy) within(ctx context.Context, projectID, nodeID string) (*corpus.View, *corpus.Within, error) {
	view, err := h.views.View(ctx, projectID)
	if err != nil {
		return nil, nil, err
	}
	within, err := view.Within(nodeID, h.now())
	return view, within, err
}

// EffectiveRules returns what holds at a node now, as the JSON of [wire.EffectiveRules]. It must not be changed.
func (h *Hierarchy) EffectiveRules(ctx context.Context, projectID, nodeID string, view *corpus.View) ([]byte, error) {
	var err error
	if view == nil {
		if view, err = h.views.View(ctx, projectID); err != nil {
			return nil, err
		}
	}
	within, err := view.Within(nodeID, h.now())
	if err != nil {
		return nil, err
	}
	return within.Encoded(func() ([]byte, error) { return EncodeEffective(effectiveRules(view, within)) })
}

func effectiveRules(view *corpus.View, within *corpus.Within) *wire.EffectiveRules {
	out := &wire.EffectiveRules{NodeID: within.NodeID, Rules: make([]wire.EffectiveRule, len(within.Entries)), Total: len(within.Entries)}
	for i := range within.Entries {
		e := &within.Entries[i]
		out.Rules[i] = wire.EffectiveRule{Rule: brief(e.Rule, e.Scope()), SourceNodeID: e.NodeID, Inherited: e.Inherited}
		if e.Overrides != "" {
			out.Rules[i].OverriddenID, out.Rules[i].OverriddenSlug = &e.Overrides, slugOf(view, e.Overrides)
		}
	}
	out.Everywhere = wire.EverywhereRules{Total: len(within.Everywhere), Rules: []wire.RuleBrief{}}
	for _, r := range within.Everywhere[:min(len(within.Everywhere), wire.MaxEverywhere)] {
		out.Everywhere.Rules = append(out.Everywhere.Rules, brief(r, r.Scope))
	}
	return out
}

// DiffNode compares what holds at a node with what holds at its parent.
func (h *Hierarchy) DiffNode(ctx context.Context, projectID, nodeID string) (*wire.FederationDiff, error) {
	view, within, err := h.within(ctx, projectID, nodeID)
	if err != nil {
		return nil, err
	}
	d := federation.DiffOf(view, within.Set)
	out := &wire.FederationDiff{
		NodeID: d.NodeID, ParentID: d.ParentID, InheritedCount: d.Inherited, Added: []wire.AddedRule{}, Overridden: []wire.OverriddenRule{},
	}
	for _, r := range d.Added {
		out.Added = append(out.Added, wire.AddedRule{RuleID: r.ID, Slug: r.Slug, Statement: r.Statement})
	}
	for _, o := range d.Overrides {
		out.Overridden = append(out.Overridden, wire.OverriddenRule{
			ParentRuleID: o.Parent.ID, ChildRuleID: o.Child.ID, ParentSlug: o.Parent.Slug, ChildSlug: o.Child.Slug, ParentStatement: o.Parent.Statement, ChildStatement: o.Child.Statement,
		})
	}
	return out, nil
}
