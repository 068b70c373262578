package federation_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tenet/internal/federation"
	"tenet/internal/proptest"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// counts counts a node by way of those above it.
func (c *corpus) counts(t rapid.TB, node string) rule.NodeCounts {
	t.Helper()
	everywhere := federation.Everywhere(c, noon)
	var above *federation.Counted
	for _, n := range c.tree.Chain(node) {
		counted, ok := federation.Count(c, n.ID, noon, above, everywhere)
		if !ok || !counted.Holds(noon) {
			t.Fatalf("counts of %s: %v, %+v", n.ID, ok, counted)
		}
		above = &counted
	}
	return above.NodeCounts
}

func TestCounts(t *testing.T) {
	k := three("a", "b", "c", "d", "e", "f")
	k.attach("org", "a", "b", "d")
	k.attach("team", "d", "c>a")
	k.attach("repo", "e>c", "a", "b")
	k.rules["e"].Severity = rule.Low
	for node, want := range map[string]rule.NodeCounts{
		"org":  {Added: 3, Everywhere: 1},                                           // f is attached nowhere
		"team": {Inherited: 2, Overridden: 1, Everywhere: 1},                        // d is attached again
		"repo": {Inherited: 2, Added: 1, Overridden: 1, Weakened: 1, Everywhere: 1}, // a is brought back
	} {
		if got := k.counts(t, node); got != want {
			t.Errorf("%s: %+v, want %+v", node, got, want)
		}
	}
	k.node("team", "org", func(n *rule.Node) { n.OwnRulesOnly = true })
	for node, want := range map[string]rule.NodeCounts{
		"team": {Inherited: 2, Overridden: 1, Silenced: 1},
		"repo": {Inherited: 2, Added: 1, Overridden: 1, Weakened: 1},
	} {
		if got := k.counts(t, node); got != want {
			t.Errorf("%s with own rules only: %+v, want %+v", node, got, want)
		}
	}
	// An override that passes over one in between silences that one.
	k = three("a", "b", "c")
	k.attach("org", "a")
	k.attach("team", "b>a")
	k.attach("repo", "c>a")
	if got, want := k.counts(t, "repo"), (rule.NodeCounts{Overridden: 1, Silenced: 1}); got != want {
		t.Errorf("an override that passes over another: %+v, want %+v", got, want)
	}
}

// The counts, made from a part of the rules, are those of the difference of all.
func TestPropertyCountsAreThoseOfTheSets(t *testing.T) {
	proptest.Check(t, func(t *rapid.T) {
		c, names := drawnCorpus(t)
		for range rapid.IntRange(0, 12).Draw(t, "more") {
			c.attach(rapid.SampledFrom(names).Draw(t, "node"), drawAttachment(t))
		}
		if rapid.Bool().Draw(t, "alone") {
			c.tree = c.tree.Apply(c.state("n2", func(n *rule.Node) { n.OwnRulesOnly = true }), nil)
		}
		for _, name := range names {
			set, _ := federation.Effective(c, name, noon)
			d := federation.DiffOf(c, set, noon)
			want := rule.NodeCounts{Inherited: d.Inherited, Added: len(d.Added), Overridden: len(d.Overrides), Silenced: len(d.Silenced), Everywhere: len(set.Everywhere)}
			for _, o := range d.Overrides {
				if len(o.Loosens) > 0 {
					want.Weakened++
				}
			}
			if got := c.counts(t, name); got != want {
				t.Fatalf("%s: %+v, want %+v", name, got, want)
			}
			n, _ := c.tree.Node(name)
			parent, ok := federation.Effective(c, n.Parent(), noon)
			if !ok {
				continue
			}
			// What holds at the parent holds here, is overridden, or is silenced.
			holds := ids(set)
			for _, e := range parent.Entries {
				gone := slices.ContainsFunc(d.Silenced, func(s federation.SilencedHere) bool { return s.Rule.ID == e.Rule.ID }) ||
					slices.ContainsFunc(d.Overrides, func(o federation.Override) bool { return o.Parent.ID == e.Rule.ID })
				if slices.Contains(holds, e.Rule.ID) == gone && !slices.ContainsFunc(d.Overrides, func(o federation.Override) bool { return o.Parent.ID == e.Rule.ID }) {
					t.Fatalf("%s of the parent of %s: holds there %v, and gone %v", e.Rule.ID, name, !gone, gone)
				}
			}
		}
	})
}

// The shift of a change is the difference of what holds at each node before and afterwards.
func TestPropertyShiftIsTheDifferenceOfTheSets(t *testing.T) {
	moved := 0
	proptest.Check(t, func(t *rapid.T) {
		c, names := drawnCorpus(t)
		tree := c.tree
		node := rapid.SampledFrom(names).Draw(t, "changed")
		n, _ := tree.Node(node)
		switch rapid.IntRange(0, 4).Draw(t, "change") {
		case 0:
			tree = tree.Apply(nil, []store.AttachmentState{add(node, drawAttachment(t))})
		case 1:
			if len(n.Attached) > 0 {
				tree = tree.Apply(nil, []store.AttachmentState{remove(node, n.Attached[0].RuleID)})
			}
		case 2:
			tree = tree.Apply(c.state(node, func(n *rule.Node) { n.OwnRulesOnly = true }), nil)
		case 3:
			parent := rapid.SampledFrom([]string{"n0", "n1"}).Draw(t, "parent")
			tree = tree.Apply(c.state("n2", func(n *rule.Node) { n.ParentID = &parent }), nil)
		case 4:
			made := rule.Node{ID: "n9", Name: "n9", Level: rule.LevelTeam, ParentID: new("n0")}
			tree = tree.Apply([]store.NodeState{{Node: made}}, nil)
			names = append(names, "n9")
		}
		after := c.with(tree)
		shift := (&federation.Change{Before: c, After: after, Now: noon, By: "ann"}).Shift()
		if shift.Compared != shift.Nodes {
			t.Fatalf("%d of %d nodes compared", shift.Compared, shift.Nodes)
		}
		totals := func(list []federation.Shifted) map[string]int {
			out := map[string]int{}
			for _, one := range list {
				if one.Total > 0 {
					out[one.Rule.ID] = one.Total
				}
			}
			return out
		}
		starts, stops := map[string]int{}, map[string]int{}
		for _, name := range names {
			was, _ := c.holding(name, "")
			is, _ := after.holding(name, "")
			for id := range is {
				if was[id] == nil {
					starts[id]++
				}
			}
			for id := range was {
				if is[id] == nil {
					stops[id]++
				}
			}
		}
		moved += len(starts) + len(stops)
		if got, want := fmt.Sprint(totals(shift.Starts), totals(shift.Stops)), fmt.Sprint(starts, stops); got != want {
			t.Fatalf("the shift is %s, want %s", got, want)
		}
	})
	if moved == 0 {
		t.Error("no drawn change moves a rule")
	}
}

func TestShiftOfRepositories(t *testing.T) {
	k := newCorpus("a", "b", "c")
	k.rules["c"].Severity = rule.Low
	k.node("org", "")
	k.node("team", "org", func(n *rule.Node) { n.Repositories = []string{"acme/**"} })
	k.attach("org", "a")
	k.attach("team", "b>a")
	k.node("other", "org")
	tree := k.tree.Apply(k.state("other", func(n *rule.Node) { n.Repositories = []string{"acme/pay-*"} }), nil)
	shift := (&federation.Change{Before: k, After: k.with(tree), Now: noon}).Shift()
	if len(shift.Starts) != 1 || shift.Starts[0].Rule.ID != "a" || !slices.Equal(shift.Starts[0].Repositories, []string{"acme/pay-*"}) || shift.Starts[0].Total != 0 ||
		len(shift.Stops) != 1 || shift.Stops[0].Rule.ID != "b" {
		t.Errorf("taken from another node: %+v", shift)
	}
	// Without a node, all rules in force hold.
	tree = k.tree.Apply(k.state("team", func(n *rule.Node) { n.Repositories = nil }), nil)
	shift = (&federation.Change{Before: k, After: k.with(tree), Now: noon}).Shift()
	if len(shift.Starts) != 2 || shift.Starts[0].Rule.ID != "a" || shift.Starts[1].Rule.ID != "c" || len(shift.Stops) != 0 {
		t.Errorf("unbound: %+v", shift)
	}
	// An override says which rule it replaces, and which takes the place of one that stops.
	k = three("a", "b")
	k.attach("org", "a")
	tree = k.tree.Apply(nil, []store.AttachmentState{add("team", "b>a")})
	shift = (&federation.Change{Before: k, After: k.with(tree), Now: noon}).Shift()
	if len(shift.Stops) != 2 || shift.Stops[0].Rule.ID != "a" || shift.Stops[0].Other != "b" || !slices.Equal(shift.Stops[0].Nodes, []string{"team", "repo"}) {
		t.Errorf("an override: %+v", shift)
	}
}
