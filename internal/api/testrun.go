package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"tenet/internal/auth"
	"tenet/internal/job"
	"tenet/internal/rule"
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
	op.Responses["200"].Content[eventType] = &huma.MediaType{Schema: &huma.Schema{
		Type:        huma.TypeString,
		Description: "Server-sent events: progress (the run as far as it has come), then done (the run that has ended) or error (a problem).",
	}}
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
	if !rule.IsID(in.RunID) {
		return nil, rule.NotFound("test run", in.RunID)
	}
	run, err := s.cfg.Sandbox.GetRun(ctx, project(ctx), in.RunID)
	if err != nil {
		return nil, err
	}
	if exchangeFrom(ctx).wantsEvents() {
		err = s.followTestRun(ctx, run)
	}
	return &testRunOutput{run}, err
}

// followInterval is how often a run that is followed is looked at.
const followInterval = 200 * time.Millisecond

// followTestRun sends a run whenever it has come further, until it has ended.
func (s *server) followTestRun(ctx context.Context, run sandbox.TestRun) error {
	events, live := openStream(ctx)
	defer events.end()
	tick := time.NewTicker(followInterval)
	defer tick.Stop()
	told := job.Progress{Done: -1}
	var err error
	for err == nil && (run.State == job.Queued || run.State == job.Running) {
		if run.Progress != told {
			told = run.Progress
			events.send("progress", run)
		}
		select {
		case <-live.Done():
			err = live.Err()
		case <-tick.C:
			run, err = s.cfg.Sandbox.GetRun(live, project(ctx), run.ID)
		}
	}
	return events.finish(ctx, s, run, nil, err)
}
