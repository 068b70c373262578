package catalog

import (
	"bytes"
	"context"
	"encoding/json"

	"tenet/internal/corpus"
	"tenet/internal/federation"
	"tenet/internal/rule"
)

// RuleBrief is what a list of rules in force tells of each.
type RuleBrief struct {
	ID          string           `json:"id" format:"uuid" doc:"Rule identifier."`
	Slug        string           `json:"slug,omitempty" doc:"Its slug."`
	Version     int              `json:"version" doc:"Its version."`
	Statement   string           `json:"statement" doc:"Natural-language rule text."`
	Modality    rule.Modality    `json:"modality" enum:"MUST,MUST_NOT,SHOULD,MAY,INFO" doc:"How binding it is."`
	Severity    rule.Severity    `json:"severity" enum:"LOW,MEDIUM,HIGH,CRITICAL" doc:"How much a violation matters."`
	Scope       []string         `json:"scope" nullable:"false" doc:"Where it holds at the node, the node's default scope included; empty means everywhere."`
	Enforcement rule.Enforcement `json:"enforcement" enum:"enforce,warn,shadow" doc:"What a broken rule leads to."`
	Status      rule.Status      `json:"status" enum:"DRAFT,REVIEW,APPROVED,EFFECTIVE,SUPERSEDED,RETIRED" doc:"Place in the life cycle."`
}

func brief(r *rule.Rule, scope []string) RuleBrief {
	if scope == nil {
		scope = []string{}
	}
	return RuleBrief{
		ID: r.ID, Slug: r.Slug, Version: r.Version, Statement: r.Statement, Modality: r.Modality, Severity: r.Severity, Scope: scope,
		Enforcement: r.Enforcement, Status: r.Status,
	}
}

// TreeNode is a federation node with those below it.
type TreeNode struct {
	rule.Node
	Children []TreeNode `json:"children" nullable:"false" doc:"Nodes below, by name."`
}

// Tree returns the roots of a project's federation, by name, each with what is below it.
func (c *Catalog) Tree(ctx context.Context, projectID string) ([]TreeNode, error) {
	view, err := c.views.View(ctx, projectID)
	if err != nil {
		return nil, err
	}
	return branches(view.Federation(), ""), nil
}

// NodeTree is the tree of a project's nodes.
type NodeTree struct {
	Nodes []TreeNode `json:"nodes" nullable:"false" doc:"Roots, by name, each with what is below it."`
}

// EncodedTree is [Catalog.Tree] as the JSON of a [NodeTree]. It must not be changed.
func (c *Catalog) EncodedTree(ctx context.Context, projectID string) ([]byte, error) {
	view, err := c.views.View(ctx, projectID)
	if err != nil {
		return nil, err
	}
	return view.Federation().Encoded(func() ([]byte, error) {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		err := enc.Encode(NodeTree{branches(view.Federation(), "")})
		return b.Bytes(), err
	})
}

func branches(t *federation.Tree, id string) []TreeNode {
	children := t.Children(id)
	list := make([]TreeNode, len(children))
	for i, n := range children {
		list[i] = TreeNode{*n, branches(t, n.ID)}
	}
	return list
}

// NodeDetail is a federation node with what is attached to it and the way to it.
type NodeDetail struct {
	rule.Node
	Rules     []NodeRule  `json:"rules" nullable:"false" doc:"Rules attached to the node itself."`
	Ancestors []rule.Node `json:"ancestors" nullable:"false" doc:"Nodes above, the root first."`
}

// NodeRule is a rule attached to a node.
type NodeRule struct {
	rule.Attachment
	Rule           RuleBrief `json:"rule" doc:"The rule."`
	OverriddenSlug string    `json:"overridden_slug,omitempty" doc:"Slug of the rule that this one is to override."`
	Holds          bool      `json:"holds" doc:"Whether the rule is in force, and so holds at the node."`
	Acts           bool      `json:"acts" doc:"Whether it now stands in for the rule that it is to override. It does not while it is not in force, or loosens a CRITICAL rule without being allowed to, or the other rule is no longer attached above."`
}

// NodeDetail returns a federation node by id.
func (c *Catalog) NodeDetail(ctx context.Context, projectID, id string) (*NodeDetail, error) {
	view, within, err := c.within(ctx, projectID, id)
	if err != nil {
		return nil, err
	}
	chain := view.Federation().Chain(within.NodeID)
	n := chain[len(chain)-1]
	d := &NodeDetail{Node: *n.Node, Rules: []NodeRule{}, Ancestors: []rule.Node{}}
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
		d.Rules = append(d.Rules, NodeRule{
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

func (c *Catalog) within(ctx context.Context, projectID, nodeID string) (*corpus.View, *corpus.Within, error) {
	view, err := c.views.View(ctx, projectID)
	if err != nil {
		return nil, nil, err
	}
	within, err := view.Within(nodeID, c.now())
	return view, within, err
}

// EffectiveRules are the rules that hold at a node.
type EffectiveRules struct {
	NodeID string          `json:"node_id" format:"uuid" doc:"The node."`
	Rules  []EffectiveRule `json:"effective_rules" nullable:"false" doc:"Rules that hold, those of the root first."`
	Total  int             `json:"total" doc:"How many there are."`
}

// EffectiveRule is a rule that holds at a node.
type EffectiveRule struct {
	Rule           RuleBrief `json:"rule" doc:"The rule."`
	SourceNodeID   string    `json:"source_node_id" format:"uuid" doc:"Node that supplies the rule: of several, the nearest."`
	OverriddenID   *string   `json:"overridden_rule_id" format:"uuid" nullable:"true" doc:"Parent rule that this rule overrides."`
	OverriddenSlug string    `json:"overridden_slug,omitempty" doc:"Slug of that rule."`
	Inherited      bool      `json:"inherited" doc:"True when the rule comes from an ancestor."`
}

// EffectiveRules returns what holds at a node now, as the JSON of [EffectiveRules]. It must not be changed.
func (c *Catalog) EffectiveRules(ctx context.Context, projectID, nodeID string, view *corpus.View) ([]byte, error) {
	var err error
	if view == nil {
		if view, err = c.views.View(ctx, projectID); err != nil {
			return nil, err
		}
	}
	within, err := view.Within(nodeID, c.now())
	if err != nil {
		return nil, err
	}
	return within.Encoded(func() ([]byte, error) { return effectiveRules(view, within).JSON() })
}

func effectiveRules(view *corpus.View, within *corpus.Within) *EffectiveRules {
	out := &EffectiveRules{NodeID: within.NodeID, Rules: make([]EffectiveRule, len(within.Entries)), Total: len(within.Entries)}
	for i := range within.Entries {
		e := &within.Entries[i]
		out.Rules[i] = EffectiveRule{Rule: brief(e.Rule, e.Scope()), SourceNodeID: e.NodeID, Inherited: e.Inherited}
		if e.Overrides != "" {
			out.Rules[i].OverriddenID, out.Rules[i].OverriddenSlug = &e.Overrides, slugOf(view, e.Overrides)
		}
	}
	return out
}

// FederationDiff is what a node changes in what holds at its parent.
type FederationDiff struct {
	NodeID         string           `json:"node_id" format:"uuid" doc:"The node."`
	ParentID       *string          `json:"parent_id" format:"uuid" nullable:"true" doc:"Its parent."`
	Added          []AddedRule      `json:"added" nullable:"false" doc:"Rules that the node brings in."`
	Overridden     []OverriddenRule `json:"overridden" nullable:"false" doc:"Rules of ancestors in whose place the node puts others."`
	InheritedCount int              `json:"inherited_count" doc:"Rules that hold because they hold at the parent."`
}

// AddedRule is a rule that a node brings in.
type AddedRule struct {
	RuleID    string `json:"rule_id" format:"uuid" doc:"The rule."`
	Slug      string `json:"slug,omitempty" doc:"Its slug."`
	Statement string `json:"statement" doc:"Its text."`
}

// OverriddenRule is a rule of an ancestor and the one that stands in for it.
type OverriddenRule struct {
	ParentRuleID    string `json:"parent_rule_id" format:"uuid" doc:"The overridden rule."`
	ChildRuleID     string `json:"child_rule_id" format:"uuid" doc:"The rule in its place."`
	ParentSlug      string `json:"parent_slug,omitempty" doc:"Slug of the overridden rule."`
	ChildSlug       string `json:"child_slug,omitempty" doc:"Slug of the rule in its place."`
	ParentStatement string `json:"parent_statement" doc:"Text of the overridden rule."`
	ChildStatement  string `json:"child_statement" doc:"Text of the rule in its place."`
}

// DiffNode compares what holds at a node with what holds at its parent.
func (c *Catalog) DiffNode(ctx context.Context, projectID, nodeID string) (*FederationDiff, error) {
	view, within, err := c.within(ctx, projectID, nodeID)
	if err != nil {
		return nil, err
	}
	d := federation.DiffOf(view, within.Set)
	out := &FederationDiff{
		NodeID: d.NodeID, ParentID: d.ParentID, InheritedCount: d.Inherited, Added: []AddedRule{}, Overridden: []OverriddenRule{},
	}
	for _, r := range d.Added {
		out.Added = append(out.Added, AddedRule{r.ID, r.Slug, r.Statement})
	}
	for _, o := range d.Overrides {
		out.Overridden = append(out.Overridden, OverriddenRule{
			o.Parent.ID, o.Child.ID, o.Parent.Slug, o.Child.Slug, o.Parent.Statement, o.Child.Statement,
		})
	}
	return out, nil
}
