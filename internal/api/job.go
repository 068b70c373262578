package api

import (
	"context"
	"net/http"

	"tenet/internal/auth"
	"tenet/internal/job"
	"tenet/internal/rule"
	"tenet/internal/store"
)

const (
	jobsPath = "/api/v1/jobs"
	jobTag   = "Jobs"
)

// jobStates are the states that a list can be filtered by.
var jobStates = []string{job.Queued, job.Running, job.Succeeded, job.Failed, job.Cancelled}

func (s *server) jobRoutes() {
	register(s, operation{
		id: "list-jobs", method: http.MethodGet, path: jobsPath, tag: jobTag, role: auth.Viewer, place: ownOrAll,
		summary:     "List background jobs",
		description: "Newest first. project_id * lists the jobs that work on all projects, such as sweeps. Administrators also see the arguments.",
	}, s.listJobs)
	register(s, operation{
		id: "get-job", method: http.MethodGet, path: jobsPath + "/{id}", tag: jobTag, role: auth.Viewer, place: ownOrAll,
		summary: "Get a background job", description: "With its progress, which is brought up to date about once a second.",
	}, s.getJob)
	register(s, operation{
		id: "retry-job", method: http.MethodPost, path: jobsPath + "/{id}/retry", tag: jobTag, role: auth.Reviewer, place: ownOrAll,
		summary: "Retry a failed or cancelled job", description: "At once, and with all its attempts.",
	}, s.retryJob)
	register(s, operation{
		id: "cancel-job", method: http.MethodPost, path: jobsPath + "/{id}/cancel", tag: jobTag, role: auth.Reviewer, place: ownOrAll,
		summary: "Cancel a background job", description: "One that waits ends at once; one that runs is interrupted within seconds.",
	}, s.cancelJob)
}

// JobRef names a job in a path.
type JobRef struct {
	ProjectQuery
	ID int64 `path:"id" minimum:"1" doc:"Id of the job." example:"7"`
}

type jobOutput struct{ Body job.Job }

// shownJob leaves out what only administrators may see: arguments can hold what others have submitted.
func shownJob(ctx context.Context, j job.Job) job.Job {
	if !actor(ctx).Role.Allows(auth.Admin) {
		j.Args = nil
	}
	return j
}

func (s *server) listJobs(ctx context.Context, in *struct {
	ProjectQuery
	Kind  string `query:"kind" doc:"Only jobs of this kind, such as rules.embed."`
	State string `query:"state" doc:"queued, running, succeeded, failed or cancelled, in any letter case."`
	PageQuery
},
) (*pageOutput[job.Job], error) {
	var p rule.Problems
	f := store.JobFilter{
		ProjectID: project(ctx), Kind: in.Kind, State: enumParam(&p, "state", in.State, jobStates),
		Offset: (in.Page - 1) * in.PageSize, Limit: in.PageSize,
	}
	if err := p.Err("the query is invalid"); err != nil {
		return nil, err
	}
	list, total, err := s.cfg.Jobs.List(ctx, f)
	if err != nil {
		return nil, err
	}
	for i := range list {
		list[i] = shownJob(ctx, list[i])
	}
	return pageOf(in.PageQuery, list, total), nil
}

func (s *server) getJob(ctx context.Context, in *JobRef) (*jobOutput, error) {
	return oneJob(ctx, in, s.cfg.Jobs.Get)
}

func (s *server) retryJob(ctx context.Context, in *JobRef) (*jobOutput, error) {
	return oneJob(ctx, in, s.cfg.Jobs.Retry)
}

func (s *server) cancelJob(ctx context.Context, in *JobRef) (*jobOutput, error) {
	return oneJob(ctx, in, s.cfg.Jobs.Cancel)
}

func oneJob(ctx context.Context, in *JobRef, do func(context.Context, string, int64) (job.Job, error)) (*jobOutput, error) {
	j, err := do(ctx, project(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	return &jobOutput{shownJob(ctx, j)}, nil
}
