package federation_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tenet/internal/federation"
	"tenet/internal/proptest"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// change returns what a change of the tree ends, by "ann".
func (c *corpus) change(nodes []store.NodeState, attached ...store.AttachmentState) *rule.Silenced {
	ch := federation.Change{Before: c, After: c.with(c.tree.Apply(nodes, nil).Apply(nil, attached)), Now: noon, By: "ann"}
	return ch.Losses().Silenced()
}

// brief writes the losses as rule@place, with ! for those that need permission, and the scopes that stay.
func brief(s *rule.Silenced) string {
	if s == nil {
		return ""
	}
	list := make([]string, len(s.Rules))
	for i, r := range s.Rules {
		list[i] = r.RuleID
		if r.Guarded {
			list[i] = "!" + r.RuleID
		}
		if r.Scope != nil {
			list[i] += "[" + strings.Join(r.Scope, " ") + "]"
		}
		list[i] += "@" + r.At
	}
	return strings.Join(list, " ")
}

func add(node, text string) store.AttachmentState {
	return store.AttachmentState{Attachment: attachment(node, text)}
}

func remove(node, text string) store.AttachmentState {
	return store.AttachmentState{Attachment: attachment(node, text), Removed: true}
}

// acme is an organization of acme/** with the teams pay of acme/pay-* and web, and the project api of acme/pay-api below pay. Top is
// attached to the organization; critical, high and medium are attached to no node.
func acme() *corpus {
	c := newCorpus("top", "critical", "high", "medium", "draft", "strict", "loose")
	c.rules["critical"].Severity, c.rules["medium"].Severity, c.rules["loose"].Severity = rule.Critical, rule.Medium, rule.Low
	c.rules["strict"].Severity, c.rules["strict"].Status, c.rules["draft"].Status = rule.Critical, rule.Draft, rule.Draft
	globs := func(list ...string) func(*rule.Node) { return func(n *rule.Node) { n.Repositories = list } }
	c.node("org", "", globs("acme/**"))
	c.node("pay", "org", globs("acme/pay-*"))
	c.node("web", "org")
	c.node("api", "pay", globs("acme/pay-api"))
	c.attach("org", "top")
	return c
}

func (c *corpus) state(id string, edit func(*rule.Node)) []store.NodeState {
	n := rule.Node{ID: id, Name: id, Level: rule.LevelOrganization}
	if was, ok := c.tree.Node(id); ok {
		n = *was.Node
	}
	edit(&n)
	return []store.NodeState{{Node: n}}
}

func TestLosses(t *testing.T) {
	for name, tt := range map[string]struct {
		prepare func(c *corpus)
		change  func(c *corpus) *rule.Silenced
		want    string
	}{
		"attached to the root of the only tree":  {nil, func(c *corpus) *rule.Silenced { return c.change(nil, add("org", "critical")) }, ""},
		"attached to a leaf":                     {nil, func(c *corpus) *rule.Silenced { return c.change(nil, add("api", "critical")) }, "!critical@org"},
		"a HIGH one":                             {nil, func(c *corpus) *rule.Silenced { return c.change(nil, add("web", "high")) }, "!high@org"},
		"one that held at no node":               {nil, func(c *corpus) *rule.Silenced { return c.change(nil, add("api", "medium")) }, ""},
		"one that is not in force":               {nil, func(c *corpus) *rule.Silenced { return c.change(nil, add("api", "draft")) }, ""},
		"in a tree beside another":               {func(c *corpus) { c.node("other", "") }, func(c *corpus) *rule.Silenced { return c.change(nil, add("org", "critical")) }, "!critical@other"},
		"where the other has only its own rules": {func(c *corpus) { c.node("other", "", func(n *rule.Node) { n.OwnRulesOnly = true }) }, func(c *corpus) *rule.Silenced { return c.change(nil, add("org", "critical")) }, ""},
		"to a node with a default scope": {nil, func(c *corpus) *rule.Silenced {
			return c.change(c.state("org", func(n *rule.Node) { n.DefaultScope = "lab" }), add("org", "critical"))
		}, "!critical[lab]@org !top[lab]@org"},
		"attached to a node that changes as well": {nil, func(c *corpus) *rule.Silenced {
			return c.change(c.state("web", func(n *rule.Node) { n.DefaultScope = "lab" }), add("web", "high"))
		}, "!high@org"},
		"a second attachment": {func(c *corpus) { c.attach("org", "critical") }, func(c *corpus) *rule.Silenced { return c.change(nil, add("api", "critical")) }, ""},

		"removed, so that no node has it":    {func(c *corpus) { c.attach("pay", "critical") }, func(c *corpus) *rule.Silenced { return c.change(nil, remove("pay", "critical")) }, ""},
		"removed, but not from another node": {func(c *corpus) { c.attach("pay", "critical"); c.attach("web", "critical") }, func(c *corpus) *rule.Silenced { return c.change(nil, remove("pay", "critical")) }, "!critical@org/pay"},
		"a MEDIUM one removed":               {func(c *corpus) { c.attach("pay", "medium") }, func(c *corpus) *rule.Silenced { return c.change(nil, remove("pay", "medium")) }, "medium@org/pay"},
		"removed where it is inherited":      {func(c *corpus) { c.attach("org", "high"); c.attach("pay", "high") }, func(c *corpus) *rule.Silenced { return c.change(nil, remove("pay", "high")) }, ""},
		"removed where nothing else holds it": {func(c *corpus) {
			c.attach("pay", "high")
			c.node("solo", "", func(n *rule.Node) { n.OwnRulesOnly = true })
			c.attach("solo", "critical")
		}, func(c *corpus) *rule.Silenced { return c.change(nil, remove("solo", "critical")) }, "!critical@solo"},

		"overridden by a weaker one": {nil, func(c *corpus) *rule.Silenced { return c.change(nil, add("web", "loose>top")) }, "!top@org/web"},
		"overridden by permission": {nil, func(c *corpus) *rule.Silenced {
			a := add("web", "loose>top")
			a.Attachment.AllowWeakening = true
			return c.change(nil, a)
		}, "top@org/web"},
		"overridden by an equal one, which ends elsewhere in favour of the other": {nil, func(c *corpus) *rule.Silenced { return c.change(nil, add("web", "high>top")) }, ""},
		"overridden by a stricter one, which ends elsewhere":                      {nil, func(c *corpus) *rule.Silenced { return c.change(nil, add("web", "critical>top")) }, "!critical@org"},
		"overridden by a draft": {nil, func(c *corpus) *rule.Silenced { return c.change(nil, add("web", "draft>top")) }, ""},

		"moved away": {func(c *corpus) { c.node("other", "") }, func(c *corpus) *rule.Silenced {
			return c.change(c.state("pay", func(n *rule.Node) { other := "other"; n.ParentID = &other }))
		}, "!top@other/pay"},
		"a node gets only its own rules": {nil, func(c *corpus) *rule.Silenced {
			return c.change(c.state("web", func(n *rule.Node) { n.OwnRulesOnly = true }))
		}, "critical@org/web high@org/web"},

		"repositories that had no node": {nil, func(c *corpus) *rule.Silenced {
			return c.change(c.state("new", func(n *rule.Node) { n.Repositories = []string{"new/**"} }))
		}, "top@new/** medium@new/** loose@new/**"},
		"repositories that had another node": {func(c *corpus) { c.attach("pay", "critical") }, func(c *corpus) *rule.Silenced {
			return c.change(c.state("web", func(n *rule.Node) { n.Repositories = []string{"acme/pay-web"} }))
		}, "!critical@acme/pay-web"},
		"repositories that two globs share": {func(c *corpus) { c.attach("pay", "critical") }, func(c *corpus) *rule.Silenced {
			return c.change(c.state("web", func(n *rule.Node) { n.Repositories = []string{"acme/*-interface"} }))
		}, "!critical@acme/*-interface"},
		"repositories that fall back to the node above": {func(c *corpus) { c.attach("pay", "critical") }, func(c *corpus) *rule.Silenced {
			return c.change(c.state("pay", func(n *rule.Node) { n.Repositories = nil }))
		}, "!critical@acme/pay-*"},
		"repositories that get all rules": {nil, func(c *corpus) *rule.Silenced {
			return c.change(c.state("org", func(n *rule.Node) { n.Repositories = nil }))
		}, ""},
		"a deleted node": {func(c *corpus) { c.attach("pay", "critical"); c.attach("api", "high"); c.attach("web", "high") }, func(c *corpus) *rule.Silenced {
			n := c.state("api", func(*rule.Node) {})
			n[0].Removed = true
			return c.change(n)
		}, "!high@acme/pay-api"},
		"a new name": {nil, func(c *corpus) *rule.Silenced {
			return c.change(c.state("org", func(n *rule.Node) { n.Name = "Acme" }))
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := acme()
			if tt.prepare != nil {
				tt.prepare(c)
			}
			if got := brief(tt.change(c)); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

// Their author places rules of the last hour freely, except that a CRITICAL one does not end for repositories.
func TestNewRulesArePlaced(t *testing.T) {
	for _, tt := range []struct {
		rule, by string
		age      time.Duration
		node     string
		want     bool
	}{
		{"high", "ann", time.Minute, "api", false},
		{"high", "bob", time.Minute, "api", true},
		{"high", "ann", 2 * time.Hour, "api", true},
		{"critical", "ann", time.Minute, "api", true},
		{"critical", "ann", time.Minute, "org", false}, // ends at the node "far" only, which has no repositories
		{"critical", "ann", 2 * time.Hour, "org", true},
	} {
		c := acme()
		c.node("far", "")
		c.rules[tt.rule].CreatedBy, c.rules[tt.rule].CreatedAt = tt.by, noon.Add(-tt.age)
		s := c.change(nil, add(tt.node, tt.rule))
		if s == nil || (s.Guarded > 0) != tt.want {
			t.Errorf("%+v: %+v", tt, s)
		}
	}
}

func TestSilencedSummary(t *testing.T) {
	c := newCorpus()
	for i := range 181 {
		id := fmt.Sprintf("R-%03d", i)
		r := newCorpus(id).rules[id]
		r.Severity, r.Slug, c.rules[id] = rule.Medium, id, r
	}
	c.rules["R-007"].Severity = rule.Low
	s := c.change(c.state("acme", func(n *rule.Node) { n.Repositories = []string{"acme/**"} }))
	if got, want := s.String(), "181 rules in force no longer apply to acme/**: 180 MEDIUM, 1 LOW, for example R-000, R-001, R-002"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if len(s.Rules) != rule.MaxSilenced || s.Guarded != 0 || s.NodesTotal != 0 {
		t.Errorf("%+v", s)
	}
	for i := range 30 {
		c.node(fmt.Sprint("team", i), "")
		c.attach(fmt.Sprint("team", i), "R-003")
	}
	gone := make([]store.AttachmentState, 30)
	for i := range gone {
		gone[i] = remove(fmt.Sprint("team", i), "R-003")
	}
	s = c.change(nil, gone...)
	if got, want := s.String(), "1 rule in force no longer applies to node team0, node team1, node team10 and 27 more places: 1 MEDIUM, R-003"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if len(s.Nodes) != rule.MaxSilenced || s.NodesTotal != 30 {
		t.Errorf("%+v", s)
	}
}

func TestEnclosed(t *testing.T) {
	c := acme()
	c.node("alone", "", func(n *rule.Node) { n.OwnRulesOnly = true })
	c.rules = map[string]*rule.Rule{} // none ends, but one may be made
	alone := "alone"
	after := c.with(c.tree.Apply(c.state("pay", func(n *rule.Node) { n.ParentID = &alone }), nil))
	if n := (&federation.Change{Before: c, After: after, Now: noon}).Enclosed(); n == nil || n.ID != "pay" {
		t.Errorf("%v, want pay", n)
	}
	if n := (&federation.Change{Before: after, After: c, Now: noon}).Enclosed(); n != nil {
		t.Errorf("the way back encloses %s", n.ID)
	}
}

// places are what callers name: nodes, and repositories.
var repositories = []string{"a/pay-api", "a/pay-web", "a/web-api", "b/pay-api", "b/lib", "c/other"}

// holding returns what holds for a caller who names a node or a repository; false if an evaluation would be refused.
func (c *corpus) holding(node, repository string) (map[string]*rule.Rule, bool) {
	out := map[string]*rule.Rule{}
	if node == "" {
		bound, err := c.tree.Bound(repository)
		if err != nil {
			return nil, false
		}
		if bound == "" {
			for _, r := range c.rules {
				if r.InForce(noon) {
					out[r.ID] = r
				}
			}
			return out, true
		}
		node = bound
	}
	set, ok := federation.Effective(c, node, noon)
	if !ok {
		return nil, false
	}
	for _, e := range set.Entries {
		at := *e.Rule
		at.Scope = e.Scope()
		out[at.ID] = &at
	}
	for _, r := range set.Everywhere {
		out[r.ID] = r
	}
	return out, true
}

// drawnCorpus draws rules, and nodes with repositories and rules.
func drawnCorpus(t *rapid.T) (*corpus, []string) {
	c := newCorpus("a", "b", "c", "d", "e", "f")
	for _, id := range slices.Sorted(maps.Keys(c.rules)) {
		r := c.rules[id]
		r.Severity = rapid.SampledFrom(rule.Severities).Draw(t, "severity")
		r.Modality = rapid.SampledFrom([]rule.Modality{rule.Must, rule.Must, rule.Should}).Draw(t, "modality")
		r.Enforcement = rapid.SampledFrom([]rule.Enforcement{rule.Enforce, rule.Enforce, rule.Warn}).Draw(t, "enforcement")
		r.Status = rapid.SampledFrom([]rule.Status{rule.Effective, rule.Effective, rule.Draft}).Draw(t, "status")
	}
	names := []string{"n0", "n1", "n2", "n3", "n4"}
	for i, id := range names {
		c.node(id, []string{"", "", "n0", "n0", "n2"}[i], func(n *rule.Node) { drawNode(t, n) })
	}
	for range rapid.IntRange(0, 6).Draw(t, "attachments") {
		node := rapid.SampledFrom(names).Draw(t, "node")
		if n, _ := c.tree.Node(node); n.Attachment("f") == nil {
			c.attach(node, drawAttachment(t))
		}
	}
	return c, names
}

func drawAttachment(t *rapid.T) string {
	ids := []string{"a", "b", "c", "d", "e", "f"}
	text := rapid.SampledFrom(ids).Draw(t, "rule")
	if rapid.IntRange(0, 2).Draw(t, "override") == 0 {
		if over := rapid.SampledFrom(ids).Draw(t, "over"); over != text {
			text += ">" + over
		}
	}
	return text
}

func drawNode(t *rapid.T, n *rule.Node) {
	globs := []string{"a/**", "a/pay-*", "*/*-api", "b/pay-api", "b/**", "a/web-api"}
	n.Repositories = rapid.SliceOfNDistinct(rapid.SampledFrom(globs), 0, 2, rapid.ID).Draw(t, "repositories")
	n.DefaultScope = rapid.SampledFrom([]string{"", "", "lab"}).Draw(t, "scope")
}

// No change that the guard lets pass without permission takes an enforced CRITICAL or HIGH rule out of force for anybody, unless one that
// demands as much holds there, or the repository gets its first node and the rule is another node's.
func TestPropertyNothingIsWeakenedWithoutPermission(t *testing.T) {
	ended := 0
	proptest.Check(t, func(t *rapid.T) {
		c, names := drawnCorpus(t)
		tree := c.tree
		for range rapid.IntRange(1, 3).Draw(t, "changes") {
			node := rapid.SampledFrom(names).Draw(t, "changed")
			n, _ := tree.Node(node)
			switch rapid.IntRange(0, 4).Draw(t, "change") {
			case 0, 1:
				tree = tree.Apply(nil, []store.AttachmentState{add(node, drawAttachment(t))})
			case 2:
				if len(n.Attached) > 0 {
					tree = tree.Apply(nil, []store.AttachmentState{remove(node, n.Attached[0].RuleID)})
				}
			case 3:
				tree = tree.Apply(c.state(node, func(n *rule.Node) { drawNode(t, n) }), nil)
			case 4:
				if node == "n4" {
					parent := rapid.SampledFrom([]string{"n2", "n3"}).Draw(t, "parent")
					tree = tree.Apply(c.state(node, func(n *rule.Node) { n.ParentID = &parent }), nil)
				}
			}
		}
		after := c.with(tree)
		change := federation.Change{Before: c, After: after, Now: noon, By: "ann"}
		silenced := change.Losses().Silenced()
		allowed := silenced == nil || silenced.Guarded == 0
		for _, place := range append(names, repositories...) {
			node, repository := place, ""
			if strings.Contains(place, "/") {
				node, repository = "", place
			}
			was, ok := c.holding(node, repository)
			is, still := after.holding(node, repository)
			if !ok || !still {
				continue
			}
			bound, _ := c.tree.Bound(repository)
			for id, r := range was {
				if !r.Guarded() {
					continue
				}
				if slices.ContainsFunc(slices.Collect(maps.Values(is)), func(by *rule.Rule) bool { return len(by.Loosens(r)) == 0 }) {
					continue
				}
				if repository != "" && bound == "" && slices.ContainsFunc(c.tree.Nodes(), func(n *federation.Node) bool { return n.Attachment(id) != nil }) {
					continue
				}
				if ended++; allowed {
					t.Fatalf("%s ends at %s without permission; silenced: %s", id, place, brief(silenced))
				}
			}
		}
	})
	if ended == 0 {
		t.Error("no drawn change ends a guarded rule")
	}
}
