package federation_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tenet/internal/federation"
	"tenet/internal/proptest"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// A comparison of the rules that a change concerns finds what a comparison of all rules finds, whatever changes: attachments, overrides,
// scopes, parents, own_rules_only, new and removed nodes, and rules.
func TestPropertyTheRulesNotConcernedStayAsTheyAre(t *testing.T) {
	found := 0
	proptest.Check(t, func(t *rapid.T) {
		before, names := drawnCorpus(t)
		alone := func() func(*rule.Node) {
			own := rapid.IntRange(0, 3).Draw(t, "own rules only") == 0
			return func(n *rule.Node) { n.OwnRulesOnly = own }
		}
		for _, node := range names {
			before.tree = before.tree.Apply(before.state(node, alone()), nil)
		}
		after := &corpus{maps.Clone(before.rules), before.tree}
		var changed []string
		for range rapid.IntRange(1, 5).Draw(t, "changes") {
			node := rapid.SampledFrom(append(names, "n5")).Draw(t, "changed")
			n, ok := after.tree.Node(node)
			if !ok {
				after.node(node, rapid.SampledFrom(names).Draw(t, "parent"), alone())
				after.tree = after.tree.Apply(nil, []store.AttachmentState{add(node, drawAttachment(t))})
				continue
			}
			switch rapid.IntRange(0, 7).Draw(t, "change") {
			case 0, 1:
				after.tree = after.tree.Apply(nil, []store.AttachmentState{add(node, drawAttachment(t))})
			case 2:
				if len(n.Attached) > 0 {
					after.tree = after.tree.Apply(nil, []store.AttachmentState{remove(node, rapid.SampledFrom(n.Attached).Draw(t, "detached").RuleID)})
				}
			case 3:
				scope := rapid.SampledFrom([]string{"", "lab", "field"}).Draw(t, "scope")
				after.tree = after.tree.Apply(after.state(node, func(n *rule.Node) { n.DefaultScope = scope }), nil)
			case 4, 7:
				parent := rapid.SampledFrom([]string{"n2", "n3"}).Draw(t, "parent")
				after.tree = after.tree.Apply(after.state("n4", func(n *rule.Node) { n.ParentID = &parent }), nil)
			case 5:
				after.tree = after.tree.Apply(after.state(node, alone()), nil)
			case 6:
				id := rapid.SampledFrom(slices.Sorted(maps.Keys(after.rules))).Draw(t, "rule")
				r := *after.rules[id]
				r.Severity = rapid.SampledFrom(rule.Severities).Draw(t, "severity")
				r.Scope = rapid.SampledFrom([][]string{nil, {"lab"}, {"lab/a"}}).Draw(t, "rule scope")
				r.Status = rapid.SampledFrom([]rule.Status{rule.Effective, rule.Draft}).Draw(t, "status")
				after.rules[id] = &r
				changed = append(changed, id)
			}
		}
		c := federation.Change{Before: before, After: after, Rules: changed, Now: noon, By: "ann"}
		want, got := c.LossesOfAll().Silenced(), c.Losses().Silenced()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("(-all rules +those concerned):\n%s", diff)
		}
		if got != nil {
			found++
		}
	})
	if found < 10 {
		t.Errorf("only %d of the drawn changes end a rule", found)
	}
}
