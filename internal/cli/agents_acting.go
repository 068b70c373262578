package cli

import (
	"context"
	"time"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// agentsCommands are `tenet agents ...`.
type agentsCommands struct {
	List        agentsListCommand        `cmd:"" help:"List the agents that have asked for evaluations."`
	Suspend     agentsSuspendCommand     `cmd:"" help:"Deny all that an agent asks for, on all servers within a second."`
	Resume      agentsResumeCommand      `cmd:"" help:"Lift a suspension."`
	Suspensions agentsSuspensionsCommand `cmd:"" help:"List the suspensions, lifted ones too."`
}

type agentsListCommand struct {
	Words string `arg:"" optional:"" help:"Part of the name of the agent or of its person."`
	limit
	output
}

func (k *agentsListCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	page, err := client.Get(ctx, c, op.ListActing.Where(wire.ActingQuery{Words: k.Words, PageQuery: wire.PageQuery{PageSize: k.Limit}}))
	return show(s, k.output, page, err, printActing)
}

func printActing(s *session, page wire.Page[wire.ActingAgent]) error {
	err := list(s, "no agent has asked for an evaluation", "AGENT\tPERSON\tSHOWN BY\tLAST SEEN\tEVALUATIONS\tDENIED\tSTATE", page.Items, func(a *wire.ActingAgent) []any {
		shown, state := "its requests", "acts"
		if a.Verified {
			shown = "key or token"
		}
		if a.Suspension != nil {
			state = "suspended"
		}
		return []any{line(a.Agent), orDash(line(a.Person)), shown, a.LastSeen.UTC().Format(time.DateTime), a.Evaluations, a.Denied, state}
	})
	if err == nil {
		s.more(page.Total, len(page.Items))
	}
	return err
}

type agentsSuspendCommand struct {
	Agent       string `arg:"" help:"Name of the agent, as list shows it."`
	Reason      string `required:"" placeholder:"TEXT" help:"Why."`
	Person      string `placeholder:"PERSON" help:"Only where it acts for this person."`
	AllProjects bool   `help:"In all projects."`
	output
}

func (agentsSuspendCommand) Help() string {
	return `Every evaluation of the agent is DENY from then on, with a record, and its other requests are refused: on all servers within a second.

    tenet agents suspend claude-code --reason "It deleted a production table."
    tenet agents suspend release-bot --person corp:ann@example.com --all-projects --reason "Its key has leaked."`
}

func (k *agentsSuspendCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	if k.AllProjects {
		c = c.InProject(everyProject)
	}
	made, err := client.Call(ctx, c, op.SuspendAgent, wire.SuspendAgent{Agent: k.Agent, Person: k.Person, Reason: k.Reason})
	return show(s, k.output, made, err, func(s *session, made rule.Suspension) error {
		s.note("%s is suspended; tenet agents resume %s lifts that", line(made.Agent), made.ID)
		return nil
	})
}

type agentsResumeCommand struct {
	ID          string `arg:"" help:"Id of the suspension, as suspensions shows it."`
	Reason      string `required:"" placeholder:"TEXT" help:"Why it may act again."`
	AllProjects bool   `help:"The suspension is for all projects."`
	output
}

func (k *agentsResumeCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	if k.AllProjects {
		c = c.InProject(everyProject)
	}
	lifted, err := client.Call(ctx, c, op.LiftSuspended.At(k.ID), wire.LiftSuspension{Reason: k.Reason})
	return show(s, k.output, lifted, err, func(s *session, lifted rule.Suspension) error {
		s.note("%s may act again", line(lifted.Agent))
		return nil
	})
}

type agentsSuspensionsCommand struct {
	InForce bool `help:"Only those that are not lifted."`
	limit
	output
}

func (k *agentsSuspensionsCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	page, err := client.Get(ctx, c, op.Suspensions.Where(wire.SuspensionQuery{InForce: k.InForce, PageQuery: wire.PageQuery{PageSize: k.Limit}}))
	return show(s, k.output, page, err, printSuspensions)
}

func printSuspensions(s *session, page wire.Page[rule.Suspension]) error {
	err := list(s, "no agent was suspended", "ID\tAGENT\tPERSON\tPROJECT\tSINCE\tBY\tREASON\tSTATE", page.Items, func(x *rule.Suspension) []any {
		state := "in force"
		if x.LiftedAt != nil {
			state = "lifted " + day(*x.LiftedAt) + " by " + line(x.LiftedBy)
		}
		return []any{x.ID, line(x.Agent), orDash(line(x.Person)), x.ProjectID, x.SuspendedAt.UTC().Format(time.DateTime), line(x.SuspendedBy), line(x.Reason), state}
	})
	if err == nil {
		s.more(page.Total, len(page.Items))
	}
	return err
}
