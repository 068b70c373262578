package storetest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/rule"
	"tenet/internal/store"
)

func newConflict(id int, ruleID, otherID string) store.Conflict {
	return store.Conflict{
		ProjectID: "p", ID: newRule(id, nil).ID, RuleID: ruleID, OtherID: otherID, State: store.ConflictSuggested, FoundBy: "force",
		Reason: "one demands what the other forbids", Confidence: .95, RuleHash: "a", OtherHash: "b", DetectedAt: at,
	}
}

func testConflicts(t *testing.T, f *fixture) {
	one, two, three := newRule(1, nil), newRule(2, nil), newRule(3, nil)
	f.insert(one, two, three)
	first, second := newConflict(11, two.ID, one.ID), newConflict(12, one.ID, three.ID)
	second.DetectedAt = at.Add(time.Second)
	f.update(func(tx store.Tx) error {
		if err := tx.Conflicts.Insert(f.ctx, first); err != nil {
			return err
		}
		return tx.Conflicts.Insert(f.ctx, second)
	})
	for _, again := range []store.Conflict{newConflict(13, one.ID, two.ID), newConflict(14, two.ID, one.ID), newConflict(11, two.ID, three.ID)} {
		f.fails(rule.CodeConflict, func(tx store.Tx) error { return tx.Conflicts.Insert(f.ctx, again) })
	}
	decided := at.Add(time.Hour)
	first.State, first.DecidedAt, first.DecidedBy, first.Note, first.RelationshipID = store.ConflictRejected, &decided, "ann", "they do not", "r"
	first.RuleID, first.OtherID, first.RuleHash, first.Confidence, first.Reason, first.FoundBy = one.ID, two.ID, "c", .5, "because", "model"
	f.update(func(tx store.Tx) error { return tx.Conflicts.Update(f.ctx, first) })
	elsewhere := first
	elsewhere.OtherID = three.ID // not the rules that it is between
	f.fails(rule.CodeNotFound, func(tx store.Tx) error { return tx.Conflicts.Update(f.ctx, elsewhere) })
	f.fails(rule.CodeNotFound, func(tx store.Tx) error { return tx.Conflicts.Update(f.ctx, newConflict(19, one.ID, two.ID)) })
	got, err := f.s.Conflicts.Get(f.ctx, "p", first.ID)
	if diff := cmp.Diff(first, got); err != nil || diff != "" {
		t.Errorf("conflict: %v (-want +got):\n%s", err, diff)
	}
	_, err = f.s.Conflicts.Get(f.ctx, "q", first.ID)
	code(t, "another project", err, rule.CodeNotFound)

	find := func(want []store.Conflict, total int, q store.ConflictFilter) {
		t.Helper()
		q.ProjectID = "p"
		got, n, err := f.s.Conflicts.Find(f.ctx, q)
		if diff := cmp.Diff(want, got); err != nil || diff != "" || n != total {
			t.Errorf("%+v: %d, %v (-want +got):\n%s", q, n, err, diff)
		}
	}
	find([]store.Conflict{second, first}, 2, store.ConflictFilter{Limit: 10})
	find([]store.Conflict{first}, 2, store.ConflictFilter{Limit: 1, Offset: 1})
	find([]store.Conflict{first}, 1, store.ConflictFilter{Limit: 10, States: []string{store.ConflictRejected}})
	find([]store.Conflict{second, first}, 2, store.ConflictFilter{Limit: 10, RuleID: one.ID, States: []string{store.ConflictRejected, store.ConflictSuggested}})
	find([]store.Conflict{second}, 1, store.ConflictFilter{Limit: 10, RuleID: three.ID})
	find([]store.Conflict{first}, 1, store.ConflictFilter{Limit: 10, FoundBy: "model"})
	find([]store.Conflict{second}, 1, store.ConflictFilter{Limit: 10, MinConfidence: .9})
	find([]store.Conflict{second}, 1, store.ConflictFilter{Limit: 10, IDs: []string{second.ID, "none"}})
	find([]store.Conflict{}, 0, store.ConflictFilter{Limit: 10, IDs: []string{}})
	pairs, err := f.s.Conflicts.Pairs(f.ctx, store.ConflictFilter{ProjectID: "p", FoundBy: "model", Limit: 1, Offset: 5})
	if diff := cmp.Diff([]store.Conflict{{ID: first.ID, RuleID: one.ID, OtherID: two.ID, Reason: "because"}}, pairs); err != nil || diff != "" {
		t.Errorf("pairs: %v (-want +got):\n%s", err, diff)
	}
	of, err := f.s.Conflicts.OfRules(f.ctx, "p", []string{two.ID, three.ID, "none"})
	if diff := cmp.Diff([]store.Conflict{first, second}, of); err != nil || diff != "" {
		t.Errorf("of two rules: %v (-want +got):\n%s", err, diff)
	}
}

func testConflictWalks(t *testing.T, f *fixture) {
	look := func(name string, want store.ConflictWalk) {
		t.Helper()
		if got, err := f.s.Conflicts.Walk(f.ctx, "p", name); err != nil || got != want {
			t.Errorf("walk %s: %+v, %v; want %+v", name, got, err, want)
		}
	}
	look("changes", store.ConflictWalk{})
	for _, w := range []store.ConflictWalk{{Reached: 3, Toward: 9, LastID: "x"}, {Reached: 9}} {
		f.update(func(tx store.Tx) error { return tx.Conflicts.PutWalk(f.ctx, "p", "changes", w) })
		look("changes", w)
	}
	look("all", store.ConflictWalk{})
}
