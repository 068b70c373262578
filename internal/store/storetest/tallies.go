package storetest

import (
	"testing"

	"tenet/internal/rule"
	"tenet/internal/store"
)

func testTallies(t *testing.T, f *fixture) {
	tally := func() store.Tally {
		t.Helper()
		got, err := f.s.Rules.Tally(f.ctx, "p")
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	empty := tally()
	if empty.Rules != 0 {
		t.Errorf("a new project: %+v", empty)
	}
	f.insert(newRule(1, nil), newRule(2, nil))
	two := tally()
	if two.Rules != 2 || two.Version != 1 || two.Digest == empty.Digest {
		t.Errorf("two rules: %+v", two)
	}
	f.insert(newRule(3, nil))
	retired := next(newRule(3, nil), func(r *rule.Rule) { r.Status = rule.Retired })
	if err := f.change(retired, next(newRule(1, nil), func(r *rule.Rule) { r.Statement = "Another." })); err != nil {
		t.Fatal(err)
	}
	changed := tally()
	if changed.Rules != 3 || changed.Version != 3 || changed.Digest == two.Digest {
		t.Errorf("three rules: %+v", changed)
	}
	if _, err := f.s.Rules.Changes(f.ctx, "p", 0, func(store.RuleState) error { return nil }); err != nil {
		t.Errorf("rules as they were written: %v", err)
	}
	f.fails(rule.CodeConflict, func(tx store.Tx) error {
		cv, err := tx.Projects.RaiseCorpus(f.ctx, "p")
		if err != nil {
			return err
		}
		return tx.Rules.Insert(f.ctx, cv, []rule.Rule{newRule(1, nil)})
	})
	if got := tally(); got != changed {
		t.Errorf("a refused change counts: %+v, not %+v", got, changed)
	}
	// Counting again finds the same.
	f.update(func(tx store.Tx) error {
		got, err := tx.Rules.Recount(f.ctx, "p", changed.Version)
		if got != changed {
			t.Errorf("counted again: %+v, not %+v", got, changed)
		}
		return err
	})
	_, err := f.s.Rules.Tally(f.ctx, "none")
	code(t, "an unknown project", err, rule.CodeNotFound)
}
