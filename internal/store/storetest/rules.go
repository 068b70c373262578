package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/rule"
	"tenet/internal/store"
)

func testProjects(t *testing.T, f *fixture) {
	f.fails(rule.CodeConflict, func(tx store.Tx) error { return tx.Projects.Create(f.ctx, project("p")) })
	f.update(func(tx store.Tx) error { return tx.Projects.Create(f.ctx, project("a")) })
	changed := project("p")
	changed.Name, changed.TwoPerson, changed.TestsRequired, changed.UpdatedAt = "Naïve 日本", true, true, at.Add(time.Hour)
	changed.Policy = rule.ProjectPolicy{
		Floor: rule.Floor{
			SeverityMin: rule.Low, Environment: "production", BoundNode: true,
			Scopes: []rule.ScopeFloor{{Repositories: []string{"zahlung/*-日本"}, Scope: "finance/payments"}},
		},
		Uncovered: map[string]rule.Uncovered{"action": rule.UncoveredDeny, "facts": rule.UncoveredAllow},
	}
	f.update(func(tx store.Tx) error { return tx.Projects.Update(f.ctx, changed) })
	f.fails(rule.CodeNotFound, func(tx store.Tx) error { return tx.Projects.Update(f.ctx, project("none")) })
	got, err := f.s.Projects.Get(f.ctx, "p")
	if diff := cmp.Diff(changed, got); err != nil || diff != "" {
		t.Errorf("project: %v (-want +got):\n%s", err, diff)
	}
	_, err = f.s.Projects.Get(f.ctx, "P")
	code(t, "a project in another letter case", err, rule.CodeNotFound)
	withPolicy := project("b")
	withPolicy.Policy = rule.ProjectPolicy{Floor: rule.Floor{BoundNode: true}}
	f.update(func(tx store.Tx) error { return tx.Projects.Create(f.ctx, withPolicy) })
	if got, err := f.s.Projects.Get(f.ctx, "b"); err != nil || !got.Policy.Floor.BoundNode {
		t.Errorf("the policy that a project was made with: %+v, %v", got.Policy, err)
	}
	// A word that a newer program has written is no reason to take the policy for none.
	withPolicy.Policy = rule.ProjectPolicy{Uncovered: map[string]rule.Uncovered{"action": "escalate"}}
	f.update(func(tx store.Tx) error { return tx.Projects.Update(f.ctx, withPolicy) })
	if got, err := f.s.Projects.Get(f.ctx, "b"); err != nil || !got.Policy.Unreadable {
		t.Errorf("a policy with a word that nobody knows: %+v, %v", got.Policy, err)
	}
	list, err := f.s.Projects.List(f.ctx)
	if err != nil || len(list) != 3 || list[0].ID != "a" {
		t.Errorf("projects: %v, %v", list, err)
	}
	f.fails(rule.CodeNotFound, func(tx store.Tx) error {
		_, err := tx.Projects.RaiseCorpus(f.ctx, "none")
		return err
	})
	f.insert(newRule(1, nil))
	versions, err := f.s.Projects.CorpusVersions(f.ctx)
	if diff := cmp.Diff(map[string]int64{"a": 0, "b": 0, "p": 1}, versions); err != nil || diff != "" {
		t.Errorf("corpus versions: %v (-want +got):\n%s", err, diff)
	}
	for _, project := range []string{"a", "p"} {
		before, err := f.s.Projects.CorpusSum(f.ctx)
		if err != nil {
			t.Fatal(err)
		}
		f.update(func(tx store.Tx) error { _, err := tx.Projects.RaiseCorpus(f.ctx, project); return err })
		if after, err := f.s.Projects.CorpusSum(f.ctx); err != nil || after != before+1 {
			t.Errorf("the sum of corpus versions goes from %d to %d, %v", before, after, err)
		}
	}
}

func testRoundTrip(t *testing.T, f *fixture) {
	from := at.Add(-time.Hour)
	r := newRule(1, func(r *rule.Rule) {
		r.Statement = "Grüße, 世界 🎉 \"quoted\" \\ \t and 'single' ? $1"
		r.Scope, r.Tags = []string{"a/b"}, []string{"x", "y"}
		r.SourceRefs = []rule.SourceRef{{Kind: "law", URI: "https://example.com/?a=b", Quote: "l1\nl2"}}
		r.EffectivePeriod.From = &from
		r.AppliesTo = &rule.AppliesTo{Paths: []string{"**/*.go"}}
		r.Check = &rule.Check{Pattern: &rule.Pattern{Regex: `\bx\b`}, When: "true", Message: "m", Fix: "f"}
	})
	f.insert(r)
	got, err := f.s.Rules.Get(f.ctx, "p", r.ID)
	if diff := cmp.Diff(r, got); err != nil || diff != "" {
		t.Errorf("rule: %v (-want +got):\n%s", err, diff)
	}
}

func testLookUp(t *testing.T, f *fixture) {
	f.insert(newRule(1, nil), newRule(2, func(r *rule.Rule) { r.Slug = "" }))
	for _, ref := range []string{newRule(1, nil).ID, strings.ToUpper(newRule(1, nil).ID), "R-1"} {
		if r, err := f.s.Rules.Get(f.ctx, "p", ref); err != nil || r.Slug != "R-1" {
			t.Errorf("%s: %v, %v", ref, r.Slug, err)
		}
	}
	for _, ref := range []string{"r-1", "R-2", "", "none", newRule(9, nil).ID} {
		_, err := f.s.Rules.Get(f.ctx, "p", ref)
		code(t, "rule "+ref, err, rule.CodeNotFound)
	}
	_, err := f.s.Rules.Get(f.ctx, "other", "R-1")
	code(t, "a rule of another project", err, rule.CodeNotFound)
	found, err := f.s.Rules.GetMany(f.ctx, "p", []string{"R-1", newRule(1, nil).ID, newRule(2, nil).ID, "R-3"})
	if err != nil || len(found) != 3 || found["R-1"].ID != newRule(1, nil).ID {
		t.Errorf("found %d rules, %v; want 3", len(found), err)
	}
}

func testUpdateRules(t *testing.T, f *fixture) {
	first := newRule(1, nil)
	f.insert(first)
	second := next(first, func(r *rule.Rule) { r.Statement = "Changed." })
	if err := f.change(second); err != nil {
		t.Fatal(err)
	}
	code(t, "an update based on an old version", f.change(second), rule.CodePrecondition)
	code(t, "an update of no rule", f.change(next(newRule(9, nil), func(*rule.Rule) {})), rule.CodeNotFound)
	third := next(second, func(r *rule.Rule) { r.Status = rule.Review })
	if err := f.change(third); err != nil {
		t.Fatal(err)
	}
	for version, want := range map[int]rule.Rule{1: first, 2: second, 3: third} {
		got, err := f.s.Rules.Version(f.ctx, "p", first.ID, version)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("version %d: %v (-want +got):\n%s", version, err, diff)
		}
	}
	_, err := f.s.Rules.Version(f.ctx, "p", first.ID, 4)
	code(t, "a version that is not", err, rule.CodeNotFound)
	for _, tt := range []struct {
		offset, limit int
		want          []int
	}{{0, 10, []int{3, 2, 1}}, {0, 1, []int{3}}, {1, 1, []int{2}}, {2, 5, []int{1}}, {3, 5, nil}} {
		list, total, err := f.s.Rules.Versions(f.ctx, "p", first.ID, tt.offset, tt.limit)
		var got []int
		for _, r := range list {
			got = append(got, r.Version)
		}
		if err != nil || total != 3 || !slices.Equal(got, tt.want) {
			t.Errorf("versions from %d, %d of them: %v of %d, %v; want %v", tt.offset, tt.limit, got, total, err, tt.want)
		}
	}
	_, _, err = f.s.Rules.Versions(f.ctx, "p", newRule(9, nil).ID, 0, 1)
	code(t, "versions of no rule", err, rule.CodeNotFound)
}

func testSlugs(t *testing.T, f *fixture) {
	one, two := newRule(1, nil), newRule(2, nil)
	f.insert(one, two, newRule(3, func(r *rule.Rule) { r.Slug = "r-1" })) // another letter case is another slug
	code(t, "taking another's slug", f.change(next(two, func(r *rule.Rule) { r.Slug = "R-1" })), rule.CodeConflict)
	swapped := []rule.Rule{
		next(one, func(r *rule.Rule) { r.Slug = "R-2" }), next(two, func(r *rule.Rule) { r.Slug = "R-1" }),
	}
	if err := f.change(swapped...); err != nil {
		t.Fatalf("exchanging slugs: %v", err)
	}
	if r, err := f.s.Rules.Get(f.ctx, "p", "R-1"); err != nil || r.ID != two.ID {
		t.Errorf("R-1 is now %s, %v; want %s", r.ID, err, two.ID)
	}
	if err := f.change(next(swapped[1], func(r *rule.Rule) { r.Status = rule.Retired })); err != nil {
		t.Fatal(err)
	}
	_, err := f.s.Rules.Get(f.ctx, "p", "R-1")
	code(t, "the slug of a retired rule", err, rule.CodeNotFound)
	f.insert(newRule(4, func(r *rule.Rule) { r.Slug = "R-1" })) // it is free again
	if _, err := f.s.Rules.Get(f.ctx, "p", two.ID); err != nil {
		t.Errorf("a retired rule by its id: %v", err)
	}
}

func testInsertConflicts(t *testing.T, f *fixture) {
	f.insert(newRule(1, nil))
	for name, rules := range map[string][]rule.Rule{
		"a taken id":        {newRule(2, nil), newRule(1, func(r *rule.Rule) { r.Slug = "other" })},
		"a taken slug":      {newRule(2, nil), newRule(3, func(r *rule.Rule) { r.Slug = "R-1" })},
		"an id used twice":  {newRule(2, nil), newRule(2, func(r *rule.Rule) { r.Slug = "R-3" })},
		"a slug used twice": {newRule(2, nil), newRule(3, func(r *rule.Rule) { r.Slug = "R-2" })},
	} {
		err := f.s.Update(f.ctx, func(tx store.Tx) error {
			cv, err := tx.Projects.RaiseCorpus(f.ctx, "p")
			if err != nil {
				return err
			}
			return tx.Rules.Insert(f.ctx, cv, rules)
		})
		code(t, name, err, rule.CodeConflict)
		if !strings.Contains(fmt.Sprint(err), "R-") && !strings.Contains(fmt.Sprint(err), newRule(1, nil).ID) {
			t.Errorf("%s: the error does not name the rule: %v", name, err)
		}
		if _, err := f.s.Rules.Get(f.ctx, "p", "R-2"); rule.CodeOf(err) != rule.CodeNotFound {
			t.Errorf("%s: the other rule was stored: %v", name, err)
		}
	}
}

// gather collects changes as slug and version.
func (f *fixture) gather(after int64) ([]string, int64) {
	f.t.Helper()
	var got []string
	version, err := f.s.Rules.Changes(f.ctx, "p", after, func(s store.RuleState) error {
		got = append(got, fmt.Sprintf("%s.%d+%d", s.Rule.Slug, s.Rule.Version, len(s.Relationships)))
		return nil
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return got, version
}

func testChanges(t *testing.T, f *fixture) {
	expect := func(after int64, want ...string) {
		t.Helper()
		got, _ := f.gather(after)
		if !slices.Equal(got, want) {
			t.Errorf("changes after %d: %v, want %v", after, got, want)
		}
	}
	expect(0)
	f.insert(newRule(2, nil), newRule(1, nil))
	expect(0, "R-1.1+0", "R-2.1+0")
	if err := f.change(next(newRule(2, nil), func(*rule.Rule) {})); err != nil {
		t.Fatal(err)
	}
	expect(1, "R-2.2+0")
	rel := rule.Relationship{ID: newRule(7, nil).ID, FromID: newRule(1, nil).ID, ToID: newRule(2, nil).ID, Kind: rule.Refines, CreatedAt: at}
	f.update(func(tx store.Tx) error {
		cv, err := tx.Projects.RaiseCorpus(f.ctx, "p")
		if err != nil {
			return err
		}
		return tx.Rules.InsertRelationship(f.ctx, "p", cv, rel)
	})
	expect(2, "R-1.1+1")
	f.update(func(tx store.Tx) error {
		cv, err := tx.Projects.RaiseCorpus(f.ctx, "p")
		if err != nil {
			return err
		}
		return tx.Rules.DeleteRelationship(f.ctx, "p", cv, rel.ToID, rel.ID)
	})
	expect(3, "R-1.1+0")
	expect(4)
	expect(0, "R-1.1+0", "R-2.2+0")
	if _, version := f.gather(0); version != 4 {
		t.Errorf("version %d, want 4", version)
	}
	_, err := f.s.Rules.Changes(f.ctx, "none", 0, func(store.RuleState) error { return nil })
	code(t, "changes of no project", err, rule.CodeNotFound)
}

func testChangesError(t *testing.T, f *fixture) {
	rules := make([]rule.Rule, 3000)
	for i := range rules {
		rules[i] = newRule(i, nil)
	}
	f.insert(rules...)
	stop := errors.New("stop")
	for _, in := range []func(func(store.RuleReader) error) error{
		func(read func(store.RuleReader) error) error { return read(f.s.Rules) },
		func(read func(store.RuleReader) error) error {
			return f.s.Update(f.ctx, func(tx store.Tx) error { return read(tx.Rules) })
		},
	} {
		seen := 0
		err := in(func(r store.RuleReader) error {
			_, err := r.Changes(f.ctx, "p", 0, func(store.RuleState) error {
				if seen++; seen == 700 {
					return stop
				}
				return nil
			})
			return err
		})
		if !errors.Is(err, stop) || seen != 700 {
			t.Errorf("stopped after %d with %v, want 700 and the callback's error", seen, err)
		}
	}
}

func testRelationships(t *testing.T, f *fixture) {
	f.insert(newRule(1, nil), newRule(2, nil), newRule(3, nil))
	rel := rule.Relationship{
		ID: newRule(7, nil).ID, FromID: newRule(1, nil).ID, ToID: newRule(2, nil).ID, Kind: rule.Overrides, AllowWeakening: true,
		Reason: "newer", CreatedAt: at, CreatedBy: "ann",
	}
	f.update(func(tx store.Tx) error { return tx.Rules.InsertRelationship(f.ctx, "p", 2, rel) })
	again := rel
	again.ID = newRule(8, nil).ID
	f.fails(rule.CodeConflict, func(tx store.Tx) error { return tx.Rules.InsertRelationship(f.ctx, "p", 2, again) })
	again.ToID = newRule(9, nil).ID
	f.fails(rule.CodeNotFound, func(tx store.Tx) error { return tx.Rules.InsertRelationship(f.ctx, "p", 2, again) })
	for _, id := range []string{rel.FromID, rel.ToID} {
		list, err := f.s.Rules.Relationships(f.ctx, "p", id)
		if diff := cmp.Diff([]rule.Relationship{rel}, list); err != nil || diff != "" {
			t.Errorf("relationships of %s: %v (-want +got):\n%s", id, err, diff)
		}
	}
	f.fails(rule.CodeNotFound, func(tx store.Tx) error { return tx.Rules.DeleteRelationship(f.ctx, "p", 3, newRule(3, nil).ID, rel.ID) })
	f.update(func(tx store.Tx) error { return tx.Rules.DeleteRelationship(f.ctx, "p", 3, rel.ToID, rel.ID) })
	f.fails(rule.CodeNotFound, func(tx store.Tx) error { return tx.Rules.DeleteRelationship(f.ctx, "p", 3, rel.ToID, rel.ID) })
}

func testManyRules(t *testing.T, f *fixture) {
	rules := make([]rule.Rule, 2500)
	refs := make([]string, len(rules))
	for i := range rules {
		rules[i] = newRule(i, nil)
		refs[i] = rules[i].Slug
	}
	f.insert(rules...)
	for i := range rules {
		rules[i] = next(rules[i], func(r *rule.Rule) { r.Statement += "!" })
	}
	if err := f.change(rules...); err != nil {
		t.Fatal(err)
	}
	found, err := f.s.Rules.GetMany(f.ctx, "p", refs)
	if err != nil || len(found) != len(rules) || found["R-2400"].Statement != "Statement 2400.!" {
		t.Errorf("found %d rules, %v; want %d, all changed", len(found), err, len(rules))
	}
}
