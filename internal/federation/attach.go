package federation

import (
	"slices"
	"strings"

	"tenet/internal/rule"
)

// MayAttach returns an error if the rule r must not be attached as a says: without the node (not_found), if it is attached to
// it already (conflict), if it is to override a rule that no ancestor has (invalid), or one that is CRITICAL and that it
// loosens without being allowed to (conflict).
func MayAttach(src Source, a *rule.Attachment, r *rule.Rule) error {
	chain := src.Federation().Chain(a.NodeID)
	if chain == nil {
		return rule.NotFound("node", a.NodeID)
	}
	n := chain[len(chain)-1]
	if n.Attachment(a.RuleID) != nil {
		return rule.Errorf(rule.CodeConflict, "the rule is attached to %s already; remove it there first to attach it in another way", n.Name)
	}
	return MayOverride(src, a, r)
}

// MayOverride is the part of [MayAttach] about overrides, for an attachment that may be in the tree already.
func MayOverride(src Source, a *rule.Attachment, r *rule.Rule) error {
	if a.OverrideID == nil {
		return nil
	}
	chain := src.Federation().Chain(a.NodeID)
	if chain == nil {
		return rule.NotFound("node", a.NodeID)
	}
	n := chain[len(chain)-1]
	var p rule.Problems
	above := chain[:len(chain)-1]
	if *a.OverrideID == a.RuleID {
		p.Add("override_parent_rule_id", "is the rule itself")
	} else if !slices.ContainsFunc(above, func(n *Node) bool { return n.Attachment(*a.OverrideID) != nil }) {
		p.Add("override_parent_rule_id", "%q is not attached to an ancestor of %s", *a.OverrideID, n.Name)
	}
	if err := p.Err("the rule cannot be attached"); err != nil {
		return err
	}
	if ways := wouldLoosen(src, above, *a.OverrideID, r); len(ways) > 0 {
		return rule.Permission{AllowWeakening: a.AllowWeakening}.Refuse("the override loosens a CRITICAL rule: %s", strings.Join(ways, ", "))
	}
	return nil
}

// wouldLoosen lists the ways in which an override by r would loosen a CRITICAL rule. Rules that are not in force yet count as
// if they were: the author of the override should learn of it now, not when they come into force.
func wouldLoosen(src Source, above []*Node, target string, r *rule.Rule) []string {
	res := &resolution{src: src, foreseen: true, set: &Set{}}
	res.findTargets(above, target)
	for depth, n := range above {
		res.descend(depth, n)
	}
	for _, p := range res.members[target] {
		if ways := p.loosened(r); len(ways) > 0 {
			return ways
		}
	}
	return nil
}
