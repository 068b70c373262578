package cli

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"tenet/internal/client"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// auditFilter are the flags that select entries of the audit chain.
type auditFilter struct {
	Kind       []string `placeholder:"KIND" help:"Only entries of this kind, such as evaluation, rule, waiver or key; several times for several."`
	Action     string   `placeholder:"ACTION" help:"Only this action, such as revised."`
	Actor      string   `placeholder:"ACTOR" help:"Only what this actor did, such as key:ci."`
	Person     string   `placeholder:"PERSON" help:"Only what agents did for this person."`
	Agent      string   `placeholder:"AGENT" help:"Only what this agent did, such as claude-code."`
	Session    string   `placeholder:"SESSION" help:"Only what was done in this session of an agent."`
	Rule       string   `placeholder:"RULE" help:"Only entries about this rule (id or slug)."`
	Evaluation string   `placeholder:"ID" help:"Only entries about this evaluation."`
	Object     string   `placeholder:"KIND:ID" help:"Only entries about this object, such as webhook:0198a1b2-..."`
	Verdict    string   `placeholder:"VERDICT" help:"Only evaluations that came to ALLOW, DENY or NEEDS_CONFIRMATION."`
	Since      string   `placeholder:"TIME" help:"Not before this date (2026-12-31) or time, or so many days ago (30d)."`
	Until      string   `placeholder:"TIME" help:"Before this date or time, or so many days ago."`
}

// wire returns the filter as the API takes it.
func (f *auditFilter) wire() (wire.AuditFilter, error) {
	q := wire.AuditFilter{
		Kind: f.Kind, Action: f.Action, Actor: f.Actor, Person: f.Person, Agent: f.Agent, Session: f.Session, Rule: f.Rule, Evaluation: f.Evaluation, Object: f.Object, Verdict: f.Verdict,
	}
	now := time.Now()
	for _, bound := range []struct {
		flag, text string
		to         **time.Time
	}{{"--since", f.Since, &q.Since}, {"--until", f.Until, &q.Until}} {
		if bound.text == "" {
			continue
		}
		at, err := timeAgo(bound.text, now)
		if err != nil {
			return q, fmt.Errorf("%s: %q %w", bound.flag, bound.text, err)
		}
		*bound.to = &at
	}
	return q, nil
}

type auditListCommand struct {
	auditFilter
	Cursor string `placeholder:"CURSOR" help:"Go on behind an earlier list, which names its cursor."`
	limit
	output
}

func (auditListCommand) Help() string {
	return `Entries of the project's audit chain, newest first. All conditions that are given must hold. Needs the role reviewer.

    tenet audit list --rule SEC-003 --kind rule --since 30d
    tenet audit list --actor key:ci --verdict DENY
    tenet audit show 4711`
}

func (k *auditListCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	f, err := k.wire()
	if err != nil {
		return err
	}
	page, err := client.Get(ctx, c, op.ListAudit.Where(wire.AuditEntryQuery{AuditFilter: f, Cursor: k.Cursor, PageQuery: wire.PageQuery{PageSize: k.Limit}}))
	return show(s, k.output, page, err, printAudit)
}

func printAudit(s *session, page wire.AuditPage) error {
	err := list(s, "there are no such entries", "SEQ\tTIME\tACTOR\tENTRY", page.Items, func(e *wire.AuditEntry) []any {
		return []any{e.Seq, e.At.UTC().Format(time.DateTime), orDash(actorOf(e.Actor, e.Identity)), e.Summary}
	})
	if err != nil {
		return err
	}
	if page.NextCursor != "" {
		s.note("%d of %d entries; --cursor %s shows more", len(page.Items), page.Total, page.NextCursor)
	}
	if page.Unsearched > 0 {
		s.note("%d entries are not indexed yet, and were not searched; ask again later", page.Unsearched)
	}
	return nil
}

type auditShowCommand struct {
	Seq  int64 `arg:"" help:"Number of the entry, as list shows it."`
	Page int   `default:"1" help:"Page of the rules of an import."`
	output
}

func (auditShowCommand) Help() string {
	return `Shows what an entry has changed, field by field: the value before behind -, the value after behind +.`
}

// Validate implements kong's check of flags.
func (k *auditShowCommand) Validate() error {
	if k.Page < 1 || k.Page > 1_000_000 {
		return fmt.Errorf("--page: %d is not a page; pages count from 1", k.Page)
	}
	return nil
}

func (k *auditShowCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	e, err := client.Get(ctx, c, op.GetAuditEntry.At(strconv.FormatInt(k.Seq, 10)).Where(wire.PageQuery{Page: k.Page}))
	return show(s, k.output, e, err, printAuditEntry)
}

func printAuditEntry(s *session, e wire.AuditEntryDetail) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "entry %d of project %s\n  %s\n  at        %s\n", e.Seq, e.ProjectID, line(e.Summary), e.At.UTC().Format(time.RFC3339))
	about := func(name, text string) {
		if text != "" {
			fmt.Fprintf(&b, "  %-10s%s\n", name, line(text))
		}
	}
	about("actor", actorOf(e.Actor, e.Identity))
	if e.Identity != nil {
		about("session", e.Identity.Session)
	}
	about("reason", e.Reason)
	about("object", strings.TrimSuffix(e.Object.Kind+":"+e.Object.ID, ":"))
	about("rules", ruleNames(e.Rules, e.RuleCount))
	about("evaluated", e.EvaluationID)
	about("hash", e.Hash)
	if e.Withheld {
		b.WriteString("  administrators see the details of this entry\n")
	}
	if e.Removed {
		b.WriteString("  the record was removed under the retention setting\n")
	}
	if e.Compared > 0 {
		fmt.Fprintf(&b, "changes against entry %d:\n", e.Compared)
	} else if len(e.Changes) > 0 {
		b.WriteString("changes:\n")
	}
	printChanges(s, &b, e.Changes)
	for _, r := range e.RuleChanges.Items {
		name := r.Slug
		if name == "" {
			name = r.RuleID
		}
		fmt.Fprintf(&b, "rule %s, version %d: %s\n", line(name), r.Version, line(r.Action))
		printChanges(s, &b, r.Changes)
	}
	if _, err := s.out.Write(b.Bytes()); err != nil {
		return err
	}
	s.nextPage("rules", e.RuleChanges.Page, e.RuleChanges.PageSize, len(e.RuleChanges.Items), e.RuleChanges.Total)
	return nil
}

func ruleNames(rules []wire.AuditRule, count int) string {
	var names []string
	for _, r := range rules {
		if r.Slug != "" {
			names = append(names, r.Slug)
		} else {
			names = append(names, r.ID)
		}
	}
	text := strings.Join(names, ", ")
	if more := count - len(rules); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
