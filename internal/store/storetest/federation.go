package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/rule"
	"tenet/internal/store"
)

func newNode(n int, parent *rule.Node, edit func(*rule.Node)) rule.Node {
	node := rule.Node{
		ID: fmt.Sprintf("10000000-0000-7000-8000-%012d", n), ProjectID: "p", Name: fmt.Sprintf("node %d", n), Level: rule.LevelOrganization,
		CreatedAt: at, CreatedBy: "ann", UpdatedAt: at, UpdatedBy: "ann",
	}
	if parent != nil {
		node.ParentID, node.Level = &parent.ID, rule.LevelTeam
	}
	if edit != nil {
		edit(&node)
	}
	node.Normalize()
	return node
}

// corpusChange runs a change under a raised corpus version.
func (f *fixture) corpusChange(projectID string, fn func(tx store.Tx, cv int64) error) error {
	return f.s.Update(f.ctx, func(tx store.Tx) error {
		cv, err := tx.Projects.RaiseCorpus(f.ctx, projectID)
		if err != nil {
			return err
		}
		return fn(tx, cv)
	})
}

// followed holds the values from Follow.
type followed struct {
	Rules    []string
	Nodes    []store.NodeState
	Attached []store.AttachmentState
}

func (f *fixture) follow(r store.FederationReader, projectID string, after int64) (followed, int64) {
	f.t.Helper()
	var got followed
	version, err := r.Follow(f.ctx, projectID, after,
		func(s store.RuleState) error { got.Rules = append(got.Rules, s.Rule.ID); return nil },
		func(s store.NodeState) error { got.Nodes = append(got.Nodes, s); return nil },
		func(s store.AttachmentState) error { got.Attached = append(got.Attached, s); return nil })
	if err != nil {
		f.t.Fatal(err)
	}
	return got, version
}

func testFederation(t *testing.T, f *fixture) {
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	r1, r2 := newRule(1, nil), newRule(2, nil)
	f.insert(r1, r2)
	org := newNode(1, nil, func(n *rule.Node) {
		n.Description, n.DefaultScope, n.Repositories = "All of it: ä, 漢", "acme", []string{"acme/**"}
		n.OwnRulesOnly, n.OwnRulesReason, n.OwnRulesSince, n.OwnRulesBy, n.OwnRulesApprovedBy = true, "agreed", &at, "ann", "bo"
	})
	team := newNode(2, &org, nil)
	must(f.corpusChange("p", func(tx store.Tx, cv int64) error {
		return tx.Federation.InsertNodes(f.ctx, "p", cv, []rule.Node{org, team})
	}))
	plain := rule.Attachment{NodeID: org.ID, RuleID: r1.ID, CreatedAt: at, CreatedBy: "ann"}
	over := rule.Attachment{NodeID: team.ID, RuleID: r2.ID, OverrideID: &r1.ID, AllowWeakening: true, Reason: "agreed", CreatedAt: at, CreatedBy: "bob", ApprovedBy: "cy"}
	must(f.corpusChange("p", func(tx store.Tx, cv int64) error {
		return tx.Federation.InsertAttachments(f.ctx, "p", cv, []rule.Attachment{over, plain})
	}))

	whole := followed{
		Rules: []string{r1.ID, r2.ID}, Nodes: []store.NodeState{{Node: org}, {Node: team}},
		Attached: []store.AttachmentState{{Attachment: plain}, {Attachment: over}},
	}
	got, version := f.follow(f.s.Federation, "p", 0)
	if diff := cmp.Diff(whole, got); diff != "" || version != 3 {
		t.Fatalf("all at version %d (-want +got):\n%s", version, diff)
	}
	if got, _ := f.follow(f.s.Federation, "p", version); len(got.Rules)+len(got.Nodes)+len(got.Attached) > 0 {
		t.Errorf("nothing has changed, but %+v", got)
	}

	f.fails(rule.CodeConflict, func(tx store.Tx) error { return tx.Federation.InsertNodes(f.ctx, "p", 4, []rule.Node{org}) })
	f.fails(rule.CodeConflict, func(tx store.Tx) error {
		return tx.Federation.InsertAttachments(f.ctx, "p", 4, []rule.Attachment{plain})
	})
	ghost := newRule(99, nil).ID
	f.fails(rule.CodeNotFound, func(tx store.Tx) error {
		return tx.Federation.InsertAttachments(f.ctx, "p", 4, []rule.Attachment{{NodeID: org.ID, RuleID: ghost, CreatedAt: at}})
	})
	f.fails(rule.CodeNotFound, func(tx store.Tx) error {
		return tx.Federation.InsertAttachments(f.ctx, "p", 4, []rule.Attachment{{NodeID: ghost, RuleID: r1.ID, CreatedAt: at}})
	})
	f.fails(rule.CodeNotFound, func(tx store.Tx) error { return tx.Federation.UpdateNode(f.ctx, "p", 4, newNode(7, nil, nil)) })
	f.fails(rule.CodeNotFound, func(tx store.Tx) error { return tx.Federation.RemoveNode(f.ctx, "p", 4, ghost) })
	f.fails(rule.CodeNotFound, func(tx store.Tx) error { return tx.Federation.RemoveAttachment(f.ctx, "p", 4, org.ID, r2.ID) })
	f.fails(rule.CodeInvalid, func(tx store.Tx) error {
		return tx.Federation.InsertNodes(f.ctx, "p", 4, []rule.Node{newNode(8, nil, func(n *rule.Node) { n.Name = "a\x00b" })})
	})

	// A follower receives changes and removals; a new one receives no removals.
	moved := team
	moved.Name, moved.UpdatedBy = "moved", "eve"
	must(f.corpusChange("p", func(tx store.Tx, cv int64) error {
		if err := tx.Federation.UpdateNode(f.ctx, "p", cv, moved); err != nil {
			return err
		}
		return tx.Federation.RemoveAttachment(f.ctx, "p", cv, org.ID, r1.ID)
	}))
	got, version = f.follow(f.s.Federation, "p", version)
	want := followed{Nodes: []store.NodeState{{Node: moved}}, Attached: []store.AttachmentState{{Attachment: plain, Removed: true}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("after the move (-want +got):\n%s", diff)
	}
	must(f.corpusChange("p", func(tx store.Tx, cv int64) error { return tx.Federation.RemoveNode(f.ctx, "p", cv, team.ID) }))
	must(f.corpusChange("p", func(tx store.Tx, cv int64) error {
		again := plain
		again.CreatedBy = "eve"
		return tx.Federation.InsertAttachments(f.ctx, "p", cv, []rule.Attachment{again})
	}))
	got, _ = f.follow(f.s.Federation, "p", version)
	if len(got.Nodes) != 1 || !got.Nodes[0].Removed || len(got.Attached) != 2 || got.Attached[0].Removed || got.Attached[0].Attachment.CreatedBy != "eve" ||
		!got.Attached[1].Removed {
		t.Errorf("after removing the team and attaching again: %+v", got)
	}
	got, _ = f.follow(f.s.Federation, "p", 0)
	if len(got.Nodes) != 1 || len(got.Attached) != 1 || got.Nodes[0].Node.ID != org.ID {
		t.Errorf("whoever begins now gets %+v", got)
	}
	f.fails(rule.CodeNotFound, func(tx store.Tx) error { return tx.Federation.RemoveNode(f.ctx, "p", 9, team.ID) })
	must(f.corpusChange("p", func(tx store.Tx, cv int64) error { return tx.Federation.RemoveNode(f.ctx, "p", cv, org.ID) }))
}

// testFederationProjects checks that projects do not see or change one another.
func testFederationProjects(t *testing.T, f *fixture) {
	f.update(func(tx store.Tx) error { return tx.Projects.Create(f.ctx, project("q")) })
	r := newRule(1, nil)
	f.insert(r)
	n := newNode(1, nil, nil)
	for _, p := range []string{"p", "q"} {
		if err := f.corpusChange(p, func(tx store.Tx, cv int64) error { return tx.Federation.InsertNodes(f.ctx, p, cv, []rule.Node{n}) }); err != nil {
			t.Fatalf("node in %s: %v", p, err)
		}
	}
	a := rule.Attachment{NodeID: n.ID, RuleID: r.ID, CreatedAt: at}
	f.fails(rule.CodeNotFound, func(tx store.Tx) error { return tx.Federation.InsertAttachments(f.ctx, "q", 9, []rule.Attachment{a}) })
	f.fails(rule.CodeNotFound, func(tx store.Tx) error { return tx.Federation.RemoveAttachment(f.ctx, "q", 9, n.ID, r.ID) })
	if err := f.corpusChange("p", func(tx store.Tx, cv int64) error {
		return tx.Federation.InsertAttachments(f.ctx, "p", cv, []rule.Attachment{a})
	}); err != nil {
		t.Fatal(err)
	}
	if got, _ := f.follow(f.s.Federation, "q", 0); len(got.Nodes) != 1 || got.Nodes[0].Node.ProjectID != "q" || len(got.Attached) != 0 {
		t.Errorf("in q: %+v", got)
	}
	if err := f.corpusChange("q", func(tx store.Tx, cv int64) error { return tx.Federation.RemoveNode(f.ctx, "q", cv, n.ID) }); err != nil {
		t.Fatal(err)
	}
	if got, _ := f.follow(f.s.Federation, "p", 0); len(got.Nodes) != 1 || len(got.Attached) != 1 {
		t.Errorf("in p after removing the node of q: %+v", got)
	}
	for _, hostile := range []string{"", "p\x00", "\xff", strings.Repeat("x", 5000), "' OR 1=1 --"} {
		f.fails(rule.CodeNotFound, func(tx store.Tx) error {
			return tx.Federation.RemoveAttachment(f.ctx, "p", 9, n.ID, hostileText(hostile))
		})
	}
}

// hostileText omits text that a database refuses before a look-up.
func hostileText(s string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "")
}

// testFollowStops checks that an error of a callback ends the walk, and that callbacks may use the same transaction.
func testFollowStops(t *testing.T, f *fixture) {
	r := newRule(1, nil)
	f.insert(r)
	nodes := []rule.Node{newNode(1, nil, nil), newNode(2, nil, nil)}
	if err := f.corpusChange("p", func(tx store.Tx, cv int64) error {
		if err := tx.Federation.InsertNodes(f.ctx, "p", cv, nodes); err != nil {
			return err
		}
		return tx.Federation.InsertAttachments(f.ctx, "p", cv, []rule.Attachment{{NodeID: nodes[0].ID, RuleID: r.ID, CreatedAt: at}})
	}); err != nil {
		t.Fatal(err)
	}
	stop := errors.New("stop")
	for at := range 3 {
		var calls []string
		note := func(kind int, name string) error {
			if calls = append(calls, name); kind == at {
				return stop
			}
			return nil
		}
		f.update(func(tx store.Tx) error {
			_, err := tx.Federation.Follow(f.ctx, "p", 0,
				func(store.RuleState) error { return note(0, "rule") },
				func(s store.NodeState) error {
					if _, err := tx.Rules.Get(f.ctx, "p", r.ID); err != nil {
						return err
					}
					return note(1, "node")
				},
				func(store.AttachmentState) error { return note(2, "attachment") })
			if !errors.Is(err, stop) {
				t.Errorf("stopped at %d: %v", at, err)
			}
			return nil
		})
		want := [][]string{{"rule"}, {"rule", "node"}, {"rule", "node", "node", "attachment"}}[at]
		if !slices.Equal(calls, want) {
			t.Errorf("calls %v, want %v", calls, want)
		}
	}
}

// testRaceAttach attaches the same rule in concurrent transactions: one succeeds, the others return a conflict.
func testRaceAttach(t *testing.T, f *fixture) {
	r, n := newRule(1, nil), newNode(1, nil, nil)
	f.insert(r)
	if err := f.corpusChange("p", func(tx store.Tx, cv int64) error { return tx.Federation.InsertNodes(f.ctx, "p", cv, []rule.Node{n}) }); err != nil {
		t.Fatal(err)
	}
	outcomes := make([]error, 12)
	f.race(t, len(outcomes), func(tx store.Tx, i int) error {
		cv, err := tx.Projects.RaiseCorpus(f.ctx, "p")
		if err != nil {
			return err
		}
		outcomes[i] = tx.Federation.InsertAttachments(f.ctx, "p", cv, []rule.Attachment{{NodeID: n.ID, RuleID: r.ID, CreatedAt: at}})
		if rule.CodeOf(outcomes[i]) == rule.CodeConflict {
			return nil
		}
		return outcomes[i]
	})
	done := 0
	for _, err := range outcomes {
		if err == nil {
			done++
		}
	}
	if done != 1 {
		t.Errorf("%d of %d attached the rule, want 1", done, len(outcomes))
	}
}
