package hierarchy

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

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

// NodeDetail returns a federation node by id, with the rules attached to it unless brief is true.
func (h *Hierarchy) NodeDetail(ctx context.Context, projectID, id string, brief bool) (*wire.NodeDetail, error) {
	view, err := h.views.View(ctx, projectID)
	if err != nil {
		return nil, err
	}
	counts, err := corpus.Counts(view, id, h.now())
	if err != nil {
		return nil, err
	}
	tree := view.Federation()
	chain := tree.Chain(id)
	n := chain[len(chain)-1]
	d := &wire.NodeDetail{
		Node: *n.Node, Path: tree.Path(n.ID), Children: len(tree.Children(n.ID)), Counts: counts, Attached: len(n.Attached),
		Rules: []wire.NodeRule{}, Ancestors: nodesOf(chain[:len(chain)-1]),
	}
	if brief {
		return d, nil
	}
	d.Rules, err = h.nodeRules(view, n)
	return d, err
}

func nodesOf(chain []*federation.Node) []rule.Node {
	list := make([]rule.Node, len(chain))
	for i, n := range chain {
		list[i] = *n.Node
	}
	return list
}

// nodeRules lists the rules attached to a node.
func (h *Hierarchy) nodeRules(view *corpus.View, n *federation.Node) ([]wire.NodeRule, error) {
	within, err := view.Within(n.ID, h.now())
	if err != nil {
		return nil, err
	}
	list := []wire.NodeRule{}
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
		list = append(list, wire.NodeRule{
			Attachment: *a, Rule: brief(r, scope), OverriddenSlug: slugOf(view, a.Override()), Loosens: federation.Loosens(view, a), Holds: holds,
			Acts: holds && e.Overrides != "",
		})
	}
	return list, nil
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

// DiffNode compares what holds at a node with what holds at its parent. It lists at most limit rules of each kind; 0 is no limit.
func (h *Hierarchy) DiffNode(ctx context.Context, projectID, nodeID string, limit int) (*wire.FederationDiff, error) {
	view, within, err := h.within(ctx, projectID, nodeID)
	if err != nil {
		return nil, err
	}
	d := federation.DiffOf(view, within.Set, h.now())
	out := &wire.FederationDiff{
		NodeID: d.NodeID, ParentID: d.ParentID, InheritedCount: d.Inherited, Added: []wire.AddedRule{}, Overridden: []wire.OverriddenRule{},
		Silenced: []wire.SilencedAtNode{}, AddedTotal: len(d.Added), OverriddenTotal: len(d.Overrides), SilencedTotal: len(d.Silenced),
	}
	for _, r := range first(d.Added, limit) {
		out.Added = append(out.Added, wire.AddedRule{RuleID: r.ID, Slug: r.Slug, Statement: r.Statement, Severity: r.Severity})
	}
	for _, o := range first(d.Overrides, limit) {
		one := wire.OverriddenRule{
			ParentRuleID: o.Parent.ID, ChildRuleID: o.Child.ID, ParentSlug: o.Parent.Slug, ChildSlug: o.Child.Slug,
			ParentStatement: o.Parent.Statement, ChildStatement: o.Child.Statement, Loosens: append([]string{}, o.Loosens...), Changes: contentDiff(o.Parent, o.Child),
		}
		if a := o.Attachment; a != nil {
			one.AllowWeakening, one.Reason, one.AttachedBy, one.ApprovedBy, one.AttachedAt = a.AllowWeakening, a.Reason, a.CreatedBy, a.ApprovedBy, a.CreatedAt
		}
		out.Overridden = append(out.Overridden, one)
	}
	for _, s := range first(d.Silenced, limit) {
		out.Silenced = append(out.Silenced, wire.SilencedAtNode{
			RuleID: s.Rule.ID, Slug: s.Rule.Slug, Statement: s.Rule.Statement, Severity: s.Rule.Severity, ByRuleID: s.By, BySlug: slugOf(view, s.By),
		})
	}
	return out, nil
}

func first[T any](list []T, limit int) []T {
	if limit > 0 && limit < len(list) {
		return list[:limit]
	}
	return list
}

// contentDiff lists the fields in which two rules differ, except those that any two rules differ in.
func contentDiff(a, b *rule.Rule) []rule.FieldChange {
	return slices.DeleteFunc(rule.Diff(*a, *b), func(c rule.FieldChange) bool { return c.Field == "slug" || c.Field == "status" })
}
