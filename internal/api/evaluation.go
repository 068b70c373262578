package api

import (
	"context"
	"net/http"

	"tenet/internal/auth"
	"tenet/internal/evaluate"
	"tenet/internal/rule"
)

const evaluationsPath = "/api/v1/evaluations"

func (s *server) evaluationRoutes() {
	register(s, operation{
		id: "list-evaluations", method: http.MethodGet, path: evaluationsPath, tag: evaluateTag, role: auth.Viewer,
		summary: "List recorded evaluations", description: "Newest first.",
	}, s.listEvaluations)
	register(s, operation{
		id: "get-evaluation", method: http.MethodGet, path: evaluationsPath + "/{id}", tag: evaluateTag, role: auth.Viewer,
		summary: "Get the record of an evaluation", description: "All that is needed to replay it, with its place in the audit chain.",
	}, s.getEvaluation)
}

func (s *server) listEvaluations(ctx context.Context, in *struct {
	ProjectQuery
	Verdict string `query:"verdict" doc:"ALLOW, DENY or NEEDS_CONFIRMATION, in any letter case."`
	Mode    string `query:"mode" doc:"preflight or posthoc."`
	Actor   string `query:"actor" doc:"Who asked, exactly." example:"key:ci"`
	Since   string `query:"since" format:"date-time" doc:"Not before this time."`
	Until   string `query:"until" format:"date-time" doc:"Before this time."`
	PageQuery
},
) (*pageOutput[evaluate.Summary], error) {
	var p rule.Problems
	f := evaluate.Filter{
		Verdict: enumParam(&p, "verdict", in.Verdict, rule.Verdicts),
		Mode:    enumParam(&p, "mode", in.Mode, rule.Modes),
		Actor:   in.Actor,
		Since:   timeParam(&p, "since", in.Since),
		Until:   timeParam(&p, "until", in.Until),
	}
	if err := p.Err("the query is invalid"); err != nil {
		return nil, err
	}
	list, total, err := s.evaluator.List(ctx, project(ctx), f, (in.Page-1)*in.PageSize, in.PageSize)
	if err != nil {
		return nil, err
	}
	return pageOf(in.PageQuery, list, total), nil
}

type recordOutput struct{ Body *evaluate.Record }

func (s *server) getEvaluation(ctx context.Context, in *struct {
	ProjectQuery
	ID string `path:"id" doc:"Id of the evaluation."`
},
) (*recordOutput, error) {
	if !rule.IsID(in.ID) {
		return nil, rule.NotFound("evaluation", in.ID)
	}
	record, err := s.evaluator.Get(ctx, project(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	return &recordOutput{record}, nil
}
