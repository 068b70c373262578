package api

import (
	"context"
	"net/http"

	"tenet/internal/auth"
	"tenet/internal/evaluate"
	"tenet/internal/rule"
	"tenet/internal/subject"
)

const (
	evaluatePath = "/api/v1/evaluate"
	evaluateTag  = "Evaluation"
)

func (s *server) evaluateRoutes() {
	streams(registerBody(s, operation{
		id: "evaluate", method: http.MethodPost, path: evaluatePath, tag: evaluateTag, role: auth.Evaluator,
		summary:     "Evaluate a change, files or facts against the rules",
		description: "All fields are optional. The evaluation is recorded before it is answered. With `Accept: text/event-stream` each verdict is sent once it is final, then `done`.",
	}, s.evaluate))
	streams(registerBody(s, operation{
		id: "evaluate-quick", method: http.MethodPost, path: evaluatePath + "/quick", tag: evaluateTag, role: auth.Evaluator,
		summary: "Evaluate an action in plain words",
	}, s.evaluateQuick))
	registerBody(s, operation{
		id: "applicable-rules", method: http.MethodPost, path: evaluatePath + "/applicable-rules", tag: evaluateTag, role: auth.Evaluator,
		summary: "List the rules that would apply", description: "Best ranked first, MAY and INFO rules included. Nothing is evaluated.",
	}, s.applicableRules)
}

type evaluationOutput struct{ Body *rule.Evaluation }

// EvaluateRequest is the body of an evaluation. A field that is null counts as absent.
type EvaluateRequest struct {
	Diff        string              `json:"diff,omitempty" nullable:"true" doc:"Unified diff text."`
	Files       []subject.InputFile `json:"files,omitempty" nullable:"true" doc:"Files to evaluate. A file without content is known by its path only."`
	Facts       map[string]any      `json:"facts,omitempty" nullable:"true" doc:"Free-form key-value context."`
	Intent      string              `json:"intent,omitempty" nullable:"true" maxLength:"10000" doc:"Description of the change or action: a claim to be checked."`
	Scope       string              `json:"scope,omitempty" nullable:"true" doc:"Scope of the subject; absent means every scope." example:"finance/payments"`
	Repository  string              `json:"repository,omitempty" nullable:"true" doc:"Repository identifier."`
	Mode        rule.Mode           `json:"mode,omitempty" nullable:"true" enum:"preflight,posthoc" default:"preflight" doc:"Before or after the action."`
	MaxRules    int                 `json:"max_rules,omitempty" nullable:"true" minimum:"1" maximum:"100" default:"20" doc:"Most rules to evaluate; coverage counts what is cut."`
	SeverityMin rule.Severity       `json:"severity_min,omitempty" nullable:"true" enum:"LOW,MEDIUM,HIGH,CRITICAL" default:"MEDIUM" doc:"Minimum severity to include, in any letter case."`
	NodeID      string              `json:"node_id,omitempty" nullable:"true" doc:"Federation node whose effective rules apply; absent means the node that the repository is bound to, and all rules where there is none."`
	Environment string              `json:"environment,omitempty" nullable:"true" enum:"production,staging,development" doc:"Judge by the snapshot that is active there instead of the live rules; 409 if nothing is deployed there."`
}

// evaluateInput are the parameters of an evaluation.
type evaluateInput struct {
	ProjectQuery
	NameHeader
}

func (s *server) evaluate(ctx context.Context, in *evaluateInput, body *EvaluateRequest) (*evaluationOutput, error) {
	return s.evaluateRequest(ctx, in.Key, body, evaluate.Request{
		ProjectID: project(ctx), Mode: body.Mode, MaxRules: body.MaxRules, SeverityMin: body.SeverityMin, NodeID: body.NodeID,
		Environment: body.Environment,
		Input: subject.Input{
			Diff: body.Diff, Files: body.Files, Facts: body.Facts, Intent: body.Intent, Scope: body.Scope, Repository: body.Repository,
		},
	})
}

// QuickRequest is the body of a quick evaluation.
type QuickRequest struct {
	Action      string `json:"action" minLength:"1" maxLength:"5000" doc:"The action, in plain words." example:"Send the customer list to an external partner"`
	Scope       string `json:"scope,omitempty" nullable:"true" doc:"Scope of the action; absent means every scope."`
	NodeID      string `json:"node_id,omitempty" nullable:"true" doc:"Federation node whose effective rules apply; absent means all rules."`
	Environment string `json:"environment,omitempty" nullable:"true" enum:"production,staging,development" doc:"Judge by the snapshot that is active there instead of the live rules; 409 if nothing is deployed there."`
}

func (s *server) evaluateQuick(ctx context.Context, in *evaluateInput, body *QuickRequest) (*evaluationOutput, error) {
	return s.evaluateRequest(ctx, in.Key, body, evaluate.Request{
		ProjectID: project(ctx), Input: subject.Input{Action: body.Action, Scope: body.Scope}, NodeID: body.NodeID, Environment: body.Environment,
	})
}

func (s *server) evaluateRequest(ctx context.Context, key string, body any, req evaluate.Request) (*evaluationOutput, error) {
	named, err := s.named(ctx, "", key, body)
	if err != nil {
		return nil, err
	}
	a, err := s.answer(ctx, named, req, func(a *evaluate.Answer) any { return a.Evaluation })
	if err != nil || a == nil {
		return &evaluationOutput{}, err
	}
	return &evaluationOutput{a.Evaluation}, nil
}

// ApplicableRequest is the body that asks for the rules that would apply.
type ApplicableRequest struct {
	FilePaths   []string `json:"file_paths,omitempty" nullable:"true" maxItems:"5000" doc:"Paths of the files of a change; absent means any."`
	Repository  string   `json:"repository,omitempty" nullable:"true" maxLength:"1024" doc:"Repository identifier; absent means any."`
	Scope       string   `json:"scope,omitempty" nullable:"true" maxLength:"1024" doc:"Scope; absent means every scope."`
	NodeID      string   `json:"node_id,omitempty" nullable:"true" doc:"Federation node whose effective rules apply; absent means the node that the repository is bound to, and all rules where there is none."`
	Environment string   `json:"environment,omitempty" nullable:"true" enum:"production,staging,development" doc:"The rules of the snapshot that is active there instead of the live rules; 409 if nothing is deployed there."`
}

type applicableOutput struct {
	UsedSnapshot
	Body []rule.Rule `nullable:"false"`
}

func (s *server) applicableRules(ctx context.Context, _ *struct{ ProjectQuery }, body *ApplicableRequest) (*applicableOutput, error) {
	view, used, err := s.released(ctx, body.Environment)
	if err != nil {
		return nil, err
	}
	rules, err := s.evaluator.Applicable(ctx, evaluate.ApplicableQuery{
		ProjectID: project(ctx), View: view, FilePaths: body.FilePaths, Repository: body.Repository, Scope: body.Scope, NodeID: body.NodeID,
	})
	if err != nil {
		return nil, err
	}
	if rules == nil {
		rules = []rule.Rule{}
	}
	return &applicableOutput{used, rules}, nil
}
