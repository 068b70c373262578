package cli

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"tenet/internal/client"
	"tenet/internal/rule"
)

// alertsCommands are `tenet alerts ...`.
type alertsCommands struct {
	List        alertsListCommand        `cmd:"" help:"List alerts about rules, newest first."`
	Show        alertsShowCommand        `cmd:"" help:"Show an alert."`
	Acknowledge alertsAcknowledgeCommand `cmd:"" help:"Take an alert on."`
	Resolve     alertsResolveCommand     `cmd:"" help:"End an alert."`
}

type alertsListCommand struct {
	Status string `placeholder:"STATUS" help:"Only active, acknowledged or resolved alerts."`
	Type   string `placeholder:"TYPE" help:"Only dormant_rule, high_deny_rate, health_decline or conflict_detected."`
	Rule   string `placeholder:"RULE" help:"Only alerts about this rule (id or slug)."`
	Limit  int    `default:"20" help:"How many at most, up to 100."`
	Format string `short:"f" enum:"text,json" default:"text" help:"${enum}."`
}

// Help is the long help of the command.
func (alertsListCommand) Help() string {
	return `An alert tells that something is wrong with a rule: it is dormant, denies too often, has lost health, or contradicts another.

    tenet alerts list --status active
    tenet alerts acknowledge 0198a1b2-...
    tenet alerts resolve 0198a1b2-... --note "the rule is narrower now"`
}

// Run lists alerts.
func (k *alertsListCommand) Run(ctx context.Context, s *session) error {
	if k.Limit < 1 || k.Limit > 100 {
		return fmt.Errorf("--limit: %d is not between 1 and 100", k.Limit)
	}
	return s.with(ctx, keepsData, func(c *client.Client) error {
		f := client.AlertFilter{Status: rule.AlertStatus(k.Status), Type: rule.AlertType(k.Type), Rule: k.Rule, Limit: k.Limit}
		list, err := c.Alerts(ctx, f)
		if err != nil {
			return err
		}
		if k.Format == "json" {
			return printJSON(s.out, list)
		}
		if len(list.Alerts) == 0 {
			s.note("there are no such alerts")
			return nil
		}
		var b strings.Builder
		t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "ID\tSTATUS\tTYPE\tRAISED\tMESSAGE")
		for i := range list.Alerts {
			a := &list.Alerts[i]
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", a.ID, a.Status, a.Type, a.CreatedAt.Format(time.DateTime), line(a.Message))
		}
		if err := s.table(t, &b); err != nil {
			return err
		}
		if more := list.Total - len(list.Alerts); more > 0 {
			s.note("and %d older ones", more)
		}
		s.note("%d active, %d acknowledged, %d resolved in the project", list.Counts.Active, list.Counts.Acknowledged, list.Counts.Resolved)
		return nil
	})
}

// alertRef names an alert on the command line.
type alertRef struct {
	ID string `arg:"" help:"Id of the alert, as list shows it."`
}

type alertsShowCommand struct{ alertRef }

// Run shows an alert.
func (k *alertsShowCommand) Run(ctx context.Context, s *session) error {
	return s.with(ctx, keepsData, func(c *client.Client) error {
		a, err := c.Alert(ctx, k.ID)
		if err != nil {
			return err
		}
		return printJSON(s.out, a)
	})
}

type alertsAcknowledgeCommand struct{ alertRef }

// Run takes an alert on.
func (k *alertsAcknowledgeCommand) Run(ctx context.Context, s *session) error {
	return s.with(ctx, keepsData, func(c *client.Client) error {
		a, err := c.AcknowledgeAlert(ctx, k.ID)
		if err == nil {
			s.note("%s is acknowledged by %s: %s", a.ID, line(a.AcknowledgedBy), line(a.Message))
		}
		return err
	})
}

type alertsResolveCommand struct {
	alertRef
	Note string `placeholder:"TEXT" help:"What was done about it."`
}

// Run ends an alert.
func (k *alertsResolveCommand) Run(ctx context.Context, s *session) error {
	return s.with(ctx, keepsData, func(c *client.Client) error {
		a, err := c.ResolveAlert(ctx, k.ID, k.Note)
		if err == nil {
			s.note("%s is resolved by %s: %s", a.ID, line(a.ResolvedBy), line(a.Message))
		}
		return err
	})
}
