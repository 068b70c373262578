package console

import (
	"encoding/gob"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// testValue is the name of the session's value about the test of a webhook, which the next page shows.
const testValue = "webhook-test"

// webhookTest is the answer of an endpoint to a ping.
type webhookTest struct {
	PolicyID string
	Result   wire.TestResult
}

func init() { gob.Register(webhookTest{}) }

// deliveryStates are the states that the deliveries of a webhook can be filtered by.
var deliveryStates = []string{"pending", "delivered", "dead"}

// webhooks is the view of the list of webhooks.
type webhooks struct {
	items []wire.Policy
	place pager
	form  *entry // of a new one
}

// webhook is the view of one webhook.
type webhook struct {
	wire.Policy

	form       *entry
	deliveries []wire.Delivery
	place      pager // of the deliveries
	test       *wire.TestResult
}

// webhookList shows the webhooks of a project.
func webhookList(p *page) error {
	form := &entry{values: url.Values{"event": eventNames(rule.EventTypes), "format": {string(wire.FormatStandard)}}}
	return showWebhooks(p, form)
}

func showWebhooks(p *page, form *entry) error {
	list, err := client.Get(p.ctx, p.api, op.ListPolicies.Where(wire.PageQuery{Page: pageOf(p.r), PageSize: listSize}))
	if err != nil {
		return err
	}
	v := webhooks{list.Items, pager{pageOf(p.r), listSize, len(list.Items), list.Total}, form}
	return p.showAs(form.code(), head{Title: "Webhooks", Nav: "webhooks"}, webhooksView(p, v))
}

func eventNames(types []rule.EventType) []string {
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = string(t)
	}
	return names
}

// webhookField gives the field of the form for a field of the API.
func webhookField(name string) string {
	switch {
	case name == "name" || name == "url" || name == "format":
		return name
	case strings.HasPrefix(name, "event_types"):
		return "event"
	case strings.HasPrefix(name, "filter.severity_min"):
		return "severity_min"
	case strings.HasPrefix(name, "filter.scope"):
		return "scope"
	case strings.HasPrefix(name, "filter.rule_ids"):
		return "rules"
	}
	return ""
}

// readWebhook reads the form of a webhook.
func readWebhook(p *page) (form *entry, events []rule.EventType, filter wire.Filter) {
	form = &entry{values: p.r.PostForm}
	for _, e := range form.values["event"] {
		events = append(events, rule.EventType(e))
	}
	filter = wire.Filter{SeverityMin: rule.Severity(form.get("severity_min")), Scope: strings.TrimSpace(form.get("scope"))}
	filter.RuleIDs = strings.FieldsFunc(form.get("rules"), func(r rune) bool { return r == ',' || r == ' ' || r == '\n' || r == '\r' || r == '\t' })
	return form, events, filter
}

// makeWebhook makes a webhook and shows its secret, this once.
func makeWebhook(p *page) error {
	form, events, filter := readWebhook(p)
	made, err := client.Call(p.ctx, p.api, op.CreatePolicy, wire.CreatePolicy{
		Name: strings.TrimSpace(form.get("name")), URL: strings.TrimSpace(form.get("url")), EventTypes: append([]rule.EventType{}, events...), Filter: filter,
		Format: wire.WebhookFormat(form.get("format")),
	})
	if err != nil {
		if err := form.refuse(err, webhookField); err != nil {
			return err
		}
		return showWebhooks(p, form)
	}
	return showSecret(p, &made, "The webhook is made.")
}

// showSecret shows the secret of a webhook. No session and no address holds it.
func showSecret(p *page, made *wire.PolicyWithSecret, title string) error {
	p.w.Header().Set("Cache-Control", "no-store")
	return p.show(head{Title: made.Name, Nav: "webhooks"}, webhookSecret(p, made, title))
}

// webhookPage shows a webhook with its deliveries.
func webhookPage(p *page) error {
	policy, err := client.Get(p.ctx, p.api, op.GetPolicy.At(p.r.PathValue("id")))
	if err != nil {
		return err
	}
	return showWebhook(p, policy, formOf(&policy))
}

// formOf fills the form of a webhook with its values.
func formOf(w *wire.Policy) *entry {
	return &entry{values: url.Values{
		"name": {w.Name}, "url": {w.URL}, "event": eventNames(w.EventTypes), "format": {string(w.Format)}, "severity_min": {string(w.Filter.SeverityMin)},
		"scope": {w.Filter.Scope}, "rules": {strings.Join(w.Filter.RuleIDs, "\n")},
	}}
}

func showWebhook(p *page, policy wire.Policy, form *entry) error {
	v := webhook{Policy: policy, form: form}
	state := p.r.URL.Query().Get("state")
	list, err := client.Get(p.ctx, p.api, op.ListDeliveries.At(policy.ID).Where(wire.DeliveryQuery{State: state, PageQuery: wire.PageQuery{Page: pageOf(p.r), PageSize: listSize}}))
	if err != nil {
		return err
	}
	v.deliveries, v.place = list.Items, pager{pageOf(p.r), listSize, len(list.Items), list.Total}
	if kept, ok := p.console.sessions.Pop(p.ctx, testValue).(webhookTest); ok && kept.PolicyID == policy.ID {
		v.test = &kept.Result
	}
	return p.showAs(form.code(), head{Title: policy.Name, Nav: "webhooks"}, webhookView(p, v))
}

// changeWebhook changes a webhook.
func changeWebhook(p *page) error {
	id := p.r.PathValue("id")
	form, events, filter := readWebhook(p)
	_, err := client.Call(p.ctx, p.api, op.ChangePolicy.At(id), wire.ChangePolicy{
		Name: wire.Some(strings.TrimSpace(form.get("name"))), URL: wire.Some(strings.TrimSpace(form.get("url"))),
		EventTypes: wire.Some(append([]rule.EventType{}, events...)), Filter: wire.Some(filter), Format: wire.Some(wire.WebhookFormat(form.get("format"))),
	})
	if err != nil {
		if err := form.refuse(err, webhookField); err != nil {
			return err
		}
		policy, err := client.Get(p.ctx, p.api, op.GetPolicy.At(id))
		if err != nil {
			return err
		}
		return showWebhook(p, policy, form)
	}
	p.say("The webhook is changed.")
	return p.redirect(p.at("webhooks", id))
}

// actOnWebhook tests, enables, disables or deletes a webhook, or gives it another secret.
func actOnWebhook(p *page) error {
	id, form := p.r.PathValue("id"), p.r.PostForm
	back := p.at("webhooks", id)
	switch form.Get("do") {
	case "test":
		result, err := client.Get(p.ctx, p.api, op.TestPolicy.At(id))
		if err != nil {
			return err
		}
		p.console.sessions.Put(p.ctx, testValue, webhookTest{id, result})
	case "enable", "disable":
		on := form.Get("do") == "enable"
		if _, err := client.Call(p.ctx, p.api, op.ChangePolicy.At(id), wire.ChangePolicy{Enabled: wire.Some(on)}); err != nil {
			return err
		}
		if on {
			p.say("The webhook is enabled. What is pending is sent now.")
		} else {
			p.say("The webhook is disabled. New events are not kept for it.")
		}
	case "rotate":
		hours, err := strconv.Atoi(form.Get("overlap"))
		if err != nil || hours < 0 || hours > 720 {
			return rule.Errorf(rule.CodeInvalid, "the secret before signs for 0 to 720 hours more; %q is no such number", clipText(form.Get("overlap"), briefText))
		}
		made, err := client.Call(p.ctx, p.api, op.RotatePolicySecret.At(id), wire.RotateSecret{Overlap: wire.Some(hours * 3600)})
		if err != nil {
			return err
		}
		return showSecret(p, &made, "The webhook has another secret.")
	case "delete":
		if form.Get("sure") == "" {
			p.warn("Nothing was deleted. Tick the box that says that pending deliveries are lost.")
			return p.redirect(back)
		}
		if err := client.Run(p.ctx, p.api, op.DeletePolicy.At(id)); err != nil {
			return err
		}
		p.say("The webhook is deleted.")
		back = p.at("webhooks")
	default:
		return rule.Errorf(rule.CodeInvalid, "the form has no action; press one of its buttons")
	}
	return p.redirect(back)
}

// redeliver sends a delivery of a webhook once more.
func redeliver(p *page) error {
	id, delivery := p.r.PathValue("id"), p.r.PathValue("delivery")
	d, err := client.Get(p.ctx, p.api, op.Redeliver.At(id, delivery))
	if refused[rule.CodeOf(err)] {
		p.warn(err.Error())
	} else if err != nil {
		return err
	} else {
		p.say(fmt.Sprintf("Delivery %d (%s) is pending again.", d.ID, d.EventType))
	}
	return p.redirect(localPath(p.r.PostForm.Get("next")))
}

// policyTone is the class of the state of a webhook.
func policyTone(s wire.PolicyState) string {
	switch s {
	case wire.PolicyActive:
		return "good"
	case wire.PolicyPaused:
		return "warn"
	case wire.PolicyDisabled:
		return "plain"
	}
	return "plain"
}

// deliveryTone is the class of the state of a delivery.
func deliveryTone(state string) string {
	switch state {
	case "delivered":
		return "good"
	case "dead":
		return "bad"
	}
	return "warn"
}

// answered names the status of an answer.
func answered(status int) string {
	if status == 0 {
		return "no answer"
	}
	return strings.TrimSpace(strconv.Itoa(status) + " " + http.StatusText(status))
}
