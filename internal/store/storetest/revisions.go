package storetest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

func testRevisions(t *testing.T, f *fixture) {
	first, second := newRule(1, nil), newRule(2, nil)
	f.insert(first, second)
	propose := func(r rule.Rule, author string, after time.Duration, rels []wire.RelationshipInput) store.Revision {
		t.Helper()
		next := next(r, func(r *rule.Rule) { r.Statement = "Proposed by " + author + "." })
		v := store.Revision{
			ProjectID: "p", Rule: next, Relationships: rels,
			Revision: rule.Revision{
				RuleID: r.ID, Slug: r.Slug, State: rule.RevisionPending, BaseVersion: 1, Severity: rule.High, Author: author, At: at.Add(after), Note: "why",
				Changes: rule.Diff(r, next), Weakens: []string{"a narrower scope"},
			},
		}
		f.update(func(tx store.Tx) (err error) { v.Number, err = tx.Revisions.Insert(f.ctx, v); return err })
		return v
	}
	list := func(filter store.RevisionFilter, want ...store.Revision) {
		t.Helper()
		got, total, err := f.s.Revisions.List(f.ctx, "p", filter, 0, 10)
		if diff := cmp.Diff(append([]store.Revision{}, want...), got); err != nil || total != len(want) || diff != "" {
			t.Errorf("%+v: %d, %v (-want +got):\n%s", filter, total, err, diff)
		}
	}
	late := propose(first, "ann", time.Hour, nil)
	early := propose(second, "bob", time.Minute, []wire.RelationshipInput{})
	other := propose(first, "bob", 2*time.Hour, []wire.RelationshipInput{{Kind: rule.Refines, To: "R-2", Reason: "because"}})
	if late.Number != 1 || early.Number != 1 || other.Number != 2 {
		t.Errorf("the revisions have the numbers %d, %d and %d", late.Number, early.Number, other.Number)
	}
	list(store.RevisionFilter{}, early, late, other)
	list(store.RevisionFilter{RuleIDs: []string{first.ID}}, late, other)
	list(store.RevisionFilter{RuleIDs: []string{}})
	list(store.RevisionFilter{Author: "bob"}, early, other)
	page, total, err := f.s.Revisions.List(f.ctx, "p", store.RevisionFilter{}, 1, 1)
	if err != nil || total != 3 || cmp.Diff([]store.Revision{late}, page) != "" {
		t.Errorf("a page: %d, %v\n%s", total, err, cmp.Diff([]store.Revision{late}, page))
	}

	when := at.Add(3 * time.Hour)
	late.State, late.DecidedAt, late.DecidedBy, late.Decision, late.Version = rule.RevisionApproved, &when, "cy", "fine", 2
	f.update(func(tx store.Tx) error { return tx.Revisions.Decide(f.ctx, late) })
	if got, err := f.s.Revisions.Get(f.ctx, "p", first.ID, 1); err != nil || cmp.Diff(late, got) != "" {
		t.Errorf("approved: %v\n%s", err, cmp.Diff(late, got))
	}
	f.fails(rule.CodeConflict, func(tx store.Tx) error { return tx.Revisions.Decide(f.ctx, late) })
	list(store.RevisionFilter{State: rule.RevisionPending}, early, other)
	list(store.RevisionFilter{State: rule.RevisionApproved}, late)
	if again := propose(first, "ann", 4*time.Hour, nil); again.Number != 3 {
		t.Errorf("number %d is used twice", again.Number)
	}

	missing := late
	missing.Number = 9
	f.fails(rule.CodeNotFound, func(tx store.Tx) error { return tx.Revisions.Decide(f.ctx, missing) })
	f.fails(rule.CodeNotFound, func(tx store.Tx) error {
		missing.RuleID = newRule(9, nil).ID
		_, err := tx.Revisions.Insert(f.ctx, missing)
		return err
	})
	_, err = f.s.Revisions.Get(f.ctx, "q", first.ID, 1)
	code(t, "another project's", err, rule.CodeNotFound)
}
