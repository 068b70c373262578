package api

import (
	"context"
	"net/http"

	"tenet/internal/api/rest"
	"tenet/internal/auth"
	"tenet/internal/sandbox"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// TestCases serves the test cases of rules, and their runs.
type TestCases struct{ Sandbox *sandbox.Sandbox }

// casesOutput is a list of test cases.
type casesOutput struct {
	Body []wire.Case `nullable:"false"`
}

// caseRef names a test case in a path.
type caseRef struct {
	ruleRef
	CaseID string `path:"case_id" doc:"Id of the test case."`
}

// Routes implements [rest.Resource].
func (s TestCases) Routes(r *rest.Router) {
	r = r.Tag(sandboxTag)
	rest.Handle(r, rest.Operation{
		ID: "list-test-cases", Route: op.ListTestCases.Route(), Role: auth.Viewer,
		Summary: "List the test cases of a rule", Description: "Oldest first, with the results of their latest run.",
	}, func(ctx context.Context, in *ruleRef) (casesOutput, error) {
		cases, err := s.Sandbox.Cases(ctx, rest.Project(ctx), in.ID)
		return casesOutput{cases}, err
	})
	rest.HandleBody(r, rest.Operation{
		ID: "create-test-case", Route: op.CreateTestCase.Route(), Role: auth.Reviewer, Status: http.StatusCreated, Summary: "Add a test case to a rule",
	}, func(ctx context.Context, in *ruleRef, body *wire.CreateTestCase) (wire.Case, error) {
		return s.Sandbox.AddCase(ctx, rest.Project(ctx), in.ID, sandbox.NewCase{
			Name: body.Name, SampleInput: body.SampleInput, InputType: body.InputType, ExpectedVerdict: body.ExpectedVerdict,
		})
	})
	rest.Do(r, rest.Operation{ID: "delete-test-case", Route: op.DeleteTestCase.Route(), Role: auth.Reviewer, Summary: "Delete a test case"},
		func(ctx context.Context, in *caseRef) error {
			return s.Sandbox.DeleteCase(ctx, rest.Project(ctx), in.ID, in.CaseID)
		})
	rest.Handle(r, rest.Operation{
		ID: "confirm-test-case", Route: op.ConfirmTestCase.Route(), Role: auth.Reviewer,
		Summary: "Confirm a generated test case", Description: "Marks it as reviewed by a person.",
	}, func(ctx context.Context, in *caseRef) (wire.Case, error) {
		return s.Sandbox.ConfirmCase(ctx, rest.Project(ctx), in.ID, in.CaseID)
	})
	rest.Handle(r, rest.Operation{
		ID: "run-test-cases", Route: op.RunTestCases.Route(), Role: auth.Evaluator, Summary: "Run the test cases of a rule",
		Description: "Tries each case as in the playground, in parallel, and stores the results with the cases. A case passes if the sample " +
			"breaks the rule (DENY) or keeps it (ALLOW) as expected, regardless of modality and enforcement.",
	}, func(ctx context.Context, in *ruleRef) (wire.Report, error) {
		return s.Sandbox.Run(ctx, rest.Project(ctx), in.ID)
	})
	rest.HandleBody(r, rest.Operation{
		ID: "generate-test-cases", Route: op.GenerateTestCases.Route(), Role: auth.Reviewer, Status: http.StatusCreated,
		Summary: "Let the model write test cases for a rule",
		Description: "Half of them break the rule. They are stored as generated until a person confirms them, without invalid cases and " +
			"duplicates. 503 without a model.",
	}, func(ctx context.Context, in *ruleRef, body *wire.GenerateCases) (casesOutput, error) {
		count := sandbox.DefaultGenerated
		if body.Count != nil {
			count = *body.Count
		}
		cases, err := s.Sandbox.Generate(ctx, rest.Project(ctx), in.ID, count)
		return casesOutput{cases}, err
	})
	rest.Handle(r, rest.Operation{
		ID: "propose-check", Route: op.ProposeCheck.Route(), Role: auth.Reviewer, Summary: "Let the model propose a check for a rule",
		Description: "The model is shown half of the test cases. Lists the checks that agree with these and deny no other that keeps the rule. A check decides " +
			"denials only, unless it also agrees with the cases held back, with variants of all cases and with recorded evaluations. " +
			"Changes nothing: a person adopts one by revising the rule. 503 without a model.",
	}, func(ctx context.Context, in *ruleRef) (wire.Proposals, error) {
		return s.Sandbox.Propose(ctx, rest.Project(ctx), in.ID)
	})
	rest.HandleBody(r, rest.Operation{
		ID: "keep-evaluation", Route: op.KeepEvaluation.Route(), Role: auth.Reviewer, Status: http.StatusCreated,
		Summary:     "Make a test case of a recorded evaluation",
		Description: "Its subject becomes the sample of a test case of one of its rules.",
	}, func(ctx context.Context, in *evaluationRef, body *wire.KeepEvaluation) (wire.Case, error) {
		return s.Sandbox.Keep(ctx, rest.Project(ctx), in.ID, sandbox.FromEvaluation{
			Rule: body.RuleID, Name: body.Name, ExpectedVerdict: body.ExpectedVerdict,
		})
	})
	rest.HandleBody(r, rest.Operation{
		ID: "start-test-run", Route: op.StartTestRun.Route(), Role: auth.Evaluator, Status: http.StatusAccepted, Summary: "Run the test cases of many rules",
		Description: "In the background; all fields are optional. Without any, all rules that are not retired or superseded, as they are live.",
	}, func(ctx context.Context, _ *rest.None, body *wire.RunFilter) (rest.Created[wire.TestRun], error) {
		run, err := s.Sandbox.StartRun(ctx, rest.Project(ctx), *body)
		return rest.At(ctx, op.GetTestRun.Path, run.ID, run), err
	})
	rest.Handle(r, rest.Operation{
		ID: "get-test-run", Route: op.GetTestRun.Route(), Role: auth.Viewer, Summary: "Get a test run",
		Description: "With its progress, and its result once it has finished. With `Accept: text/event-stream` the server sends progress until then.",
	}, func(ctx context.Context, in *struct {
		RunID string `path:"run_id" doc:"Id of the run."`
	},
	) (wire.TestRun, error) {
		return follow(ctx, func(ctx context.Context) (wire.TestRun, error) {
			return s.Sandbox.GetRun(ctx, rest.Project(ctx), in.RunID)
		}, func(r *wire.TestRun) (string, wire.Progress) { return r.State, r.Progress })
	}).Streams(runEvents)
}
