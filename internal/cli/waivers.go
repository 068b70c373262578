package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire"
)

// waiversCommands are `tenet waivers ...`.
type waiversCommands struct {
	List    waiversListCommand    `cmd:"" help:"List waivers, newest first."`
	Add     waiversAddCommand     `cmd:"" help:"Waive a violation until a date."`
	Approve waiversApproveCommand `cmd:"" help:"Approve a waiver that somebody else has made."`
	Revoke  waiversRevokeCommand  `cmd:"" help:"Take a waiver back."`
}

type waiversListCommand struct {
	Rule string `placeholder:"RULE" help:"Only those of this rule: its id or slug."`
	limit
	output
}

func (k *waiversListCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	page, err := c.Waivers(ctx, k.Rule, 1, k.Limit)
	return showPage(s, k.output, page, err, printWaivers)
}

func printWaivers(s *session, waivers []rule.Waiver) error {
	return list(s, "there are no such waivers", "ID\tSTATUS\tRULE\tSEVERITY\tREPOSITORY\tENDS\tMADE BY\tAPPROVED BY\tREASON", waivers, func(w *rule.Waiver) []any {
		return []any{w.ID, w.Status, orID(w.RuleSlug, w.RuleID), w.Severity, w.Repository, w.ExpiresAt.Format(time.DateOnly), w.CreatedBy, w.ApprovedBy, w.Reason}
	})
}

type waiversAddCommand struct {
	Rule        string `arg:"" help:"Id or slug of the rule."`
	Fingerprint string `arg:"" help:"Fingerprint of the verdict, as tenet check --format json shows it."`
	// Repository goes with the evaluation of files or a diff; one of an action or of facts names none.
	Repository   string `type:"filled" xor:"repository" placeholder:"NAME" help:"Repository that it covers; default is the path of the git remote origin, as tenet check takes it."`
	NoRepository bool   `xor:"repository" help:"Cover evaluations that name no repository, such as those of actions."`

	Reason   string `required:"" placeholder:"TEXT" help:"Why the violation is accepted."`
	Expires  string `required:"" placeholder:"WHEN" help:"When it lapses: a date such as 2026-12-31, a time in RFC 3339, or days from now such as 30d."`
	Approver string `placeholder:"NAME" help:"Who is asked to approve it; nobody else can then."`
	output
}

func (waiversAddCommand) Help() string {
	return `A waiver covers one denial: that of this rule, in this repository, about exactly the text that it cites. It lapses on its date, and when
that text or the rule changes. The verdict stays DENY, is shown as waived, and does not count. For a CRITICAL rule a second person must approve it.

tenet waive does the same with the beginning of the fingerprint, as reports show it.

    tenet check --format json | jq -r '.violations[] | [.rule_slug, .fingerprint] | @tsv'
    tenet waivers add SEC-003 5c1f... --reason 'test key without rights' --expires 30d`
}

func (k *waiversAddCommand) Run(ctx context.Context, s *session) error {
	ends, err := moment(k.Expires, time.Now())
	if err != nil {
		return fmt.Errorf("--expires: %w", err)
	}
	if k.Repository == "" && !k.NoRepository {
		k.Repository = repository(ctx)
	}
	return s.with(ctx, needsData, func(c *client.Client) error {
		w, err := c.CreateWaiver(ctx, wire.CreateWaiver{
			RuleID: k.Rule, Fingerprint: k.Fingerprint, Repository: k.Repository, Reason: k.Reason, ExpiresAt: ends, Approver: k.Approver,
		})
		return noteWaiver(s, k.output, w, err)
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

// noteWaiver prints the id of a waiver, and what it is worth for people.
func noteWaiver(s *session, o output, w rule.Waiver, err error) error {
	return show(s, o, w, err, printWaiver)
}

func printWaiver(s *session, w rule.Waiver) error {
	note := fmt.Sprintf("the waiver is %s", w.Status)
	if w.Status == rule.WaiverPending {
		note += ": the rule is CRITICAL, and a second person must approve it (tenet waivers approve " + w.ID + ")"
	}
	s.note("%s", note)
	_, err := fmt.Fprintln(s.out, w.ID)
	return err
}

// waiverRef names a waiver on the command line.
type waiverRef struct {
	ID string `arg:"" help:"Id of the waiver, as list shows it."`
	output
}

type waiversApproveCommand struct{ waiverRef }

func (k *waiversApproveCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	w, err := c.ApproveWaiver(ctx, k.ID)
	return noteWaiver(s, k.output, w, err)
}

type waiversRevokeCommand struct{ waiverRef }

func (k *waiversRevokeCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	w, err := c.RevokeWaiver(ctx, k.ID)
	return noteWaiver(s, k.output, w, err)
}
