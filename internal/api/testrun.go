package api

import (
	"context"
	"net/http"

	"tenet/internal/auth"
	"tenet/internal/job"
	"tenet/internal/sandbox"
)

const testRunsPath = "/api/v1/test-runs"

func (s *server) testRunRoutes() {
	registerBody(s, operation{
		id: "start-test-run", method: http.MethodPost, path: testRunsPath, tag: sandboxTag, role: auth.Evaluator, status: http.StatusAccepted,
		summary:     "Run the test cases of many rules",
		description: "In the background; all fields are optional. Without any, all rules that are not retired or superseded, as they are live.",
	}, s.startTestRun)
	op := register(s, operation{
		id: "get-test-run", method: http.MethodGet, path: testRunsPath + "/{run_id}", tag: sandboxTag, role: auth.Viewer,
		summary: "Get a test run", description: "With its progress, and its result once it has finished. With `Accept: text/event-stream` it is followed until it has.",
	}, s.getTestRun)
	followed(op)
}

type startedTestRun struct {
	Location string `header:"Location"`
	Body     sandbox.TestRun
}

type testRunOutput struct{ Body sandbox.TestRun }

func (s *server) startTestRun(ctx context.Context, _ *struct{ ProjectQuery }, body *sandbox.RunFilter) (*startedTestRun, error) {
	run, err := s.cfg.Sandbox.StartRun(ctx, project(ctx), *body)
	if err != nil {
		return nil, err
	}
	return &startedTestRun{Location: location(ctx, testRunsPath, run.ID), Body: run}, nil
}

func (s *server) getTestRun(ctx context.Context, in *struct {
	ProjectQuery
	RunID string `path:"run_id" doc:"Id of the run."`
},
) (*testRunOutput, error) {
	get := func(ctx context.Context) (sandbox.TestRun, error) {
		return s.cfg.Sandbox.GetRun(ctx, project(ctx), in.RunID)
	}
	run, err := get(ctx)
	if err == nil && exchangeFrom(ctx).wantsEvents() {
		err = follow(ctx, s, run, get, func(r *sandbox.TestRun) (string, job.Progress) { return r.State, r.Progress })
	}
	return &testRunOutput{run}, err
}
