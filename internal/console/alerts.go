package console

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/a-h/templ"

	"tenet/internal/auth"
	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// alertStatuses are the statuses of alerts, in the order in which pages show them.
var alertStatuses = []rule.AlertStatus{rule.AlertActive, rule.AlertAcknowledged, rule.AlertDone}

// alertFilters are the names of the parameters of the list, for the API too.
var alertFilters = []string{"status", "alert_type", "rule_id", "agent", "person", "session"}

// shownActed is how many of those who have caused an alert its row names.
const shownActed = 3

// alerts is the view of the list of alerts.
type alerts struct {
	wire.Alerts

	place    pager
	filtered bool
	problem  string // what is wrong with the filters
	decides  bool   // the person may acknowledge and resolve some of them
}

// alertQuery returns the operation that lists the alerts that the query of a page selects.
func alertQuery(p *page, q wire.OffsetQuery) (o op.Op[wire.None, wire.Alerts], filtered bool) {
	o = op.ListAlerts.Where(q)
	for _, name := range alertFilters {
		if value := p.r.URL.Query().Get(name); value != "" {
			o.Query.Set(name, value)
			filtered = true
		}
	}
	return o, filtered
}

// alertList shows the alerts of a project, newest first.
func alertList(p *page) error {
	var v alerts
	place := pageOf(p.r)
	var o op.Op[wire.None, wire.Alerts]
	o, v.filtered = alertQuery(p, wire.OffsetQuery{Limit: listSize, Offset: (place - 1) * listSize})
	var err error
	v.Alerts, err = client.Get(p.ctx, p.api, o)
	if v.problem, err = refusedFilter(err); err != nil {
		return err
	}
	if v.problem != "" {
		// The counts of the tabs do not depend on the filters.
		all, err := client.Get(p.ctx, p.api, op.ListAlerts.Where(wire.OffsetQuery{Limit: 1}))
		if err != nil {
			return err
		}
		v.Counts = all.Counts
	}
	v.place = pager{place, listSize, len(v.Alerts.Alerts), v.Total}
	v.decides = p.may(auth.Reviewer) && slices.ContainsFunc(v.Alerts.Alerts, func(a rule.Alert) bool { return a.Status != rule.AlertDone })
	return p.show(head{Title: "Alerts", Nav: "alerts"}, alertsView(p, v))
}

// alertCount is the number of alerts with a status.
func alertCount(c wire.Counts, s rule.AlertStatus) int {
	switch s {
	case rule.AlertActive:
		return c.Active
	case rule.AlertAcknowledged:
		return c.Acknowledged
	case rule.AlertDone:
		return c.Resolved
	}
	return 0
}

// alertAddress is the address of the stream of news of a page of alerts.
func alertAddress(p *page, c wire.Counts) string {
	query := p.r.URL.Query()
	query.Set("seen", fmt.Sprintf("%d.%d.%d", c.Active, c.Acknowledged, c.Resolved))
	return p.at("alerts", "live") + "?" + query.Encode()
}

// liveAlerts streams news of alerts to a page that shows them.
func liveAlerts(p *page) error {
	asked := p.r.URL.Query()
	var seen wire.Counts
	_, _ = fmt.Sscanf(asked.Get("seen"), "%d.%d.%d", &seen.Active, &seen.Acknowledged, &seen.Resolved) // what is missing counts as 0
	asked.Del("seen")
	address := p.at("alerts")
	if len(asked) > 0 {
		address += "?" + asked.Encode()
	}
	return stream(p, func(ctx context.Context) (templ.Component, error) {
		now, err := client.Get(ctx, p.api, op.ListAlerts.Where(wire.OffsetQuery{Limit: 1}))
		raised := now.Counts.Active + now.Counts.Acknowledged + now.Counts.Resolved - seen.Active - seen.Acknowledged - seen.Resolved
		return alertNews(raised, now.Counts != seen, address), err
	})
}

// decideAlerts acknowledges or resolves the alerts of a form: one by its button, or those that are selected.
func decideAlerts(p *page) error {
	form := p.r.PostForm
	do, ids, back, err := decided(form, "alert")
	if err != nil {
		return err
	}
	if len(ids) == 0 {
		p.warn("No alert is selected. Choose some by x or with the pointer.")
		return p.redirect(back)
	}
	if len(ids) > listSize {
		return rule.Errorf(rule.CodeInvalid, "the form names %d alerts; at most %d are possible", len(ids), listSize)
	}
	note := strings.TrimSpace(form.Get("note"))
	var failed []string
	for _, id := range ids {
		var err error
		switch do {
		case "acknowledge":
			_, err = client.Get(p.ctx, p.api, op.AcknowledgeAlert.At(id))
		case "resolve":
			_, err = client.Call(p.ctx, p.api, op.ResolveAlert.At(id), wire.ResolveAlert{ResolutionNote: note})
		default:
			return rule.Errorf(rule.CodeInvalid, "the form has no decision; press one of its buttons")
		}
		if refused[rule.CodeOf(err)] {
			failed = append(failed, err.Error())
		} else if err != nil {
			return err
		}
	}
	done := map[string]string{"acknowledge": "acknowledged", "resolve": "resolved"}[do]
	if n := len(ids) - len(failed); len(failed) > 0 {
		p.warn(fmt.Sprintf("%d of %s %s. The first of the others: %s", n, counted(int64(len(ids)), "alert is", "alerts are"), done, failed[0]))
	} else if n == 1 {
		p.say("The alert is " + done + ".")
	} else {
		p.say(fmt.Sprintf("%d alerts are %s.", n, done))
	}
	return p.redirect(back)
}

// alertSubject is the address of what an alert concerns.
func alertSubject(p *page, a *rule.Alert) string {
	if a.Edge != "" {
		return p.at("fleet")
	}
	return p.at("rules", a.RuleID)
}

// alertTone is the class of the status of an alert.
func alertTone(s rule.AlertStatus) string {
	switch s {
	case rule.AlertActive:
		return "bad"
	case rule.AlertAcknowledged:
		return "warn"
	case rule.AlertDone:
		return "good"
	}
	return "plain"
}

// titled is a name of the API for people, with a capital.
func titled(name string) string {
	text := words(name)
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}
