package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"tenet/internal/client"
	"tenet/internal/report"
	"tenet/internal/rule"
	"tenet/internal/text"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// evaluationsCommands are `tenet evaluations ...`.
type evaluationsCommands struct {
	List evaluationsListCommand `cmd:"" help:"Find recorded evaluations, newest first."`
	Show evaluationsShowCommand `cmd:"" help:"Show the record of an evaluation."`
}

type evaluationsListCommand struct {
	Verdict     string   `placeholder:"VERDICT" help:"Only ALLOW, DENY or NEEDS_CONFIRMATION."`
	Rule        string   `placeholder:"RULE" help:"Only those in which this rule has a verdict (id or slug)."`
	Outcome     string   `placeholder:"OUTCOME" help:"Of the rule: violated, confirm, kept, not_concerned or waived."`
	Fact        []string `sep:"none" placeholder:"NAME:VALUE" help:"Only those with this fact; repeatable."`
	Words       string   `placeholder:"WORDS" help:"Only those whose subject has all these words."`
	Since       string   `placeholder:"TIME" help:"Not before this date (2026-12-31) or time, or so many days ago (30d)."`
	Until       string   `placeholder:"TIME" help:"Before this date or time, or so many days ago."`
	Scope       string   `placeholder:"SCOPE" help:"Only this scope, and narrower ones."`
	Repository  string   `placeholder:"REPOSITORY" help:"Only this repository, however its name is written."`
	Kind        string   `placeholder:"KIND" help:"Only this kind of subject, such as transaction."`
	Actor       string   `placeholder:"ACTOR" help:"Only those that this actor asked for."`
	Person      string   `placeholder:"PERSON" help:"Only those that agents asked for this person."`
	Agent       string   `placeholder:"AGENT" help:"Only those that this agent asked for, such as claude-code."`
	Session     string   `placeholder:"SESSION" help:"Only those of this session of an agent."`
	Mode        string   `placeholder:"MODE" help:"Only preflight or posthoc."`
	Environment string   `placeholder:"ENVIRONMENT" help:"Only those judged by the rules of production, staging or development."`
	Snapshot    string   `placeholder:"ID" help:"Only those judged by this snapshot."`
	Node        string   `placeholder:"NODE" help:"Only those of this federation node, such as acme/payments."`
	PersonalKey string   `placeholder:"KEY" help:"Only those about the person of this key, as tenet privacy find prints it."`
	Undecided   string   `placeholder:"REASON" help:"Only those that need confirmation for this reason: softened, doubtful, check_open, unexamined, no_model, no_answer, not_asked, uncovered, below_floor, nothing_given or other."`
	limit
	output
}

func (evaluationsListCommand) Help() string {
	return `All conditions that are given must hold.

    tenet evaluations list --fact payment_id:PMT-123
    tenet evaluations list --rule SEC-003 --outcome violated --since 7d
    tenet evaluations list --words "refund vendor" --scope finance --verdict DENY`
}

func (k *evaluationsListCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	q := wire.EvaluationQuery{
		Verdict: k.Verdict, Mode: k.Mode, Actor: k.Actor, Person: k.Person, Agent: k.Agent, Session: k.Session, Rule: k.Rule, RuleVerdict: k.Outcome, Scope: k.Scope, Repository: k.Repository,
		SubjectKind: k.Kind, Fact: k.Fact, Words: k.Words, Environment: k.Environment, SnapshotID: k.Snapshot, NodeID: k.Node, Undecided: k.Undecided, PersonalKey: k.PersonalKey,
		PageQuery: wire.PageQuery{PageSize: k.Limit},
	}
	now := time.Now()
	for _, bound := range []struct {
		flag, text string
		to         **time.Time
	}{{"--since", k.Since, &q.Since}, {"--until", k.Until, &q.Until}} {
		if bound.text == "" {
			continue
		}
		at, err := timeAgo(bound.text, now)
		if err != nil {
			return fmt.Errorf("%s: %q %w", bound.flag, bound.text, err)
		}
		*bound.to = &at
	}
	page, err := client.Get(ctx, c, op.ListEvaluations.Where(q))
	return show(s, k.output, page, err, printEvaluations)
}

func printEvaluations(s *session, page wire.EvaluationPage) error {
	err := list(s, "there are no such evaluations", "ID\tTIME\tVERDICT\tVIOLATED\tKIND\tSCOPE\tREPOSITORY\tACTOR", page.Items, func(e *wire.EvaluationSummary) []any {
		return []any{
			e.EvaluationID, e.Timestamp.Format(time.DateTime), e.OverallVerdict, fmt.Sprintf("%d of %d", e.RulesViolated, e.RulesEvaluated),
			orDash(e.SubjectKind), orDash(e.Scope), orDash(e.Repository), actorOf(e.Actor, e.Identity),
		}
	})
	if err != nil {
		return err
	}
	s.more(page.Total, len(page.Items))
	if page.Partial > 0 {
		s.note("%d more evaluations may match: they have more facts or words than are indexed", page.Partial)
	}
	if page.Unsearched > 0 {
		s.note("%d entries of the audit chain are not indexed yet, and were not searched; ask again later", page.Unsearched)
	}
	return nil
}

// actorOf names the actor with the agent and the person behind it. A question mark marks what is only claimed.
func actorOf(actor string, i *rule.Identity) string {
	if i == nil {
		return actor
	}
	name := func(value, field string) string {
		if i.Claims(field) {
			return line(value) + "?"
		}
		return line(value)
	}
	if i.Agent != "" {
		actor += ", agent " + name(i.Agent, "agent")
	}
	if i.Person != "" && i.Person != actor {
		actor += ", for " + name(i.Person, "person")
	}
	return actor
}

// orDash returns a text, or a dash for an empty one.
func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

type evaluationsShowCommand struct {
	ID      string `arg:"" help:"Id of the evaluation, as list shows it."`
	Verbose bool   `short:"v" help:"Also passed rules, and the reasoning behind each verdict."`
	output
}

func (evaluationsShowCommand) Help() string {
	return `Shows what was judged, by whom, and the verdicts with their evidence. --json prints the whole record, which replays.

    tenet evaluations show 0198a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b
    tenet evaluations show 0198a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b --json | jq .subject`
}

func (k *evaluationsShowCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	rec, err := c.Evaluation(ctx, k.ID)
	return show(s, k.output, rec, err, func(s *session, rec wire.EvaluationRecord) error {
		if err := printRecord(s, &rec); err != nil {
			return err
		}
		return report.Write(s.out, report.Text, rec.Evaluation, report.Options{Color: s.colour, Version: version(), Verbose: k.Verbose})
	})
}

// printRecord shows what an evaluation was about; what is empty is left out.
func printRecord(s *session, rec *wire.EvaluationRecord) error {
	e := rec.Evaluation
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s\n", s.bold(line(e.EvaluationID)), e.Timestamp.Format(time.RFC3339))
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "  %s %s\n", s.dim(fmt.Sprintf("%-12s", name)), line(value))
		}
	}
	subject := &rec.Subject
	files := make([]string, len(subject.Files))
	for i := range files {
		files[i] = subject.Files[i].Path
	}
	facts := ""
	if len(subject.Facts) > 0 {
		text, err := json.Marshal(subject.Facts)
		if err != nil {
			return err
		}
		facts = string(text)
	}
	row("kind", rec.Kind())
	row("repository", subject.Repository)
	row("scope", subject.Scope)
	row("action", subject.Action)
	row("intent", subject.Intent)
	row("facts", facts)
	row("files", strings.Join(files, ", "))
	row("mode", string(e.Mode))
	row("environment", rec.Environment)
	row("node", e.NodeID)
	if e.SnapshotID != nil {
		row("snapshot", *e.SnapshotID)
	}
	if calls := len(rec.Calls); calls > 0 {
		row("models", text.Plural(calls, "call")+", "+text.Plural(len(rec.Reused), "stored verdict"))
	}
	if a := rec.Audit; a != nil {
		row("asked by", a.Actor)
		row("audit", fmt.Sprintf("entry %d, %s", a.Seq, a.Hash))
	}
	b.WriteString("\n")
	_, err := fmt.Fprint(s.out, b.String())
	return err
}
