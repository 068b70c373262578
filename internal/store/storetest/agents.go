package storetest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/rule"
	"tenet/internal/store"
)

func testSeenAgents(t *testing.T, f *fixture) {
	see := func(list ...store.SeenAgent) {
		t.Helper()
		f.update(func(tx store.Tx) error { return tx.Agents.See(f.ctx, list) })
	}
	later := at.Add(time.Hour)
	see(
		store.SeenAgent{ProjectID: "p", Agent: "Claude", Person: "corp:Ann", Actor: "key:a", Session: "s2", FirstSeen: later, LastSeen: later, Evaluations: 2, Denied: 1},
		store.SeenAgent{ProjectID: "p", Agent: "bot", Actor: "key:b", Verified: true, FirstSeen: at, LastSeen: at, Evaluations: 1},
		store.SeenAgent{ProjectID: "q", Agent: "bot", Actor: "key:b", FirstSeen: at, LastSeen: at, Evaluations: 9},
	)
	see(store.SeenAgent{ProjectID: "p", Agent: "Claude", Person: "corp:Ann", Actor: "key:old", Session: "s1", Verified: true, FirstSeen: at, LastSeen: at, Evaluations: 3})
	claude := store.SeenAgent{ProjectID: "p", Agent: "Claude", Person: "corp:Ann", Actor: "key:a", Session: "s2", Verified: true, FirstSeen: at, LastSeen: later, Evaluations: 5, Denied: 1}
	bot := store.SeenAgent{ProjectID: "p", Agent: "bot", Actor: "key:b", Verified: true, FirstSeen: at, LastSeen: at, Evaluations: 1}
	for _, tt := range []struct {
		filter store.AgentFilter
		want   []store.SeenAgent
		total  int
	}{
		{store.AgentFilter{ProjectID: "p", Limit: 10}, []store.SeenAgent{claude, bot}, 2},
		{store.AgentFilter{ProjectID: "p", Limit: 1, Offset: 1}, []store.SeenAgent{bot}, 2},
		{store.AgentFilter{ProjectID: "p", Words: "CLAU", Limit: 10}, []store.SeenAgent{claude}, 1},
		{store.AgentFilter{ProjectID: "p", Words: "ann", Limit: 10}, []store.SeenAgent{claude}, 1},
		{store.AgentFilter{ProjectID: "p", Words: "%", Limit: 10}, nil, 0},
	} {
		got, total, err := f.s.Agents.Find(f.ctx, tt.filter)
		if len(got) == 0 {
			got = nil
		}
		if diff := cmp.Diff(tt.want, got); err != nil || total != tt.total || diff != "" {
			t.Errorf("%+v: total %d, %v (-want +got):\n%s", tt.filter, total, err, diff)
		}
	}
}

func testSuspensions(t *testing.T, f *fixture) {
	one := rule.Suspension{ID: "1", ProjectID: "p", Agent: "Claude", Reason: "it deleted a table", SuspendedAt: at, SuspendedBy: "ann"}
	all := rule.Suspension{ID: "2", ProjectID: store.AllProjects, Agent: "bot", Person: "corp:ann", Reason: "r", SuspendedAt: at.Add(time.Hour), SuspendedBy: "ann"}
	suspend := func(s rule.Suspension) { f.update(func(tx store.Tx) error { return tx.Agents.Suspend(f.ctx, s) }) }
	suspend(one)
	suspend(all)
	again := one
	again.ID, again.Agent = "3", "CLAUDE"
	f.fails(rule.CodeConflict, func(tx store.Tx) error { return tx.Agents.Suspend(f.ctx, again) })
	inForce := func(want ...rule.Suspension) {
		t.Helper()
		got, err := f.s.Agents.Suspended(f.ctx)
		if len(got) == 0 {
			got = nil
		}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("in force: %v (-want +got):\n%s", err, diff)
		}
	}
	inForce(all, one)
	lifted := at.Add(2 * time.Hour)
	f.fails(rule.CodeNotFound, func(tx store.Tx) error { _, err := tx.Agents.Lift(f.ctx, "q", "1", lifted, "bob", "fixed"); return err })
	f.update(func(tx store.Tx) error {
		got, err := tx.Agents.Lift(f.ctx, "p", "1", lifted, "bob", "fixed")
		one.LiftedAt, one.LiftedBy, one.LiftReason = &lifted, "bob", "fixed"
		if diff := cmp.Diff(one, got); diff != "" {
			t.Errorf("lifted (-want +got):\n%s", diff)
		}
		return err
	})
	f.fails(rule.CodeConflict, func(tx store.Tx) error { _, err := tx.Agents.Lift(f.ctx, "p", "1", lifted, "bob", "fixed"); return err })
	inForce(all)
	for _, tt := range []struct {
		filter store.SuspensionFilter
		want   []rule.Suspension
	}{
		{store.SuspensionFilter{ProjectID: "p", Limit: 10}, []rule.Suspension{all, one}},
		{store.SuspensionFilter{ProjectID: "p", InForce: true, Limit: 10}, []rule.Suspension{all}},
		{store.SuspensionFilter{ProjectID: store.AllProjects, Limit: 10}, []rule.Suspension{all}},
	} {
		got, total, err := f.s.Agents.Suspensions(f.ctx, tt.filter)
		if diff := cmp.Diff(tt.want, got); err != nil || total != len(tt.want) || diff != "" {
			t.Errorf("%+v: total %d, %v (-want +got):\n%s", tt.filter, total, err, diff)
		}
	}
	suspend(again) // the first one is lifted
}
