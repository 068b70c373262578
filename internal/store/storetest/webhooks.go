package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/rule"
	"tenet/internal/store"
)

const day = 24 * time.Hour

func webhookPolicy(n int, edit func(*store.WebhookPolicy)) store.WebhookPolicy {
	p := store.WebhookPolicy{
		ProjectID: "p", ID: fmt.Sprintf("00000000-0000-7000-9000-%012d", n), Name: fmt.Sprintf("policy %d", n), URL: "https://hooks.example/x?y=é",
		EventTypes: []rule.EventType{rule.AlertCreated, rule.SnapshotDeployed},
		Filter:     store.WebhookFilter{SeverityMin: rule.High, Scope: "a/b", RuleIDs: []string{"r1", "r2"}},
		Format:     "standard", Enabled: true, Secret: "s1", CreatedAt: at.Add(time.Duration(n) * time.Second), CreatedBy: "ann", UpdatedAt: at,
	}
	if edit != nil {
		edit(&p)
	}
	return p
}

func insertPolicy(f *fixture, p store.WebhookPolicy) {
	f.t.Helper()
	f.update(func(tx store.Tx) error { return tx.Webhooks.Insert(f.ctx, p) })
}

func readPolicy(f *fixture, id string) store.WebhookPolicy {
	f.t.Helper()
	p, err := f.s.Webhooks.Get(f.ctx, "p", id)
	if err != nil {
		f.t.Fatal(err)
	}
	return p
}

func webhookEvent(n int) store.WebhookEvent {
	return store.WebhookEvent{
		ProjectID: "p", ID: fmt.Sprintf("e%d", n), Type: rule.AlertCreated, Time: at, Severity: rule.Critical, Data: json.RawMessage(`{"a":"\u0000é"}`),
	}
}

// insertEvent stores an event at a time, with deliveries that expire after a day.
func insertEvent(f *fixture, e store.WebhookEvent, now time.Time, policies ...string) {
	f.t.Helper()
	f.update(func(tx store.Tx) error { return tx.Deliveries.Insert(f.ctx, e, policies, now, now.Add(day)) })
}

func dueDeliveries(f *fixture, policy string, now time.Time, limit int) []store.WebhookDelivery {
	f.t.Helper()
	list, err := f.s.Deliveries.ListDue(f.ctx, "p", policy, now, limit)
	if err != nil {
		f.t.Fatal(err)
	}
	return list
}

func eventIDs(list []store.WebhookDelivery) []string {
	ids := []string{}
	for _, d := range list {
		ids = append(ids, d.EventID)
	}
	return ids
}

func testWebhookPolicies(t *testing.T, f *fixture) {
	one, two := webhookPolicy(1, nil), webhookPolicy(2, func(p *store.WebhookPolicy) { p.Filter = store.WebhookFilter{} })
	insertPolicy(f, two)
	insertPolicy(f, one)
	list, err := f.s.Webhooks.List(f.ctx, "p")
	if diff := cmp.Diff([]store.WebhookPolicy{one, two}, list); err != nil || diff != "" {
		t.Errorf("policies: %v (-want +got):\n%s", err, diff)
	}
	if list, err := f.s.Webhooks.List(f.ctx, "q"); err != nil || len(list) != 0 {
		t.Errorf("policies of another project: %v, %v", list, err)
	}
	for name, taken := range map[string]store.WebhookPolicy{
		"name": webhookPolicy(3, func(p *store.WebhookPolicy) { p.Name = one.Name }), "id": webhookPolicy(1, func(p *store.WebhookPolicy) { p.Name = "x" }),
	} {
		code(t, "a taken "+name, f.s.Update(f.ctx, func(tx store.Tx) error { return tx.Webhooks.Insert(f.ctx, taken) }), rule.CodeConflict)
	}
	f.fails(rule.CodeNotFound, func(tx store.Tx) error {
		return tx.Webhooks.Insert(f.ctx, webhookPolicy(4, func(p *store.WebhookPolicy) { p.ProjectID = "none" }))
	})

	f.update(func(tx store.Tx) error { // a transaction knows of its own changes, however often it has asked before
		for n := 2; n < 5; n++ {
			list, err := tx.Webhooks.List(f.ctx, "p")
			if len(list) != n || err != nil {
				t.Errorf("%d policies, %v", len(list), err)
			}
			clear(list)
			if err := tx.Webhooks.Insert(f.ctx, webhookPolicy(10+n, nil)); err != nil {
				return err
			}
		}
		for n := 2; n < 5; n++ {
			if err := tx.Webhooks.Delete(f.ctx, "p", webhookPolicy(10+n, nil).ID); err != nil {
				return err
			}
		}
		list, err := tx.Webhooks.List(f.ctx, "p")
		if diff := cmp.Diff([]store.WebhookPolicy{one, two}, list); diff != "" {
			t.Error(diff)
		}
		return err
	})
	until := at.Add(time.Hour)
	f.update(func(tx store.Tx) error { return tx.Webhooks.Pause(f.ctx, "p", one.ID, 7, &until) })
	one.Failures, one.PausedUntil = 7, &until
	changed := webhookPolicy(1, func(p *store.WebhookPolicy) {
		p.Name, p.URL, p.EventTypes, p.Filter, p.Format, p.Enabled, p.DisabledReason = "new", "https://b.example", rule.EventTypes, store.WebhookFilter{}, "slack", false, "gone"
		p.Secret, p.OldSecret, p.OldUntil, p.UpdatedAt = "s2", "s1", &until, until
	})
	f.update(func(tx store.Tx) error {
		if _, err := tx.Webhooks.Get(f.ctx, "p", one.ID); err != nil { // with its lock
			return err
		}
		return tx.Webhooks.Update(f.ctx, changed)
	})
	changed.Failures, changed.PausedUntil = 7, &until
	if diff := cmp.Diff(changed, readPolicy(f, one.ID)); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
	f.update(func(tx store.Tx) error { return tx.Webhooks.Pause(f.ctx, "p", one.ID, 0, nil) })
	if got := readPolicy(f, one.ID); got.Failures != 0 || got.PausedUntil != nil {
		t.Errorf("after a success: %+v", got)
	}
	f.update(func(tx store.Tx) error { return tx.Webhooks.Pause(f.ctx, "p", "none", 1, nil) })
	f.fails(rule.CodeConflict, func(tx store.Tx) error {
		changed.Name = two.Name
		return tx.Webhooks.Update(f.ctx, changed)
	})
	f.fails(rule.CodeNotFound, func(tx store.Tx) error {
		return tx.Webhooks.Update(f.ctx, webhookPolicy(9, func(p *store.WebhookPolicy) { p.Name = "nine" }))
	})
	f.update(func(tx store.Tx) error { return tx.Webhooks.Delete(f.ctx, "p", one.ID) })
	f.fails(rule.CodeNotFound, func(tx store.Tx) error { return tx.Webhooks.Delete(f.ctx, "p", one.ID) })
	_, err = f.s.Webhooks.Get(f.ctx, "p", one.ID)
	code(t, "a deleted policy", err, rule.CodeNotFound)
	_, err = f.s.Webhooks.Get(f.ctx, "q", two.ID)
	code(t, "a policy of another project", err, rule.CodeNotFound)
}

func testWebhookDeliveries(t *testing.T, f *fixture) {
	one, two := webhookPolicy(1, nil), webhookPolicy(2, nil)
	insertPolicy(f, one)
	insertPolicy(f, two)
	insertEvent(f, webhookEvent(1), at, one.ID, two.ID)
	insertEvent(f, webhookEvent(2), at.Add(time.Second), one.ID)
	insertEvent(f, webhookEvent(1), at.Add(time.Minute), one.ID, two.ID) // again: it stays as it is

	now := at.Add(2 * time.Second)
	list := dueDeliveries(f, one.ID, now, 10)
	if diff := cmp.Diff([]string{"e1", "e2"}, eventIDs(list)); diff != "" {
		t.Fatalf("due (-want +got):\n%s", diff)
	}
	e := webhookEvent(1)
	want := store.WebhookDelivery{
		ID: list[0].ID, ProjectID: "p", PolicyID: one.ID, EventID: "e1", EventType: rule.AlertCreated, State: store.DeliveryPending,
		CreatedAt: at, NextAt: at, ExpiresAt: at.Add(day), Event: &e,
	}
	if diff := cmp.Diff(want, list[0]); diff != "" {
		t.Errorf("a delivery (-want +got):\n%s", diff)
	}
	if got := dueDeliveries(f, one.ID, now, 1); len(got) != 1 {
		t.Errorf("%d due within a limit of 1", len(got))
	}
	if got := dueDeliveries(f, one.ID, at, 10); len(got) != 1 {
		t.Errorf("%d due before the second", len(got))
	}
	if got := dueDeliveries(f, one.ID, at.Add(day), 10); len(got) != 1 {
		t.Errorf("%d due when the first has expired", len(got))
	}

	failed, done := list[0], list[1]
	failed.Attempts, failed.NextAt, failed.LastAt, failed.LastStatus, failed.Reason, failed.Answer = 1, now.Add(time.Minute), &now, 500, "bad", "oops"
	done.State, done.Attempts, done.EndedAt, done.LastAt, done.LastStatus = store.DeliveryDelivered, 1, &now, &now, 204
	f.update(func(tx store.Tx) error {
		return tx.Deliveries.Finish(f.ctx, []store.WebhookDelivery{failed, done})
	})
	failed.Event, done.Event = nil, nil
	for _, d := range []store.WebhookDelivery{failed, done} {
		got, err := f.s.Deliveries.Get(f.ctx, "p", one.ID, d.ID)
		if diff := cmp.Diff(d, got); err != nil || diff != "" {
			t.Errorf("finished: %v (-want +got):\n%s", err, diff)
		}
	}
	late := done
	late.Attempts, late.State = 9, store.DeliveryDead
	f.update(func(tx store.Tx) error { return tx.Deliveries.Finish(f.ctx, []store.WebhookDelivery{late}) })
	if got, _ := f.s.Deliveries.Get(f.ctx, "p", one.ID, done.ID); got.State != store.DeliveryDelivered || got.Attempts != 1 {
		t.Errorf("a delivery that had ended was changed: %+v", got)
	}
	next, any, err := f.s.Deliveries.Next(f.ctx, "p", one.ID)
	if err != nil || !any || !next.Equal(now.Add(time.Minute)) {
		t.Errorf("next at %v, %v, %v", next, any, err)
	}
	if _, any, err := f.s.Deliveries.Next(f.ctx, "p", "none"); any || err != nil {
		t.Errorf("next of no policy: %v, %v", any, err)
	}
	waiting, err := f.s.Webhooks.ListWaiting(f.ctx)
	if diff := cmp.Diff([]store.WaitingWebhook{{ProjectID: "p", PolicyID: one.ID, Pending: 1}, {ProjectID: "p", PolicyID: two.ID, Pending: 1}}, waiting); err != nil || diff != "" {
		t.Errorf("waiting: %v (-want +got):\n%s", err, diff)
	}
	f.update(func(tx store.Tx) error {
		two.Enabled = false
		return tx.Webhooks.Update(f.ctx, two)
	})
	if waiting, err := f.s.Webhooks.ListWaiting(f.ctx); err != nil || len(waiting) != 1 {
		t.Errorf("waiting for a disabled policy: %+v, %v", waiting, err)
	}
	for state, want := range map[string]int{"": 2, store.DeliveryPending: 1, store.DeliveryDelivered: 1, store.DeliveryDead: 0} {
		list, n, err := f.s.Deliveries.Find(f.ctx, store.DeliveryFilter{ProjectID: "p", PolicyID: one.ID, State: state, Limit: 1})
		if err != nil || n != want || len(list) != min(want, 1) {
			t.Errorf("%q: %d, %v", state, n, err)
		}
	}
	if list, _, _ := f.s.Deliveries.Find(f.ctx, store.DeliveryFilter{ProjectID: "p", PolicyID: one.ID, Offset: 1, Limit: 5}); len(list) != 1 || list[0].ID != failed.ID {
		t.Errorf("the second page: %+v", list)
	}

	f.fails(rule.CodeConflict, func(tx store.Tx) error {
		_, err := tx.Deliveries.Redeliver(f.ctx, "p", one.ID, failed.ID, now, now.Add(day))
		return err
	})
	for _, c := range []struct {
		policy string
		id     int64
	}{{two.ID, failed.ID}, {one.ID, 1 << 40}} {
		f.fails(rule.CodeNotFound, func(tx store.Tx) error {
			_, err := tx.Deliveries.Redeliver(f.ctx, "p", c.policy, c.id, now, now.Add(day))
			return err
		})
	}
	f.update(func(tx store.Tx) error {
		d, err := tx.Deliveries.Redeliver(f.ctx, "p", one.ID, done.ID, now, now.Add(2*day))
		if d.State != store.DeliveryPending || d.Attempts != 0 || d.EndedAt != nil || !d.ExpiresAt.Equal(now.Add(2*day)) || d.LastStatus != 204 {
			t.Errorf("redelivered: %+v", d)
		}
		return err
	})
}

func testWakeWebhook(t *testing.T, f *fixture) {
	one, two := webhookPolicy(1, nil), webhookPolicy(2, nil)
	insertPolicy(f, one)
	insertPolicy(f, two)
	insertEvent(f, webhookEvent(1), at, one.ID, two.ID)
	insertEvent(f, webhookEvent(2), at, one.ID)
	until, now := at.Add(time.Hour), at.Add(time.Minute)
	done := dueDeliveries(f, one.ID, at, 9)[1]
	done.State, done.NextAt, done.EndedAt = store.DeliveryDelivered, until, &at
	list := []store.WebhookDelivery{dueDeliveries(f, one.ID, at, 9)[0], dueDeliveries(f, two.ID, at, 9)[0], done}
	list[0].NextAt, list[1].NextAt = until, until
	f.update(func(tx store.Tx) error {
		if err := tx.Deliveries.Finish(f.ctx, list); err != nil {
			return err
		}
		return errors.Join(tx.Webhooks.Pause(f.ctx, "p", one.ID, 7, &until), tx.Webhooks.Pause(f.ctx, "p", two.ID, 7, &until))
	})
	f.update(func(tx store.Tx) error {
		return errors.Join(tx.Webhooks.Wake(f.ctx, "p", one.ID, now), tx.Webhooks.Wake(f.ctx, "p", "none", now), tx.Webhooks.Wake(f.ctx, "q", two.ID, now))
	})
	if diff := cmp.Diff([]string{"e1"}, eventIDs(dueDeliveries(f, one.ID, now, 9))); diff != "" {
		t.Errorf("due (-want +got):\n%s", diff)
	}
	if got := readPolicy(f, one.ID); got.Failures != 0 || got.PausedUntil != nil {
		t.Errorf("woken: %+v", got)
	}
	if got := readPolicy(f, two.ID); got.Failures != 7 || got.PausedUntil == nil || len(dueDeliveries(f, two.ID, now, 9)) != 0 {
		t.Errorf("another was woken: %+v", got)
	}
	f.update(func(tx store.Tx) error { return tx.Webhooks.Wake(f.ctx, "p", one.ID, until) })
	if len(dueDeliveries(f, one.ID, now, 9)) != 1 {
		t.Error("a delivery that was due waits")
	}
}

// A delivery that is redelivered at the time of its removal stays.
func testRedeliveryRacesRemoval(t *testing.T, f *fixture) {
	one := webhookPolicy(1, nil)
	insertPolicy(f, one)
	insertEvent(f, webhookEvent(1), at, one.ID)
	d := dueDeliveries(f, one.ID, at, 9)[0]
	d.State, d.EndedAt = store.DeliveryDead, &at
	f.update(func(tx store.Tx) error { return tx.Deliveries.Finish(f.ctx, []store.WebhookDelivery{d}) })
	redelivered, dropped := make(chan bool), make(chan error, 1)
	first := sync.OnceFunc(func() { close(redelivered) }) // a transaction may be tried again
	go func() {
		<-redelivered
		dropped <- f.s.Update(f.ctx, func(tx store.Tx) error {
			_, err := tx.Deliveries.DeleteOld(f.ctx, at.Add(day), 9)
			return err
		})
	}()
	f.update(func(tx store.Tx) error {
		_, err := tx.Deliveries.Redeliver(f.ctx, "p", one.ID, d.ID, at.Add(2*day), at.Add(3*day))
		first()
		time.Sleep(50 * time.Millisecond) // the other finds the row as it was, and waits for it
		return err
	})
	if err := <-dropped; err != nil {
		t.Fatal(err)
	}
	if n := len(dueDeliveries(f, one.ID, at.Add(2*day), 9)); n != 1 {
		t.Errorf("%d deliveries are due, want the one that was redelivered", n)
	}
}

func testWebhookEnds(t *testing.T, f *fixture) {
	one, two := webhookPolicy(1, nil), webhookPolicy(2, nil)
	insertPolicy(f, one)
	insertPolicy(f, two)
	for n := range 3 {
		insertEvent(f, webhookEvent(n), at.Add(time.Duration(n)*time.Second), one.ID, two.ID)
	}
	list := dueDeliveries(f, one.ID, at.Add(time.Minute), 9)
	tried := list[0]
	tried.Attempts, tried.Reason, tried.LastAt = 1, "connection refused", &at
	f.update(func(tx store.Tx) error { return tx.Deliveries.Finish(f.ctx, []store.WebhookDelivery{tried}) })
	expire := func(now time.Time, limit, want int) {
		t.Helper()
		f.update(func(tx store.Tx) error {
			n, err := tx.Deliveries.Expire(f.ctx, now, "given up", limit)
			if n != want {
				t.Errorf("%d expired, want %d", n, want)
			}
			return err
		})
	}
	expire(at.Add(day-time.Second), 9, 0)
	expire(at.Add(day), 9, 2)
	expire(at.Add(day+time.Hour), 3, 3)
	for i, reason := range []string{"given up: connection refused", "given up"} {
		d, err := f.s.Deliveries.Get(f.ctx, "p", one.ID, list[i].ID)
		if err != nil || d.State != store.DeliveryDead || d.Reason != reason || d.EndedAt == nil {
			t.Errorf("expired: %+v, %v", d, err)
		}
	}
	drop := func(before time.Time, limit, want int) {
		t.Helper()
		f.update(func(tx store.Tx) error {
			n, err := tx.Deliveries.DeleteOld(f.ctx, before, limit)
			if n != want {
				t.Errorf("%d dropped, want %d", n, want)
			}
			return err
		})
	}
	drop(at.Add(day), 9, 0)
	drop(at.Add(2*day), 4, 4)
	// An event stays as long as one of its deliveries: here the pending one.
	drop(at.Add(2*day), 4, 1)
	left := append(dueDeliveries(f, one.ID, at.Add(time.Minute), 9), dueDeliveries(f, two.ID, at.Add(time.Minute), 9)...)
	if len(left) != 1 || left[0].Event == nil || string(left[0].Event.Data) != string(webhookEvent(2).Data) {
		t.Errorf("left: %+v", left)
	}
}
