package storetest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/rule"
	"tenet/internal/store"
)

func testWaivers(t *testing.T, f *fixture) {
	r := newRule(1, nil)
	f.insert(r)
	one := rule.Waiver{
		ID: newRule(11, nil).ID, ProjectID: "p", RuleID: r.ID, Severity: rule.Critical, Fingerprint: "f", Repository: "acme/billing", Reason: "because\nit is so", Approver: "bo",
		ExpiresAt: at.Add(time.Hour), CreatedAt: at, CreatedBy: "ann",
	}
	two := one
	two.ID, two.RuleID, two.ExpiresAt, two.CreatedAt = newRule(12, nil).ID, newRule(2, nil).ID, at.Add(time.Minute), at.Add(time.Second)
	f.update(func(tx store.Tx) error {
		if err := tx.Waivers.Insert(f.ctx, one); err != nil {
			return err
		}
		return tx.Waivers.Insert(f.ctx, two)
	})
	f.fails(rule.CodeConflict, func(tx store.Tx) error { return tx.Waivers.Insert(f.ctx, one) })
	live := func(now time.Time, want ...rule.Waiver) {
		t.Helper()
		got, err := f.s.Waivers.ListLive(f.ctx, "p", now)
		if diff := cmp.Diff(append([]rule.Waiver{}, want...), got); err != nil || diff != "" {
			t.Errorf("live waivers: %v (-want +got):\n%s", err, diff)
		}
	}
	live(at, two, one)
	live(two.ExpiresAt, one)
	within := func(made bool, from, until time.Time, limit, total int, want ...rule.Waiver) {
		t.Helper()
		got, n, err := f.s.Waivers.Within(f.ctx, store.WaiverSpan{ProjectID: "p", Made: made, From: from, Until: until, Limit: limit})
		if diff := cmp.Diff(append([]rule.Waiver{}, want...), got); err != nil || n != total || diff != "" {
			t.Errorf("waivers of a span: %d, %v (-want +got):\n%s", n, err, diff)
		}
	}
	within(true, at, at.Add(time.Second), 9, 1, one)
	within(true, at, at.Add(time.Hour), 1, 2, one)
	within(false, two.ExpiresAt, one.ExpiresAt, 9, 1, two)
	within(false, two.ExpiresAt, one.ExpiresAt.Add(1), 9, 1, two)
	within(false, two.ExpiresAt, one.ExpiresAt.Add(time.Second), 9, 2, two, one)
	if rest, n, err := f.s.Waivers.Within(f.ctx, store.WaiverSpan{ProjectID: "p", From: two.ExpiresAt, Until: one.ExpiresAt.Add(time.Second), Offset: 1, Limit: 9}); err != nil || n != 2 || len(rest) != 1 || rest[0].ID != one.ID {
		t.Errorf("the second page of a span: %v, %d, %v", rest, n, err)
	}
	page, total, err := f.s.Waivers.List(f.ctx, "p", "", 1, 1)
	if diff := cmp.Diff([]rule.Waiver{one}, page); err != nil || total != 2 || diff != "" {
		t.Errorf("%d waivers, %v (-want +got):\n%s", total, err, diff)
	}
	if page, total, err = f.s.Waivers.List(f.ctx, "p", two.RuleID, 0, 10); err != nil || total != 1 || len(page) != 1 || page[0].ID != two.ID {
		t.Errorf("of a rule: %v, %d, %v", page, total, err)
	}
	when := at.Add(time.Second)
	one.ApprovedAt, one.ApprovedBy = &when, "bo"
	f.update(func(tx store.Tx) error { return tx.Waivers.Mark(f.ctx, one) })
	if got, err := f.s.Waivers.Get(f.ctx, "p", one.ID); err != nil || cmp.Diff(one, got) != "" {
		t.Errorf("approved: %v\n%s", err, cmp.Diff(one, got))
	}
	one.RevokedAt, one.RevokedBy = &when, "cy"
	f.update(func(tx store.Tx) error { return tx.Waivers.Mark(f.ctx, one) })
	live(at, two)
	within(false, at, one.ExpiresAt.Add(time.Second), 9, 1, two)
	within(true, at, at.Add(time.Second), 9, 1, one)
	one.ProjectID = "q"
	f.fails(rule.CodeNotFound, func(tx store.Tx) error { return tx.Waivers.Mark(f.ctx, one) })
	_, err = f.s.Waivers.Get(f.ctx, "q", one.ID)
	code(t, "another project's", err, rule.CodeNotFound)
}
