package cli

import (
	"context"
	"fmt"
	"strings"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire"
)

// agentFlags are the flags of all agents.
type agentFlags struct {
	Scope       string `placeholder:"PATH" help:"Scope, such as finance/payments."`
	Node        string `placeholder:"NODE" help:"Go by the rules that hold at this federation node: its id, or its name or path of names."`
	Environment string `placeholder:"NAME" help:"Go by the rules that are deployed there: production, staging or development."`
	Session     string `placeholder:"ID" help:"Go on with an earlier exchange with a server; its id is in the answer."`
	output
}

func (f *agentFlags) request(ctx context.Context, c *client.Client, words []string) (client.AgentRequest, error) {
	r := client.AgentRequest{Intent: strings.Join(words, " "), SessionID: f.Session, Scope: f.Scope, Environment: f.Environment}
	if f.Node != "" {
		node, err := findNode(ctx, c, f.Node)
		if err != nil {
			return r, err
		}
		r.NodeID = node.ID
	}
	return r, nil
}

// askCommand is `tenet ask`.
type askCommand struct {
	Question []string `arg:"" help:"The question, in plain words."`
	agentFlags
}

func (askCommand) Help() string {
	return `Answers from the rules in force. Every sentence cites words that the server has found in a rule. Without a model, the rules that match
the question best are listed.

Example:

    tenet ask "May a contractor read production data?"`
}

func (k *askCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	r, err := k.request(ctx, c, k.Question)
	if err != nil {
		return err
	}
	done := s.progress("asking")
	a, err := c.Ask(ctx, r)
	done()
	return show(s, k.output, a, err, printAsked)
}

func printAsked(s *session, a client.AgentAnswer[wire.AgentAskResult]) error {
	var b strings.Builder
	if a.Result == nil {
		return printFollowUps(s, &b, a.Reasoning, a.FollowUps, a.SessionID)
	}
	slugs := map[string]string{}
	for _, r := range a.Result.Rules {
		slugs[r.RuleID] = ruleName(r.RuleSlug, r.RuleID)
	}
	for _, sentence := range a.Result.Sentences {
		var cites []string
		for _, c := range sentence.Citations {
			cites = append(cites, slugs[c.RuleID])
		}
		fmt.Fprintf(&b, "%s %s\n", sentence.Text, s.dim("["+strings.Join(cites, ", ")+"]"))
	}
	if !a.Result.Answered {
		b.WriteString(a.Reasoning + "\n")
	}
	printExcerpts(s, &b, a.Result.Rules)
	printSession(s, &b, a.SessionID)
	_, err := fmt.Fprint(s.out, b.String())
	return err
}

func printExcerpts(s *session, b *strings.Builder, rules []wire.RuleExcerpt) {
	for _, r := range rules {
		fmt.Fprintf(b, "  %s %s %s\n", s.bold(ruleName(r.RuleSlug, r.RuleID)), s.dim(string(r.Modality)+" "+string(r.Severity)), r.Excerpt)
	}
}

// printAside prints an answer without a result: the agent asks back.
func printFollowUps(s *session, b *strings.Builder, reasoning string, followUps []string, id string) error {
	b.WriteString(reasoning + "\n")
	for _, f := range followUps {
		b.WriteString("  " + f + "\n")
	}
	printSession(s, b, id)
	_, err := fmt.Fprint(s.out, b.String())
	return err
}

// printSession prints the id of a session that can be continued: an embedded node forgets it with the command.
func printSession(s *session, b *strings.Builder, id string) {
	if s.globals.Server != "" || s.env("TENET_SERVER") != "" {
		fmt.Fprintln(b, s.dim("--session "+id))
	}
}

func ruleName(slug, id string) string {
	if slug != "" {
		return slug
	}
	return id
}

// authorCommand is `tenet author`.
type authorCommand struct {
	Wish []string `arg:"" help:"What the rule should demand or forbid, in plain words."`
	agentFlags
	Store bool `help:"Keep the draft, as a rule of status DRAFT, which applies to nothing until it is approved."`
}

func (authorCommand) Help() string {
	return `Writes a draft with severity, scope and test cases, and says what makes it hard to judge. Without a model, the draft keeps the words of
the wish.

Example:

    tenet author "payments above 10000 EUR need a second approver" --scope finance --store`
}

func (k *authorCommand) Run(ctx context.Context, s *session) error {
	wants := readsData
	if k.Store {
		wants = needsData
	}
	return s.with(ctx, wants, func(c *client.Client) error {
		r, err := k.request(ctx, c, k.Wish)
		if err != nil {
			return err
		}
		r.Store = k.Store
		done := s.progress("drafting")
		a, err := c.Author(ctx, r)
		done()
		return show(s, k.output, a, err, printDraft)
	})
}

func printDraft(s *session, a client.AgentAnswer[wire.AgentAuthorResult]) error {
	var b strings.Builder
	if a.Result == nil {
		return printFollowUps(s, &b, a.Reasoning, a.FollowUps, a.SessionID)
	}
	d := a.Result.Rule
	fmt.Fprintf(&b, "%s\n%s\n", s.bold(d.Statement), s.dim(string(d.Modality)+" "+string(d.Severity)+" "+strings.Join(d.Scope, ", ")))
	if d.Rationale != "" {
		b.WriteString(d.Rationale + "\n")
	}
	for _, e := range d.Exceptions {
		b.WriteString("except: " + e + "\n")
	}
	for _, c := range a.Result.TestCases {
		mark := s.green("ok")
		if c.Tried != c.Expected {
			mark = s.yellow("tried: " + string(c.Tried))
		}
		if c.Tried == "" {
			mark = s.dim("not tried")
		}
		fmt.Fprintf(&b, "  %-5s %s (%s)\n", c.Expected, c.Name, mark)
	}
	for _, f := range a.Result.Lint {
		fmt.Fprintf(&b, "%s %s\n", s.yellow("lint:"), f.Message)
	}
	if len(a.Result.Similar) > 0 {
		b.WriteString("similar rules:\n")
		printExcerpts(s, &b, a.Result.Similar)
	}
	b.WriteString(a.Reasoning + "\n")
	if a.Result.Stored {
		fmt.Fprintf(&b, "stored as %s, rule %s\n", rule.Draft, a.Result.RuleID)
	}
	_, err := fmt.Fprint(s.out, b.String())
	return err
}
