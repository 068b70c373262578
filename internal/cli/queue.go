package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// queueCommands are `tenet queue ...`.
type queueCommands struct {
	List    queueListCommand    `cmd:"" data:"read" help:"List what waits for a person, the most urgent first."`
	Approve queueApproveCommand `cmd:"" help:"Approve things that wait; of a conflict, confirm it."`
	Reject  queueRejectCommand  `cmd:"" help:"Reject, dismiss or revoke things that wait, or withdraw a revision of your own."`
	Settle  queueSettleCommand  `cmd:"" help:"Say that evaluations need no answer any more."`
	Reopen  queueReopenCommand  `cmd:"" help:"Take decisions back."`
	Take    queueTakeCommand    `cmd:"" help:"Take care of things that wait."`
	Give    queueGiveCommand    `cmd:"" help:"Give things that wait to somebody, or to nobody."`
	Aside   queueAsideCommand   `cmd:"" help:"Hide items until a date."`
}

type queueListCommand struct {
	Kind     []string `placeholder:"KIND" help:"Only these kinds: rule, revision, candidate, conflict, waiver, snapshot, evaluation; may be repeated."`
	Severity string   `name:"severity-min" placeholder:"LEVEL" help:"Only what is at least so severe."`
	Assignee string   `placeholder:"NAME" help:"Only what this person takes care of; me is you, none what nobody does."`
	By       string   `placeholder:"NAME" help:"Only what this person has asked for."`
	Query    string   `short:"q" placeholder:"WORDS" help:"Only items whose title or detail has all of these words."`
	Snoozed  bool     `help:"Also items that are hidden until a date."`
	Order    string   `enum:"urgency,age,newest" default:"urgency" help:"${enum}."`
	All      bool     `short:"a" help:"Of all projects."`
	Page     int      `default:"1" placeholder:"N" help:"Page of the list."`
	limit

	Format string `short:"f" enum:"table,json" default:"table" help:"${enum}."`
	jsonFlag
}

func (queueListCommand) Help() string {
	return `What waits in one project, or in all with --all. The first column is the name that the other commands take:

    tenet queue list --kind revision --kind rule --severity-min HIGH
    tenet queue approve revision/0199.../2 --reason "as the law says"
    tenet queue reject candidate/0199... candidate/0199... --reason "hints, not rules"`
}

func (k *queueListCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	if k.All {
		c = c.InProject(store.AllProjects)
	}
	page, err := client.Get(ctx, c, op.ListQueue.Where(wire.QueueQuery{
		Kinds: k.Kind, Severity: strings.ToUpper(k.Severity), Assignee: k.Assignee, By: k.By, Words: k.Query, Snoozed: k.Snoozed, Order: k.Order,
		PageQuery: wire.PageQuery{Page: k.Page, PageSize: k.Limit},
	}))
	return show(s, output{Format: k.or(k.Format)}, page, err, k.print)
}

func (k *queueListCommand) print(s *session, page wire.Queue) error {
	err := list(s, "nothing that waits matches", "THING\tSEVERITY\tPROJECT\tSINCE\tBY\tTAKEN BY\tYOU MAY\tTO BE DECIDED", page.Items, func(i *wire.QueueItem) []any {
		severity, may := string(i.Severity), make([]string, len(i.Actions))
		for n, action := range i.Actions {
			may[n] = string(action)
		}
		return []any{
			string(i.Kind) + "/" + i.ID, orDash(severity), i.ProjectID, i.Since.Format(time.DateOnly), orDash(i.By), orDash(i.Assignee), orDash(strings.Join(may, " ")),
			i.Title + " (" + i.Detail + ")",
		}
	})
	if err != nil {
		return err
	}
	for _, kind := range page.Cut {
		s.note("more items of kind %s wait than are listed: these are the oldest", kind)
	}
	s.nextPage("things", k.Page, k.Limit, len(page.Items), page.Total)
	return nil
}

// things names what a command decides on.
type things struct {
	Things []string `arg:"" help:"Names of things as tenet queue list shows them: the kind, a slash, the id."`
	output
}

// refs reads the names.
func (t *things) refs() ([]wire.QueueRef, error) {
	refs := make([]wire.QueueRef, 0, len(t.Things))
	for _, name := range t.Things {
		kind, id, ok := strings.Cut(name, "/")
		if !ok || !slices.Contains(wire.QueueKinds, wire.QueueKind(kind)) || id == "" {
			return nil, fmt.Errorf("%q names nothing that waits; give a kind, a slash and an id, as tenet queue list shows them", name)
		}
		refs = append(refs, wire.QueueRef{Kind: wire.QueueKind(kind), ID: id})
	}
	return refs, nil
}

// maxThings is how many things the API decides on at once.
const maxThings = 500

// each calls the API with the things, as many at once as it takes, and prints what becomes of them.
func (t *things) each(s *session, call func([]wire.QueueRef) (wire.QueueDecided, error)) error {
	refs, err := t.refs()
	if err != nil {
		return err
	}
	failed := 0
	results := []wire.QueueResult{}
	for some := range slices.Chunk(refs, maxThings) {
		out, err := call(some)
		if err != nil {
			return err
		}
		for i := range out.Results {
			r := &out.Results[i]
			results = append(results, *r)
			if r.Status == "done" && t.json() {
				continue
			}
			if r.Status == "done" {
				if _, err := fmt.Fprintf(s.out, "%s/%s  done\n", r.Kind, r.ID); err != nil {
					return err
				}
				continue
			}
			failed++
			printError(s, fmt.Errorf("%s/%s: %w", r.Kind, r.ID, rule.Errorf(rule.Code(r.Code), "%s", line(r.Error))))
		}
	}
	if t.json() {
		if err := printJSON(s.out, results); err != nil {
			return err
		}
	}
	if failed > 0 {
		return exit(exitFailed)
	}
	return nil
}

func (t *things) decide(ctx context.Context, s *session, c *client.Client, action wire.QueueAction, reason string) error {
	return t.each(s, func(refs []wire.QueueRef) (wire.QueueDecided, error) {
		return client.Call(ctx, c, op.DecideQueue, wire.DecideQueue{Items: refs, Action: action, Reason: reason})
	})
}

func (t *things) mark(ctx context.Context, s *session, c *client.Client, m wire.MarkQueue) error {
	return t.each(s, func(refs []wire.QueueRef) (wire.QueueDecided, error) {
		m.Items = refs
		return client.Call(ctx, c, op.MarkQueue, m)
	})
}

type queueApproveCommand struct {
	things

	Reason string `placeholder:"TEXT" help:"Why."`
}

func (k *queueApproveCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	return k.decide(ctx, s, c, wire.QueueApprove, k.Reason)
}

type queueRejectCommand struct {
	things

	Reason string `required:"" placeholder:"TEXT" help:"Why."`
}

func (k *queueRejectCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	return k.decide(ctx, s, c, wire.QueueReject, k.Reason)
}

type queueSettleCommand struct {
	things

	Reason string `required:"" placeholder:"TEXT" help:"Why nobody needs to answer."`
}

func (k *queueSettleCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	return k.decide(ctx, s, c, wire.QueueSettle, k.Reason)
}

type queueReopenCommand struct {
	things

	Reason string `placeholder:"TEXT" help:"Why."`
}

func (queueReopenCommand) Help() string {
	return `A rule is in review again, a dismissed candidate and a rejected conflict wait again, a settled evaluation too. What was approved otherwise
cannot be taken back here.`
}

func (k *queueReopenCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	return k.decide(ctx, s, c, wire.QueueReopen, k.Reason)
}

type queueTakeCommand struct{ things }

func (k *queueTakeCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	return k.mark(ctx, s, c, wire.MarkQueue{Assignee: new("me")})
}

type queueGiveCommand struct {
	things

	To     string `xor:"to" required:"" placeholder:"NAME" help:"Who takes care of them."`
	Nobody bool   `xor:"to" required:"" help:"Nobody takes care of them any more."`
}

func (k *queueGiveCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	if k.To == "" && !k.Nobody {
		return errors.New("--to: is empty; name a person, or say --nobody")
	}
	return k.mark(ctx, s, c, wire.MarkQueue{Assignee: &k.To})
}

type queueAsideCommand struct {
	things

	Until string `xor:"until" required:"" placeholder:"WHEN" help:"Until when: a date such as 2026-12-31, a time in RFC 3339, or days from now such as 7d."`
	Back  bool   `xor:"until" required:"" help:"Put them back into the queue."`
}

func (k *queueAsideCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	until := time.Unix(0, 0)
	if !k.Back {
		var err error
		if until, err = queueDay(k.Until, time.Now()); err != nil {
			return fmt.Errorf("--until: %w", err)
		}
	}
	return k.mark(ctx, s, c, wire.MarkQueue{SnoozedUntil: &until})
}

// queueDay reads a date, whose beginning it is, a time, or a number of days from now.
func queueDay(text string, now time.Time) (time.Time, error) {
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		return day, nil
	}
	return moment(text, now)
}
