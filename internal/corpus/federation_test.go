package corpus_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// fed is a federation for [corpus.View.Follow], at one version.
type fed struct {
	version  int64
	rules    []store.RuleState
	nodes    []store.NodeState
	attached []store.AttachmentState
}

func (f fed) Follow(_ context.Context, _ string, _ int64, onRule func(store.RuleState) error, onNode func(store.NodeState) error,
	onAttachment func(store.AttachmentState) error,
) (int64, error) {
	for _, r := range f.rules {
		if err := onRule(r); err != nil {
			return 0, err
		}
	}
	for _, n := range f.nodes {
		if err := onNode(n); err != nil {
			return 0, err
		}
	}
	for _, a := range f.attached {
		if err := onAttachment(a); err != nil {
			return 0, err
		}
	}
	return f.version, nil
}

func fedNode(id, parent, scope string) store.NodeState {
	n := rule.Node{ID: id, Name: id, Level: rule.LevelOrganization, DefaultScope: scope}
	if parent != "" {
		n.Level, n.ParentID = rule.LevelTeam, &parent
	}
	return store.NodeState{Node: n}
}

func fedRule(node string, r rule.Rule, over ...string) store.AttachmentState {
	a := rule.Attachment{NodeID: node, RuleID: r.ID}
	if len(over) > 0 {
		a.OverrideID = &over[0]
	}
	return store.AttachmentState{Attachment: a}
}

// A selection within a node is what a selection of all gives, without what does not hold there: over several segments, with
// deleted rules and default scopes.
func TestWithinANode(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6)) //nolint:gosec // the same corpus in every run
	scopes := [][]string{nil, nil, {"pay"}, {"pay/eu"}, {"hr"}, {"*"}}
	view := &corpus.View{}
	var rules []rule.Rule
	var err error
	follow := func(f fed) {
		t.Helper()
		if view, err = view.Follow(t.Context(), f, "p"); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 60 {
		r := newRule(i, func(r *rule.Rule) { r.Scope = scopes[random.IntN(len(scopes))] }).Rule
		r.Status = rule.Effective
		r.Normalize()
		rules = append(rules, r)
		follow(fed{version: int64(i + 1), rules: []store.RuleState{{Rule: r}}})
	}
	for i := 0; i < 60; i += 7 {
		rules[i].Status, rules[i].Version = rule.Retired, 2
		follow(fed{version: int64(100 + i), rules: []store.RuleState{{Rule: rules[i]}}})
	}
	f := fed{version: 1000, nodes: []store.NodeState{fedNode("org", "", ""), fedNode("team", "org", "pay")}}
	for i := range 40 {
		f.attached = append(f.attached, fedRule([]string{"org", "team"}[i%2], rules[i]))
	}
	f.attached = append(f.attached, fedRule("team", rules[50], rules[2].ID), fedRule("team", rules[51], rules[4].ID))
	follow(f)
	within, err := view.Within("TEAM", noon)
	if err != nil {
		t.Fatal(err)
	}
	for _, scope := range []string{"", "pay", "pay/eu/de", "hr", "lab"} {
		q := corpus.Query{Now: noon, Scope: scope, Context: true, AnyKind: true, AnyPath: true}
		var want []string
		for _, m := range view.Applicable(&q) {
			e, ok := within.Entry(m.Rule.ID)
			if ok && rule.ScopeApplies(e.Scope(), scope) {
				want = append(want, m.Rule.ID)
			}
		}
		q.Within = within
		matches, overridden := within.Split(view.Applicable(&q))
		var got []string
		for _, m := range matches {
			got = append(got, m.Rule.ID)
			if source := within.Source(m.Rule.ID); source != "org" && source != "team" {
				t.Errorf("rule %s comes from %q", m.Rule.Slug, source)
			}
		}
		if !slices.Equal(got, want) || len(want) == 0 {
			t.Errorf("scope %q: %d rules %v, want %d %v", scope, len(got), got, len(want), want)
		}
		for _, o := range overridden {
			if by := map[string]string{rules[2].ID: rules[50].ID, rules[4].ID: rules[51].ID}[o.RuleID]; by != o.OverriddenBy {
				t.Errorf("scope %q: %s is overridden by %s", scope, o.RuleID, o.OverriddenBy)
			}
		}
		if scope == "" && len(overridden) != 2 {
			t.Errorf("%d rules are overridden, want 2", len(overridden))
		}
	}
	if again, err := view.Within("team", noon); err != nil || again != within {
		t.Errorf("what holds is worked out again: %v", err)
	}
	if _, err := view.Within("gone", noon); rule.CodeOf(err) != rule.CodeNotFound {
		t.Errorf("within a node that is not there: %v", err)
	}
}

// A rule that holds by a default scope silences another only where the subject is surely in that scope.
func TestSilencersWithinANode(t *testing.T) {
	weak, strong := newRule(1, nil).Rule, newRule(2, nil).Rule
	weak.Status, strong.Status = rule.Effective, rule.Effective
	view, err := (&corpus.View{}).Follow(t.Context(), fed{
		version: 1,
		rules: []store.RuleState{
			{Rule: weak}, {Rule: strong, Relationships: []rule.Relationship{{FromID: strong.ID, ToID: weak.ID, Kind: rule.Overrides}}},
		},
		nodes:    []store.NodeState{fedNode("org", "", ""), fedNode("team", "org", "pay")},
		attached: []store.AttachmentState{fedRule("org", weak), fedRule("team", strong)},
	}, "p")
	if err != nil {
		t.Fatal(err)
	}
	within, err := view.Within("team", noon)
	if err != nil {
		t.Fatal(err)
	}
	for scope, silenced := range map[string]int{"": 0, "pay": 1} {
		q := &corpus.Query{Now: noon, Scope: scope, AnyKind: true, AnyPath: true, Within: within}
		matches := view.Applicable(q)
		n := 0
		silencers, _ := corpus.Silencers(q, matches, func(int) bool { return true })
		for _, by := range silencers {
			if by >= 0 {
				n++
			}
		}
		if len(matches) != 2 || n != silenced {
			t.Errorf("scope %q: %d of %d silenced, want %d of 2", scope, n, len(matches), silenced)
		}
	}
}

// A view kept over the moment at which a rule comes into force does not show what held before.
func TestWithinFollowsTheClock(t *testing.T) {
	from := noon.Add(time.Hour)
	r := newRule(1, func(r *rule.Rule) { r.EffectivePeriod.From = &from }).Rule
	r.Status = rule.Effective
	view, err := (&corpus.View{}).Follow(t.Context(), fed{
		version: 1, rules: []store.RuleState{{Rule: r}}, nodes: []store.NodeState{fedNode("org", "", "")},
		attached: []store.AttachmentState{fedRule("org", r)},
	}, "p")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		at   time.Duration
		want int
	}{{0, 0}, {time.Hour - 1, 0}, {time.Hour, 1}, {2 * time.Hour, 1}, {0, 0}} {
		within, err := view.Within("org", noon.Add(c.at))
		if err != nil || len(within.Entries) != c.want {
			t.Errorf("%v after noon %d rules hold (%v), want %d", c.at, len(within.Entries), err, c.want)
		}
	}
}

// More sets than a view keeps are worked out again, and right.
func TestWithinManyNodes(t *testing.T) {
	f := fed{version: 1}
	for i := range 1000 {
		r := newRule(i, nil).Rule
		r.Status = rule.Effective
		f.rules = append(f.rules, store.RuleState{Rule: r})
		f.attached = append(f.attached, fedRule("org", r))
	}
	f.nodes = append(f.nodes, fedNode("org", "", ""))
	for i := range 110 {
		f.nodes = append(f.nodes, fedNode(fmt.Sprint("team", i), "org", ""))
	}
	view, err := (&corpus.View{}).Follow(t.Context(), f, "p")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		for i := range 110 {
			within, err := view.Within(fmt.Sprint("team", i), noon)
			if err != nil || len(within.Entries) != 1000 || within.NodeID != fmt.Sprint("team", i) {
				t.Fatalf("team %d: %v", i, err)
			}
		}
	}
}

// Guarded rules that no node has are selected at every node; the tree's own list does not have them. They follow each change of rules
// and attachments.
func TestRulesOfNoNodeAreSelectedWithinEveryNode(t *testing.T) {
	view, err := (&corpus.View{}).Follow(t.Context(), fed{
		version: 1, nodes: []store.NodeState{fedNode("org", "", ""), fedNode("team", "org", "pay"), {Node: rule.Node{ID: "alone", Level: rule.LevelOrganization, OwnRulesOnly: true}}},
	}, "p")
	if err != nil {
		t.Fatal(err)
	}
	critical := newRule(1, func(r *rule.Rule) { r.Severity, r.Status = rule.Critical, rule.Effective }).Rule
	medium := newRule(2, func(r *rule.Rule) { r.Severity, r.Status = rule.Medium, rule.Effective }).Rule
	selected := func(v *corpus.View, node, scope string) (n int) {
		t.Helper()
		within, err := v.Within(node, noon)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range v.Applicable(&corpus.Query{Now: noon, Scope: scope, AnyKind: true, AnyPath: true, Within: within}) {
			if !within.HasRule(m.Rule.ID) || within.Source(m.Rule.ID) != "" {
				t.Errorf("%s: has %v, from %q", m.Rule.ID, within.HasRule(m.Rule.ID), within.Source(m.Rule.ID))
			}
			n++
		}
		if len(within.Entries) > 0 {
			t.Errorf("the tree gives %d rules", len(within.Entries))
		}
		return n
	}
	check := func(v *corpus.View, when string, want int) {
		t.Helper()
		for _, node := range []string{"org", "team"} {
			for _, scope := range []string{"", "hr"} {
				if got := selected(v, node, scope); got != want {
					t.Errorf("%s: %d rules at %s in scope %q, want %d", when, got, node, scope, want)
				}
			}
		}
		if got := selected(v, "alone", ""); got != 0 {
			t.Errorf("%s: %d rules at the node that has only its own", when, got)
		}
	}
	follow := func(v *corpus.View, f fed) *corpus.View {
		t.Helper()
		next, err := v.Follow(t.Context(), f, "p")
		if err != nil {
			t.Fatal(err)
		}
		return next
	}
	check(view, "without rules", 0)
	with := follow(view, fed{version: 2, rules: []store.RuleState{{Rule: critical}, {Rule: medium}}})
	check(with, "with a CRITICAL and a MEDIUM rule", 1)
	there := follow(with, fed{version: 3, attached: []store.AttachmentState{{Attachment: rule.Attachment{NodeID: "alone", RuleID: critical.ID}}}})
	if got := func() int { w, _ := there.Within("org", noon); return len(w.Everywhere) }(); got != 0 {
		t.Errorf("%d rules hold everywhere although a node has it", got)
	}
	critical.Status, critical.Version = rule.Retired, 2
	check(follow(with, fed{version: 4, rules: []store.RuleState{{Rule: critical}}}), "with the rule retired", 0)
}

func TestLiveFollowsTheFederation(t *testing.T) {
	eachStore(t, func(t *testing.T, open func() store.Store) {
		s := open()
		createProject(t, s, "p")
		mine := live(s, 0)
		if v, err := mine.View(t.Context(), "p"); err != nil || v.Federation().Len() != 0 {
			t.Fatalf("before: %v", err)
		}
		r := newRule(1, nil).Rule
		r.Status = rule.Effective
		put(t, s, "p", r)
		id := "20000000-0000-7000-8000-000000000001"
		change := func(fn func(tx store.Tx, cv int64) error) *corpus.View {
			t.Helper()
			if err := s.Update(t.Context(), func(tx store.Tx) error {
				cv, err := tx.Projects.RaiseCorpus(t.Context(), "p")
				if err != nil {
					return err
				}
				return fn(tx, cv)
			}); err != nil {
				t.Fatal(err)
			}
			v, err := mine.Refresh(t.Context(), "p")
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		holds := func(v *corpus.View) int {
			t.Helper()
			w, err := v.Within(id, noon)
			if err != nil {
				t.Fatal(err)
			}
			return len(w.Entries)
		}
		empty := change(func(tx store.Tx, cv int64) error {
			return tx.Federation.InsertNodes(t.Context(), "p", cv, []rule.Node{{ID: id, Name: "org", Level: rule.LevelOrganization}})
		})
		full := change(func(tx store.Tx, cv int64) error {
			return tx.Federation.InsertAttachments(t.Context(), "p", cv, []rule.Attachment{{NodeID: id, RuleID: r.ID, CreatedAt: noon}})
		})
		after := change(func(tx store.Tx, cv int64) error {
			return tx.Federation.RemoveAttachment(t.Context(), "p", cv, id, r.ID)
		})
		if holds(empty) != 0 || holds(full) != 1 || holds(after) != 0 {
			t.Errorf("%d, %d, %d rules hold; want 0, 1, 0", holds(empty), holds(full), holds(after))
		}
		if fresh, err := live(s, 0).View(t.Context(), "p"); err != nil || fresh.Federation().Len() != 1 || holds(fresh) != 0 {
			t.Errorf("a view that begins now differs: %v", err)
		}
		gone := change(func(tx store.Tx, cv int64) error { return tx.Federation.RemoveNode(t.Context(), "p", cv, id) })
		if gone.Federation().Len() != 0 {
			t.Error("the node is still there")
		}
	})
}
