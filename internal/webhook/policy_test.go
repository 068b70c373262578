package webhook_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"tenet/internal/audit"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/webhook"
	"tenet/internal/wire"
)

func auditBody(t *testing.T, e store.AuditEntry) string {
	t.Helper()
	body, err := audit.Body(e)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// A policy counts for whatever is published after it, on whichever node.
func TestAPolicyCountsAtOnceOnEveryNode(t *testing.T) { onBoth(t, testAtOnce) }

func testAtOnce(t *testing.T, b *bed) {
	other := *b
	other.hooks = webhook.New(b.cfg)
	e := newEndpoint(t)
	b.publish()
	other.publish()
	p := b.policy(e.URL, nil)
	id := other.publish()
	if _, err := other.hooks.Change(b.ctx(), project, p.ID, webhook.Input{Enabled: new(false)}); err != nil {
		t.Fatal(err)
	}
	b.publish()
	if list := b.deliveries(p.ID, ""); len(list) != 1 || list[0].EventID != id {
		t.Errorf("deliveries: %+v", list)
	}
}

// An event exists exactly when its cause does.
func TestEventsGoWithTheirCause(t *testing.T) {
	b := newBed(t)
	p := b.policy("https://hooks.example.com", nil)
	err := b.s.Update(b.ctx(), func(tx store.Tx) error {
		err := b.hooks.Publish(b.ctx(), tx, rule.Event{ID: audit.NewID(), ProjectID: project, Type: rule.AlertCreated, Data: json.RawMessage("{}")})
		if err != nil {
			return err
		}
		return fmt.Errorf("the cause fails")
	})
	if err == nil || len(b.deliveries(p.ID, "")) != 0 {
		t.Errorf("%v, %d deliveries", err, len(b.deliveries(p.ID, "")))
	}
	if _, any, err := b.s.Jobs.Next(b.ctx()); any || err != nil {
		t.Errorf("there is a job: %v, %v", any, err)
	}
}

func TestFilters(t *testing.T) {
	b := newBed(t)
	rules := []rule.Rule{{ID: audit.NewID(), ProjectID: project, Slug: "SEC-1", Version: 1, Statement: "x"}, {ID: audit.NewID(), ProjectID: project, Version: 1, Statement: "y"}}
	err := b.s.Update(b.ctx(), func(tx store.Tx) error {
		cv, err := tx.Projects.RaiseCorpus(b.ctx(), project)
		for i := range rules {
			rules[i].Normalize()
		}
		if err == nil {
			err = tx.Rules.Insert(b.ctx(), cv, rules)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	sec, other := rules[0].ID, rules[1].ID
	alert := func(s rule.Severity, scope []string, ids ...string) rule.Event {
		return rule.Event{Type: rule.AlertCreated, Severity: s, Scope: scope, RuleIDs: ids}
	}
	deployed := rule.Event{Type: rule.SnapshotDeployed}
	for name, c := range map[string]struct {
		types  []rule.EventType
		filter wire.Filter
		event  rule.Event
		want   bool
	}{
		"no filter":                       {event: alert(rule.Low, nil, other), want: true},
		"another type":                    {types: []rule.EventType{rule.AlertResolved}, event: alert(rule.Low, nil, sec)},
		"severe enough":                   {filter: wire.Filter{SeverityMin: "high"}, event: alert(rule.High, nil, sec), want: true},
		"not severe enough":               {filter: wire.Filter{SeverityMin: "HIGH"}, event: alert(rule.Medium, nil, sec)},
		"in scope":                        {filter: wire.Filter{Scope: "/finance/"}, event: alert(rule.Low, []string{"hr", "finance/pay"}, sec), want: true},
		"out of scope":                    {filter: wire.Filter{Scope: "finance"}, event: alert(rule.Low, []string{"financex"}, sec)},
		"everywhere":                      {filter: wire.Filter{Scope: "finance"}, event: alert(rule.Low, nil, sec), want: true},
		"everywhere by star":              {filter: wire.Filter{Scope: "finance"}, event: alert(rule.Low, []string{"*"}, sec), want: true},
		"a rule by slug":                  {filter: wire.Filter{RuleIDs: []string{"SEC-1"}}, event: alert(rule.Low, nil, other, sec), want: true},
		"another rule":                    {filter: wire.Filter{RuleIDs: []string{sec, "SEC-1"}}, event: alert(rule.Low, nil, other)},
		"no rule is concerned":            {filter: wire.Filter{SeverityMin: "CRITICAL", Scope: "finance", RuleIDs: []string{sec}}, event: deployed, want: true},
		"one part of the filter suffices": {filter: wire.Filter{SeverityMin: "LOW", Scope: "hr"}, event: alert(rule.Low, []string{"finance"}, sec)},
	} {
		p := b.policy("https://hooks.example.com", func(in *webhook.Input) {
			in.Filter = &c.filter
			if c.types != nil {
				in.EventTypes = &c.types
			}
		})
		e := c.event
		e.ID, e.ProjectID, e.Time, e.Data = audit.NewID(), project, b.clock.now(), json.RawMessage("{}")
		b.publishEvent(e)
		if got := len(b.deliveries(p.ID, "")) == 1; got != c.want {
			t.Errorf("%s: told %v, want %v", name, got, c.want)
		}
		if err := b.hooks.Delete(b.ctx(), project, p.ID); err != nil {
			t.Fatal(err)
		}
	}
}

func TestPoliciesAreChecked(t *testing.T) {
	b := newBed(t)
	good := func() webhook.Input {
		return webhook.Input{Name: new("n"), URL: new("https://hooks.example.com/x"), EventTypes: &[]rule.EventType{"ALERT.created"}}
	}
	for name, c := range map[string]struct {
		field  string
		secret string
		edit   func(*webhook.Input)
	}{
		"name":        {"name", "", func(in *webhook.Input) { in.Name = new(" ") }},
		"url":         {"url", "", func(in *webhook.Input) { in.URL = nil }},
		"no events":   {"event_types", "", func(in *webhook.Input) { in.EventTypes = nil }},
		"an event":    {"event_types", "", func(in *webhook.Input) { in.EventTypes = &[]rule.EventType{"alert.made"} }},
		"format":      {"format", "", func(in *webhook.Input) { in.Format = new(wire.WebhookFormat("xml")) }},
		"severity":    {"filter.severity_min", "", func(in *webhook.Input) { in.Filter = &wire.Filter{SeverityMin: "huge"} }},
		"rule":        {"filter.rule_ids", "", func(in *webhook.Input) { in.Filter = &wire.Filter{RuleIDs: []string{"none"}} }},
		"secret":      {"secret", "hunter2", func(*webhook.Input) {}},
		"weak secret": {"secret", "whsec_" + "c2hvcnQ=", func(*webhook.Input) {}},
	} {
		in := good()
		c.edit(&in)
		_, err := b.hooks.Create(b.ctx(), project, in, c.secret)
		e, ok := err.(*rule.Error) //nolint:errorlint // it is the error itself
		if !ok || e.Code != rule.CodeInvalid || len(e.Fields) != 1 || e.Fields[0].Field != c.field {
			t.Errorf("%s: %v", name, err)
		}
	}
	p, err := b.hooks.Create(b.ctx(), project, good(), "")
	if err != nil || len(p.EventTypes) != 1 || p.EventTypes[0] != rule.AlertCreated || p.Format != wire.FormatStandard || !p.Enabled || p.CreatedBy != "ann" {
		t.Errorf("made %+v, %v", p.Policy, err)
	}
	if _, err := b.hooks.Create(b.ctx(), project, good(), ""); rule.CodeOf(err) != rule.CodeConflict {
		t.Errorf("a taken name: %v", err)
	}
}

// What has ended goes after a while; what waits has its job even if that was lost.
func TestSweep(t *testing.T) {
	b := newBed(t)
	e := newEndpoint(t)
	p := b.policy(e.URL, nil)
	b.publish()
	b.work()
	id := b.publish()
	err := b.s.Update(b.ctx(), func(tx store.Tx) error {
		jobs, err := tx.Jobs.Claim(b.ctx(), store.JobClaim{Now: b.clock.now(), Kinds: []string{webhook.DeliverKind}, Owner: "test", Lease: b.clock.now().Add(time.Hour), Limit: 9})
		for i := range jobs {
			now := b.clock.now()
			jobs[i].State, jobs[i].FinishedAt = store.JobFailed, &now
		}
		if err == nil {
			err = tx.Jobs.Finish(b.ctx(), jobs)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if b.work() != 0 {
		t.Fatal("the job was not lost")
	}
	if n, err := b.hooks.Pending(b.ctx()); n != 1 || err != nil {
		t.Errorf("%d pending, %v", n, err)
	}
	b.sweep()
	b.work()
	if ids := e.ids(); len(ids) != 2 || ids[1] != id {
		t.Errorf("arrived: %v", ids)
	}
	b.clock.move(webhook.DefaultRetention - time.Minute)
	b.sweep()
	if n := len(b.deliveries(p.ID, "")); n != 2 {
		t.Errorf("%d deliveries are kept", n)
	}
	b.clock.move(2 * time.Minute)
	b.sweep()
	if n := len(b.deliveries(p.ID, "")); n != 0 {
		t.Errorf("%d deliveries are kept too long", n)
	}
}
