package api

import (
	"context"

	"tenet/internal/api/rest"
	"tenet/internal/auth"
	"tenet/internal/queue"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// Queue serves what waits for people.
type Queue struct{ Queue *queue.Queue }

// Routes implements [rest.Resource].
func (s Queue) Routes(r *rest.Router) {
	r = r.Tag(queueTag)
	rest.Handle(r, rest.Operation{
		ID: "list-queue", Route: op.ListQueue.Route(), Role: auth.Viewer, Place: rest.OwnOrEach, Summary: "List what waits for a person",
		Description: "Rules in REVIEW, revisions of rules in force, candidates, conflicts, waivers of CRITICAL rules, snapshots that an environment's gates hold back, and evaluations of the last 14 days that " +
			"ended in NEEDS_CONFIRMATION. Of each kind the 1,000 that have waited longest are looked at. project_id=* lists all projects.",
	}, s.list)
	rest.HandleBody(r, rest.Operation{
		ID: "decide-queue", Route: op.DecideQueue.Route(), Role: auth.Reviewer, Place: rest.OwnOrEach, Summary: "Decide on things that wait",
		Description: "Up to 500 at once, each for itself. A second person is demanded where the thing itself demands one.",
	}, func(ctx context.Context, _ *rest.None, body *wire.DecideQueue) (wire.QueueDecided, error) {
		return s.Queue.Decide(ctx, rest.Project(ctx), *body)
	})
	rest.HandleBody(r, rest.Operation{
		ID: "mark-queue", Route: op.MarkQueue.Route(), Role: auth.Reviewer, Place: rest.OwnOrEach, Summary: "Assign or put aside things that wait",
	}, func(ctx context.Context, _ *rest.None, body *wire.MarkQueue) (wire.QueueDecided, error) {
		return s.Queue.Mark(ctx, rest.Project(ctx), *body)
	})
}

func (s Queue) list(ctx context.Context, in *wire.QueueQuery) (out wire.Queue, err error) {
	var p rule.Problems
	f := queue.Filter{
		Severity: rest.EnumParam(&p, "severity_min", in.Severity, rule.Severities), Assignee: in.Assignee, By: in.By, Words: in.Words,
		Snoozed: in.Snoozed, Order: in.Order, Offset: in.Offset(), Limit: in.PageSize,
	}
	for _, k := range in.Kinds {
		f.Kinds = append(f.Kinds, rest.EnumParam(&p, "kind", k, wire.QueueKinds))
	}
	if err := p.Err("the query is invalid"); err != nil {
		return out, err
	}
	out, err = s.Queue.List(ctx, rest.Project(ctx), f)
	out.Page, out.PageSize = in.Page, in.PageSize
	return out, err
}
