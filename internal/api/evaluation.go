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
		summary: "Get the record of an evaluation",
		description: "All that is needed to replay it, with its place in the audit chain. What was asked of models and answered word by " +
			"word is shown to reviewers and administrators; others see that there were calls, and what they cost.",
	}, s.getEvaluation)
	registerBody(s, operation{
		id: "replay-evaluation", method: http.MethodPost, path: evaluationsPath + "/{id}/replay", tag: evaluateTag, role: auth.Reviewer,
		summary: "Decide an evaluation again from its record",
		description: "Checks run again on the recorded subject and rules, and the judge decides by the recorded answers of the model; with live " +
			"the model is asked again. Nothing is recorded.",
	}, s.replayEvaluation)
}

// ReplayRequest is the body of a replay.
type ReplayRequest struct {
	Live bool `json:"live,omitempty" doc:"Ask the model again instead of using its recorded answers."`
}

type replayOutput struct{ Body *evaluate.Replay }

func (s *server) replayEvaluation(ctx context.Context, in *struct{ EvaluationRef }, body *ReplayRequest) (*replayOutput, error) {
	if err := in.known(); err != nil {
		return nil, err
	}
	r, err := s.evaluator.Replay(ctx, project(ctx), in.ID, body.Live)
	if err != nil {
		return nil, err
	}
	return &replayOutput{r}, nil
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

func (s *server) getEvaluation(ctx context.Context, in *struct{ EvaluationRef }) (*recordOutput, error) {
	if err := in.known(); err != nil {
		return nil, err
	}
	record, err := s.evaluator.Get(ctx, project(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	if !actor(ctx).Role.Allows(auth.Reviewer) {
		record.Withhold()
	}
	return &recordOutput{record}, nil
}
