package api

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"tenet/internal/api/rest"
	"tenet/internal/auth"
	"tenet/internal/catalog"
	"tenet/internal/conflict"
	"tenet/internal/job"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// Conflicts serves the conflicts found between rules. Catalog makes the changes that mend them.
type Conflicts struct {
	Conflicts *conflict.Conflicts
	Jobs      *job.Jobs
	Catalog   *catalog.Catalog
}

// conflictRef names a conflict in a path.
type conflictRef struct {
	ID string `path:"id" id:"conflict" doc:"Id of the conflict."`
}

// Routes implements [rest.Resource].
func (s Conflicts) Routes(r *rest.Router) {
	r = r.Tag(conflictTag)
	rest.Handle(r, rest.Operation{
		ID: "list-conflicts", Route: op.ListConflicts.Route(), Role: auth.Viewer, Summary: "List the conflicts between rules",
		Description: "The conflicts that the server found, newest first, in all states. Relationships that people made are listed with their rules only. Of each rule " +
			"10 suggestions are kept, and of a project 5,000: those with the highest confidence. left_out counts the others.",
	}, s.list)
	rest.Handle(r, rest.Operation{ID: "get-conflict", Route: op.GetConflict.Route(), Role: auth.Viewer, Summary: "Get a conflict"},
		func(ctx context.Context, in *conflictRef) (wire.Conflict, error) {
			return s.Conflicts.Get(ctx, rest.Project(ctx), in.ID)
		})
	rest.HandleBody(r, rest.Operation{
		ID: "confirm-conflict", Route: op.ConfirmConflict.Route(), Role: auth.Reviewer, Summary: "Confirm a suggested conflict",
		Description: "The rules get a CONFLICTS_WITH relationship. Confirming again changes nothing; a conflict that has been rejected or closed " +
			"cannot be confirmed (409).",
	}, func(ctx context.Context, in *conflictRef, body *wire.DecideConflict) (wire.Conflict, error) {
		return s.Conflicts.Confirm(ctx, rest.Project(ctx), in.ID, body.Note)
	})
	rest.HandleBody(r, rest.Operation{
		ID: "reject-conflict", Route: op.RejectConflict.Route(), Role: auth.Reviewer, Summary: "Reject a suggested conflict",
		Description: "The server does not suggest it again until one of the rules changes. Rejecting again changes nothing; a conflict that has " +
			"been confirmed or closed cannot be rejected (409).",
	}, func(ctx context.Context, in *conflictRef, body *wire.DecideConflict) (wire.Conflict, error) {
		return s.Conflicts.Reject(ctx, rest.Project(ctx), in.ID, body.Note)
	})
	rest.HandleBody(r, rest.Operation{
		ID: "mend-conflict", Route: op.MendConflict.Route(), Role: auth.Reviewer, Summary: "Mend a conflict",
		Description: "Changes one of the two rules, adds an exception to one, or makes one override the other: give one of change, exception and override. If the rules " +
			"then contradict each other no more, the conflict is closed. What the model has found is closed too, and suggested again if the model still finds it.",
	}, s.mend)
	rest.HandleBody(r, rest.Operation{
		ID: "scan-conflicts", Route: op.ScanConflicts.Route(), Role: auth.Reviewer, Status: http.StatusAccepted,
		Summary: "Look for conflicts among all rules",
		Description: "In the background; the answer is the job. The server also compares rules when they are created, changed or imported. 503 if the " +
			"body asks for a model and none is configured.",
	}, s.scan)
}

func (s Conflicts) list(ctx context.Context, in *wire.ConflictQuery) (page wire.ConflictPage, err error) {
	var p rule.Problems
	f := conflict.Filter{State: rest.EnumParam(&p, "state", in.State, conflict.States), Rule: in.RuleID, FoundBy: in.FoundBy, MinConfidence: in.MinConfidence, Text: strings.TrimSpace(in.Q)}
	f.SeverityMin = rest.EnumParam(&p, "severity_min", in.SeverityMin, rule.Severities)
	if err := p.Err("the query is invalid"); err != nil {
		return page, err
	}
	list, total, leftOut, err := s.Conflicts.List(ctx, rest.Project(ctx), f, in.Offset(), in.PageSize)
	return wire.ConflictPage{Page: rest.PageOf(in.PageQuery, list, total), LeftOut: leftOut}, err
}

func (s Conflicts) scan(ctx context.Context, _ *rest.None, body *wire.ScanConflicts) (out rest.Created[wire.Job], err error) {
	id, err := s.Conflicts.Scan(ctx, rest.Project(ctx), body.Model)
	if err != nil {
		return out, err
	}
	j, err := s.Jobs.Get(ctx, rest.Project(ctx), id)
	return rest.Created[wire.Job]{Location: op.ListJobs.Path + "/" + strconv.FormatInt(id, 10), Body: visibleJob(ctx, j)}, err
}
