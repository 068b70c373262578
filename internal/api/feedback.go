package api

import (
	"context"
	"net/http"

	"tenet/internal/auth"
	"tenet/internal/evaluate"
	"tenet/internal/rule"
)

func (s *server) feedbackRoutes() {
	registerBody(s, operation{
		id: "give-feedback", method: http.MethodPost, path: evaluationsPath + "/{id}/feedback", tag: evaluateTag, role: auth.Reviewer,
		summary:     "Say whether a verdict was right",
		description: "One word per reviewer, evaluation and rule: a later one takes the place of an earlier one.",
	}, s.giveFeedback)
	register(s, operation{
		id: "list-feedback", method: http.MethodGet, path: evaluationsPath + "/{id}/feedback", tag: evaluateTag, role: auth.Viewer,
		summary: "List the feedback on an evaluation", description: "By rule and reviewer.",
	}, s.listFeedback)
	register(s, operation{
		id: "rule-quality", method: http.MethodGet, path: rulesPath + "/{id}/quality", tag: ruleTag, role: auth.Viewer,
		summary:     "Get how often a rule was right",
		description: "Precision and recall with 95 % Wilson intervals, from feedback on the rule as it is now, and from test cases.",
	}, s.ruleQuality)
}

// FeedbackRequest is the body of feedback.
type FeedbackRequest struct {
	RuleID  string `json:"rule_id" minLength:"1" doc:"Id or slug of the rule." example:"SEC-003"`
	Correct bool   `json:"correct" doc:"Whether its verdict was right."`
	Note    string `json:"note,omitempty" nullable:"true" maxLength:"4000" doc:"Why."`
}

// EvaluationRef names an evaluation in a path.
type EvaluationRef struct {
	ProjectQuery
	ID string `path:"id" doc:"Id of the evaluation."`
}

// known refuses what cannot be the id of an evaluation.
func (r *EvaluationRef) known() error {
	if !rule.IsID(r.ID) {
		return rule.NotFound("evaluation", cut(r.ID, maxValue))
	}
	return nil
}

type feedbackOutput struct{ Body *evaluate.Feedback }

func (s *server) giveFeedback(ctx context.Context, in *struct{ EvaluationRef }, body *FeedbackRequest) (*feedbackOutput, error) {
	if err := in.known(); err != nil {
		return nil, err
	}
	f, err := s.evaluator.GiveFeedback(ctx, project(ctx), in.ID, body.RuleID, body.Correct, body.Note)
	if err != nil {
		return nil, err
	}
	return &feedbackOutput{f}, nil
}

// FeedbackList is the feedback on an evaluation.
type FeedbackList struct {
	Items []evaluate.Feedback `json:"items" nullable:"false" doc:"By rule and reviewer."`
	Total int                 `json:"total" doc:"How many there are."`
}

type feedbackList struct{ Body FeedbackList }

func (s *server) listFeedback(ctx context.Context, in *struct{ EvaluationRef }) (*feedbackList, error) {
	if err := in.known(); err != nil {
		return nil, err
	}
	list, err := s.evaluator.Feedback(ctx, project(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	return &feedbackList{FeedbackList{Items: list, Total: len(list)}}, nil
}

type qualityOutput struct{ Body *evaluate.Quality }

func (s *server) ruleQuality(ctx context.Context, in *struct {
	ProjectQuery
	ID string `path:"id" doc:"Id or slug of the rule."`
},
) (*qualityOutput, error) {
	q, err := s.evaluator.Quality(ctx, project(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	return &qualityOutput{q}, nil
}
