package federation_test

import (
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
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

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// corpus is a source in a test: rules and nodes by short names.
type corpus struct {
	rules map[string]*rule.Rule
	tree  *federation.Tree
}

func (c *corpus) Federation() *federation.Tree { return c.tree }

func (c *corpus) Rule(id string) (*rule.Rule, bool) { r, ok := c.rules[id]; return r, ok }

func (c *corpus) Guarded() iter.Seq[*rule.Rule] {
	return func(yield func(*rule.Rule) bool) {
		for _, r := range c.rules {
			if r.Guarded() && !yield(r) {
				return
			}
		}
	}
}

func (c *corpus) Rules() iter.Seq[*rule.Rule] { return maps.Values(c.rules) }

// with returns the corpus with another tree.
func (c *corpus) with(tree *federation.Tree) *corpus { return &corpus{c.rules, tree} }

func newCorpus(rules ...string) *corpus {
	c := &corpus{rules: map[string]*rule.Rule{}}
	for _, id := range rules {
		c.rules[id] = &rule.Rule{ID: id, Statement: "Rule " + id + ".", Status: rule.Effective, Severity: rule.High, Modality: rule.Must, Enforcement: rule.Enforce}
	}
	return c
}

// node puts a node below a parent; an empty parent makes an organization.
func (c *corpus) node(id, parent string, edit ...func(*rule.Node)) {
	n := rule.Node{ID: id, Name: id, Level: rule.LevelOrganization}
	if parent != "" {
		n.ParentID, n.Level = &parent, rule.LevelTeam
		if p, ok := c.tree.Node(parent); ok && p.Level != rule.LevelOrganization {
			n.Level = rule.LevelProject
		}
	}
	for _, e := range edit {
		e(&n)
	}
	c.tree = c.tree.Apply([]store.NodeState{{Node: n}}, nil)
}

// attach attaches rules to a node; a>b attaches a in place of b.
func (c *corpus) attach(node string, rules ...string) {
	for _, r := range rules {
		c.tree = c.tree.Apply(nil, []store.AttachmentState{{Attachment: attachment(node, r)}})
	}
}

func attachment(node, text string) rule.Attachment {
	id, over, found := strings.Cut(text, ">")
	a := rule.Attachment{NodeID: node, RuleID: id}
	if found {
		a.OverrideID = &over
	}
	return a
}

// effective writes the effective rules of a node as rule@node, and rule>overridden@node; ~ marks those of the node itself.
func (c *corpus) effective(t rapid.TB, node string) string {
	t.Helper()
	set, ok := federation.Effective(c, node, noon)
	if !ok {
		t.Fatalf("no node %s", node)
	}
	var list []string
	for _, e := range set.Entries {
		s := e.Rule.ID
		if e.Overrides != "" {
			s += ">" + e.Overrides
		}
		s += "@" + e.NodeID
		if !e.Inherited {
			s = "~" + s
		}
		list = append(list, s)
	}
	return strings.Join(list, " ")
}

func three(rules ...string) *corpus {
	c := newCorpus(rules...)
	c.node("org", "")
	c.node("team", "org")
	c.node("repo", "team")
	return c
}

func TestEffective(t *testing.T) {
	for name, c := range map[string]struct {
		org, team, repo []string
		want            string // at repo
	}{
		"nothing":                            {want: ""},
		"inherited from all above":           {[]string{"a"}, []string{"b"}, []string{"c"}, "a@org b@team ~c@repo"},
		"overridden at the node":             {[]string{"a"}, nil, []string{"c>a"}, "~c>a@repo"},
		"overridden above":                   {[]string{"a"}, []string{"b>a"}, nil, "b>a@team"},
		"an override of an override":         {[]string{"a"}, []string{"b>a"}, []string{"c>b"}, "~c>b@repo"},
		"the nearest of two overrides":       {[]string{"a"}, []string{"b>a"}, []string{"c>a"}, "~c>a@repo"},
		"one rule in place of another's two": {[]string{"a", "b"}, []string{"c>a"}, []string{"d>b"}, "c>a@team ~d>b@repo"},
		"two rules in the place of one":      {[]string{"a"}, []string{"b>a", "c>a"}, nil, "b>a@team c>a@team"},
		"one of the two is overridden":       {[]string{"a"}, []string{"b>a", "c>a"}, []string{"d>b"}, "~d>b@repo"},
		"attached twice, the nearest":        {[]string{"a"}, nil, []string{"a"}, "~a@repo"},
		"attached twice, overridden":         {[]string{"a"}, []string{"a"}, []string{"c>a"}, "~c>a@repo"},
		"brought back":                       {[]string{"a"}, []string{"b>a"}, []string{"a"}, "b>a@team ~a@repo"},
		"an override of nothing is plain":    {nil, nil, []string{"c>a"}, "~c@repo"},
		"it does not override beside itself": {nil, []string{"a", "b>a"}, nil, "a@team b@team"},
		"nor below":                          {nil, []string{"b>a"}, []string{"a"}, "b@team ~a@repo"},
	} {
		t.Run(name, func(t *testing.T) {
			k := three("a", "b", "c", "d")
			k.attach("org", c.org...)
			k.attach("team", c.team...)
			k.attach("repo", c.repo...)
			if got := k.effective(t, "repo"); got != c.want {
				t.Errorf("effective %q, want %q", got, c.want)
			}
		})
	}
	if _, ok := federation.Effective(three(), "nowhere", noon); ok {
		t.Error("there are effective rules of a node that is not there")
	}
}

// Rules that are not in force hold nowhere and override nothing: an override that is only planned must not open a gap.
func TestRulesNotInForce(t *testing.T) {
	past, future := noon.Add(-time.Hour), noon.Add(time.Hour)
	for name, out := range map[string]func(*rule.Rule){
		"draft":     func(r *rule.Rule) { r.Status = rule.Draft },
		"review":    func(r *rule.Rule) { r.Status = rule.Review },
		"retired":   func(r *rule.Rule) { r.Status = rule.Retired },
		"successor": func(r *rule.Rule) { r.Status = rule.Superseded },
		"not yet":   func(r *rule.Rule) { r.EffectivePeriod.From = &future },
		"no longer": func(r *rule.Rule) { r.EffectivePeriod.Until = &past },
	} {
		t.Run(name, func(t *testing.T) {
			k := three("a", "b", "c")
			k.attach("org", "a")
			k.attach("team", "b>a")
			k.attach("repo", "c>b")
			out(k.rules["b"])
			if got, want := k.effective(t, "team"), "a@org"; got != want {
				t.Errorf("at team %q, want %q", got, want)
			}
			// c stands in for b, which does not stand in for a.
			if got, want := k.effective(t, "repo"), "a@org ~c>b@repo"; got != want {
				t.Errorf("at repo %q, want %q", got, want)
			}
			k.rules["b"].Status, k.rules["b"].EffectivePeriod = rule.Approved, rule.EffectivePeriod{}
			out(k.rules["a"])
			if got, want := k.effective(t, "repo"), "~c>b@repo"; got != want {
				t.Errorf("with a out of force, at repo %q, want %q", got, want)
			}
			if got, want := k.effective(t, "org"), ""; got != want {
				t.Errorf("with a out of force, at org %q", got)
			}
		})
	}
}

func TestSetSaysHowLongItHolds(t *testing.T) {
	k := three("a", "b", "c")
	k.attach("org", "a", "b", "c")
	day := func(n int) *time.Time { at := noon.AddDate(0, 0, n); return &at }
	k.rules["a"].EffectivePeriod = rule.EffectivePeriod{From: day(-5), Until: day(7)}
	k.rules["b"].EffectivePeriod = rule.EffectivePeriod{From: day(-2), Until: day(3)}
	k.rules["c"].EffectivePeriod = rule.EffectivePeriod{From: day(1)}
	set, _ := federation.Effective(k, "repo", noon)
	if !set.From.Equal(*day(-2)) || !set.Until.Equal(*day(1)) {
		t.Errorf("holds from %v until %v", set.From, set.Until)
	}
	for at, want := range map[*time.Time]bool{day(-3): false, day(-2): true, day(0): true, day(1): false, day(2): false} {
		if set.Holds(*at) != want {
			t.Errorf("holds at %v: %v", at, !want)
		}
	}
	k = three("a")
	k.attach("org", "a")
	if set, _ := federation.Effective(k, "repo", noon); !set.Holds(noon.AddDate(1000, 0, 0)) || !set.Holds(time.Time{}) {
		t.Error("a set of unbounded rules does not hold for ever")
	}
}

func TestDefaultScope(t *testing.T) {
	k := newCorpus("a", "b", "c")
	scope := func(s string) func(*rule.Node) { return func(n *rule.Node) { n.DefaultScope = s } }
	k.node("org", "")
	k.node("team", "org", scope("pay"))
	k.node("repo", "team", scope("pay/eu"))
	k.rules["b"].Scope = []string{"hr"}
	k.rules["c"].Scope = []string{"*"}
	k.attach("team", "a", "b", "c")
	scopes := func(node string) string {
		set, _ := federation.Effective(k, node, noon)
		var list []string
		for _, e := range set.Entries {
			list = append(list, fmt.Sprint(e.Rule.ID, e.Scope()))
		}
		return strings.Join(list, " ")
	}
	if got, want := scopes("repo"), "a[pay] b[hr] c[*]"; got != want {
		t.Errorf("scopes %s, want %s", got, want)
	}
	// A rule that holds in more places by another attachment is not narrowed by the nearest.
	k.attach("repo", "a")
	if got, want := scopes("repo"), "b[hr] c[*] a[pay pay/eu]"; got != want {
		t.Errorf("attached in two scopes: %s, want %s", got, want)
	}
	k.attach("org", "a")
	if got, want := scopes("repo"), "b[hr] c[*] a[]"; got != want {
		t.Errorf("attached everywhere too: %s, want %s", got, want)
	}
}

func TestReplaced(t *testing.T) {
	k := three("a", "b", "c")
	k.attach("org", "a")
	k.attach("team", "b>a")
	k.attach("repo", "c>b")
	set, _ := federation.Effective(k, "repo", noon)
	var got []string
	for _, r := range set.Replaced {
		got = append(got, r.Rule.ID+" by "+r.By+" at "+r.NodeID)
	}
	if want := []string{"a by b at team", "b by c at repo"}; !slices.Equal(got, want) {
		t.Errorf("replaced %v, want %v", got, want)
	}
	k.attach("repo", "a")
	if set, _ = federation.Effective(k, "repo", noon); len(set.Replaced) != 1 || set.Replaced[0].Rule.ID != "b" {
		t.Errorf("a holds again, but is replaced: %v", set.Replaced)
	}
}

func TestDiff(t *testing.T) {
	k := three("a", "b", "c", "d", "e")
	k.attach("org", "a", "b", "d")
	k.attach("team", "d")
	k.attach("repo", "c", "e>b", "a")
	set, _ := federation.Effective(k, "repo", noon)
	d := federation.DiffOf(k, set, noon)
	if d.NodeID != "repo" || *d.ParentID != "team" || d.Inherited != 2 || len(d.Added) != 1 || d.Added[0].ID != "c" ||
		len(d.Overrides) != 1 || d.Overrides[0].Parent.ID != "b" || d.Overrides[0].Child.ID != "e" {
		t.Errorf("diff %+v", d)
	}
	set, _ = federation.Effective(k, "org", noon)
	if d := federation.DiffOf(k, set, noon); d.ParentID != nil || d.Inherited != 0 || len(d.Added) != 3 {
		t.Errorf("diff of the root %+v", d)
	}
}

// What is CRITICAL above cannot be loosened below without saying so, neither at once nor by a later change of a rule.
func TestWeakening(t *testing.T) {
	low := func(r *rule.Rule) { r.Severity = rule.Low }
	k := three("a", "b", "c")
	k.rules["a"].Severity, k.rules["b"].Severity = rule.Critical, rule.Critical
	k.attach("org", "a")
	may := func(node, text string, allow bool) rule.Code {
		a := attachment(node, text)
		a.AllowWeakening = allow
		return rule.CodeOf(federation.MayAttach(k, &a, k.rules[a.RuleID]))
	}
	if got := may("team", "b>a", false); got != "" {
		t.Errorf("an equal override is refused: %s", got)
	}
	low(k.rules["b"])
	if got := may("team", "b>a", false); got != rule.CodeConflict {
		t.Errorf("a lower severity gives %q", got)
	}
	if got := may("team", "b>a", true); got != "" {
		t.Errorf("an allowed weakening is refused: %s", got)
	}
	for _, status := range []rule.Status{rule.Draft, rule.Approved} {
		k.rules["a"].Status, k.rules["b"].Status = status, status
		if got := may("team", "b>a", false); got != rule.CodeConflict {
			t.Errorf("with %s rules it gives %q", status, got)
		}
	}
	k.rules["a"].Status, k.rules["b"].Status = rule.Effective, rule.Effective

	// Attached while it was as strict; loosened afterwards.
	k.attach("team", "b>a")
	if got, want := k.effective(t, "team"), "a@org ~b@team"; got != want {
		t.Errorf("a later weakening gives %q, want %q", got, want)
	}
	// Not allowed either by way of the override that is not in effect, or was allowed.
	low(k.rules["c"])
	allowed := attachment("team", "b>a")
	allowed.AllowWeakening = true
	k.tree = k.tree.Apply(nil, []store.AttachmentState{{Attachment: allowed}})
	if got, want := k.effective(t, "team"), "~b>a@team"; got != want {
		t.Errorf("an allowed weakening gives %q, want %q", got, want)
	}
	if got := may("repo", "c>b", false); got != "" {
		t.Errorf("an override no looser than what was allowed is refused: %s", got)
	}
	k.rules["c"].Modality = rule.Should
	for _, over := range []string{"c>b", "c>a"} {
		if got := may("repo", over, false); got != rule.CodeConflict {
			t.Errorf("%s loosens further and gives %q", over, got)
		}
	}
	// What is not CRITICAL may be loosened.
	k.rules["a"].Severity = rule.High
	if got := may("repo", "c>b", false); got != "" {
		t.Errorf("loosening a HIGH rule is refused: %s", got)
	}
}

func TestMayAttach(t *testing.T) {
	k := three("a", "b", "c")
	k.node("other", "")
	k.attach("org", "a")
	k.attach("other", "c")
	for name, c := range map[string]struct {
		node, text string
		want       rule.Code
	}{
		"plain":                        {"repo", "b", ""},
		"over an ancestor's":           {"repo", "b>a", ""},
		"the same rule further down":   {"repo", "a", ""},
		"over itself":                  {"repo", "a>a", rule.CodeInvalid},
		"twice":                        {"org", "a", rule.CodeConflict},
		"over a rule not above":        {"repo", "b>c", rule.CodeInvalid},
		"over a rule of the same node": {"org", "b>a", rule.CodeInvalid},
		"over a rule that is not":      {"repo", "b>x", rule.CodeInvalid},
		"at a node that is not":        {"nowhere", "b", rule.CodeNotFound},
	} {
		a := attachment(c.node, c.text)
		if got := rule.CodeOf(federation.MayAttach(k, &a, k.rules[a.RuleID])); got != c.want {
			t.Errorf("%s: code %q, want %q", name, got, c.want)
		}
	}
}

// drawn is a random chain of nodes with attachments, in which ids of rules and nodes are single letters.
func drawn(t *rapid.T) (k *corpus, chain []string, attached [][]string) {
	names := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	k = newCorpus(names...)
	chain = []string{"org", "team", "repo"}[:rapid.IntRange(1, 3).Draw(t, "depth")]
	parent := ""
	var above []string
	for i, id := range chain {
		k.node(id, parent)
		parent = id
		var here, texts []string
		for _, n := range names {
			if !rapid.Bool().Draw(t, id+" has "+n) {
				continue
			}
			here = append(here, n)
			if i > 0 && len(above) > 0 && rapid.IntRange(0, 2).Draw(t, "plain") == 0 {
				n += ">" + rapid.SampledFrom(above).Draw(t, "over")
			}
			texts = append(texts, n)
		}
		above = append(above, here...)
		k.attach(id, texts...)
		attached = append(attached, texts)
	}
	return k, chain, attached
}

func ids(s *federation.Set) []string {
	var list []string
	for _, e := range s.Entries {
		list = append(list, e.Rule.ID)
	}
	slices.Sort(list)
	return list
}

func TestPropertyWithoutOverridesTheUnionHolds(t *testing.T) {
	proptest.Check(t, func(t *rapid.T) {
		_, chain, attached := drawn(t)
		k := newCorpus("a", "b", "c", "d", "e", "f", "g", "h")
		parent, union := "", map[string]bool{}
		for i, id := range chain {
			k.node(id, parent)
			parent = id
			for _, text := range attached[i] {
				r, _, _ := strings.Cut(text, ">")
				union[r] = true
				k.attach(id, r)
			}
			set, _ := federation.Effective(k, id, noon)
			if got := ids(set); len(got) != len(union) || len(set.Replaced) > 0 {
				t.Fatalf("%v at %s, want the union %v", got, id, union)
			}
		}
	})
}

func TestPropertyTheOrderOfAttachmentDoesNotMatter(t *testing.T) {
	proptest.Check(t, func(t *rapid.T) {
		k, chain, attached := drawn(t)
		again := newCorpus("a", "b", "c", "d", "e", "f", "g", "h")
		again.rules = k.rules
		parent := ""
		for _, id := range chain {
			again.node(id, parent)
			parent = id
		}
		var all []store.AttachmentState
		for i, id := range chain {
			for _, text := range attached[i] {
				all = append(all, store.AttachmentState{Attachment: attachment(id, text)})
			}
		}
		seed := rapid.Uint64().Draw(t, "order")
		rand.New(rand.NewPCG(seed, 1)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] }) //nolint:gosec // a test's order
		cut := rapid.IntRange(0, len(all)).Draw(t, "cut")
		again.tree = again.tree.Apply(nil, all[:cut]).Apply(nil, all[cut:])
		last := chain[len(chain)-1]
		if one, two := k.effective(t, last), again.effective(t, last); one != two {
			t.Fatalf("%q and %q", one, two)
		}
	})
}

func TestPropertyTheNearestOverrideWins(t *testing.T) {
	proptest.Check(t, func(t *rapid.T) {
		k, chain, attached := drawn(t)
		for depth, id := range chain {
			set, _ := federation.Effective(k, id, noon)
			holds := ids(set)
			// What a node attaches holds there, and what it overrides only if it comes from the node itself or is not above.
			for _, text := range attached[depth] {
				r, over, found := strings.Cut(text, ">")
				if !slices.Contains(holds, r) {
					t.Fatalf("%s, attached to %s, does not hold there: %v", r, id, holds)
				}
				if !found || !slices.Contains(holds, over) {
					continue
				}
				e := set.Entries[slices.IndexFunc(set.Entries, func(e federation.Entry) bool { return e.Rule.ID == over })]
				if e.NodeID != id {
					t.Fatalf("%s at %s does not override %s, which comes from %s: %v", r, id, over, e.NodeID, holds)
				}
			}
			for _, gone := range set.Replaced {
				if slices.Contains(holds, gone.Rule.ID) {
					t.Fatalf("%s is replaced and holds", gone.Rule.ID)
				}
			}
		}
	})
}

func TestPropertyAChildSeesWhatIsNotOverridden(t *testing.T) {
	proptest.Check(t, func(t *rapid.T) {
		k, chain, _ := drawn(t)
		var above *federation.Set
		for _, id := range chain {
			set, _ := federation.Effective(k, id, noon)
			if above != nil {
				holds := ids(set)
				for _, e := range above.Entries {
					gone := slices.ContainsFunc(set.Replaced, func(r federation.Replaced) bool { return r.Rule.ID == e.Rule.ID && r.NodeID == id })
					if !gone && !slices.Contains(holds, e.Rule.ID) {
						t.Fatalf("%s holds above %s but not there, and nothing there overrides it: %v", e.Rule.ID, id, holds)
					}
				}
			}
			above = set
		}
	})
}

// A default scope does not narrow an override: a subject of another scope would slip out of it and of the rule above.
func TestOverridesAndDefaultScopes(t *testing.T) {
	scope := func(s string) func(*rule.Node) { return func(n *rule.Node) { n.DefaultScope = s } }
	k := newCorpus("a", "b")
	k.rules["a"].Severity, k.rules["b"].Severity = rule.Critical, rule.Critical
	k.node("org", "")
	k.node("team", "org", scope("lab"))
	k.attach("org", "a")
	may := func() rule.Code {
		a := attachment("team", "b>a")
		return rule.CodeOf(federation.MayAttach(k, &a, k.rules["b"]))
	}
	if got := may(); got != "" {
		t.Errorf("an override at a node with a default scope is refused: %s", got)
	}
	k.attach("team", "b>a")
	set, _ := federation.Effective(k, "team", noon)
	if len(set.Entries) != 1 || set.Entries[0].Rule.ID != "b" || set.Entries[0].Scope() != nil {
		t.Errorf("the override holds as %+v, want everywhere", set.Entries)
	}
	// What stands in for nothing has the default scope.
	k.rules["b"].Severity = rule.High
	set, _ = federation.Effective(k, "team", noon)
	if len(set.Entries) != 2 || !slices.Equal(set.Entries[1].Scope(), []string{"lab"}) {
		t.Errorf("an override that does not act: %+v", set.Entries)
	}
	k.rules["b"].Severity = rule.Critical

	// The rule above holds in a default scope, and the override in that scope of its own: it loosens nothing.
	k = three("a", "b")
	k.rules["a"].Severity, k.rules["b"].Severity = rule.Critical, rule.Critical
	k.rules["b"].Scope = []string{"lab"}
	k.attach("org", "a")
	if got := may(); got != rule.CodeConflict {
		t.Errorf("an override with a narrower scope gives %q", got)
	}
	k.node("org", "", scope("lab"))
	if got := may(); got != "" {
		t.Errorf("an override that covers the default scope is refused: %s", got)
	}
}
