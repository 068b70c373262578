package federation_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tenet/internal/federation"
	"tenet/internal/proptest"
	"tenet/internal/rule"
)

func TestWhere(t *testing.T) {
	k := three("a", "b", "c", "d")
	k.attach("org", "a")
	k.attach("team", "b>a")
	k.rules["d"].Status = rule.Draft
	k.attach("repo", "d")
	places := func(id string) map[string]federation.Place {
		out := map[string]federation.Place{}
		for _, p := range federation.Where(k, k.rules[id], noon) {
			out[p.Node.ID] = p
		}
		return out
	}
	a := places("a")
	if p := a["org"]; len(a) != 3 || !p.Attached || !p.Holds || p.Source != "org" {
		t.Errorf("a at org: %+v of %v", p, a)
	}
	if p := a["repo"]; p.Attached || p.Holds || p.By != "b" || p.ByNode != "team" {
		t.Errorf("a at repo: %+v", p)
	}
	if b := places("b"); len(b) != 2 || b["repo"].Source != "team" || b["repo"].Attached {
		t.Errorf("b: %+v", b)
	}
	if c := places("c"); len(c) != 3 || !c["repo"].Holds || c["repo"].Source != "" {
		t.Errorf("c, which no node has: %+v", c)
	}
	if d := places("d"); len(d) != 1 || !d["repo"].Attached || d["repo"].Holds {
		t.Errorf("d, which is a draft: %+v", d)
	}
	k.node("team", "org", func(n *rule.Node) { n.OwnRulesOnly = true })
	if c := places("c"); len(c) != 1 || !c["org"].Holds {
		t.Errorf("c, where the team has its own rules only: %+v", c)
	}
	k.rules["c"].Severity = rule.Low
	if c := places("c"); len(c) != 0 {
		t.Errorf("c, which is not guarded: %+v", c)
	}
}

// The places of each rule are what the effective sets of all nodes say.
func TestPropertyWhereIsWhatTheSetsSay(t *testing.T) {
	replaced := 0
	proptest.Check(t, func(t *rapid.T) {
		c, names := drawnCorpus(t)
		for range rapid.IntRange(0, 12).Draw(t, "more") {
			c.attach(rapid.SampledFrom(names).Draw(t, "node"), drawAttachment(t))
		}
		if rapid.Bool().Draw(t, "alone") {
			c.tree = c.tree.Apply(c.state("n2", func(n *rule.Node) { n.OwnRulesOnly = true }), nil)
		}
		for id, r := range c.rules {
			places := federation.Where(c, r, noon)
			if !slices.IsSortedFunc(places, func(a, b federation.Place) int { return strings.Compare(a.Node.ID, b.Node.ID) }) {
				t.Fatalf("%s: not in order", id)
			}
			for _, name := range names {
				set, _ := federation.Effective(c, name, noon)
				node, _ := c.tree.Node(name)
				want := federation.Place{Attached: node.Attachment(id) != nil}
				for _, e := range set.Entries {
					if e.Rule.ID == id {
						want.Holds, want.Source = true, e.NodeID
					}
				}
				want.Holds = want.Holds || slices.Contains(set.Everywhere, r)
				for _, gone := range set.Replaced {
					if gone.Rule.ID == id && want.By == "" {
						want.By, want.ByNode = gone.By, gone.NodeID
						replaced++
					}
				}
				var got federation.Place
				if i := slices.IndexFunc(places, func(p federation.Place) bool { return p.Node.ID == node.ID }); i >= 0 {
					got = places[i]
					got.Node = nil
				}
				if got != want {
					t.Fatalf("%s at %s: %+v, want %+v", id, name, got, want)
				}
			}
		}
	})
	if replaced == 0 {
		t.Error("no rule was ever replaced")
	}
}
