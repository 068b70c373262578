package storetest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/rule"
	"tenet/internal/store"
)

func testTestCases(t *testing.T, f *fixture) {
	r, other := newRule(1, nil), newRule(2, nil)
	f.insert(r, other)
	one := store.TestCase{
		ProjectID: "p", RuleID: r.ID, ID: newRule(11, nil).ID, Name: "one", SampleInput: "eval(x)", InputType: "code", Expected: "DENY",
		Origin: "manual", Confirmed: true, CreatedAt: at, CreatedBy: "ann",
	}
	two, three := one, one
	two.ID, two.Name, two.Expected, two.Confirmed, two.CreatedAt = newRule(10, nil).ID, "two", "ALLOW", false, at.Add(time.Second)
	three.ID, three.RuleID = newRule(12, nil).ID, other.ID
	f.update(func(tx store.Tx) error { return tx.TestCases.Insert(f.ctx, []store.TestCase{one, two, three}) })
	f.fails(rule.CodeConflict, func(tx store.Tx) error { return tx.TestCases.Insert(f.ctx, []store.TestCase{one}) })
	list := func(want ...store.TestCase) {
		t.Helper()
		got, err := f.s.TestCases.List(f.ctx, "p", r.ID)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("test cases: %v (-want +got):\n%s", err, diff)
		}
	}
	list(one, two)
	run := at.Add(time.Minute)
	one.LastResult, one.LastReasoning, one.LastDecidedBy, one.LastModel, one.LastVersion, one.LastHash, one.LastRunAt = "DENY", "because", "model", "m", 3, "h", &run
	two.LastResult, two.LastHash, two.LastRunAt = "DENY", "h", &run
	gone := one
	gone.ID = newRule(99, nil).ID
	f.update(func(tx store.Tx) error { return tx.TestCases.PutResults(f.ctx, []store.TestCase{one, two, gone}) })
	list(one, two)
	counts, err := f.s.TestCases.Count(f.ctx, "p", []string{r.ID, other.ID, "none"})
	want := []store.TestCount{
		{RuleID: r.ID, LastHash: "h", Expected: "ALLOW", LastResult: "DENY", Total: 1, LastRunAt: &run},
		{RuleID: r.ID, LastHash: "h", Expected: "DENY", LastResult: "DENY", Confirmed: true, Total: 1, LastRunAt: &run},
		{RuleID: other.ID, Expected: "DENY", Confirmed: true, Total: 1},
	}
	if diff := cmp.Diff(want, counts); err != nil || diff != "" {
		t.Errorf("counts: %v (-want +got):\n%s", err, diff)
	}
	totals, err := f.s.TestCases.Totals(f.ctx, "p")
	if diff := cmp.Diff([]store.TestTotal{{RuleID: r.ID, Total: 2}, {RuleID: other.ID, Total: 1}}, totals); err != nil || diff != "" {
		t.Errorf("totals: %v (-want +got):\n%s", err, diff)
	}
	if totals, err := f.s.TestCases.Totals(f.ctx, "none"); err != nil || len(totals) != 0 {
		t.Errorf("totals of another project: %v, %v", totals, err)
	}
	changes := func() int64 {
		t.Helper()
		c, err := f.s.Health.FigureChanges(f.ctx, "p")
		if err != nil {
			t.Fatal(err)
		}
		return c.Tests
	}
	before := changes()
	three.Expected, three.ID, three.RuleID = "ALLOW", newRule(13, nil).ID, r.ID
	f.update(func(tx store.Tx) error {
		if got, err := tx.TestCases.Contradictory(f.ctx, "p", []string{other.ID}); err != nil || len(got) != 0 {
			t.Errorf("contradictory: %v, %v", got, err)
		}
		three.SampleInput = "other(x)" // all samples of the rule were the same so far
		return tx.TestCases.Insert(f.ctx, []store.TestCase{three})
	})
	if got, err := f.s.TestCases.Contradictory(f.ctx, "p", []string{r.ID, other.ID}); err != nil || len(got) != 1 || got[0] != r.ID {
		t.Errorf("contradictory: %v, %v; want the first rule", got, err)
	}
	inserted := changes()
	f.update(func(tx store.Tx) error { _, err := tx.TestCases.Delete(f.ctx, "p", r.ID, three.ID); return err })
	if deleted := changes(); inserted <= before || deleted <= inserted {
		t.Errorf("changes of test cases: %d before an insert, %d after it, %d after a deletion", before, inserted, deleted)
	}
	f.update(func(tx store.Tx) error {
		got, err := tx.TestCases.Confirm(f.ctx, "p", r.ID, two.ID)
		two.Confirmed = true
		if diff := cmp.Diff(two, got); diff != "" {
			t.Errorf("confirmed (-want +got):\n%s", diff)
		}
		if _, err := tx.TestCases.Delete(f.ctx, "p", r.ID, one.ID); err != nil {
			return err
		}
		return err
	})
	list(two)
	for _, id := range []string{one.ID, newRule(12, nil).ID} { // deleted before, and another rule's
		f.fails(rule.CodeNotFound, func(tx store.Tx) error { _, err := tx.TestCases.Delete(f.ctx, "p", r.ID, id); return err })
		f.fails(rule.CodeNotFound, func(tx store.Tx) error { _, err := tx.TestCases.Confirm(f.ctx, "p", r.ID, id); return err })
	}
}
