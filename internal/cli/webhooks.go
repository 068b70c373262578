package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/webhook"
)

// webhooksCommands are `tenet webhooks ...`.
type webhooksCommands struct {
	Create     webhooksCreateCommand     `cmd:"" help:"Have an endpoint told of events, and print the secret, this once."`
	List       webhooksListCommand       `cmd:"" help:"List webhooks and how their endpoints do."`
	Test       webhooksTestCommand       `cmd:"" help:"Send a ping and show what the endpoint says."`
	Deliveries webhooksDeliveriesCommand `cmd:"" help:"List what was sent, or waits to be."`
	Redeliver  webhooksRedeliverCommand  `cmd:"" help:"Send a delivery once more."`
	Rotate     webhooksRotateCommand     `cmd:"" help:"Make another secret and print it, this once."`
	Enable     webhooksEnableCommand     `cmd:"" help:"Send events again, and what is pending."`
	Disable    webhooksDisableCommand    `cmd:"" help:"Send nothing for now."`
	Delete     webhooksDeleteCommand     `cmd:"" help:"Delete a webhook."`
}

// Help is the long help of the commands.
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
	Event       []string `placeholder:"TYPE" help:"Only events of this type, several times for several: alert.created, alert.resolved, evaluation.violated, snapshot.deployed, candidate.created. Default is all."`
	SeverityMin string   `placeholder:"SEVERITY" help:"Only events about rules at least that severe."`
	Scope       string   `placeholder:"PATH" help:"Only events about rules in this scope or below."`
	Rule        []string `placeholder:"RULE" help:"Only events about this rule (id or slug), several times for several."`
	Slack       bool     `help:"Send messages for Slack, and what is compatible with it."`
}

// Run makes a webhook. Only the secret goes to stdout, so that it can be caught in a variable.
func (k *webhooksCreateCommand) Run(ctx context.Context, s *session) error {
	n := client.NewPolicy{
		Name: k.Name, URL: k.URL, EventTypes: rule.EventTypes, Format: webhook.Standard,
		Filter: webhook.Filter{SeverityMin: rule.Severity(strings.ToUpper(k.SeverityMin)), Scope: k.Scope, RuleIDs: k.Rule},
	}
	if k.Slack {
		n.Format = webhook.Slack
	}
	if len(k.Event) > 0 {
		n.EventTypes = nil
		for _, e := range k.Event {
			n.EventTypes = append(n.EventTypes, rule.EventType(e))
		}
	}
	return s.with(ctx, needsData, func(c *client.Client) error {
		p, err := c.CreatePolicy(ctx, n)
		if err != nil {
			return err
		}
		s.note("made webhook %s (%s); this is its secret, which is not shown again:", line(p.Name), p.ID)
		_, err = fmt.Fprintln(s.out, p.Secret)
		return err
	})
}

type webhooksListCommand struct {
	Format string `short:"f" enum:"text,json" default:"text" help:"${enum}."`
}

// Run lists webhooks.
func (k *webhooksListCommand) Run(ctx context.Context, s *session) error {
	return s.with(ctx, keepsData, func(c *client.Client) error {
		list, err := c.Policies(ctx)
		if err != nil {
			return err
		}
		if k.Format == "json" {
			return printJSON(s.out, list)
		}
		if len(list) == 0 {
			s.note("there are no webhooks")
			return nil
		}
		t := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "ID\tNAME\tSTATE\tURL\tEVENTS")
		for i := range list {
			p := &list[i]
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", p.ID, line(p.Name), webhookState(p), line(p.URL), eventNames(p.EventTypes))
		}
		return t.Flush()
	})
}

func webhookState(p *webhook.Policy) string {
	switch {
	case p.State == webhook.Paused && p.PausedUntil != nil:
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
	list, err := c.Policies(ctx)
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(list, func(p webhook.Policy) bool { return p.Name == r.Webhook || p.ID == r.Webhook })
	if i < 0 {
		return "", rule.Errorf(rule.CodeNotFound, "there is no webhook %q; `tenet webhooks list` shows what there is", r.Webhook)
	}
	return list[i].ID, nil
}

// on finds the webhook and does something with it.
func (r *webhookRef) on(ctx context.Context, s *session, do func(c *client.Client, id string) error) error {
	return s.with(ctx, keepsData, func(c *client.Client) error {
		id, err := r.find(ctx, c)
		if err != nil {
			return err
		}
		return do(c, id)
	})
}

type webhooksTestCommand struct{ webhookRef }

// Run sends a ping. It ends with exit code 1 if the endpoint does not take it.
func (k *webhooksTestCommand) Run(ctx context.Context, s *session) error {
	return k.on(ctx, s, func(c *client.Client, id string) error {
		r, err := c.TestPolicy(ctx, id)
		if err != nil {
			return err
		}
		if r.Answer != "" {
			s.note("it says: %s", line(r.Answer))
		}
		if !r.Delivered {
			s.note("not delivered: %s", line(r.Reason))
			return exit(exitFound)
		}
		_, err = fmt.Fprintf(s.out, "delivered: %d in %d ms\n", r.Status, r.DurationMS)
		return err
	})
}

type webhooksDeliveriesCommand struct {
	webhookRef
	State  string `placeholder:"STATE" help:"Only those that are pending, delivered or dead (given up)."`
	Limit  int    `default:"20" help:"How many at most, up to 100."`
	Format string `short:"f" enum:"text,json" default:"text" help:"${enum}."`
}

// Run lists deliveries.
func (k *webhooksDeliveriesCommand) Run(ctx context.Context, s *session) error {
	if k.Limit < 1 || k.Limit > 100 {
		return fmt.Errorf("--limit: %d is not between 1 and 100", k.Limit)
	}
	return k.on(ctx, s, func(c *client.Client, id string) error {
		list, err := c.Deliveries(ctx, id, k.State, 1, k.Limit)
		if err != nil {
			return err
		}
		if k.Format == "json" {
			return printJSON(s.out, list.Items)
		}
		if len(list.Items) == 0 {
			s.note("there are no such deliveries")
			return nil
		}
		t := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "ID\tEVENT\tSTATE\tATTEMPTS\tMADE\tSTATUS\tREASON")
		for i := range list.Items {
			d := &list.Items[i]
			fmt.Fprintf(t, "%d\t%s\t%s\t%d\t%s\t%s\t%s\n", d.ID, line(string(d.EventType)), d.State, d.Attempts, d.CreatedAt.Format(time.DateTime), statusText(d.LastStatus), line(d.Reason))
		}
		if err := t.Flush(); err != nil {
			return err
		}
		if more := list.Total - len(list.Items); more > 0 {
			s.note("and %d older ones", more)
		}
		return nil
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
}

// Run sends a delivery once more.
func (k *webhooksRedeliverCommand) Run(ctx context.Context, s *session) error {
	return k.on(ctx, s, func(c *client.Client, id string) error {
		d, err := c.Redeliver(ctx, id, k.Delivery)
		if err == nil {
			s.note("delivery %d (%s) is pending again", d.ID, d.EventType)
		}
		return err
	})
}

type webhooksRotateCommand struct {
	webhookRef
	Overlap time.Duration `default:"24h" help:"How long the secret before signs too."`
}

// Run makes another secret. Only the secret goes to stdout.
func (k *webhooksRotateCommand) Run(ctx context.Context, s *session) error {
	return k.on(ctx, s, func(c *client.Client, id string) error {
		p, err := c.RotateSecret(ctx, id, k.Overlap)
		if err != nil {
			return err
		}
		if p.OldSecretUntil != nil {
			s.note("until %s the secret before signs too; this is the new one, which is not shown again:", p.OldSecretUntil.Format(time.DateTime))
		} else {
			s.note("the secret before is void; this is the new one, which is not shown again:")
		}
		_, err = fmt.Fprintln(s.out, p.Secret)
		return err
	})
}

type webhooksEnableCommand struct{ webhookRef }

// Run enables a webhook.
func (k *webhooksEnableCommand) Run(ctx context.Context, s *session) error {
	return k.switchTo(ctx, s, true)
}

type webhooksDisableCommand struct{ webhookRef }

// Run disables a webhook.
func (k *webhooksDisableCommand) Run(ctx context.Context, s *session) error {
	return k.switchTo(ctx, s, false)
}

func (r *webhookRef) switchTo(ctx context.Context, s *session, enabled bool) error {
	return r.on(ctx, s, func(c *client.Client, id string) error {
		p, err := c.ChangePolicy(ctx, id, client.PolicyChange{Enabled: &enabled})
		if err == nil {
			s.note("webhook %s is %s", line(p.Name), p.State)
		}
		return err
	})
}

type webhooksDeleteCommand struct{ webhookRef }

// Run deletes a webhook.
func (k *webhooksDeleteCommand) Run(ctx context.Context, s *session) error {
	return k.on(ctx, s, func(c *client.Client, id string) error {
		if err := c.DeletePolicy(ctx, id); err != nil {
			return err
		}
		s.note("webhook %s is deleted", line(k.Webhook))
		return nil
	})
}
