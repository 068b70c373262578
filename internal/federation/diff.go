package federation

import (
	"slices"
	"strings"
	"time"

	"tenet/internal/rule"
)

// Diff holds the changes that a node makes to the rules that hold at its parent.
type Diff struct {
	NodeID   string
	ParentID *string
	// Added are the rules that the node brings in, Overrides those that it puts in the place of others.
	Added     []*rule.Rule
	Overrides []Override
	// Silenced are the rules that hold at the parent and not at the node, except those that Overrides name as overridden.
	Silenced []SilencedHere
	// Inherited counts the rules that hold at the node because they hold at its parent.
	Inherited int
}

// Override is a rule and the one above that it replaces.
type Override struct {
	Parent, Child *rule.Rule
	// Attachment attaches the child to the node.
	Attachment *rule.Attachment
	// Loosens lists the ways in which the child demands less than the parent does where it is attached.
	Loosens []string
}

// SilencedHere is a rule of the parent that does not hold at a node.
type SilencedHere struct {
	Rule *rule.Rule
	// By is the id of the rule that took its place; empty if the node has only its own rules.
	By string
}

// DiffOf compares the set of a node with its parent's, at a time that the set holds.
func DiffOf(src Source, set *Set, now time.Time) Diff {
	d := attachedDiff(src, set)
	if n, ok := src.Federation().Node(set.NodeID); ok && n.endsEverywhere(src.Federation()) {
		for _, r := range Everywhere(src, now).Everywhere {
			d.Silenced = append(d.Silenced, SilencedHere{Rule: r})
		}
	}
	return d
}

// endsEverywhere reports whether the node is the one at which the rules end that hold at all nodes because none has them.
func (n *Node) endsEverywhere(t *Tree) bool {
	return n.OwnRulesOnly && t.OwnRulesOnly(n.Parent()) == nil
}

// attachedDiff is [DiffOf] for the rules that are attached to nodes.
func attachedDiff(src Source, set *Set) Diff {
	d := Diff{NodeID: set.NodeID}
	n, ok := src.Federation().Node(set.NodeID)
	if ok {
		d.ParentID = n.ParentID
	}
	overridden := map[string]bool{}
	for i := range set.Entries {
		e := &set.Entries[i]
		switch {
		case e.Inherited, e.above && e.Overrides == "":
			d.Inherited++
		case e.Overrides != "":
			overridden[e.Overrides] = true
			parent, ok := src.Rule(e.Overrides)
			if !ok {
				parent = &rule.Rule{ID: e.Overrides}
			}
			over := Override{Parent: parent, Child: e.Rule, Loosens: e.Rule.Loosens(parentScoped(src, set.NodeID, parent))}
			if n != nil {
				over.Attachment = n.Attachment(e.Rule.ID)
			}
			d.Overrides = append(d.Overrides, over)
		default:
			d.Added = append(d.Added, e.Rule)
		}
	}
	for _, gone := range set.Replaced {
		if gone.NodeID == set.NodeID && !overridden[gone.Rule.ID] {
			d.Silenced = append(d.Silenced, SilencedHere{gone.Rule, gone.By})
		}
	}
	slices.SortFunc(d.Silenced, func(a, b SilencedHere) int { return strings.Compare(a.Rule.ID+a.By, b.Rule.ID+b.By) })
	d.Silenced = slices.CompactFunc(d.Silenced, func(a, b SilencedHere) bool { return a.Rule.ID == b.Rule.ID })
	return d
}

// parentScoped is a rule of an ancestor with the scope that the nearest ancestor that has it gives it.
func parentScoped(src Source, nodeID string, r *rule.Rule) *rule.Rule {
	if len(r.Scope) > 0 {
		return r
	}
	chain := src.Federation().Chain(nodeID)
	for _, n := range slices.Backward(chain[:max(len(chain)-1, 0)]) {
		if a := n.Attachment(r.ID); a != nil && a.OverrideID == nil {
			return (&holding{Attachment: a, rule: r, node: n}).scoped()
		}
	}
	return r
}

// Loosens lists the ways in which a rule demands less than the one that its attachment names as overridden; nil if it names none.
func Loosens(src Source, a *rule.Attachment) []string {
	if a.OverrideID == nil {
		return nil
	}
	child, ok := src.Rule(a.RuleID)
	parent, known := src.Rule(*a.OverrideID)
	if !ok || !known {
		return nil
	}
	return child.Loosens(parentScoped(src, a.NodeID, parent))
}
