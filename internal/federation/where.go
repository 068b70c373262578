package federation

import (
	"maps"
	"slices"
	"strings"
	"time"

	"tenet/internal/rule"
)

// Place is the state of a rule at a node.
type Place struct {
	Node *Node
	// Attached is true if the rule is attached to the node itself.
	Attached bool
	// Holds is true if the rule holds at the node.
	Holds bool
	// Source is the nearest node that supplies a rule that holds, or empty where it holds because no node has it.
	Source string
	// By and ByNode are a rule that replaces this one, and the node that says so; empty if none does.
	By, ByNode string
}

// Where lists the nodes, in order of their ids, at which a rule of any status holds at a time, or would hold if no other rule replaced it,
// and those to which it is attached. It gives what [Effective] gives for each node, at the cost of the rule and of those that override it or
// that it overrides.
func Where(src Source, r *rule.Rule, now time.Time) []Place {
	tree := src.Federation()
	if !tree.attached(r.ID) {
		return everywhere(tree, r, now)
	}
	related := tree.related(r.ID)
	var list []Place
	for _, n := range tree.Nodes() {
		if !slices.ContainsFunc(tree.Chain(n.ID), func(n *Node) bool { return n.Attachment(r.ID) != nil }) {
			continue
		}
		p := Place{Node: n, Attached: n.Attachment(r.ID) != nil}
		found, ok := attachedRules(src, n.ID, now, related)
		if !ok {
			continue
		}
		set := found.set
		if i := slices.IndexFunc(set.Entries, func(e Entry) bool { return e.Rule.ID == r.ID }); i >= 0 {
			p.Holds, p.Source = true, set.Entries[i].NodeID
		} else if i := slices.IndexFunc(set.Replaced, func(gone Replaced) bool { return gone.Rule.ID == r.ID }); i >= 0 {
			p.By, p.ByNode = set.Replaced[i].By, set.Replaced[i].NodeID
		}
		if p.Attached || p.Holds || p.By != "" {
			list = append(list, p)
		}
	}
	return list
}

// everywhere lists the nodes at which a rule holds because no node has it.
func everywhere(tree *Tree, r *rule.Rule, now time.Time) []Place {
	if !r.Guarded() || !r.InForce(now) {
		return nil
	}
	var list []Place
	for _, n := range tree.Nodes() {
		if tree.OwnRulesOnly(n.ID) == nil {
			list = append(list, Place{Node: n, Holds: true})
		}
	}
	return list
}

// related returns the ids of a rule, of those that it overrides at some node, of those that override it, and so on, in order.
func (t *Tree) related(ruleID string) []string {
	edges := map[string][]string{}
	for _, n := range t.Nodes() {
		for _, a := range n.overriding {
			edges[a.RuleID] = append(edges[a.RuleID], *a.OverrideID)
			edges[*a.OverrideID] = append(edges[*a.OverrideID], a.RuleID)
		}
	}
	found, rest := map[string]bool{ruleID: true}, []string{ruleID}
	for len(rest) > 0 {
		next := edges[rest[len(rest)-1]]
		rest = rest[:len(rest)-1]
		for _, id := range next {
			if !found[id] {
				found[id] = true
				rest = append(rest, id)
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// Both lists the nodes at which two rules hold, of the places of each.
func Both(places, others []Place) []string {
	var list []string
	for _, p := range places {
		i, ok := slices.BinarySearchFunc(others, p.Node.ID, func(o Place, id string) int { return strings.Compare(o.Node.ID, id) })
		if ok && p.Holds && others[i].Holds {
			list = append(list, p.Node.ID)
		}
	}
	return list
}
