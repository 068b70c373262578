package federation

import (
	"slices"
	"time"

	"tenet/internal/rule"
)

// Counted are the counts of a node in the time from From, included, until Until, as long as nothing is changed; zero is unbounded.
type Counted struct {
	rule.NodeCounts

	From, Until time.Time
}

// Holds reports whether the counts are those of time t too.
func (c *Counted) Holds(t time.Time) bool {
	return !t.Before(c.From) && (c.Until.IsZero() || t.Before(c.Until))
}

func (c *Counted) narrow(from, until time.Time) {
	if from.After(c.From) {
		c.From = from
	}
	if !until.IsZero() && (c.Until.IsZero() || until.Before(c.Until)) {
		c.Until = until
	}
}

// attached is how many rules hold at the node by attachments.
func (c *Counted) attached() int { return c.Inherited + c.Added + c.Overridden }

// Count counts the rules that hold at a node at a time, with the counts of its parent, which a root does not need, and the rules of
// [Everywhere]. It takes time in proportion to what is attached to the node itself; false without the node.
func Count(src Source, nodeID string, now time.Time, parent *Counted, everywhere *Set) (Counted, bool) {
	tree := src.Federation()
	chain := tree.Chain(nodeID)
	if chain == nil || (len(chain) > 1 && parent == nil) {
		return Counted{}, false
	}
	n := chain[len(chain)-1]
	c := Counted{From: everywhere.From, Until: everywhere.Until}
	switch {
	case tree.OwnRulesOnly(n.ID) == nil:
		c.Everywhere = len(everywhere.Everywhere)
	case n.endsEverywhere(tree):
		c.Silenced = len(everywhere.Everywhere)
	}
	if len(chain) > 1 {
		c.Inherited = parent.attached()
		c.narrow(parent.From, parent.Until)
	}
	// Rules that override others, and those that they override, are resolved; others only add to what the parent has.
	linked := linkedRules(chain, n)
	if len(linked) > 0 {
		r, _ := attachedRules(src, n.ID, now, linked)
		c.narrow(r.set.From, r.set.Until)
		if len(chain) > 1 {
			above, _ := attachedRules(src, n.Parent(), now, linked)
			c.narrow(above.set.From, above.set.Until)
			c.Inherited -= len(above.set.Entries)
		}
		c.add(attachedDiff(src, r.set))
	}
	bounds := resolution{now: now, set: &Set{}}
	for _, a := range n.Attached {
		x, ok := src.Rule(a.RuleID)
		if _, isLinked := slices.BinarySearch(linked, a.RuleID); isLinked || !ok {
			continue
		}
		bounds.bound(&x.EffectivePeriod)
		if x.InForce(now) && !slices.ContainsFunc(chain[:len(chain)-1], func(above *Node) bool { return above.Attachment(a.RuleID) != nil }) {
			c.Added++
		}
	}
	c.narrow(bounds.set.From, bounds.set.Until)
	return c, true
}

func (c *Counted) add(d Diff) {
	c.Inherited += d.Inherited
	c.Added += len(d.Added)
	c.Overridden += len(d.Overrides)
	c.Silenced += len(d.Silenced)
	for _, o := range d.Overrides {
		if len(o.Loosens) > 0 {
			c.Weakened++
		}
	}
}

// linkedRules lists, sorted, the rules that the overrides of a node concern: the rules that it attaches as overrides, those that it
// attaches and the chain overrides or has as overrides, and all that overrides on the chain link with them.
func linkedRules(chain []*Node, n *Node) []string {
	links := map[string][]string{}
	for _, above := range chain {
		for _, a := range above.overriding {
			links[a.RuleID] = append(links[a.RuleID], *a.OverrideID)
			links[*a.OverrideID] = append(links[*a.OverrideID], a.RuleID)
		}
	}
	if len(links) == 0 {
		return nil
	}
	var start []string
	if len(n.Attached) < len(links) {
		for _, a := range n.Attached {
			if links[a.RuleID] != nil {
				start = append(start, a.RuleID)
			}
		}
	} else {
		for id := range links {
			if n.Attachment(id) != nil {
				start = append(start, id)
			}
		}
	}
	return closure(links, start)
}

// closure lists, sorted, what links lead to, and where they start.
func closure(links map[string][]string, start []string) []string {
	reached := make(map[string]bool, len(start))
	for len(start) > 0 {
		id := start[len(start)-1]
		start = start[:len(start)-1]
		if !reached[id] {
			reached[id] = true
			start = append(start, links[id]...)
		}
	}
	list := make([]string, 0, len(reached))
	for id := range reached {
		list = append(list, id)
	}
	slices.Sort(list)
	return list
}
