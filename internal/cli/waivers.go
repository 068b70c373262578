package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"tenet/internal/client"
	"tenet/internal/rule"
)

// waiversCommands are `tenet waivers ...`.
type waiversCommands struct {
	List    waiversListCommand    `cmd:"" help:"List waivers, newest first."`
	Add     waiversAddCommand     `cmd:"" help:"Waive a denial for a while."`
	Approve waiversApproveCommand `cmd:"" help:"Approve a waiver that somebody else has made."`
	Revoke  waiversRevokeCommand  `cmd:"" help:"Take a waiver back."`
}

type waiversListCommand struct {
	Rule   string `placeholder:"RULE" help:"Only those of this rule: its id or slug."`
	Limit  int    `default:"20" help:"How many at most, up to 100."`
	Format string `short:"f" enum:"text,json" default:"text" help:"${enum}."`
}

// Run lists waivers.
func (k *waiversListCommand) Run(ctx context.Context, s *session) error {
	if k.Limit < 1 || k.Limit > 100 {
		return fmt.Errorf("--limit: %d is not between 1 and 100", k.Limit)
	}
	return s.with(ctx, keepsData, func(c *client.Client) error {
		list, err := c.Waivers(ctx, k.Rule, 1, k.Limit)
		if err != nil {
			return err
		}
		if k.Format == "json" {
			return printJSON(s.out, list.Items)
		}
		if len(list.Items) == 0 {
			s.note("there are no such waivers")
			return nil
		}
		var b strings.Builder
		t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "ID\tSTATUS\tRULE\tSEVERITY\tENDS\tMADE BY\tAPPROVED BY\tREASON")
		for i := range list.Items {
			w := &list.Items[i]
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", w.ID, w.Status, line(w.RuleID), w.Severity, w.ExpiresAt.Format(time.DateOnly),
				line(w.CreatedBy), line(w.ApprovedBy), line(w.Reason))
		}
		if err := s.table(t, &b); err != nil {
			return err
		}
		if more := list.Total - len(list.Items); more > 0 {
			s.note("and %d older ones", more)
		}
		return nil
	})
}

type waiversAddCommand struct {
	Rule        string `arg:"" help:"Id or slug of the rule."`
	Fingerprint string `arg:"" help:"Fingerprint of the verdict, as tenet check --format json shows it."`
	Reason      string `required:"" placeholder:"TEXT" help:"Why the denial may stand."`
	Expires     string `required:"" placeholder:"WHEN" help:"When it lapses: a date such as 2026-12-31, a time in RFC 3339, or days from now such as 30d."`
	Approver    string `placeholder:"NAME" help:"Who is asked to approve it; nobody else can then."`
}

// Help is the long help of the command.
func (waiversAddCommand) Help() string {
	return `A waiver covers one denial: that of this rule, about exactly the text that it cites. It lapses on its date, and when that text or the
rule changes. The verdict stays DENY, is shown as waived, and does not count. For a CRITICAL rule a second person must approve it.

Example:

    tenet check --format json | jq -r '.violations[] | [.rule_slug, .fingerprint] | @tsv'
    tenet waivers add SEC-003 5c1f... --reason 'test key without rights' --expires 30d`
}

// Run makes a waiver.
func (k *waiversAddCommand) Run(ctx context.Context, s *session) error {
	ends, err := moment(k.Expires, time.Now())
	if err != nil {
		return fmt.Errorf("--expires: %w", err)
	}
	return s.with(ctx, needsData, func(c *client.Client) error {
		w, err := c.CreateWaiver(ctx, client.NewWaiver{
			RuleID: k.Rule, Fingerprint: k.Fingerprint, Reason: k.Reason, ExpiresAt: ends, Approver: k.Approver,
		})
		return s.tellWaiver(w, err)
	})
}

// moment reads a date, a time, or a number of days from now. A date is its end.
func moment(text string, now time.Time) (time.Time, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n > 0 && n <= 10_000 {
			return now.AddDate(0, 0, n), nil
		}
	}
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		return day.AddDate(0, 0, 1), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, errors.New("is not a date such as 2026-12-31, a time such as 2026-12-31T12:00:00Z, or days such as 30d")
	}
	return at, nil
}

// tellWaiver prints the id of a waiver, and what it is worth for people.
func (s *session) tellWaiver(w rule.Waiver, err error) error {
	if err != nil {
		return err
	}
	note := fmt.Sprintf("the waiver is %s", w.Status)
	if w.Status == rule.WaiverPending {
		note += ": the rule is CRITICAL, and a second person must approve it (tenet waivers approve " + w.ID + ")"
	}
	s.note("%s", note)
	_, err = fmt.Fprintln(s.out, w.ID)
	return err
}

// waiverRef names a waiver on the command line.
type waiverRef struct {
	ID string `arg:"" help:"Id of the waiver, as list shows it."`
}

type waiversApproveCommand struct{ waiverRef }

// Run approves a waiver.
func (k *waiversApproveCommand) Run(ctx context.Context, s *session) error {
	return s.with(ctx, keepsData, func(c *client.Client) error { return s.tellWaiver(c.ApproveWaiver(ctx, k.ID)) })
}

type waiversRevokeCommand struct{ waiverRef }

// Run takes a waiver back.
func (k *waiversRevokeCommand) Run(ctx context.Context, s *session) error {
	return s.with(ctx, keepsData, func(c *client.Client) error { return s.tellWaiver(c.RevokeWaiver(ctx, k.ID)) })
}
