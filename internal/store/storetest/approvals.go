package storetest

import (
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/rule"
	"tenet/internal/store"
)

func newApproval(n int, change func(*store.ApprovalRecord)) store.ApprovalRecord {
	a := store.ApprovalRecord{LinkKey: "key", Approval: rule.Approval{
		ID: newRule(100+n, nil).ID, ProjectID: "p", State: rule.ApprovalPending, EvaluationID: newRule(200+n, nil).ID, Title: "drop\nthe table", SubjectHash: "h",
		Repository: "acme/billing", Scope: "finance/payments", Requester: "key:ci", Agent: "claude-code", Person: "corp:ann", Session: "s-1", Severity: rule.High, Uses: 1, Quorum: 1, Role: "reviewer",
		Rules:     []rule.ApprovalRule{{RuleID: newRule(1, nil).ID, Version: 1, ContentHash: "c", Statement: "Ask.", Severity: rule.High, Why: "because"}},
		Decisions: []rule.ApprovalDecision{}, ExpiresAt: at.Add(time.Hour), CreatedAt: at.Add(time.Duration(n) * time.Second), Revision: 1,
	}}
	if change != nil {
		change(&a)
	}
	return a
}

func testApprovals(t *testing.T, f *fixture) {
	one := newApproval(1, nil)
	two := newApproval(2, func(a *store.ApprovalRecord) {
		escalate := at.Add(10 * time.Minute)
		a.Requester, a.SubjectHash, a.Scope, a.Severity, a.EscalateAt = "key:bot", "other", "finance", rule.Critical, &escalate
		a.Agent, a.Person, a.Session, a.Repository, a.Rules, a.ExpiresAt = "", "corp:bo", "s-2", "", nil, at.Add(2*time.Hour)
		a.Rules = []rule.ApprovalRule{}
	})
	f.update(func(tx store.Tx) error {
		if err := tx.Approvals.Insert(f.ctx, one); err != nil {
			return err
		}
		return tx.Approvals.Insert(f.ctx, two)
	})
	f.fails(rule.CodeConflict, func(tx store.Tx) error { return tx.Approvals.Insert(f.ctx, one) })
	f.fails(rule.CodeNotFound, func(tx store.Tx) error {
		return tx.Approvals.Insert(f.ctx, newApproval(3, func(a *store.ApprovalRecord) { a.ProjectID = "q" }))
	})
	if got, err := f.s.Approvals.Get(f.ctx, "p", one.ID); err != nil || cmp.Diff(one, got) != "" {
		t.Errorf("read: %v\n%s", err, cmp.Diff(one, got))
	}
	_, err := f.s.Approvals.Get(f.ctx, "q", one.ID)
	code(t, "another project's", err, rule.CodeNotFound)

	early, late := one.CreatedAt, two.CreatedAt
	for name, tt := range map[string]struct {
		filter store.ApprovalFilter
		want   []string
		total  int
	}{
		"all":                  {store.ApprovalFilter{}, []string{two.ID, one.ID}, 2},
		"first":                {store.ApprovalFilter{Limit: 1}, []string{two.ID}, 2},
		"second":               {store.ApprovalFilter{Limit: 1, Offset: 1}, []string{one.ID}, 2},
		"behind the first":     {store.ApprovalFilter{Before: two.ID}, []string{one.ID}, 2},
		"requester":            {store.ApprovalFilter{Requester: "key:bot"}, []string{two.ID}, 1},
		"rule":                 {store.ApprovalFilter{RuleID: one.Rules[0].RuleID}, []string{one.ID}, 1},
		"evaluation":           {store.ApprovalFilter{EvaluationID: one.EvaluationID}, []string{one.ID}, 1},
		"repository":           {store.ApprovalFilter{Repository: "acme/billing"}, []string{one.ID}, 1},
		"agent":                {store.ApprovalFilter{Agent: "claude-code"}, []string{one.ID}, 1},
		"person":               {store.ApprovalFilter{Person: "corp:ann"}, []string{one.ID}, 1},
		"session":              {store.ApprovalFilter{Session: "s-2"}, []string{two.ID}, 1},
		"scope":                {store.ApprovalFilter{Scope: "finance"}, []string{two.ID, one.ID}, 2},
		"scope below":          {store.ApprovalFilter{Scope: "finance/payments"}, []string{one.ID}, 1},
		"part of a scope":      {store.ApprovalFilter{Scope: "fin"}, nil, 0},
		"severities":           {store.ApprovalFilter{Severities: []rule.Severity{rule.Critical}}, []string{two.ID}, 1},
		"since":                {store.ApprovalFilter{Since: &late}, []string{two.ID}, 1},
		"until":                {store.ApprovalFilter{Since: &early, Until: &late}, []string{one.ID}, 1},
		"pending":              {store.ApprovalFilter{States: []rule.ApprovalState{rule.ApprovalPending}, Now: at}, []string{two.ID, one.ID}, 2},
		"pending for long":     {store.ApprovalFilter{States: []rule.ApprovalState{rule.ApprovalPending}, Now: one.ExpiresAt}, []string{two.ID}, 1},
		"rejected, not stored": {store.ApprovalFilter{States: []rule.ApprovalState{rule.ApprovalRejected}, Now: one.ExpiresAt}, []string{one.ID}, 1},
		"none has expired":     {store.ApprovalFilter{States: []rule.ApprovalState{rule.ApprovalExpired}, Now: one.ExpiresAt}, nil, 0},
		"used":                 {store.ApprovalFilter{States: []rule.ApprovalState{rule.ApprovalUsed}}, nil, 0},
		"pending or withdrawn": {store.ApprovalFilter{States: []rule.ApprovalState{rule.ApprovalPending, rule.ApprovalWithdrawn}, Now: at}, []string{two.ID, one.ID}, 2},
		"another project":      {store.ApprovalFilter{ProjectID: "q"}, nil, 0},
	} {
		if tt.filter.ProjectID == "" {
			tt.filter.ProjectID = "p"
		}
		if tt.filter.Limit == 0 {
			tt.filter.Limit = 10
		}
		list, total, err := f.s.Approvals.Find(f.ctx, tt.filter)
		if got := approvalIDs(list); err != nil || total != tt.total || cmp.Diff(tt.want, got) != "" {
			t.Errorf("%s: %v of %d, want %v of %d, %v", name, got, total, tt.want, tt.total, err)
		}
	}

	open := func(hash string, want ...string) {
		t.Helper()
		if list, err := f.s.Approvals.Open(f.ctx, "p", hash); err != nil || cmp.Diff(want, approvalIDs(list)) != "" {
			t.Errorf("open with %s: %v, want %v, %v", hash, approvalIDs(list), want, err)
		}
	}
	due := func(now time.Time, want ...string) {
		t.Helper()
		if list, err := f.s.Approvals.Due(f.ctx, now, 10); err != nil || cmp.Diff(want, approvalIDs(list)) != "" {
			t.Errorf("due at %s: %v, want %v, %v", now, approvalIDs(list), want, err)
		}
	}
	open("h", one.ID)
	due(at)
	due(*two.EscalateAt, two.ID)
	due(one.ExpiresAt, two.ID, one.ID)

	until := at.Add(3 * time.Hour)
	one.State, one.ValidUntil, one.Revision = rule.ApprovalApproved, &until, 2
	two.Escalated, two.Revision = true, 2
	f.update(func(tx store.Tx) error {
		if err := tx.Approvals.Update(f.ctx, one); err != nil {
			return err
		}
		return tx.Approvals.Update(f.ctx, two)
	})
	f.fails(rule.CodeConflict, func(tx store.Tx) error { return tx.Approvals.Update(f.ctx, one) })
	f.update(func(tx store.Tx) error { return tx.Approvals.Hold(f.ctx, "p", one.ID) })
	f.fails(rule.CodeNotFound, func(tx store.Tx) error { return tx.Approvals.Hold(f.ctx, "q", one.ID) })
	due(*two.EscalateAt)
	due(until, two.ID, one.ID)
	expired := store.ApprovalFilter{ProjectID: "p", States: []rule.ApprovalState{rule.ApprovalExpired}, Now: until, Limit: 10}
	if list, _, err := f.s.Approvals.Find(f.ctx, expired); err != nil || cmp.Diff([]string{one.ID}, approvalIDs(list)) != "" {
		t.Errorf("expired: %v, %v", approvalIDs(list), err)
	}
	open("h", one.ID)
	revisions, err := f.s.Approvals.Revisions(f.ctx, "p", []string{one.ID, two.ID, newRule(9, nil).ID})
	if diff := cmp.Diff(map[string]int{one.ID: 2, two.ID: 2}, revisions); err != nil || diff != "" {
		t.Errorf("revisions: %v\n%s", err, diff)
	}
	one.State, one.Revision = rule.ApprovalUsed, 3
	f.update(func(tx store.Tx) error { return tx.Approvals.Update(f.ctx, one) })
	open("h")
	due(until, two.ID)
}

func approvalIDs(list []store.ApprovalRecord) (ids []string) {
	for i := range list {
		ids = append(ids, list[i].ID)
	}
	return ids
}

// testRaceApprovals lets transactions race to decide on one approval.
func testRaceApprovals(t *testing.T, f *fixture) {
	a := newApproval(1, nil)
	f.update(func(tx store.Tx) error { return tx.Approvals.Insert(f.ctx, a) })
	const racers = 20
	var wg sync.WaitGroup
	won := make([]bool, racers)
	for i := range racers {
		wg.Go(func() {
			err := f.s.Update(f.ctx, func(tx store.Tx) error {
				won[i] = false
				now, err := tx.Approvals.Get(f.ctx, "p", a.ID)
				if err != nil || now.State != rule.ApprovalPending {
					return err
				}
				now.State, now.DecidedBy, now.Revision = rule.ApprovalRejected, string(rune('a'+i)), now.Revision+1
				won[i] = true
				return tx.Approvals.Update(f.ctx, now)
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	winners := 0
	for i := range won {
		if won[i] {
			winners++
		}
	}
	if winners != 1 {
		t.Errorf("%d transactions have decided", winners)
	}
}
