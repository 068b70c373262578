package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"tenet/internal/client"
	"tenet/internal/job"
	"tenet/internal/store"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// conflictsCommands are `tenet conflicts ...`.
type conflictsCommands struct {
	List    rulesConflictsCommand   `cmd:"" help:"List rules that contradict each other, or one rule."`
	Show    conflictsShowCommand    `cmd:"" help:"Show one conflict."`
	Mend    conflictsMendCommand    `cmd:"" help:"Mend a conflict: change a rule, add an exception to it, or let it override the other."`
	Confirm conflictsConfirmCommand `cmd:"" help:"Say that two rules do contradict each other."`
	Reject  conflictsRejectCommand  `cmd:"" help:"Say that two rules do not contradict each other."`
	Scan    conflictsScanCommand    `cmd:"" help:"Look for conflicts among all rules."`
}

type rulesConflictsCommand struct {
	Rule          string  `arg:"" optional:"" help:"Only conflicts of this rule, by id or slug."`
	State         string  `placeholder:"STATE" help:"Only suggested, confirmed, rejected or closed ones."`
	FoundBy       string  `placeholder:"TEST" help:"Only those found by force, limit, threshold, value, model or person."`
	MinConfidence float64 `placeholder:"N" help:"Only those with at least this confidence, 0 to 1."`
	SeverityMin   string  `placeholder:"SEVERITY" help:"Only those of which one rule is at least so severe."`
	Words         string  `short:"q" placeholder:"TEXT" help:"Only those with this text in a statement, a slug or the reason."`
	limit
	output
}

func (rulesConflictsCommand) Help() string {
	return `Servers look for conflicts in the background when rules are made, changed or imported. On the embedded database, tenet conflicts scan
looks for them. The words that clash are in square brackets.

    tenet rules conflicts PAY-014
    tenet rules conflicts --state suggested
    tenet conflicts reject 0198f0a2-7c3e-7b1a-9d1e-2f6b8c4d5e70 --note "one is for staging"`
}

func (k *rulesConflictsCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	page, err := client.Get(ctx, c, op.ListConflicts.Where(wire.ConflictQuery{
		State: k.State, RuleID: k.Rule, FoundBy: k.FoundBy, MinConfidence: k.MinConfidence, SeverityMin: k.SeverityMin, Q: k.Words,
		PageQuery: wire.PageQuery{PageSize: k.Limit},
	}))
	return show(s, k.output, page, err, func(s *session, page wire.ConflictPage) error {
		if err := printConflictList(s, page.Items); err != nil {
			return err
		}
		s.more(page.Total, len(page.Items))
		notePairsLeftOut(s, page.LeftOut)
		return nil
	})
}

// notePairsLeftOut says how many contradictions the server has found and does not list.
func notePairsLeftOut(s *session, n int) {
	if n > 0 {
		s.note("%d more contradictions are left out: of a rule the 10 strongest suggestions are kept, of a project 5,000. Decide on some, then run tenet conflicts scan", n)
	}
}

// printConflictList shows conflicts for people.
func printConflictList(s *session, list []wire.Conflict) error {
	if len(list) == 0 {
		s.note("no conflict is known")
		return nil
	}
	var b strings.Builder
	for i := range list {
		c := &list[i]
		fmt.Fprintf(&b, "%s  %s, confidence %.2f, found by %s\n", s.bold(c.ID), s.yellow(c.State), c.Confidence, line(c.FoundBy))
		for _, side := range []wire.ConflictSide{c.Rule, c.Other} {
			fmt.Fprintf(&b, "  %s %s\n", s.dim(cmp.Or(side.Slug, side.ID)), marked(s, side.Pieces))
		}
		fmt.Fprintf(&b, "  %s\n", line(c.Reason))
		if c.DecidedAt != nil {
			fmt.Fprintf(&b, "  %s by %s at %s", c.State, line(c.DecidedBy), c.DecidedAt.Format("2006-01-02 15:04:05Z07:00"))
			if c.Note != "" {
				fmt.Fprintf(&b, ": %s", line(c.Note))
			}
			b.WriteByte('\n')
		}
	}
	_, err := io.WriteString(s.out, b.String())
	return err
}

// marked is a statement with the words that clash in brackets.
func marked(s *session, pieces []wire.TextPiece) string {
	var b strings.Builder
	for _, p := range pieces {
		if text := line(p.Text); p.Clash {
			b.WriteString(s.yellow("[" + text + "]"))
		} else {
			b.WriteString(text)
		}
	}
	return b.String()
}

type conflictsShowCommand struct {
	ID string `arg:"" help:"Id of the conflict, as the list shows it."`
	output
}

func (k *conflictsShowCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	one, err := client.Get(ctx, c, op.GetConflict.At(k.ID))
	return show(s, k.output, one, err, func(s *session, one wire.Conflict) error { return printConflictList(s, []wire.Conflict{one}) })
}

type conflictsMendCommand struct {
	ID             string `arg:"" help:"Id of the conflict, as the list shows it."`
	Rule           string `arg:"" help:"Id or slug of one of its rules: the one that is changed, or that prevails."`
	Statement      string `xor:"way" required:"" placeholder:"TEXT" help:"Change what the rule says."`
	Exception      string `xor:"way" required:"" placeholder:"TEXT" help:"Add a case that the rule leaves out; one that names the slug of the other rule leaves out what that rule is about."`
	Override       bool   `xor:"way" required:"" help:"Let the rule silence the other one where both apply; needs --reason."`
	Reason         string `placeholder:"TEXT" help:"Why."`
	AllowWeakening bool   `help:"With --override: silence a rule that is more severe or more binding. With --statement: let an enforced CRITICAL or HIGH rule demand less."`
	DryRun         bool   `help:"Say what it would lead to, and store nothing."`
	output
}

func (conflictsMendCommand) Help() string {
	return `If the rules contradict each other no more, the conflict is closed. The exit code is 1 if they still do.

    tenet conflicts mend 0198f0a2-7c3e-7b1a-9d1e-2f6b8c4d5e70 PAY-014 --statement "Invoices must be paid within 14 days." --dry-run
    tenet conflicts mend 0198f0a2-7c3e-7b1a-9d1e-2f6b8c4d5e70 PAY-002 --exception "What PAY-014 is about."
    tenet conflicts mend 0198f0a2-7c3e-7b1a-9d1e-2f6b8c4d5e70 PAY-014 --override --reason "the newer policy"`
}

func (k *conflictsMendCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	body := wire.MendConflict{Rule: k.Rule, Exception: k.Exception, Override: k.Override, Reason: k.Reason, AllowWeakening: k.AllowWeakening, DryRun: k.DryRun}
	if k.Statement != "" {
		body.Change = &wire.ReviseRule{Statement: wire.Optional[string]{Set: true, Value: k.Statement}}
	}
	out, err := client.Call(ctx, c, op.MendConflict.At(k.ID), body)
	err = show(s, k.output, out, err, func(s *session, out wire.MendedConflict) error {
		printMended(s, &out, k.DryRun)
		return nil
	})
	if err == nil && out.Outcome == wire.MendOutcomeRemains {
		return exit(exitFound)
	}
	return err
}

// printMended says for people what mending a conflict has led to, or would.
func printMended(s *session, out *wire.MendedConflict, tried bool) {
	for _, way := range out.Weakens {
		s.note("the rule would be weaker: %s", line(way))
	}
	for _, other := range out.Others {
		s.note("the rule would contradict %s: %s", line(cmp.Or(other.Slug, other.RuleID)), line(other.Reason))
	}
	switch {
	case out.Outcome == wire.MendOutcomeRemains:
		s.note("the rules still contradict each other: %s", line(out.Reason))
	case out.Outcome == wire.MendOutcomeWaits && tried:
		s.note("the change would wait for a second person, and the conflict with it")
	case out.Outcome == wire.MendOutcomeWaits:
		s.note("the change waits for a second person as revision %d, and the conflict with it", out.Revision)
	case tried:
		s.note("the conflict would be closed")
	default:
		s.note("%s", decisionOf(out.Conflict))
	}
}

// conflictRef names a conflict on the command line, and why it is decided.
type conflictRef struct {
	ID   string `arg:"" help:"Id of the conflict, as the list shows it."`
	Note string `placeholder:"TEXT" help:"Why, for those who come later."`
	output
}

type conflictsConfirmCommand struct{ conflictRef }

func (k *conflictsConfirmCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	decided, err := client.Call(ctx, c, op.ConfirmConflict.At(k.ID), wire.DecideConflict{Note: k.Note})
	return noted(s, k.output, decided, err, decisionOf)
}

type conflictsRejectCommand struct{ conflictRef }

func (k *conflictsRejectCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	decided, err := client.Call(ctx, c, op.RejectConflict.At(k.ID), wire.DecideConflict{Note: k.Note})
	return noted(s, k.output, decided, err, decisionOf)
}

func decisionOf(c wire.Conflict) string {
	return fmt.Sprintf("the conflict of %s and %s is %s", line(cmp.Or(c.Rule.Slug, c.Rule.ID)), line(cmp.Or(c.Other.Slug, c.Other.ID)), c.State)
}

type conflictsScanCommand struct {
	Model bool `help:"Ask the model about every rule, too: one call for each."`
	output
}

func (conflictsScanCommand) Help() string {
	return `A server does the work in the background; follow it with the job's id. On the embedded database this command does it.

    tenet conflicts scan
    tenet jobs get 17
    tenet rules conflicts --state suggested`
}

func (k *conflictsScanCommand) Run(ctx context.Context, s *session) error {
	s.working = true // another node may not be there to do it
	return s.with(ctx, keepsData, func(c *client.Client) error {
		j, err := client.Call(ctx, c, op.ScanConflicts, wire.ScanConflicts{Model: k.Model})
		if err != nil {
			return err
		}
		if s.globals.Server != "" || s.env("TENET_SERVER") != "" {
			return noted(s, k.output, j, nil, func(j wire.Job) string { return fmt.Sprintf("job %d looks for conflicts among all rules", j.ID) })
		}
		j, err = await(ctx, s, "comparing", j, func() (wire.Job, error) { return client.Get(ctx, c, op.GetJob.At(strconv.FormatInt(j.ID, 10))) },
			func(j *wire.Job) (string, wire.Progress) { return j.State, j.Progress })
		if err != nil {
			return err
		}
		if j.State != job.Succeeded {
			return fmt.Errorf("job %d has %s: %s", j.ID, j.State, line(j.Error))
		}
		list, err := client.Get(ctx, c, op.ListConflicts.Where(wire.ConflictQuery{State: store.ConflictSuggested, PageQuery: wire.PageQuery{PageSize: 1}}))
		if err != nil {
			return err
		}
		return noted(s, k.output, j, nil, func(wire.Job) string {
			notePairsLeftOut(s, list.LeftOut)
			return fmt.Sprintf("all rules are compared; conflicts to decide on: %d (tenet rules conflicts --state suggested)", list.Total)
		})
	})
}
