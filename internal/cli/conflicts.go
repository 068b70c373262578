package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"tenet/internal/client"
	"tenet/internal/conflict"
	"tenet/internal/job"
	"tenet/internal/store"
)

// conflictsCommands are `tenet conflicts ...`.
type conflictsCommands struct {
	List    rulesConflictsCommand   `cmd:"" help:"List rules that contradict each other, or one rule."`
	Confirm conflictsConfirmCommand `cmd:"" help:"Say that two rules do contradict each other."`
	Reject  conflictsRejectCommand  `cmd:"" help:"Say that two rules do not contradict each other."`
	Scan    conflictsScanCommand    `cmd:"" help:"Look for conflicts among all rules."`
}

type rulesConflictsCommand struct {
	Rule   string `arg:"" optional:"" help:"Only conflicts of this rule, by id or slug."`
	State  string `placeholder:"STATE" help:"Only suggested, confirmed, rejected or closed ones."`
	Limit  int    `default:"20" help:"How many at most, up to 100."`
	Format string `short:"f" enum:"text,json" default:"text" help:"${enum}."`
}

// Help is the long help of the command.
func (rulesConflictsCommand) Help() string {
	return `Servers look for conflicts in the background when rules are made, changed or imported. On the embedded database, tenet conflicts scan
looks for them.

    tenet rules conflicts PAY-014
    tenet rules conflicts --state suggested
    tenet conflicts reject 0198f0a2-7c3e-7b1a-9d1e-2f6b8c4d5e70 --note "one is for staging"`
}

// Run lists conflicts.
func (k *rulesConflictsCommand) Run(ctx context.Context, s *session) error {
	if k.Limit < 1 || k.Limit > 100 {
		return fmt.Errorf("--limit: %d is not between 1 and 100", k.Limit)
	}
	return s.with(ctx, keepsData, func(c *client.Client) error {
		list, err := c.Conflicts(ctx, client.ConflictFilter{State: k.State, Rule: k.Rule, Size: k.Limit})
		if err != nil {
			return err
		}
		if k.Format == "json" {
			return printJSON(s.out, list.Items)
		}
		if len(list.Items) == 0 {
			s.note("no conflict is known")
			return nil
		}
		if err := s.printConflictList(list.Items); err != nil {
			return err
		}
		if more := list.Total - len(list.Items); more > 0 {
			s.note("and %d older ones", more)
		}
		return nil
	})
}

// printConflictList shows conflicts for people.
func (s *session) printConflictList(list []conflict.Conflict) error {
	var b strings.Builder
	for i := range list {
		c := &list[i]
		fmt.Fprintf(&b, "%s  %s, confidence %.2f, found by %s\n", s.bold(c.ID), s.yellow(c.State), c.Confidence, line(c.FoundBy))
		for _, side := range []conflict.Side{c.Rule, c.Other} {
			fmt.Fprintf(&b, "  %s %s\n", s.dim(label(side.Slug, side.ID)), line(side.Statement))
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

// conflictRef names a conflict on the command line, and why it is decided.
type conflictRef struct {
	ID   string `arg:"" help:"Id of the conflict, as the list shows it."`
	Note string `placeholder:"TEXT" help:"Why, for those who come later."`
}

type conflictsConfirmCommand struct{ conflictRef }

// Run confirms a conflict.
func (k *conflictsConfirmCommand) Run(ctx context.Context, s *session) error {
	return s.with(ctx, keepsData, func(c *client.Client) error {
		return s.decided(c.ConfirmConflict(ctx, k.ID, k.Note))
	})
}

type conflictsRejectCommand struct{ conflictRef }

// Run rejects a conflict.
func (k *conflictsRejectCommand) Run(ctx context.Context, s *session) error {
	return s.with(ctx, keepsData, func(c *client.Client) error {
		return s.decided(c.RejectConflict(ctx, k.ID, k.Note))
	})
}

func (s *session) decided(c conflict.Conflict, err error) error {
	if err != nil {
		return err
	}
	s.note("the conflict of %s and %s is %s", line(label(c.Rule.Slug, c.Rule.ID)), line(label(c.Other.Slug, c.Other.ID)), c.State)
	return nil
}

type conflictsScanCommand struct {
	Model bool `help:"Ask the model about every rule, too: one call for each."`
}

// Help is the long help of the command.
func (conflictsScanCommand) Help() string {
	return `A server does the work in the background; follow it with the job's id. On the embedded database this command does it.

    tenet conflicts scan
    tenet jobs get 17
    tenet rules conflicts --state suggested`
}

// Run asks for a scan.
func (k *conflictsScanCommand) Run(ctx context.Context, s *session) error {
	s.working = true // another node may not be there to do it
	return s.with(ctx, keepsData, func(c *client.Client) error {
		j, err := c.ScanConflicts(ctx, k.Model)
		if err != nil {
			return err
		}
		if s.globals.Server != "" || s.env("TENET_SERVER") != "" {
			s.note("job %d looks for conflicts among all rules", j.ID)
			return nil
		}
		j, err = await(ctx, s, "comparing", j, func() (job.Job, error) { return c.Job(ctx, j.ID) },
			func(j *job.Job) (string, job.Progress) { return j.State, j.Progress })
		if err != nil {
			return err
		}
		if j.State != job.Succeeded {
			return fmt.Errorf("job %d has %s: %s", j.ID, j.State, line(j.Error))
		}
		list, err := c.Conflicts(ctx, client.ConflictFilter{State: store.ConflictSuggested, Size: 1})
		if err == nil {
			s.note("all rules are compared; conflicts to decide on: %d (tenet rules conflicts --state suggested)", list.Total)
		}
		return err
	})
}
