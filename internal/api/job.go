package api

import (
	"context"

	"tenet/internal/api/rest"
	"tenet/internal/auth"
	"tenet/internal/job"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// jobStates are the states that a list can be filtered by.
var jobStates = []string{job.Queued, job.Running, job.Succeeded, job.Failed, job.Cancelled}

// Jobs serves the background jobs.
type Jobs struct{ Jobs *job.Jobs }

// jobRef names a job in a path.
type jobRef struct {
	ID int64 `path:"id" minimum:"1" doc:"Id of the job." example:"7"`
}

// Routes implements [rest.Resource].
func (s Jobs) Routes(r *rest.Router) {
	r = r.Tag(jobTag)
	one := func(do func(ctx context.Context, projectID string, id int64) (wire.Job, error)) func(context.Context, *jobRef) (wire.Job, error) {
		return func(ctx context.Context, in *jobRef) (wire.Job, error) {
			j, err := do(ctx, rest.Project(ctx), in.ID)
			return visibleJob(ctx, j), err
		}
	}
	rest.Handle(r, rest.Operation{
		ID: "list-jobs", Route: op.ListJobs.Route(), Role: auth.Viewer, Place: rest.OwnOrAll, Summary: "List background jobs",
		Description: "Newest first. project_id * lists the jobs that work on all projects, such as sweeps; with every=true those of each project, too. " +
			"Administrators also see the arguments.",
	}, s.list)
	rest.Handle(r, rest.Operation{
		ID: "count-jobs", Route: op.CountJobs.Route(), Role: auth.Viewer, Place: rest.AllProjects,
		Summary: "Count the background jobs that wait, run or have failed", Description: "By kind and state, over all projects. Failed jobs count until they are deleted or retried.",
	}, func(ctx context.Context, _ *rest.None) (wire.JobCounts, error) {
		counts, err := s.Jobs.Count(ctx)
		out := wire.JobCounts{Items: make([]wire.JobCount, len(counts))}
		for i, c := range counts {
			out.Items[i] = wire.JobCount(c)
		}
		return out, err
	})
	rest.Handle(r, rest.Operation{
		ID: "get-job", Route: op.GetJob.Route(), Role: auth.Viewer, Place: rest.OwnOrAll,
		Summary: "Get a background job", Description: "With its progress, updated about once a second.",
	}, one(s.Jobs.Get))
	rest.Handle(r, rest.Operation{
		ID: "retry-job", Route: op.RetryJob.Route(), Role: auth.Reviewer, Place: rest.OwnOrAll,
		Summary: "Retry a failed or cancelled job", Description: "Starts at once, with all its attempts.",
	}, one(s.Jobs.Retry))
	rest.Handle(r, rest.Operation{
		ID: "cancel-job", Route: op.CancelJob.Route(), Role: auth.Reviewer, Place: rest.OwnOrAll,
		Summary: "Cancel a background job", Description: "A waiting job ends at once; a running one is interrupted within seconds.",
	}, one(s.Jobs.Cancel))
}

// visibleJob removes the arguments unless the caller is an administrator: they can hold submissions of others.
func visibleJob(ctx context.Context, j wire.Job) wire.Job {
	if auth.ActorFrom(ctx).May(auth.Admin, rest.Project(ctx)) != nil {
		j.Args = nil
	}
	return j
}

func (s Jobs) list(ctx context.Context, in *wire.JobQuery) (page wire.Page[wire.Job], err error) {
	var p rule.Problems
	f := store.JobFilter{
		ProjectID: rest.Project(ctx), Kind: in.Kind, State: rest.EnumParam(&p, "state", in.State, jobStates), Offset: in.Offset(), Limit: in.PageSize,
	}
	if err := p.Err("the query is invalid"); err != nil {
		return page, err
	}
	if in.Every {
		if err := needsAll(ctx); err != nil {
			return page, err
		}
		f.ProjectID, f.Every = "", true
	}
	list, total, err := s.Jobs.List(ctx, f)
	for i := range list {
		list[i] = visibleJob(ctx, list[i])
	}
	return rest.PageOf(in.PageQuery, list, total), err
}
