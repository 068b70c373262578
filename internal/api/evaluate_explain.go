package api

import (
	"cmp"
	"context"

	"tenet/internal/api/rest"
	"tenet/internal/evaluate"
	"tenet/internal/rule"
	"tenet/internal/wire"
)

type explainOutput struct {
	UsedSnapshot
	Body wire.ExplainedRules
}

// explain answers which rules would apply, and why.
func (e Evaluations) explain(ctx context.Context, _ *rest.None, body *wire.ExplainRequest) (explainOutput, error) {
	var p rule.Problems
	q := evaluate.ExplainQuery{
		Kind:        rest.EnumParam(&p, "subject_kind", string(body.SubjectKind), wire.SubjectKinds),
		SeverityMin: rest.EnumParam(&p, "severity_min", string(body.SeverityMin), rule.Severities),
		Part:        rest.EnumParam(&p, "part", string(body.Part), wire.RuleParts),
		Facts:       body.Facts, Rule: body.Rule,
		Page: rule.Page{Number: cmp.Or(body.Page, 1), Size: cmp.Or(body.PageSize, 20)},
	}
	if q.Page.Number < 1 || q.Page.Number > 1_000_000 {
		p.Add("page", "must be from 1 to 1000000")
	}
	if q.Page.Size < 1 || q.Page.Size > 100 {
		p.Add("page_size", "must be from 1 to 100")
	}
	if err := p.Err("the question is invalid"); err != nil {
		return explainOutput{}, err
	}
	view, used, err := released(ctx, e.Released, body.Environment)
	if err != nil {
		return explainOutput{}, err
	}
	q.ApplicableQuery = evaluate.ApplicableQuery{
		ProjectID: rest.Project(ctx), View: view, FilePaths: body.FilePaths, Repository: body.Repository, Scope: body.Scope, NodeID: body.NodeID,
	}
	found, err := e.Evaluator.Explain(ctx, q)
	return explainOutput{used, found}, err
}
