package storetest

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/rule"
	"tenet/internal/store"
)

func newAlert(n int, t rule.AlertType, ruleID string) rule.Alert {
	return rule.Alert{
		ID: newRule(n, nil).ID, ProjectID: "p", Type: t, Status: rule.AlertActive, RuleID: ruleID, Message: "Something is wrong.",
		Metadata: map[string]any{"deny_rate": 0.5}, CreatedAt: at.Add(time.Duration(n) * time.Second),
	}
}

// insertAlert stores an alert and checks whether it was new.
func (f *fixture) insertAlert(a rule.Alert, want bool) {
	f.t.Helper()
	f.update(func(tx store.Tx) error {
		made, err := tx.Alerts.Insert(f.ctx, a)
		if made != want {
			f.t.Errorf("alert %s made: %v, want %v (%v)", a.ID, made, want, err)
		}
		return err
	})
}

func testAlerts(t *testing.T, f *fixture) {
	f.update(func(tx store.Tx) error { return tx.Projects.Create(f.ctx, project("q")) })
	one, two := newRule(1, nil), newRule(2, nil)
	f.insert(one, two)
	acted := []rule.ActedBy{
		{Actor: "key:ci", Identity: rule.Identity{Agent: "Claude-Code", Person: "corp:Ann@example.com", Session: "S1", Client: "wrapper", Claimed: []string{"session", "client"}}, Evaluations: 3, EvaluationID: "e3", At: at},
		{Actor: "key:ci", Identity: rule.Identity{Agent: "claude-code", Person: "bo"}, Evaluations: 1, EvaluationID: "e1", At: at.Add(-time.Hour)},
	}
	denied, dormant, other := newAlert(11, rule.HighDenyRate, one.ID), newAlert(12, rule.DormantRule, one.ID), newAlert(13, rule.HighDenyRate, two.ID)
	other.Acted = acted
	for _, a := range []rule.Alert{denied, dormant, other} {
		f.insertAlert(a, true)
	}
	f.insertAlert(newAlert(14, rule.HighDenyRate, one.ID), false)
	if err := f.s.Update(f.ctx, func(tx store.Tx) error {
		_, err := tx.Alerts.Insert(f.ctx, newAlert(15, rule.HighDenyRate, newRule(99, nil).ID))
		return err
	}); err == nil {
		t.Error("an alert about no rule was stored")
	}

	list := func(about string, filter store.AlertFilter, total int, want ...rule.Alert) {
		t.Helper()
		got, n, err := f.s.Alerts.Find(f.ctx, filter)
		if diff := cmp.Diff(append([]rule.Alert{}, want...), got); err != nil || n != total || diff != "" {
			t.Errorf("%s: %d alerts, want %d, %v (-want +got):\n%s", about, n, total, err, diff)
		}
	}
	list("all", store.AlertFilter{ProjectID: "p", Limit: 10}, 3, other, dormant, denied)
	list("a page", store.AlertFilter{ProjectID: "p", Offset: 1, Limit: 1}, 3, dormant)
	list("another project", store.AlertFilter{ProjectID: "q", Limit: 10}, 0)
	list("one type", store.AlertFilter{ProjectID: "p", Type: rule.DormantRule, Limit: 10}, 1, dormant)
	list("one rule", store.AlertFilter{ProjectID: "p", RuleID: two.ID, Limit: 10}, 1, other)
	list("an agent", store.AlertFilter{ProjectID: "p", Agent: "CLAUDE-code", Limit: 10}, 1, other)
	list("the name that an agent gives itself", store.AlertFilter{ProjectID: "p", Agent: "wrapper", Limit: 10}, 1, other)
	list("a person", store.AlertFilter{ProjectID: "p", Person: "corp:ann@example.com", Session: "s1", Limit: 10}, 1, other)
	list("a person without the provider", store.AlertFilter{ProjectID: "p", Person: "ann@example.com", Limit: 10}, 1, other)
	list("an agent as a person", store.AlertFilter{ProjectID: "p", Person: "claude-code", Limit: 10}, 0)
	list("another person", store.AlertFilter{ProjectID: "p", Agent: "claude-code", Person: "cy", Limit: 10}, 0)

	silent := newAlert(17, rule.EdgeSilent, "")
	silent.Edge = "e1"
	f.insertAlert(silent, true)
	again := silent
	again.ID = newAlert(18, rule.EdgeSilent, "").ID
	f.insertAlert(again, false)
	list("one edge", store.AlertFilter{ProjectID: "p", Type: rule.EdgeSilent, Edge: "e1", Limit: 10}, 1, silent)
	list("a rule by the filter of edges", store.AlertFilter{ProjectID: "p", Edge: one.ID, Limit: 10}, 0)
	if got, err := f.s.Alerts.ListOpen(f.ctx, "p", rule.EdgeSilent, nil); err != nil || cmp.Diff([]rule.Alert{silent}, got) != "" {
		t.Errorf("open alerts about edges: %v, %v", got, err)
	}
	f.fails(rule.CodeInvalid, func(tx store.Tx) error {
		_, err := tx.Alerts.Insert(f.ctx, newAlert(19, rule.EdgeSilent, ""))
		return err
	})

	end := at.Add(time.Hour)
	denied.Status, denied.AcknowledgedAt, denied.AcknowledgedBy = rule.AlertDone, &end, "ann"
	denied.ResolvedAt, denied.ResolvedBy, denied.ResolutionNote = &end, "ann", "done"
	other.Status, other.ResolvedAt, other.ResolvedBy = rule.AlertDone, &end, "system"
	f.update(func(tx store.Tx) error {
		if err := tx.Alerts.Update(f.ctx, denied); err != nil {
			return err
		}
		return tx.Alerts.Update(f.ctx, other)
	})
	if got, err := f.s.Alerts.Get(f.ctx, "p", denied.ID); err != nil || cmp.Diff(denied, got) != "" {
		t.Errorf("resolved: %v, %v", got, err)
	}
	list("by status", store.AlertFilter{ProjectID: "p", Status: rule.AlertDone, Limit: 10}, 2, other, denied)
	_, err := f.s.Alerts.Get(f.ctx, "q", denied.ID)
	code(t, "an alert of another project", err, rule.CodeNotFound)
	stray := denied
	stray.ProjectID = "q"
	f.fails(rule.CodeNotFound, func(tx store.Tx) error { return tx.Alerts.Update(f.ctx, stray) })

	for _, tt := range []struct {
		kind rule.AlertType
		ids  []string
		want []rule.Alert
	}{
		{rule.DormantRule, nil, []rule.Alert{dormant}},
		{rule.DormantRule, []string{one.ID}, []rule.Alert{dormant}},
		{rule.DormantRule, []string{two.ID}, []rule.Alert{}},
		{rule.DormantRule, []string{}, []rule.Alert{}},
		{rule.HighDenyRate, nil, []rule.Alert{}},
	} {
		if got, err := f.s.Alerts.ListOpen(f.ctx, "p", tt.kind, tt.ids); err != nil || cmp.Diff(tt.want, got) != "" {
			t.Errorf("open %s of %v: %v, %v", tt.kind, tt.ids, got, err)
		}
	}
	for since, want := range map[time.Time][]string{end: {one.ID}, end.Add(time.Microsecond): {}} {
		got, err := f.s.Alerts.ResolvedRules(f.ctx, "p", rule.HighDenyRate, since, "system")
		if err != nil || cmp.Diff(want, got) != "" {
			t.Errorf("resolved by people since %v: %v, %v, want %v", since, got, err, want)
		}
	}
	counts := []store.AlertCount{
		{Status: rule.AlertActive, Type: rule.DormantRule, Count: 1}, {Status: rule.AlertActive, Type: rule.EdgeSilent, Count: 1}, {Status: rule.AlertDone, Type: rule.HighDenyRate, Count: 2},
	}
	for project, want := range map[string][]store.AlertCount{"p": counts, "q": {}, store.AllProjects: counts} {
		if got, err := f.s.Alerts.Count(f.ctx, project); err != nil || cmp.Diff(want, got) != "" {
			t.Errorf("counts of %s: %v, %v, want %v", project, got, err, want)
		}
	}
	f.insertAlert(newAlert(16, rule.HighDenyRate, one.ID), true) // the one before is resolved

	many := newAlert(20, rule.HealthDecline, two.ID)
	for range rule.MaxActed + 5 {
		many.Acted = append(many.Acted, acted[1])
	}
	f.insertAlert(many, true)
	if got, err := f.s.Alerts.Get(f.ctx, "p", many.ID); err != nil || len(got.Acted) != rule.MaxActed {
		t.Errorf("%d who acted are stored, want %d (%v)", len(got.Acted), rule.MaxActed, err)
	}
}

func testRaceAlerts(t *testing.T, f *fixture) {
	r := newRule(1, nil)
	f.insert(r)
	handles := f.both(t)
	var made atomic.Int64
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			first := false
			err := handles[i%2].Update(f.ctx, func(tx store.Tx) (err error) {
				first, err = tx.Alerts.Insert(f.ctx, newAlert(100+i, rule.HighDenyRate, r.ID))
				return err
			})
			if err != nil {
				t.Errorf("transaction %d: %v", i, err)
			} else if first {
				made.Add(1)
			}
		})
	}
	wg.Wait()
	list, total, err := f.s.Alerts.Find(f.ctx, store.AlertFilter{ProjectID: "p", Limit: 10})
	if made.Load() != 1 || total != 1 || len(list) != 1 || err != nil {
		t.Errorf("%d of 64 have made an alert, and %d are stored (%v); want 1", made.Load(), total, err)
	}
}
