package api

import (
	"context"

	"tenet/internal/api/rest"
	"tenet/internal/auth"
	"tenet/internal/fleet"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// Fleet serves the edges of a project: their reports, their records, and their orders.
type Fleet struct{ Edges *fleet.Edges }

// edgeRef names an edge in a path.
type edgeRef struct {
	Edge string `path:"edge" doc:"Name of the edge."`
}

// Routes implements [rest.Resource].
func (s Fleet) Routes(r *rest.Router) {
	r = r.Tag(operationsTag)
	rest.Handle(r, rest.Operation{
		ID: "list-fleet", Route: op.ListFleet.Route(), Role: auth.Viewer, Summary: "List the edges of a project",
		Description: "With their last reports, problems (edge_silent, edge_stale, spool_growing), and how far the newest bundles have come.",
	}, func(ctx context.Context, in *wire.PageQuery) (wire.Fleet, error) {
		return s.Edges.List(ctx, rest.Project(ctx), *in)
	})
	rest.Handle(r, rest.Operation{ID: "get-edge", Route: op.GetEdge.Route(), Role: auth.Viewer, Summary: "Get an edge"}, func(ctx context.Context, in *edgeRef) (wire.FleetEdge, error) {
		return s.Edges.Get(ctx, rest.Project(ctx), in.Edge)
	})
	rest.HandleBody(r, rest.Operation{
		ID: "change-edge", Route: op.ChangeEdge.Route(), Role: auth.Admin, Summary: "Pin or pause an edge, or have it read its bundles again",
		Description: "The edge does so at its next report, within its interval. It is in the audit log.",
	}, func(ctx context.Context, in *edgeRef, body *wire.ChangeEdge) (wire.FleetEdge, error) {
		return s.Edges.Change(ctx, rest.Project(ctx), in.Edge, *body)
	})
	rest.Do(r, rest.Operation{
		ID: "forget-edge", Route: op.ForgetEdge.Route(), Role: auth.Admin, Summary: "Forget an edge that is gone for good",
		Description: "Its records stay. Its name and its key for signing are refused from then on, and the audit log has the end of its chain. Records that wait at the edge are not taken.",
	}, func(ctx context.Context, in *edgeRef) error {
		return s.Edges.Forget(ctx, rest.Project(ctx), in.Edge)
	})
	rest.HandleBody(r, rest.Operation{
		ID: "report-edge", Route: op.ReportEdge.Route(), Role: auth.Evaluator, Summary: "Report how an edge fares",
		Description: "For edges. The answer says what the edge is to do, and how much of its chain is stored. To an edge that was forgotten it says so, and nothing is stored. The first key that a name comes with stays: 409 for another.",
	}, func(ctx context.Context, in *edgeRef, body *wire.EdgeReport) (wire.EdgeOrders, error) {
		return s.Edges.Report(ctx, rest.Project(ctx), in.Edge, *body)
	})
	rest.HandleBody(r, rest.Operation{
		ID: "send-edge-records", Route: op.SendEdgeRecords.Route(), Role: auth.Evaluator, Summary: "Send records of an edge",
		Description: "For edges. Entries are verified (signature, hashes, order) and stored as the chain of the edge; evaluations among them are found by their id and replayed as those of the " +
			"server. Sending them again does nothing. The answer is the end of the chain that is stored; 409 if the entries do not follow it.",
	}, func(ctx context.Context, in *edgeRef, body *wire.EdgeRecords) (wire.AuditHead, error) {
		return s.Edges.Take(ctx, rest.Project(ctx), in.Edge, *body)
	})
}
