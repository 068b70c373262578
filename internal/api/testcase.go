package api

import (
	"context"
	"net/http"

	"tenet/internal/auth"
	"tenet/internal/rule"
	"tenet/internal/sandbox"
)

const (
	casesPath = rulePath + "/test-cases"
	casePath  = casesPath + "/{case_id}"
)

func (s *server) testCaseRoutes() {
	register(s, operation{
		id: "list-test-cases", method: http.MethodGet, path: casesPath, tag: sandboxTag, role: auth.Viewer,
		summary: "List the test cases of a rule", description: "Oldest first, with the results of their latest run.",
	}, s.listCases)
	registerBody(s, operation{
		id: "create-test-case", method: http.MethodPost, path: casesPath, tag: sandboxTag, role: auth.Reviewer, status: http.StatusCreated,
		summary: "Add a test case to a rule",
	}, s.createCase)
	register(s, operation{
		id: "delete-test-case", method: http.MethodDelete, path: casePath, tag: sandboxTag, role: auth.Reviewer,
		summary: "Delete a test case",
	}, s.deleteCase)
	register(s, operation{
		id: "confirm-test-case", method: http.MethodPost, path: casePath + "/confirm", tag: sandboxTag, role: auth.Reviewer,
		summary: "Confirm a generated test case", description: "A person stands by it from now on.",
	}, s.confirmCase)
	register(s, operation{
		id: "run-test-cases", method: http.MethodPost, path: casesPath + "/run", tag: sandboxTag, role: auth.Evaluator,
		summary: "Run the test cases of a rule",
		description: "Each case is tried as in the playground, side by side; the results are kept with the cases. A case passes if the sample " +
			"breaks the rule (DENY) or keeps it (ALLOW) as expected, whatever modality and enforcement make of a broken rule.",
	}, s.runCases)
	registerBody(s, operation{
		id: "generate-test-cases", method: http.MethodPost, path: casesPath + "/generate", tag: sandboxTag, role: auth.Reviewer,
		status: http.StatusCreated, summary: "Let the model write test cases for a rule",
		description: "Half of them break the rule. They are kept as generated until a person confirms them; what is no case, or is there " +
			"already, is left out. 503 without a model.",
	}, s.generateCases)
	register(s, operation{
		id: "propose-check", method: http.MethodPost, path: rulePath + "/check/propose", tag: sandboxTag, role: auth.Reviewer,
		summary: "Let the model propose a check for a rule",
		description: "Each proposal is tried on all test cases of the rule, and only those that agree with every one are told, with how they " +
			"would have done on recorded evaluations. Nothing is changed: a person adopts one by revising the rule. 503 without a model.",
	}, s.proposeCheck)
	registerBody(s, operation{
		id: "keep-evaluation", method: http.MethodPost, path: evaluationsPath + "/{id}/test-cases", tag: sandboxTag, role: auth.Reviewer,
		status: http.StatusCreated, summary: "Keep a recorded evaluation as a test case",
		description: "What was judged becomes the sample of a test case of one of the rules that judged it.",
	}, s.keepEvaluation)
}

type casesOutput struct {
	Body []sandbox.Case `nullable:"false"`
}

type caseOutput struct{ Body sandbox.Case }

// RuleInProject names a rule in a path.
type RuleInProject struct {
	ProjectQuery
	RuleRef
}

// CaseRef names a test case in a path.
type CaseRef struct {
	RuleInProject
	CaseID string `path:"case_id" doc:"Id of the test case."`
}

func (s *server) listCases(ctx context.Context, in *RuleInProject) (*casesOutput, error) {
	cases, err := s.cfg.Sandbox.Cases(ctx, project(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	return &casesOutput{cases}, nil
}

// CreateTestCase is the body that makes a test case.
type CreateTestCase struct {
	Name            string       `json:"name" doc:"Label."`
	SampleInput     string       `json:"sample_input" doc:"Code snippet, unified diff, JSON object of facts, or scenario text."`
	InputType       string       `json:"input_type,omitempty" nullable:"true" enum:"code,facts" default:"code" doc:"How the sample is read."`
	ExpectedVerdict rule.Verdict `json:"expected_verdict" enum:"ALLOW,DENY" doc:"ALLOW if the sample keeps the rule, DENY if it breaks it; in any letter case."`
}

func (s *server) createCase(ctx context.Context, in *RuleInProject, body *CreateTestCase) (*caseOutput, error) {
	made, err := s.cfg.Sandbox.AddCase(ctx, project(ctx), in.ID, sandbox.NewCase{
		Name: body.Name, SampleInput: body.SampleInput, InputType: body.InputType, ExpectedVerdict: body.ExpectedVerdict,
	})
	if err != nil {
		return nil, err
	}
	return &caseOutput{made}, nil
}

func (s *server) deleteCase(ctx context.Context, in *CaseRef) (*struct{}, error) {
	return nil, s.cfg.Sandbox.DeleteCase(ctx, project(ctx), in.ID, in.CaseID)
}

func (s *server) confirmCase(ctx context.Context, in *CaseRef) (*caseOutput, error) {
	confirmed, err := s.cfg.Sandbox.ConfirmCase(ctx, project(ctx), in.ID, in.CaseID)
	if err != nil {
		return nil, err
	}
	return &caseOutput{confirmed}, nil
}

type reportOutput struct{ Body sandbox.Report }

func (s *server) runCases(ctx context.Context, in *RuleInProject) (*reportOutput, error) {
	report, err := s.cfg.Sandbox.Run(ctx, project(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	return &reportOutput{report}, nil
}

// GenerateCases is the body that asks for test cases.
type GenerateCases struct {
	Count *int `json:"count,omitempty" nullable:"true" minimum:"1" maximum:"50" default:"6" doc:"How many."`
}

func (s *server) generateCases(ctx context.Context, in *RuleInProject, body *GenerateCases) (*casesOutput, error) {
	count := sandbox.DefaultGenerated
	if body.Count != nil {
		count = *body.Count
	}
	cases, err := s.cfg.Sandbox.Generate(ctx, project(ctx), in.ID, count)
	if err != nil {
		return nil, err
	}
	return &casesOutput{cases}, nil
}

type proposalsOutput struct{ Body sandbox.Proposals }

func (s *server) proposeCheck(ctx context.Context, in *RuleInProject) (*proposalsOutput, error) {
	found, err := s.cfg.Sandbox.Propose(ctx, project(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	return &proposalsOutput{found}, nil
}

// KeepEvaluation is the body that makes a test case of a recorded evaluation.
type KeepEvaluation struct {
	RuleID          string       `json:"rule_id,omitempty" nullable:"true" doc:"Id or slug of one of the rules that judged; may be absent if there was one only."`
	Name            string       `json:"name,omitempty" nullable:"true" doc:"Label; names the evaluation if absent."`
	ExpectedVerdict rule.Verdict `json:"expected_verdict,omitempty" nullable:"true" enum:"ALLOW,DENY" doc:"The verdict that the rule gave, if absent."`
}

func (s *server) keepEvaluation(ctx context.Context, in *struct {
	ProjectQuery
	ID string `path:"id" doc:"Id of the evaluation."`
}, body *KeepEvaluation,
) (*caseOutput, error) {
	if !rule.IsID(in.ID) {
		return nil, rule.NotFound("evaluation", in.ID)
	}
	made, err := s.cfg.Sandbox.Keep(ctx, project(ctx), in.ID, sandbox.FromEvaluation{
		Rule: body.RuleID, Name: body.Name, ExpectedVerdict: body.ExpectedVerdict,
	})
	if err != nil {
		return nil, err
	}
	return &caseOutput{made}, nil
}
