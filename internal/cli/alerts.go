package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/text"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// alertsCommands are `tenet alerts ...`.
type alertsCommands struct {
	List        alertsListCommand        `cmd:"" help:"List alerts about rules, newest first."`
	Show        alertsShowCommand        `cmd:"" help:"Show an alert."`
	Acknowledge alertsAcknowledgeCommand `cmd:"" help:"Acknowledge an alert."`
	Resolve     alertsResolveCommand     `cmd:"" help:"Resolve an alert."`
}

type alertsListCommand struct {
	Status string `placeholder:"STATUS" help:"Only active, acknowledged or resolved alerts."`
	Type   string `placeholder:"TYPE" help:"Only dormant_rule, high_deny_rate, health_decline, conflict_detected, edge_stale, edge_silent or spool_growing."`
	Rule   string `placeholder:"RULE" help:"Only alerts about this rule (id or slug)."`

	Agent   string `placeholder:"AGENT" help:"Only alerts that this agent has caused, such as claude-code."`
	Person  string `placeholder:"PERSON" help:"Only alerts that agents have caused that act for this person."`
	Session string `placeholder:"SESSION" help:"Only alerts that this session of an agent has caused."`
	limit
	output
}

func (alertsListCommand) Help() string {
	return `An alert reports that something is wrong with a rule: it is dormant, denies too often, has lost health, or contradicts another.

    tenet alerts list --status active
    tenet alerts list --agent claude-code
    tenet alerts acknowledge 0198a1b2-...
    tenet alerts resolve 0198a1b2-... --note "the rule is narrower now"`
}

func (k *alertsListCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	alerts, err := client.Get(ctx, c, op.ListAlerts.Where(wire.AlertQuery{
		Status: k.Status, Type: k.Type, RuleID: k.Rule, Agent: k.Agent, Person: k.Person, Session: k.Session, OffsetQuery: wire.OffsetQuery{Limit: k.Limit},
	}))
	return show(s, k.output, alerts, err, printAlerts)
}

func printAlerts(s *session, l wire.Alerts) error {
	err := list(s, "there are no such alerts", "ID\tSTATUS\tTYPE\tRAISED\tBY\tMESSAGE", l.Alerts, func(a *rule.Alert) []any {
		return []any{a.ID, a.Status, a.Type, a.CreatedAt.Format(time.DateTime), whoActed(a.Acted), a.Message}
	})
	if err == nil && len(l.Alerts) > 0 {
		s.more(l.Total, len(l.Alerts))
		s.note("%d active, %d acknowledged, %d resolved in the project", l.Counts.Active, l.Counts.Acknowledged, l.Counts.Resolved)
	}
	return err
}

// whoActed names the latest of those who have caused an alert, and how many others there are.
func whoActed(list []rule.ActedBy) string {
	if len(list) == 0 {
		return "-"
	}
	name := actorOf(list[0].Actor, &list[0].Identity)
	if n := len(list) - 1; n > 0 {
		name += fmt.Sprintf(" and %d more", n)
	}
	return name
}

// alertRef names an alert on the command line.
type alertRef struct {
	ID string `arg:"" help:"Id of the alert, as list shows it."`
}

type alertsShowCommand struct {
	alertRef
	output
}

func (k *alertsShowCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	a, err := client.Get(ctx, c, op.GetAlert.At(k.ID))
	return show(s, k.output, a, err, printAlert)
}

func printAlert(s *session, a rule.Alert) error {
	rows := [][]any{
		{s.bold("alert"), a.ID}, {"status", a.Status}, {"type", a.Type}, {"message", a.Message}, {"raised", a.CreatedAt.UTC().Format(time.DateTime) + " UTC"},
	}
	if a.RuleID != "" {
		rows = append(rows, []any{"rule", a.RuleID})
	}
	for i := range a.Acted {
		who := &a.Acted[i]
		by := actorOf(who.Actor, &who.Identity)
		if who.Session != "" {
			by += ", session " + line(who.Session)
		}
		if who.Evaluations > 0 {
			by += ": " + text.Plural(who.Evaluations, "denial")
		}
		rows = append(rows, []any{"by", by})
	}
	if a.AcknowledgedBy != "" {
		rows = append(rows, []any{"acknowledged by", a.AcknowledgedBy})
	}
	if a.ResolvedBy != "" {
		rows = append(rows, []any{"resolved by", a.ResolvedBy + strings.TrimSuffix(": "+a.ResolutionNote, ": ")})
	}
	return s.table("", rows)
}

type alertsAcknowledgeCommand struct {
	alertRef
	output
}

func (k *alertsAcknowledgeCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	a, err := client.Get(ctx, c, op.AcknowledgeAlert.At(k.ID))
	return noted(s, k.output, a, err, func(a rule.Alert) string {
		return fmt.Sprintf("%s is acknowledged by %s: %s", a.ID, line(a.AcknowledgedBy), line(a.Message))
	})
}

type alertsResolveCommand struct {
	alertRef
	Note string `placeholder:"TEXT" help:"What was done about it."`
	output
}

func (k *alertsResolveCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	a, err := client.Call(ctx, c, op.ResolveAlert.At(k.ID), wire.ResolveAlert{ResolutionNote: k.Note})
	return noted(s, k.output, a, err, func(a rule.Alert) string {
		return fmt.Sprintf("%s is resolved by %s: %s", a.ID, line(a.ResolvedBy), line(a.Message))
	})
}
