package wire

import "tenet/internal/rule"

// CreateNode is the body that makes a federation node.
type CreateNode struct {
	Name         string     `json:"name" doc:"Node name." example:"Payments"`
	Level        rule.Level `json:"level" enum:"organization,team,project" doc:"organization, team or project."`
	ParentID     string     `json:"parent_id,omitempty" nullable:"true" doc:"Parent node, of a higher level; required for teams and projects."`
	Description  string     `json:"description,omitempty" nullable:"true" doc:"What the node represents."`
	DefaultScope string     `json:"default_scope,omitempty" nullable:"true" doc:"Scope of the rules attached here that have none of their own." example:"finance/payments"`
	Repositories []string   `json:"repositories,omitempty" nullable:"true" doc:"Globs of the repositories that the node represents." example:"[\"acme/pay-*\"]"`
	OwnRulesOnly bool       `json:"own_rules_only,omitempty" doc:"Let only attached rules hold at the node and below it, without the enforced CRITICAL and HIGH rules that no node has; needs allow_weakening and a reason."`
	WeakeningInput
}

// ChangeNode is the body that changes a federation node.
type ChangeNode struct {
	Name         Optional[string]     `json:"name,omitzero" nullable:"false" doc:"Node name."`
	Level        Optional[rule.Level] `json:"level,omitzero" nullable:"false" enum:"organization,team,project" doc:"organization, team or project."`
	ParentID     Optional[string]     `json:"parent_id,omitzero" doc:"Parent node; null for an organization."`
	Description  Optional[string]     `json:"description,omitzero" doc:"What the node represents; null clears it."`
	DefaultScope Optional[string]     `json:"default_scope,omitzero" doc:"Scope of the rules attached here that have none of their own; null clears it."`
	Repositories Optional[[]string]   `json:"repositories,omitzero" doc:"Globs of the repositories that the node represents; null clears them."`
	OwnRulesOnly Optional[bool]       `json:"own_rules_only,omitzero" nullable:"false" doc:"Let only attached rules hold at the node and below it, without the enforced CRITICAL and HIGH rules that no node has; true needs allow_weakening and a reason."`
	WeakeningInput
}

// AttachRule is the body that attaches a rule to a node.
type AttachRule struct {
	RuleID         string `json:"rule_id" doc:"Id or slug of the rule." example:"SEC-003"`
	OverrideID     string `json:"override_parent_rule_id,omitempty" nullable:"true" doc:"Id or slug of the rule of an ancestor that this rule replaces."`
	AllowWeakening bool   `json:"allow_weakening,omitempty" doc:"Let the rule replace a CRITICAL one although it asks less, and enforced CRITICAL and HIGH rules end where they hold; needs a reason."`
	Reason         string `json:"reason,omitempty" nullable:"true" doc:"Why; kept in the audit chain."`
}

// Effect holds the rules that a change of nodes or attachments ends.
type Effect struct {
	Silenced *rule.Silenced `json:"silenced,omitempty" doc:"Rules in force that end somewhere by the change; absent without any."`
	Warnings []string       `json:"warnings,omitempty" nullable:"false" doc:"The same in a sentence."`
}

// EffectOf returns the effect of a change that ends rules; nil ends none.
func EffectOf(s *rule.Silenced) Effect {
	if s == nil {
		return Effect{}
	}
	return Effect{s, []string{s.String()}}
}

// Attached is an attachment that was made.
type Attached struct {
	rule.Attachment
	Effect
}

// ChangedNode is a node that was made or changed.
type ChangedNode struct {
	rule.Node
	Effect
}

// PreviewNodes is the body that asks for the effect of a change of nodes or attachments without making it.
type PreviewNodes struct {
	Action     string      `json:"action" enum:"attach,detach,create,change,delete" doc:"What is to be done."`
	NodeID     string      `json:"node_id,omitempty" doc:"The node; absent for create."`
	RuleID     string      `json:"rule_id,omitempty" doc:"Id or slug of the rule to attach or detach."`
	OverrideID string      `json:"override_parent_rule_id,omitempty" doc:"As in the body that attaches a rule."`
	Node       *ChangeNode `json:"node,omitempty" doc:"Fields of the node to create or change."`
	WeakeningInput
}

// WeakeningInput is the permission to weaken what is guarded, in a body.
type WeakeningInput struct {
	AllowWeakening bool   `json:"allow_weakening,omitempty" doc:"Let enforced CRITICAL and HIGH rules end where they hold; needs a reason."`
	Reason         string `json:"reason,omitempty" nullable:"true" doc:"Why; kept in the audit chain."`
}

// Permission returns the input as a permission.
func (w WeakeningInput) Permission() rule.Permission {
	return rule.Permission{AllowWeakening: w.AllowWeakening, Reason: w.Reason}
}

// RuleBrief is a rule in a list of rules in force.
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

// TreeNode is a federation node with those below it.
type TreeNode struct {
	rule.Node
	Children []TreeNode `json:"children" nullable:"false" doc:"Nodes below, by name."`
}

// NodeTree is the tree of a project's nodes.
type NodeTree struct {
	Nodes []TreeNode `json:"nodes" nullable:"false" doc:"Roots, by name, each with what is below it."`
}

// NodeDetail is a federation node with what is attached to it and the way to it.
type NodeDetail struct {
	rule.Node
	Path      string          `json:"path" doc:"Names of the nodes on the way to it and its own, joined by /."`
	Children  int             `json:"children" doc:"How many nodes are directly below it."`
	Counts    rule.NodeCounts `json:"counts" doc:"How many rules hold at the node, and what it changes in those of its parent."`
	Attached  int             `json:"attached" doc:"How many rules are attached to the node itself, those that are not in force included."`
	Rules     []NodeRule      `json:"rules" nullable:"false" doc:"Rules attached to the node itself; empty with brief=true."`
	Ancestors []rule.Node     `json:"ancestors" nullable:"false" doc:"Nodes above, the root first."`
}

// NodeRule is a rule attached to a node.
type NodeRule struct {
	rule.Attachment
	Rule           RuleBrief `json:"rule" doc:"The rule."`
	OverriddenSlug string    `json:"overridden_slug,omitempty" doc:"Slug of the rule that this one is to override."`
	Holds          bool      `json:"holds" doc:"Whether the rule is in force, and so holds at the node."`
	Loosens        []string  `json:"loosens,omitempty" nullable:"false" doc:"Ways in which the rule demands less than the one that it is to override."`
	Acts           bool      `json:"acts" doc:"Whether it now replaces the rule that it is to override. It does not while it is not in force, or loosens a CRITICAL rule without being allowed to, or the other rule is no longer attached above."`
}

// EffectiveRules are the rules that hold at a node.
type EffectiveRules struct {
	NodeID string          `json:"node_id" format:"uuid" doc:"The node."`
	Rules  []EffectiveRule `json:"effective_rules" nullable:"false" doc:"Rules that hold, those of the root first."`
	Total  int             `json:"total" doc:"How many there are."`
	// Everywhere lists rules that hold at the node beside those of the tree.
	Everywhere EverywhereRules `json:"everywhere" doc:"Enforced CRITICAL and HIGH rules that hold at the node because they are attached to no node; none if the node, or one above it, has only its own rules."`
}

// MaxEverywhere bounds how many of [EverywhereRules] are listed.
const MaxEverywhere = 200

// EverywhereRules are the rules that hold at all nodes because no node has them.
type EverywhereRules struct {
	Total int         `json:"total" doc:"How many there are."`
	Rules []RuleBrief `json:"rules" nullable:"false" doc:"The first 200 of them, in order of their ids."`
}

// EffectiveRule is a rule that holds at a node.
type EffectiveRule struct {
	Rule           RuleBrief `json:"rule" doc:"The rule."`
	SourceNodeID   string    `json:"source_node_id" format:"uuid" doc:"Node that supplies the rule: of several, the nearest."`
	OverriddenID   *string   `json:"overridden_rule_id" format:"uuid" nullable:"true" doc:"Parent rule that this rule overrides."`
	OverriddenSlug string    `json:"overridden_slug,omitempty" doc:"Slug of that rule."`
	Inherited      bool      `json:"inherited" doc:"True when the rule comes from an ancestor."`
}
