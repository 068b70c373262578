package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// retentionCommands are `tenet retention ...`.
type retentionCommands struct {
	Show     retentionShowCommand     `cmd:"" help:"Show how long records are kept."`
	Set      retentionSetCommand      `cmd:"" help:"Change how long records are kept."`
	Confirm  retentionConfirmCommand  `cmd:"" help:"Confirm a shorter minimum that another administrator has proposed."`
	Withdraw retentionWithdrawCommand `cmd:"" help:"Withdraw a proposed shorter minimum."`
}

type retentionShowCommand struct{ output }

func (k *retentionShowCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	r, err := client.Get(ctx, c, op.GetRetention)
	return show(s, k.output, &r, err, printRetention)
}

func printRetention(s *session, r *wire.Retention) error {
	limit := func(n int) string {
		if n == 0 {
			return "without limit"
		}
		return strconv.Itoa(n) + " days"
	}
	err := list(s, "nothing is kept for a time", "KIND\tKEPT\tAT LEAST\tSERVER", r.Kinds, func(k *wire.KeptKind) []any {
		return []any{k.Kind, limit(k.Effective), strconv.Itoa(k.Least) + " days", limit(k.Server)}
	})
	if err != nil {
		return err
	}
	if r.HighRisk {
		s.note("the project is marked as high-risk: records of evaluations and agents are kept for at least %d days", rule.HighRiskDays)
	}
	if r.Holds > 0 {
		s.note("legal holds in force: %d (tenet holds list)", r.Holds)
	}
	if p := r.Proposal; p != nil {
		s.note("%s proposed on %s: %s. Another administrator confirms it with tenet retention confirm", p.By, p.At.Format(time.DateOnly), strings.Join(p.Shortens, "; "))
	}
	return nil
}

type retentionSetCommand struct {
	Days     []string `placeholder:"KIND=N" help:"Days after which it is deleted: 0 is without limit, default the setting of the server. KIND is evaluation, agent, submission or scan. Repeatable."`
	Minimum  []string `placeholder:"KIND=N" help:"Days before which nothing deletes it. Repeatable."`
	HighRisk *bool    `negatable:"" help:"Mark the project as high-risk: at least 183 days for records of evaluations and agents."`
	Reason   string   `placeholder:"TEXT" help:"Why; needed to shorten a minimum."`
	output
}

func (retentionSetCommand) Help() string {
	return `A longer time holds at once. A change that shortens a minimum is only proposed: another administrator must confirm it.

    tenet retention set --days evaluation=365 --minimum evaluation=183
    tenet retention set --minimum evaluation=90 --reason 'agreed with the regulator'
    tenet retention confirm        # the second administrator`
}

func (k *retentionSetCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	in := wire.ChangeRetention{HighRisk: k.HighRisk, Reason: k.Reason, Kinds: map[string]wire.ChangeKeepTime{}}
	for _, one := range k.Days {
		kind, value, _ := strings.Cut(one, "=")
		t := in.Kinds[kind]
		if t.Days = (wire.Optional[int]{Set: true, Null: true}); value != "default" {
			n, err := strconv.Atoi(value)
			if err != nil {
				return fmt.Errorf("--days %s: write a kind and a number of days, or default, such as evaluation=365", one)
			}
			t.Days = wire.Some(n)
		}
		in.Kinds[kind] = t
	}
	for _, one := range k.Minimum {
		kind, value, _ := strings.Cut(one, "=")
		n, err := strconv.Atoi(value)
		if err != nil {
			return fmt.Errorf("--minimum %s: write a kind and a number of days, such as evaluation=183", one)
		}
		t := in.Kinds[kind]
		t.Minimum = &n
		in.Kinds[kind] = t
	}
	r, err := client.Call(ctx, c, op.ChangeRetention, in)
	return show(s, k.output, &r, err, printRetention)
}

type retentionConfirmCommand struct{ output }

func (k *retentionConfirmCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	r, err := client.Get(ctx, c, op.ConfirmRetention)
	return show(s, k.output, &r, err, printRetention)
}

type retentionWithdrawCommand struct{ output }

func (k *retentionWithdrawCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	r, err := client.Get(ctx, c, op.WithdrawRetention)
	return show(s, k.output, &r, err, printRetention)
}

// holdsCommands are `tenet holds ...`.
type holdsCommands struct {
	List  holdsListCommand  `cmd:"" help:"List legal holds."`
	Show  holdsShowCommand  `cmd:"" help:"Show a legal hold and how many evaluations it covers."`
	Place holdsPlaceCommand `cmd:"" help:"Keep records until a legal hold is lifted."`
	Lift  holdsLiftCommand  `cmd:"" help:"Lift a legal hold."`
}

type holdsListCommand struct {
	limit
	output
}

func (k *holdsListCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	page, err := client.Get(ctx, c, op.ListHolds.Where(wire.PageQuery{Page: 1, PageSize: k.Limit}))
	return showPage(s, k.output, page, err, func(s *session, holds []rule.LegalHold) error {
		return list(s, "there are no legal holds", "ID\tSTATE\tCOVERS\tPLACED\tBY\tREASON", holds, func(h *rule.LegalHold) []any {
			return []any{h.ID, holdState(h), holdWords(h), h.PlacedAt.Format(time.DateOnly), h.PlacedBy, h.Reason}
		})
	})
}

func holdState(h *rule.LegalHold) string {
	if h.LiftedAt != nil {
		return "lifted"
	}
	return "in force"
}

// holdWords lists the conditions of a legal hold.
func holdWords(h *rule.LegalHold) string {
	var words []string
	for _, c := range [][2]string{{"rule", h.Rule}, {"scope", h.Scope}, {"node", h.NodeID}, {"repository", h.Repository}, {"actor", h.Actor}} {
		if c[1] != "" {
			words = append(words, c[0]+" "+c[1])
		}
	}
	if h.Since != nil {
		words = append(words, "since "+h.Since.Format(time.DateOnly))
	}
	if h.Until != nil {
		words = append(words, "until "+h.Until.Format(time.DateOnly))
	}
	if len(words) == 0 {
		return "all records"
	}
	return strings.Join(words, ", ")
}

// holdRef names a legal hold on the command line.
type holdRef struct {
	ID string `arg:"" help:"Id of the legal hold, as list shows it."`
}

type holdsShowCommand struct {
	holdRef
	output
}

func (k *holdsShowCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	h, err := client.Get(ctx, c, op.GetHold.At(k.ID))
	return show(s, k.output, &h, err, printHold)
}

func printHold(s *session, h *rule.LegalHold) error {
	if h.Evaluations == nil { // of an older server
		h.Evaluations = new(int)
	}
	s.note("%s: covers %s (%s)", holdState(h), amount(*h.Evaluations, "evaluation"), holdWords(h))
	_, err := fmt.Fprintln(s.out, h.ID)
	return err
}

type holdsPlaceCommand struct {
	Reason     string `required:"" placeholder:"TEXT" help:"Why the records must be kept."`
	Rule       string `placeholder:"RULE" help:"Only evaluations in which this rule has a verdict: its id or slug."`
	Scope      string `placeholder:"SCOPE" help:"Only of this scope and narrower ones."`
	Node       string `placeholder:"NODE" help:"Only of this federation node, such as acme/payments."`
	Repository string `placeholder:"NAME" help:"Only about this repository."`
	Actor      string `placeholder:"NAME" help:"Only those that this actor asked for, such as key:ci."`
	Since      string `placeholder:"WHEN" help:"Only from this date or time on, or as many days back as 30d."`
	Until      string `placeholder:"WHEN" help:"Only before this date or time."`
	output
}

func (holdsPlaceCommand) Help() string {
	return `No job deletes the records that meet all conditions that are given, until the hold is lifted. Without conditions it covers all records.

    tenet holds place --reason 'case 2026-17' --repository acme/payments --since 2026-01-01
    tenet holds lift ID --reason 'case 2026-17 is closed'`
}

func (k *holdsPlaceCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	in := wire.PlaceHold{Reason: k.Reason, Rule: k.Rule, Scope: k.Scope, NodeID: k.Node, Repository: k.Repository, Actor: k.Actor}
	for _, t := range []struct {
		name, text string
		at         **time.Time
	}{{"--since", k.Since, &in.Since}, {"--until", k.Until, &in.Until}} {
		if t.text == "" {
			continue
		}
		at, err := timeAgo(t.text, time.Now())
		if err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
		*t.at = &at
	}
	h, err := client.Call(ctx, c, op.PlaceHold, in)
	return show(s, k.output, &h, err, printHold)
}

type holdsLiftCommand struct {
	holdRef
	Reason string `required:"" placeholder:"TEXT" help:"Why the records need not be kept any more."`
	output
}

func (k *holdsLiftCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	h, err := client.Call(ctx, c, op.LiftHold.At(k.ID), wire.LiftHold{Reason: k.Reason})
	return show(s, k.output, &h, err, printHold)
}
