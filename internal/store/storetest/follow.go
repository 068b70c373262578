package storetest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/rule"
	"tenet/internal/store"
)

// testFollow makes random changes and follows them. The follower and a full read must end with the same values.
func testFollow(t *testing.T, f *fixture) {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same changes in every run
	followed := map[string]store.RuleState{}
	var rules []rule.Rule
	var rels []rule.Relationship
	var version int64
	for step := range 100 {
		f.update(func(tx store.Tx) error {
			cv, err := tx.Projects.RaiseCorpus(f.ctx, "p")
			if err != nil {
				return err
			}
			switch n := random.IntN(4); {
			case n == 0 || len(rules) < 4:
				// Ids are not in the order of creation.
				r := newRule((step*7919)%1000, nil)
				rules = append(rules, r)
				return tx.Rules.Insert(f.ctx, cv, []rule.Rule{r})
			case n == 1:
				r := &rules[random.IntN(len(rules))]
				*r = next(*r, func(r *rule.Rule) { r.Owner = fmt.Sprint(step) })
				return tx.Rules.Update(f.ctx, cv, []rule.Rule{*r})
			case n == 2 || len(rels) == 0:
				rel := rule.Relationship{
					ID: newRule(5000+step, nil).ID, Kind: rule.RelationKinds[random.IntN(len(rule.RelationKinds))], Reason: fmt.Sprint(step),
					FromID: rules[random.IntN(len(rules))].ID, ToID: rules[random.IntN(len(rules))].ID,
					CreatedAt: at.Add(-time.Duration(step) * time.Second), // later ones are older
				}
				err := tx.Rules.InsertRelationship(f.ctx, "p", cv, rel)
				if rule.CodeOf(err) == rule.CodeConflict {
					return nil // drawn before
				}
				rels = append(rels, rel)
				return err
			default:
				i := random.IntN(len(rels))
				rel := rels[i]
				rels = slices.Delete(rels, i, i+1)
				return tx.Rules.DeleteRelationship(f.ctx, "p", cv, []string{rel.FromID, rel.ToID}[random.IntN(2)], rel.ID)
			}
		})
		if step%3 != 0 {
			continue // several changes are followed at once
		}
		last := ""
		reached, err := f.s.Rules.Changes(f.ctx, "p", version, func(s store.RuleState) error {
			if s.Rule.ID <= last {
				t.Errorf("rule %s came after %s", s.Rule.ID, last)
			}
			last = s.Rule.ID
			followed[s.Rule.ID] = s
			return nil
		})
		if err != nil || reached != int64(step)+1 {
			t.Fatalf("changes after %d reach %d, %v; want %d", version, reached, err, step+1)
		}
		version = reached
	}
	whole := map[string]store.RuleState{}
	if _, err := f.s.Rules.Changes(f.ctx, "p", 0, func(s store.RuleState) error { whole[s.Rule.ID] = s; return nil }); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(whole, followed); diff != "" {
		t.Errorf("followed changes differ from the whole (-whole +followed):\n%s", diff)
	}
	hashes := map[string]store.RowHash{}
	rows, err := f.s.InForce.Rows(f.ctx, "p", store.RuleInForce, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		hashes[r.ID] = r.Hash
	}
	slices.SortFunc(rels, func(a, b rule.Relationship) int { return a.CreatedAt.Compare(b.CreatedAt) })
	for _, r := range rules {
		var want []rule.Relationship
		for _, rel := range rels {
			if rel.FromID == r.ID {
				want = append(want, rel)
			}
		}
		if diff := cmp.Diff(store.RuleState{Rule: r, Relationships: want, Hash: hashes[r.ID]}, whole[r.ID]); diff != "" {
			t.Errorf("rule %s (-want +got):\n%s", r.ID, diff)
		}
	}
	if len(whole) != len(rules) {
		t.Errorf("%d rules, want %d: %v", len(whole), len(rules), slices.Sorted(maps.Keys(whole)))
	}
}

// testChangesNested reads more from inside the callback: through the same transaction, and through the store.
func testChangesNested(t *testing.T, f *fixture) {
	rules := make([]rule.Rule, 3000)
	for i := range rules {
		rules[i] = newRule(i, nil)
	}
	scattered := slices.Clone(rules)
	rand.New(rand.NewPCG(3, 4)).Shuffle(len(scattered), func(i, j int) { scattered[i], scattered[j] = scattered[j], scattered[i] })
	f.insert(scattered...)
	nested := func(outer, inner store.RuleReader, after int64) {
		t.Helper()
		n, last := 0, ""
		_, err := outer.Changes(f.ctx, "p", after, func(s store.RuleState) error {
			if s.Rule.ID <= last {
				t.Errorf("rule %s came after %s", s.Rule.ID, last)
			}
			last = s.Rule.ID
			if n++; n%500 != 1 {
				return nil
			}
			_, err := inner.Get(f.ctx, "p", s.Rule.ID)
			return err
		})
		if err != nil || n != len(rules) {
			t.Errorf("%d of %d rules: %v", n, len(rules), err)
		}
	}
	nested(f.s.Rules, f.s.Rules, 0)
	f.update(func(tx store.Tx) error {
		nested(tx.Rules, tx.Rules, 0)
		cv, err := tx.Projects.RaiseCorpus(f.ctx, "p")
		if err != nil {
			return err
		}
		changed := slices.Clone(rules)
		slices.Reverse(changed)
		for i := range changed {
			changed[i].Version++
		}
		if err := tx.Rules.Update(f.ctx, cv, changed); err != nil {
			return err
		}
		nested(tx.Rules, tx.Rules, cv-1)
		nested(tx.Rules, f.s.Rules, cv-1)
		return nil
	})
}
