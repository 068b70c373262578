package cli

import (
	"bytes"
	"cmp"
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

type rulesPendingCommand struct {
	Rule  string `arg:"" optional:"" help:"Only those of this rule: its id or slug."`
	State string `default:"pending" placeholder:"STATE" help:"pending, approved, rejected, withdrawn, replaced, dropped, or all. Default is ${default}."`
	limit
	output
}

func (rulesPendingCommand) Help() string {
	return `In a project with two_person_approval, a change of a rule in force waits until a person other than its author approves it. Until then
the version in force decides.

    tenet rules pending
    tenet rules approve-revision PAY-014 2
    tenet rules reject-revision PAY-014 2 --note "the law says 10,000"`
}

func (k *rulesPendingCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	o := op.ListRevisions
	if k.Rule != "" {
		o = op.ListRuleRevisions.At(k.Rule)
	}
	page, err := client.Get(ctx, c, o.Where(wire.RevisionQuery{State: k.State, PageQuery: wire.PageQuery{PageSize: k.Limit}}))
	return showPage(s, k.output, page, err, printRevisions)
}

// printRevisions shows revisions for people.
func printRevisions(s *session, list []wire.RevisionDetail) error {
	if len(list) == 0 {
		s.note("there are no such revisions")
		return nil
	}
	var b bytes.Buffer
	for i := range list {
		r := &list[i].Revision
		state := string(r.State)
		if r.Stale {
			state += ", stale: the rule has changed since; its author must propose it again"
		}
		fmt.Fprintf(&b, "%s %d  %s  %s, by %s at %s\n", s.bold(cmp.Or(r.Slug, r.RuleID)), r.Number, r.Severity, s.yellow(state), line(r.Author), r.At.Format(time.RFC3339))
		printFields(s, &b, r.Changes)
		printWeakens(s, &b, r.Weakens)
		for _, conflict := range r.Conflicts {
			fmt.Fprintf(&b, "    %s %s: %s\n", s.red("contradicts"), cmp.Or(conflict.Slug, conflict.RuleID), line(conflict.Reason))
		}
		for _, f := range r.Findings {
			fmt.Fprintf(&b, "    %s %s\n", s.yellow("lint:"), line(f.Message))
		}
		if t := list[i].Rule.Tests; t != nil && t.Total > 0 {
			fmt.Fprintf(&b, "    test cases: %d\n", t.Total)
		}
		if r.Note != "" {
			fmt.Fprintf(&b, "    why: %s\n", line(r.Note))
		}
		if r.DecidedAt != nil {
			fmt.Fprintf(&b, "    %s by %s at %s%s\n", r.State, line(r.DecidedBy), r.DecidedAt.Format(time.RFC3339), strings.TrimSuffix(": "+line(r.Decision), ": "))
		}
	}
	_, err := s.out.Write(b.Bytes())
	return err
}

// revisionRef names a revision on the command line.
type revisionRef struct {
	Rule   string `arg:"" help:"Id or slug of the rule."`
	Number int    `arg:"" help:"Number of the revision, as tenet rules pending shows it."`
	Note   string `placeholder:"TEXT" help:"Why."`
	output
}

func (k *revisionRef) path() []string { return []string{k.Rule, strconv.Itoa(k.Number)} }

type approveRevisionCommand struct{ revisionRef }

func (k *approveRevisionCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	r, err := client.Call(ctx, c, op.ApproveRevision.At(k.path()...), wire.DecideRevision{Note: k.Note})
	return noted(s, k.output, r, err, func(r rule.Rule) string {
		return fmt.Sprintf("version %d of %s is in force", r.Version, line(r.Label()))
	})
}

type rejectRevisionCommand struct{ revisionRef }

func (k *rejectRevisionCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	r, err := client.Call(ctx, c, op.RejectRevision.At(k.path()...), wire.DecideRevision{Note: k.Note})
	return noted(s, k.output, r, err, endedRevision)
}

type withdrawRevisionCommand struct{ revisionRef }

func (k *withdrawRevisionCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	r, err := client.Call(ctx, c, op.WithdrawRevision.At(k.path()...), wire.DecideRevision{Note: k.Note})
	return noted(s, k.output, r, err, endedRevision)
}

func endedRevision(r rule.Revision) string {
	return fmt.Sprintf("revision %d of %s is %s", r.Number, line(cmp.Or(r.Slug, r.RuleID)), r.State)
}
