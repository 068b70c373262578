package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// approvalsCommands are `tenet approvals ...`.
type approvalsCommands struct {
	List     approvalsListCommand     `cmd:"" help:"List what waits for an approval, or has waited."`
	Show     approvalsShowCommand     `cmd:"" help:"Show an approval with the complete action."`
	Approve  approvalsApproveCommand  `cmd:"" help:"Approve an action that somebody else has asked for."`
	Reject   approvalsRejectCommand   `cmd:"" help:"Reject an action."`
	Withdraw approvalsWithdrawCommand `cmd:"" help:"Take an approval back."`
}

type approvalsListCommand struct {
	State       []string      `placeholder:"STATE" help:"Only these states: pending, approved, rejected, expired, used, withdrawn; several times for several. Default is pending."`
	All         bool          `help:"Approvals in all states."`
	Mine        bool          `help:"Only those that you may use."`
	Requester   string        `placeholder:"ACTOR" help:"Only those of this actor, such as key:ci."`
	Rule        string        `placeholder:"RULE" help:"Only those about this rule (id or slug)."`
	Evaluation  string        `placeholder:"ID" help:"Only those of this evaluation."`
	Repository  string        `placeholder:"NAME" help:"Only those of this repository."`
	Agent       string        `placeholder:"NAME" help:"Only those of this agent."`
	Person      string        `placeholder:"NAME" help:"Only those for this person."`
	Session     string        `placeholder:"ID" help:"Only those of this session of an agent."`
	Scope       string        `placeholder:"PATH" help:"Only those of this scope and below it."`
	SeverityMin rule.Severity `placeholder:"LEVEL" help:"Only those with a rule of at least this severity."`
	Cursor      string        `placeholder:"CURSOR" help:"Go on behind an earlier list, which names its cursor."`
	limit
	output
}

func (approvalsListCommand) Help() string {
	return `Newest first. Without --state or --all, those that wait for a decision.

    tenet approvals list --severity-min HIGH
    tenet approvals show 0198a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b
    tenet approvals approve 0198a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b --reason 'a copy, nothing uses it'`
}

func (k *approvalsListCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	if len(k.State) == 0 && !k.All {
		k.State = []string{string(rule.ApprovalPending)}
	}
	page, err := client.Get(ctx, c, op.ListApprovals.Where(wire.ApprovalQuery{
		States: k.State, Mine: k.Mine, Requester: k.Requester, RuleID: k.Rule, EvaluationID: k.Evaluation, Repository: k.Repository, Agent: k.Agent,
		Person: k.Person, Session: k.Session, Scope: k.Scope, SeverityMin: string(k.SeverityMin), Cursor: k.Cursor, PageQuery: wire.PageQuery{PageSize: k.Limit},
	}))
	return show(s, k.output, page, err, func(s *session, page wire.ApprovalPage) error {
		err := list(s, "there are no such approvals", "ID\tSTATE\tASKED\tUNTIL\tBY\tSEVERITY\tACTION", page.Items, func(a *rule.Approval) []any {
			return []any{
				a.ID, a.State, a.CreatedAt.UTC().Format(time.DateTime), a.ExpiresAt.UTC().Format(time.TimeOnly), a.Requester, orDash(string(a.Severity)), a.Title,
			}
		})
		if err == nil && page.NextCursor != "" {
			s.note("%d in all; --cursor %s shows more", page.Total, page.NextCursor)
		}
		return err
	})
}

// approvalName names an approval on the command line.
type approvalName struct {
	ID string `arg:"" help:"Id of the approval, as list shows it."`
}

type approvalsShowCommand struct {
	approvalName
	Wait time.Duration `placeholder:"TIME" help:"Wait so long for the decision, such as 10m; exits with 1 unless it is approved or used."`
	output
}

func (k *approvalsShowCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	if k.Wait > 0 {
		a, err := awaitApproval(ctx, c, k.ID, k.Wait)
		if err != nil {
			return err
		}
		err = noteApproval(s, k.output, a, nil)
		if err == nil && a.State != rule.ApprovalApproved && a.State != rule.ApprovalUsed {
			return exit(exitFound)
		}
		return err
	}
	d, err := client.Get(ctx, c, op.GetApproval.At(k.ID))
	return show(s, k.output, d, err, printApproval)
}

// printApproval shows who asks for what, by which rules, and the complete action.
func printApproval(s *session, d wire.ApprovalDetail) error {
	var b strings.Builder
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%-12s %s\n", name, value)
		}
	}
	line("approval", d.ID)
	if state := string(d.State); d.Unanswered() {
		line("state", state+": nobody has decided in time")
	} else {
		line("state", state)
	}
	line("asked by", d.Requester)
	line("for", d.Person)
	line("agent", d.Agent)
	line("session", d.Session)
	line("reason", d.Reason)
	line("until", d.ExpiresAt.UTC().Format(time.DateTime)+" UTC")
	line("people", fmt.Sprintf("%d of %d have approved", len(d.Approvals()), d.Quorum))
	for _, decision := range d.Decisions {
		word := "not approved"
		if decision.Approve {
			word = "approved"
		}
		line("", fmt.Sprintf("%s by %s: %s", word, decision.By, decision.Reason))
	}
	for i := range d.Rules {
		r := &d.Rules[i]
		line("rule", fmt.Sprintf("%s (%s): %s", orID(r.RuleSlug, r.RuleID), r.Severity, r.Statement))
		line("", r.Why)
	}
	if d.Uncovered {
		line("rule", "none covers this, and the project's policy asks for confirmation")
	}
	line("effect", d.Effect)
	line("open", d.URL)
	for _, t := range d.Display {
		fmt.Fprintf(&b, "\n--- %s\n%s\n", t.Name, t.Text)
	}
	if n := len(d.Redactions); n > 0 {
		fmt.Fprintf(&b, "\n%d secrets were removed before the action was recorded.\n", n)
	}
	_, err := io.WriteString(s.out, b.String())
	return err
}

// approvalDecision are the flags of a decision.
type approvalDecision struct {
	approvalName
	Reason string `required:"" placeholder:"TEXT" help:"Why; kept in the audit chain."`
	output
}

type approvalsApproveCommand struct{ approvalDecision }

func (k *approvalsApproveCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	a, err := client.Call(ctx, c, op.ApproveApproval.At(k.ID), wire.DecideApproval{Reason: k.Reason})
	if err == nil && a.State == rule.ApprovalPending {
		s.note("%d of %d people have approved; the others must, too", len(a.Approvals()), a.Quorum)
	}
	return noteApproval(s, k.output, a, err)
}

type approvalsRejectCommand struct{ approvalDecision }

func (k *approvalsRejectCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	a, err := client.Call(ctx, c, op.RejectApproval.At(k.ID), wire.DecideApproval{Reason: k.Reason})
	return noteApproval(s, k.output, a, err)
}

type approvalsWithdrawCommand struct {
	approvalName
	Reason string `placeholder:"TEXT" help:"Why; needed unless you have asked for it."`
	output
}

func (k *approvalsWithdrawCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	a, err := client.Call(ctx, c, op.WithdrawApproval.At(k.ID), wire.DecideApproval{Reason: k.Reason})
	return noteApproval(s, k.output, a, err)
}

func noteApproval(s *session, o output, a rule.Approval, err error) error {
	return show(s, o, a, err, func(s *session, a rule.Approval) error {
		_, err := fmt.Fprintln(s.out, a.State)
		return err
	})
}

// awaitApproval waits until an approval is not pending any more, or the time is over.
func awaitApproval(ctx context.Context, c *client.Client, id string, most time.Duration) (a rule.Approval, err error) {
	const step = 30 * time.Second // shorter than the limits of proxies
	for ends := time.Now().Add(most); ; {
		wait := max(min(step, time.Until(ends)), 0).Round(time.Millisecond)
		d, err := client.Get(ctx, c, op.GetApproval.At(id).Where(wire.ApprovalWait{Wait: wait.String()}))
		if err != nil || d.State != rule.ApprovalPending || !time.Now().Before(ends) {
			return d.Approval, err
		}
	}
}
