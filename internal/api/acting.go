package api

import (
	"context"
	"net/http"

	"tenet/internal/acting"
	"tenet/internal/api/rest"
	"tenet/internal/auth"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// Acting serves the agents that act for people, and their suspensions.
type Acting struct{ Agents *acting.Agents }

// Routes implements [rest.Resource].
func (s Acting) Routes(r *rest.Router) {
	r = r.Tag(actingTag)
	rest.Handle(r, rest.Operation{
		ID: "list-acting-agents", Route: op.ListActing.Route(), Role: auth.Viewer, Summary: "List the agents that act",
		Description: "The agents that have asked for evaluations, by the person for whom they act; the last seen first. Not the agents of this server, which /agent lists.",
	}, func(ctx context.Context, in *wire.ActingQuery) (wire.Page[wire.ActingAgent], error) {
		list, total, err := s.Agents.List(ctx, store.AgentFilter{ProjectID: rest.Project(ctx), Words: in.Words, Offset: in.Offset(), Limit: in.PageSize})
		out := make([]wire.ActingAgent, len(list))
		for i, a := range list {
			out[i] = wire.ActingAgent{
				Agent: a.Agent, Person: a.Person, Verified: a.Verified, Actor: a.Actor, Session: a.Session, FirstSeen: a.FirstSeen, LastSeen: a.LastSeen,
				Evaluations: a.Evaluations, Denied: a.Denied, Suspension: a.Suspension,
			}
		}
		return rest.PageOf(in.PageQuery, out, total), err
	})
	rest.HandleBody(r, rest.Operation{
		ID: "suspend-agent", Route: op.SuspendAgent.Route(), Role: auth.Reviewer, Place: rest.OwnOrAll, Status: http.StatusCreated, Summary: "Suspend an agent",
		Description: "From now on each of its evaluations is DENY, with a record, and its other requests are refused: on this node at once, on others within a second. " +
			"project_id * suspends it in all projects. Publishes agent.suspended.",
	}, func(ctx context.Context, _ *rest.None, body *wire.SuspendAgent) (rule.Suspension, error) {
		return s.Agents.Suspend(ctx, rest.Project(ctx), body.Agent, body.Person, body.Reason)
	})
	rest.Handle(r, rest.Operation{
		ID: "list-suspensions", Route: op.Suspensions.Route(), Role: auth.Viewer, Place: rest.OwnOrAll, Summary: "List the suspensions of agents",
		Description: "Newest first, lifted ones included. Those for all projects are in the list of each.",
	}, func(ctx context.Context, in *wire.SuspensionQuery) (wire.Page[rule.Suspension], error) {
		list, total, err := s.Agents.Suspensions(ctx, store.SuspensionFilter{
			ProjectID: rest.Project(ctx), InForce: in.InForce, Offset: in.Offset(), Limit: in.PageSize,
		})
		return rest.PageOf(in.PageQuery, list, total), err
	})
	rest.HandleBody(r, rest.Operation{
		ID: "report-tools", Route: op.ReportTools.Route(), Role: auth.Evaluator, Asks: true, Status: http.StatusNoContent, Summary: "Report tools that a gateway holds back",
		Description: "A gateway calls it when tools of an MCP server are new or have changed, or hide characters, so that it holds them back until a person accepts them, and once " +
			"somebody has. Recorded in the audit chain; publishes tools.held or tools.accepted.",
	}, func(ctx context.Context, _ *rest.None, body *wire.ToolReport) (rest.None, error) {
		if body.State != wire.ToolsHeld && body.State != wire.ToolsAccepted {
			var p rule.Problems
			p.Add("state", "is %q; use %s or %s", body.State, wire.ToolsHeld, wire.ToolsAccepted)
			return rest.None{}, p.Err("the report is invalid")
		}
		list := make([]rule.ToolChange, len(body.Tools))
		for i, t := range body.Tools {
			list[i] = rule.ToolChange(t)
		}
		return rest.None{}, s.Agents.ReportTools(ctx, rest.Project(ctx), body.Server, body.State == wire.ToolsAccepted, list)
	})
	rest.HandleBody(r, rest.Operation{
		ID: "lift-suspension", Route: op.LiftSuspended.Route(), Role: auth.Admin, Place: rest.OwnOrAll, Summary: "Lift the suspension of an agent",
		Description: "409 if it is lifted already. One for all projects needs project_id *. Publishes agent.resumed.",
	}, func(ctx context.Context, in *struct {
		ID string `path:"id" id:"suspension" doc:"Id of the suspension."`
	}, body *wire.LiftSuspension,
	) (rule.Suspension, error) {
		return s.Agents.Lift(ctx, rest.Project(ctx), in.ID, body.Reason)
	})
}
