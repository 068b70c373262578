package wire

import "tenet/internal/rule"

// RuleNodesQuery selects the nodes of a rule.
type RuleNodesQuery struct {
	State string `query:"state" doc:"attached, inherited, everywhere, overridden, silenced or idle; absent means all."`
	PageQuery
}

// PlaceState is the state of a rule at a federation node.
type PlaceState string

// States. An attached or inherited rule holds at the node, and so does one that no node has, everywhere. An overridden rule does not, because
// a node puts another in its place, and neither does a silenced one, where a rule with an OVERRIDES relationship applies too. An idle one is
// attached and not in force.
const (
	PlaceAttached   PlaceState = "attached"
	PlaceInherited  PlaceState = "inherited"
	PlaceEverywhere PlaceState = "everywhere"
	PlaceOverridden PlaceState = "overridden"
	PlaceSilenced   PlaceState = "silenced"
	PlaceIdle       PlaceState = "idle"
)

// PlaceStates lists all states.
var PlaceStates = []PlaceState{PlaceAttached, PlaceInherited, PlaceEverywhere, PlaceOverridden, PlaceSilenced, PlaceIdle}

// RuleNodes lists the federation nodes at which a rule holds, or would.
type RuleNodes struct {
	RuleID string `json:"rule_id" format:"uuid" doc:"The rule."`
	// InForce is whether its status and dates let it hold anywhere.
	InForce bool `json:"in_force" doc:"Whether the rule is in force now. If not, it holds nowhere."`
	// Unattached is true for a rule that no node has.
	Unattached bool           `json:"unattached" doc:"No node has the rule. It then applies to subjects without a node, and, if it is an enforced CRITICAL or HIGH rule with MUST or MUST_NOT, at all nodes that do not have only their own rules."`
	Counts     RuleNodeCounts `json:"counts" doc:"How many nodes there are in each state."`
	Items      []RuleNode     `json:"items" nullable:"false" doc:"Nodes of this page, in the order in which they were made."`
	Total      int            `json:"total" doc:"Nodes on all pages."`
	Page       int            `json:"page" doc:"This page, from 1."`
	PageSize   int            `json:"page_size" doc:"Items per page."`
}

// RuleNodeCounts counts the nodes of a rule by its state there.
type RuleNodeCounts struct {
	Attached   int `json:"attached" doc:"Nodes that have the rule, where it holds."`
	Inherited  int `json:"inherited" doc:"Nodes below, where it holds too."`
	Everywhere int `json:"everywhere" doc:"Nodes where it holds because no node has it."`
	Overridden int `json:"overridden" doc:"Nodes where another rule is in its place."`
	Silenced   int `json:"silenced" doc:"Nodes where a rule that overrides it by a relationship holds too."`
	Idle       int `json:"idle" doc:"Nodes that have the rule while it is not in force."`
}

// Of returns the count of a state.
func (c *RuleNodeCounts) Of(s PlaceState) *int {
	switch s {
	case PlaceAttached:
		return &c.Attached
	case PlaceInherited:
		return &c.Inherited
	case PlaceEverywhere:
		return &c.Everywhere
	case PlaceOverridden:
		return &c.Overridden
	case PlaceSilenced:
		return &c.Silenced
	case PlaceIdle:
	}
	return &c.Idle
}

// RuleNode is a federation node and the state of a rule at it.
type RuleNode struct {
	Node  rule.Node  `json:"node" doc:"The node; its repositories resolve there."`
	Path  string     `json:"path" doc:"Names of the nodes on the way to it and its own, joined by /."`
	State PlaceState `json:"state" enum:"attached,inherited,everywhere,overridden,silenced,idle" doc:"attached, inherited, everywhere: it holds. overridden: a node puts another rule in its place. silenced: a rule that overrides it by a relationship holds too, and silences it where both apply. idle: attached and not in force."`
	// SourceID and SourcePath are the node that supplies the rule.
	SourceID   string `json:"source_node_id,omitempty" doc:"Node that supplies the rule where it is inherited: of several, the nearest."`
	SourcePath string `json:"source_path,omitempty" doc:"Path of that node."`
	ByRuleID   string `json:"by_rule_id,omitempty" doc:"Rule that is in its place, or silences it."`
	ByRuleSlug string `json:"by_rule_slug,omitempty" doc:"Slug of that rule."`
	ByNodeID   string `json:"by_node_id,omitempty" doc:"Node that puts the other rule in its place."`
	ByPath     string `json:"by_path,omitempty" doc:"Path of that node."`
}
