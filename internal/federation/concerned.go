package federation

import (
	"slices"
	"time"
)

// maxConcerned is how many rules a comparison looks up at each node. If a change concerns more, it resolves all rules.
const maxConcerned = 500

// findConcerned finds the rules that may hold otherwise than before at some node that existed: those that change themselves or in how they are
// attached, on the way to some node, and all that are bound to them by overrides. The others hold where they did, so that a comparison
// resolves a few rules for each node that the change touches instead of all that hold there.
func (x *comparison) findConcerned() {
	before, after := x.Before.Federation(), x.After.Federation()
	concerned := map[string]bool{}
	attached := func(n *Node) {
		for _, a := range n.Attached {
			concerned[a.RuleID] = true
		}
	}
	for _, id := range x.Rules {
		concerned[id] = true
	}
	for _, n := range after.Nodes() {
		was, ok := before.Node(n.ID)
		if !ok {
			attached(n) // these may no longer hold because no node has them
			continue
		}
		for _, id := range changedAttachments(was, n) {
			concerned[id] = true
		}
		if was.DefaultScope != n.DefaultScope {
			attached(was)
			attached(n)
		}
		if was.Parent() != n.Parent() {
			for _, id := range changedAncestors(before.Chain(was.ID), after.Chain(n.ID)) {
				concerned[id] = true
			}
		}
		if len(concerned) > maxConcerned {
			return
		}
	}
	if list := closure(x.links(), sortedKeys(concerned)); len(list) <= maxConcerned {
		x.concerned = list
	}
}

// resolved keeps what some rules are at nodes before and after a change, so that the losses and the shift of one change resolve each node once.
type resolved struct {
	rules []string // the rules of all sets
	sets  map[resolvedAt]*Set
	work  int // rules of the sets
}

type resolvedAt struct {
	after bool
	node  string
}

// maxResolved bounds the rules of the sets that a change keeps.
const maxResolved = 100_000

// resolve is [effectiveOf] before or after the change. Only those sets are kept that are of the same rules as the first one.
func (c *Change) resolve(after bool, node string, only []string) (*Set, bool) {
	kept := &c.resolved
	if kept.sets == nil {
		kept.rules, kept.sets = only, map[resolvedAt]*Set{}
	}
	same := slices.Equal(kept.rules, only)
	if s, ok := kept.sets[resolvedAt{after, node}]; ok && same {
		return s, true
	}
	src := c.Before
	if after {
		src = c.After
	}
	s, ok := effectiveOf(src, node, c.Now, only)
	if ok && same && kept.work < maxResolved {
		kept.sets[resolvedAt{after, node}] = s
		kept.work += len(s.Entries) + len(s.Replaced) + 1
	}
	return s, ok
}

// wholly reports whether all rules are to be compared at a node: if the change concerns many, or if those that no node has begin or end to
// hold there.
func (x *comparison) wholly(node string) bool {
	return x.concerned == nil || (x.Before.Federation().OwnRulesOnly(node) == nil) != (x.After.Federation().OwnRulesOnly(node) == nil)
}

// links are the pairs of rules of which one overrides the other at some node, before or after the change, both ways round.
func (c *Change) links() map[string][]string {
	links := map[string][]string{}
	for _, tree := range [2]*Tree{c.Before.Federation(), c.After.Federation()} {
		for _, n := range tree.Nodes() {
			for _, a := range n.overriding {
				links[a.RuleID] = append(links[a.RuleID], *a.OverrideID)
				links[*a.OverrideID] = append(links[*a.OverrideID], a.RuleID)
			}
		}
	}
	return links
}

// effectiveOf is [Effective] for some rules, of which none may override a rule that is not among them, or be overridden by one.
func effectiveOf(src Source, nodeID string, now time.Time, only []string) (*Set, bool) {
	r, ok := attachedRules(src, nodeID, now, only)
	if !ok {
		return nil, false
	}
	if tree := src.Federation(); tree.OwnRulesOnly(nodeID) == nil {
		for _, id := range only {
			if x, ok := src.Rule(id); ok && x.Guarded() && x.InForce(now) && !tree.attached(id) {
				r.set.Everywhere = append(r.set.Everywhere, x)
			}
		}
	}
	return r.set, true
}
