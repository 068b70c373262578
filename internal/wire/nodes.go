package wire

import (
	"time"

	"tenet/internal/rule"
)

// NodesQuery selects federation nodes: the children of one, or those that words find.
type NodesQuery struct {
	Parent string `query:"parent" doc:"Id of the node whose children to list; absent lists the organizations. With q: search below this node only."`
	Q      string `query:"q" maxLength:"800" doc:"Part of the name, of the path, of a repository glob or of the default scope, in any letter case. Searches all levels."`
	PageQuery
}

// NodeSummary is a federation node in a list.
type NodeSummary struct {
	rule.Node
	Path     string          `json:"path" doc:"Names of the nodes on the way to it and its own, joined by /."`
	Children int             `json:"children" doc:"How many nodes are directly below it."`
	Counts   rule.NodeCounts `json:"counts" doc:"How many rules hold at the node, and what it changes in those of its parent."`
}

// NodeQuery says what of a node is asked for.
type NodeQuery struct {
	Brief bool `query:"brief" doc:"Leave out the attached rules, of which a node may have many thousands."`
}

// Origin says where a rule that holds at a node comes from.
type Origin string

// Origins.
const (
	OriginAdded      Origin = "added"
	OriginOverride   Origin = "override"
	OriginInherited  Origin = "inherited"
	OriginEverywhere Origin = "everywhere"
	// OriginIdle is that of a rule that is attached to the node and does not hold, because it is not in force.
	OriginIdle Origin = "idle"
)

// Origins lists all origins, the nearest first.
var Origins = []Origin{OriginAdded, OriginOverride, OriginInherited, OriginEverywhere, OriginIdle}

// NodeRulesQuery selects rules that hold at a node; empty fields select everything.
type NodeRulesQuery struct {
	Q           string `query:"q" maxLength:"200" doc:"Text in the statement or the slug, in any letter case."`
	Severity    string `query:"severity" doc:"LOW, MEDIUM, HIGH or CRITICAL, in any letter case."`
	Modality    string `query:"modality" doc:"MUST, MUST_NOT, SHOULD, MAY or INFO, in any letter case."`
	Enforcement string `query:"enforcement" doc:"enforce, warn or shadow."`
	Origin      string `query:"origin" doc:"added or override: the node's own; inherited: from above; everywhere: because no node has the rule; idle: rules that are attached to the node and do not hold, because they are not in force. Absent: all that hold."`
	SourceID    string `query:"source_node_id" doc:"Only rules that this node supplies."`
	Weakened    bool   `query:"weakened" doc:"Only rules in the place of one that demands more."`
	PageQuery
}

// HeldRule is a rule that holds at a node, with where it comes from.
type HeldRule struct {
	Rule         RuleBrief       `json:"rule" doc:"The rule."`
	Origin       Origin          `json:"origin" enum:"added,override,inherited,everywhere,idle" doc:"added or override: the node's own; inherited: from above; everywhere: because no node has it; idle: attached to the node, and not in force."`
	SourceNodeID string          `json:"source_node_id,omitempty" doc:"Node that supplies the rule: of several, the nearest; absent for everywhere."`
	SourcePath   string          `json:"source_path,omitempty" doc:"Path of that node."`
	AttachedBy   string          `json:"attached_by,omitempty" doc:"Actor that attached the rule to that node."`
	ApprovedBy   string          `json:"approved_by,omitempty" doc:"Who has approved that something is weakened by it, where the project demands two people."`
	AttachedAt   *time.Time      `json:"attached_at,omitempty" doc:"When it was attached there."`
	Override     *OverrideDetail `json:"override,omitempty" doc:"The rule that it is to override; absent without one."`
}

// OverrideDetail is an override as the rule in its place has it.
type OverrideDetail struct {
	RuleID         string   `json:"rule_id" format:"uuid" doc:"The overridden rule."`
	Slug           string   `json:"slug,omitempty" doc:"Its slug."`
	Statement      string   `json:"statement" doc:"Its text."`
	Acts           bool     `json:"acts" doc:"Whether it does. It does not while it is not in force, or loosens a CRITICAL rule without permission, or the other rule is no longer attached above: then both hold."`
	Loosens        []string `json:"loosens" nullable:"false" doc:"Ways in which the rule in its place demands less; empty if it demands as much."`
	AllowWeakening bool     `json:"allow_weakening" doc:"Whether the actor that attached it permitted that."`
	Reason         string   `json:"reason" doc:"Why."`
}

// FederationDiff lists what a node changes in the rules of its parent.
type FederationDiff struct {
	NodeID          string           `json:"node_id" format:"uuid" doc:"The node."`
	ParentID        *string          `json:"parent_id" format:"uuid" nullable:"true" doc:"Its parent."`
	Added           []AddedRule      `json:"added" nullable:"false" doc:"Rules that the node brings in."`
	AddedTotal      int              `json:"added_total" doc:"How many there are, however many are listed."`
	Overridden      []OverriddenRule `json:"overridden" nullable:"false" doc:"Rules of ancestors in whose place the node puts others."`
	OverriddenTotal int              `json:"overridden_total" doc:"How many there are."`
	Silenced        []SilencedAtNode `json:"silenced" nullable:"false" doc:"Rules that hold at the parent and not at the node, except those in overridden."`
	SilencedTotal   int              `json:"silenced_total" doc:"How many there are."`
	InheritedCount  int              `json:"inherited_count" doc:"Rules that hold because they hold at the parent."`
}

// DiffNodeQuery bounds a difference.
type DiffNodeQuery struct {
	Limit int `query:"limit" default:"0" minimum:"0" maximum:"1000" doc:"Rules to list of each kind; 0 lists all."`
}

// AddedRule is a rule that a node brings in.
type AddedRule struct {
	RuleID    string        `json:"rule_id" format:"uuid" doc:"The rule."`
	Slug      string        `json:"slug,omitempty" doc:"Its slug."`
	Statement string        `json:"statement" doc:"Its text."`
	Severity  rule.Severity `json:"severity" enum:"LOW,MEDIUM,HIGH,CRITICAL" doc:"How much a violation matters."`
}

// OverriddenRule is a rule of an ancestor and the rule that replaces it.
type OverriddenRule struct {
	ParentRuleID    string             `json:"parent_rule_id" format:"uuid" doc:"The overridden rule."`
	ChildRuleID     string             `json:"child_rule_id" format:"uuid" doc:"The rule in its place."`
	ParentSlug      string             `json:"parent_slug,omitempty" doc:"Slug of the overridden rule."`
	ChildSlug       string             `json:"child_slug,omitempty" doc:"Slug of the rule in its place."`
	ParentStatement string             `json:"parent_statement" doc:"Text of the overridden rule."`
	ChildStatement  string             `json:"child_statement" doc:"Text of the rule in its place."`
	Changes         []rule.FieldChange `json:"changes" nullable:"false" doc:"Fields in which the two differ: before is the overridden rule's, after that of the rule in its place."`
	Loosens         []string           `json:"loosens" nullable:"false" doc:"Ways in which the rule demands less than the overridden one."`
	AllowWeakening  bool               `json:"allow_weakening" doc:"Whether that was permitted."`
	Reason          string             `json:"reason" doc:"Why the rule was attached so."`
	AttachedBy      string             `json:"attached_by" doc:"Actor that attached it."`
	ApprovedBy      string             `json:"approved_by,omitempty" doc:"Who has approved that something is weakened by it, where the project demands two people."`
	AttachedAt      time.Time          `json:"attached_at" doc:"When it was attached."`
}

// SilencedAtNode is a rule that holds at the parent of a node and not at the node.
type SilencedAtNode struct {
	RuleID    string        `json:"rule_id" format:"uuid" doc:"The rule."`
	Slug      string        `json:"slug,omitempty" doc:"Its slug."`
	Statement string        `json:"statement" doc:"Its text."`
	Severity  rule.Severity `json:"severity" enum:"LOW,MEDIUM,HIGH,CRITICAL" doc:"How much a violation matters."`
	ByRuleID  string        `json:"by_rule_id,omitempty" doc:"Rule of the node that took its place; absent if the node has only its own rules."`
	BySlug    string        `json:"by_slug,omitempty" doc:"Slug of that rule."`
}

// PreviewedNodes is the effect of a change of nodes or attachments that was not made.
type PreviewedNodes struct {
	Effect
	Starts        ShiftedRules `json:"starts" doc:"Rules that would start to hold somewhere."`
	Stops         ShiftedRules `json:"stops" doc:"Rules that would stop to hold somewhere, those included in whose place another one would hold."`
	Nodes         int          `json:"nodes" doc:"Nodes that the change may concern."`
	NodesCompared int          `json:"nodes_compared" doc:"How many of them starts and stops cover, the highest first. Fewer only where thousands of rules change at thousands of nodes."`
}

// MaxShifted bounds how many of [ShiftedRules] are listed.
const MaxShifted = 50

// ShiftedRules are rules that start, or stop, to hold somewhere.
type ShiftedRules struct {
	Total int           `json:"total" doc:"How many there are."`
	Rules []ShiftedRule `json:"rules" nullable:"false" doc:"The first 50 of them, the most severe first."`
}

// ShiftedRule is a rule that starts, or stops, to hold somewhere.
type ShiftedRule struct {
	RuleID       string        `json:"rule_id" format:"uuid" doc:"The rule."`
	Slug         string        `json:"slug,omitempty" doc:"Its slug."`
	Statement    string        `json:"statement" doc:"Its text."`
	Severity     rule.Severity `json:"severity" enum:"LOW,MEDIUM,HIGH,CRITICAL" doc:"How much a violation matters."`
	At           []string      `json:"at" nullable:"false" doc:"Paths of the first nodes at which it does, the highest first."`
	Nodes        int           `json:"nodes" doc:"At how many nodes it does."`
	Repositories []string      `json:"repositories" nullable:"false" doc:"Globs of repositories, at most five, for which it does because they have another node than before."`
	OtherID      string        `json:"other_rule_id,omitempty" doc:"The rule that it replaces at such a node; of one that stops, the rule that takes its place. Absent without one."`
	OtherSlug    string        `json:"other_slug,omitempty" doc:"Slug of that rule."`
}

// ResolveQuery names a repository.
type ResolveQuery struct {
	Repository string `query:"repository" required:"true" maxLength:"1000" doc:"Repository in any spelling: acme/ledger-api, or an address such as git@github.com:acme/ledger-api.git." example:"acme/ledger-api"`
}

// ResolvedRepository is where a repository belongs.
type ResolvedRepository struct {
	Repository string        `json:"repository" doc:"The repository in its normal form, in which names are compared."`
	Node       *NodeSummary  `json:"node,omitempty" doc:"The node of the repository; absent if no node has it, so that all rules in force apply, or if several have it alike."`
	Ancestors  []rule.Node   `json:"ancestors" nullable:"false" doc:"Nodes above that node, the root first."`
	Bindings   []NodeBinding `json:"bindings" nullable:"false" doc:"Globs of nodes that match, the one that decides first; at most 20."`
	Ambiguous  string        `json:"ambiguous,omitempty" doc:"Why an evaluation of the repository is refused: several nodes have it alike. Absent otherwise."`
	Nearest    []NodeBinding `json:"nearest" nullable:"false" doc:"If none matches: the globs nearest to the name, at most 5."`
}

// NodeBinding is a repository glob of a node.
type NodeBinding struct {
	Glob    string `json:"glob" doc:"The glob."`
	NodeID  string `json:"node_id" format:"uuid" doc:"Its node."`
	Path    string `json:"path" doc:"Path of the node."`
	Exact   bool   `json:"exact" doc:"Whether it names the repository in full."`
	Decides bool   `json:"decides" doc:"Whether it decides where the repository belongs."`
}

// Deciders names who has decided something and, where others had to approve it, them.
func Deciders(by, approved string) string {
	if approved == "" {
		return by
	}
	return by + ", approved by " + approved
}
