package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// webhooksCommands are `tenet webhooks ...`.
type webhooksCommands struct {
	Create     webhooksCreateCommand     `cmd:"" help:"Send events to an endpoint, and print the secret, this once."`
	List       webhooksListCommand       `cmd:"" help:"List webhooks and how their endpoints do."`
	Test       webhooksTestCommand       `cmd:"" help:"Send a ping and show the endpoint's answer."`
	Deliveries webhooksDeliveriesCommand `cmd:"" help:"List deliveries: pending, delivered and dead."`
	Redeliver  webhooksRedeliverCommand  `cmd:"" help:"Send a delivery once more."`
	Rotate     webhooksRotateCommand     `cmd:"" help:"Make another secret and print it, this once."`
	Enable     webhooksEnableCommand     `cmd:"" help:"Resume sending, pending deliveries included."`
	Disable    webhooksDisableCommand    `cmd:"" help:"Stop sending."`
	Delete     webhooksDeleteCommand     `cmd:"" help:"Delete a webhook."`
}

func (webhooksCommands) Help() string {
	return `A webhook is named by its name or its id. Deliveries are made by servers, so one must run (tenet serve).

    tenet webhooks create on-call https://hooks.example.com/tenet --event alert.created --severity-min HIGH
    tenet webhooks test on-call
    tenet webhooks deliveries on-call --state dead
    tenet webhooks redeliver on-call 17`
}

type webhooksCreateCommand struct {
	Name        string   `arg:"" help:"Name of the webhook."`
	URL         string   `arg:"" help:"Where events are sent."`
	Event       []string `placeholder:"TYPE" help:"Only events of this type, several times for several, such as alert.created, evaluation.violated, rule.submitted or waiver.requested. Default is all; docs/webhooks.md lists them."`
	SeverityMin string   `placeholder:"SEVERITY" help:"Only events about rules at least that severe."`
	Scope       string   `placeholder:"PATH" help:"Only events about rules in this scope or below."`
	Rule        []string `placeholder:"RULE" help:"Only events about this rule (id or slug), several times for several."`
	Slack       bool     `help:"Send messages in the format of Slack."`
	output
}

// Run makes a webhook. Only the secret goes to stdout, so that it can be caught in a variable.
func (k *webhooksCreateCommand) Run(ctx context.Context, s *session) error {
	n := wire.CreatePolicy{
		Name: k.Name, URL: k.URL, EventTypes: rule.EventTypes, Format: wire.FormatStandard,
		Filter: wire.Filter{SeverityMin: rule.Severity(strings.ToUpper(k.SeverityMin)), Scope: k.Scope, RuleIDs: k.Rule},
	}
	if k.Slack {
		n.Format = wire.FormatSlack
	}
	if len(k.Event) > 0 {
		n.EventTypes = nil
		for _, e := range k.Event {
			n.EventTypes = append(n.EventTypes, rule.EventType(e))
		}
	}
	return s.with(ctx, needsData, func(c *client.Client) error {
		p, err := client.Call(ctx, c, op.CreatePolicy, n)
		return show(s, k.output, p, err, func(s *session, p wire.PolicyWithSecret) error {
			s.note("made webhook %s (%s); this is its secret, which is not shown again:", line(p.Name), p.ID)
			_, err := fmt.Fprintln(s.out, p.Secret)
			return err
		})
	})
}

type webhooksListCommand struct {
	output
}

func (k *webhooksListCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	policies, err := client.All(ctx, c, op.ListPolicies)
	return show(s, k.output, policies, err, printWebhooks)
}

func printWebhooks(s *session, policies []wire.Policy) error {
	return list(s, "there are no webhooks", "ID\tNAME\tSTATE\tURL\tEVENTS", policies, func(p *wire.Policy) []any {
		return []any{p.ID, p.Name, webhookState(p), p.URL, eventNames(p.EventTypes)}
	})
}

func webhookState(p *wire.Policy) string {
	switch {
	case p.State == wire.PolicyPaused && p.PausedUntil != nil:
		return fmt.Sprintf("paused after %d failures until %s", p.Failures, p.PausedUntil.Format(time.TimeOnly))
	case p.DisabledReason != "":
		return "disabled: " + line(p.DisabledReason)
	}
	return string(p.State)
}

func eventNames(types []rule.EventType) string {
	if len(types) == len(rule.EventTypes) {
		return "all"
	}
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = string(t)
	}
	return strings.Join(names, ", ")
}

// webhookRef names a webhook on the command line.
type webhookRef struct {
	Webhook string `arg:"" help:"Name or id of the webhook."`
}

// find returns the id of a webhook.
func (r *webhookRef) find(ctx context.Context, c *client.Client) (string, error) {
	list, err := client.All(ctx, c, op.ListPolicies)
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(list, func(p wire.Policy) bool { return p.Name == r.Webhook || p.ID == r.Webhook })
	if i < 0 {
		return "", rule.Errorf(rule.CodeNotFound, "there is no webhook %q; `tenet webhooks list` shows what there is", r.Webhook)
	}
	return list[i].ID, nil
}

type webhooksTestCommand struct {
	webhookRef
	output
}

// Run sends a ping. It ends with exit code 1 if the endpoint does not take it.
func (k *webhooksTestCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	id, err := k.find(ctx, c)
	if err != nil {
		return err
	}
	r, err := client.Get(ctx, c, op.TestPolicy.At(id))
	err = show(s, k.output, r, err, func(s *session, r wire.TestResult) error {
		if r.Answer != "" {
			s.note("it says: %s", line(r.Answer))
		}
		if !r.Delivered {
			s.note("not delivered: %s", line(r.Reason))
			return nil
		}
		_, err := fmt.Fprintf(s.out, "delivered: %d in %d ms\n", r.Status, r.DurationMS)
		return err
	})
	if err == nil && !r.Delivered {
		return exit(exitFound)
	}
	return err
}

type webhooksDeliveriesCommand struct {
	webhookRef
	State string `placeholder:"STATE" help:"Only those that are pending, delivered or dead (given up)."`
	limit
	output
}

func (k *webhooksDeliveriesCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	id, err := k.find(ctx, c)
	if err != nil {
		return err
	}
	page, err := client.Get(ctx, c, op.ListDeliveries.At(id).Where(wire.DeliveryQuery{State: k.State, PageQuery: wire.PageQuery{PageSize: k.Limit}}))
	return showPage(s, k.output, page, err, printDeliveries)
}

func printDeliveries(s *session, deliveries []wire.Delivery) error {
	return list(s, "there are no such deliveries", "ID\tEVENT\tSTATE\tATTEMPTS\tMADE\tSTATUS\tREASON", deliveries, func(d *wire.Delivery) []any {
		return []any{d.ID, d.EventType, d.State, d.Attempts, d.CreatedAt.Format(time.DateTime), statusText(d.LastStatus), d.Reason}
	})
}

func statusText(code int) string {
	if code == 0 {
		return "-"
	}
	return fmt.Sprint(code)
}

type webhooksRedeliverCommand struct {
	webhookRef
	Delivery int64 `arg:"" help:"Id of the delivery, as deliveries shows it."`
	output
}

func (k *webhooksRedeliverCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	id, err := k.find(ctx, c)
	if err != nil {
		return err
	}
	d, err := client.Get(ctx, c, op.Redeliver.At(id, strconv.FormatInt(k.Delivery, 10)))
	return noted(s, k.output, d, err, func(d wire.Delivery) string {
		return fmt.Sprintf("delivery %d (%s) is pending again", d.ID, d.EventType)
	})
}

type webhooksRotateCommand struct {
	webhookRef
	Overlap time.Duration `default:"24h" help:"How long the secret before signs too."`
	output
}

// Run makes another secret. Only the secret goes to stdout.
func (k *webhooksRotateCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	id, err := k.find(ctx, c)
	if err != nil {
		return err
	}
	p, err := client.Call(ctx, c, op.RotatePolicySecret.At(id), wire.RotateSecret{Overlap: wire.Some(int(k.Overlap.Seconds()))})
	return show(s, k.output, p, err, func(s *session, p wire.PolicyWithSecret) error {
		if p.OldSecretUntil != nil {
			s.note("until %s the secret before signs too; this is the new one, which is not shown again:", p.OldSecretUntil.Format(time.DateTime))
		} else {
			s.note("the secret before is void; this is the new one, which is not shown again:")
		}
		_, err := fmt.Fprintln(s.out, p.Secret)
		return err
	})
}

type webhooksEnableCommand struct {
	webhookRef
	output
}

func (k *webhooksEnableCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	return k.switchTo(ctx, s, c, k.output, true)
}

type webhooksDisableCommand struct {
	webhookRef
	output
}

func (k *webhooksDisableCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	return k.switchTo(ctx, s, c, k.output, false)
}

func (r *webhookRef) switchTo(ctx context.Context, s *session, c *client.Client, o output, enabled bool) error {
	id, err := r.find(ctx, c)
	if err != nil {
		return err
	}
	p, err := client.Call(ctx, c, op.ChangePolicy.At(id), wire.ChangePolicy{Enabled: wire.Some(enabled)})
	return noted(s, o, p, err, func(p wire.Policy) string { return fmt.Sprintf("webhook %s is %s", line(p.Name), p.State) })
}

type webhooksDeleteCommand struct {
	webhookRef
	output
}

func (k *webhooksDeleteCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	id, err := k.find(ctx, c)
	if err != nil {
		return err
	}
	err = client.Run(ctx, c, op.DeletePolicy.At(id))
	return noted(s, k.output, ended{"webhook", id, "deleted"}, err, func(ended) string { return "webhook " + line(k.Webhook) + " is deleted" })
}
