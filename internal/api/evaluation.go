package api

import (
	"context"

	"tenet/internal/api/rest"
	"tenet/internal/auth"
	"tenet/internal/hierarchy"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// Recorded reads and replays recorded evaluations.
type Recorded interface {
	Get(ctx context.Context, projectID, id string) (*wire.EvaluationRecord, error)
	Kept(ctx context.Context, projectID, id string) (*wire.EvaluationRecord, error)
	List(ctx context.Context, projectID string, q wire.EvaluationQuery) (wire.EvaluationPage, error)
	Violations(ctx context.Context, projectID, prefix string) (wire.Violations, error)
	Replay(ctx context.Context, projectID, id string, live bool) (*wire.Replay, error)
	GiveFeedback(ctx context.Context, projectID, evaluationID, ruleRef string, correct bool, note string) (*wire.Feedback, error)
	Feedback(ctx context.Context, projectID, evaluationID string) ([]wire.Feedback, error)
	Quality(ctx context.Context, projectID, ruleRef string) (*wire.RuleQuality, error)
}

// Records serves recorded evaluations and the feedback on them.
type Records struct {
	Recorded Recorded
	Nodes    *hierarchy.Hierarchy
}

// evaluationRef names an evaluation in a path.
type evaluationRef struct {
	ID string `path:"id" id:"evaluation" doc:"Id of the evaluation."`
}

// Routes implements [rest.Resource].
func (e Records) Routes(r *rest.Router) {
	rules := r.Tag(ruleTag)
	r = r.Tag(evaluateTag)
	rest.Handle(r, rest.Operation{
		ID: "list-evaluations", Route: op.ListEvaluations.Route(), Role: auth.Viewer, Lags: true, Summary: "Find recorded evaluations",
		Description: "Newest first. All parameters that are given must hold. Pages go by page, or by cursor, which what is recorded meanwhile does not move.",
	}, e.list)
	rest.Handle(r, rest.Operation{
		ID: "get-evaluation", Route: op.GetEvaluation.Route(), Role: auth.Viewer,
		Summary: "Get the record of an evaluation",
		Description: "Everything needed to replay it, with its place in the audit chain. Reviewers and administrators also see the full " +
			"requests and responses of models; others see the number of calls and their cost.",
	}, func(ctx context.Context, in *evaluationRef) (*wire.EvaluationRecord, error) {
		rec, err := e.Recorded.Kept(ctx, rest.Project(ctx), in.ID)
		if err == nil && auth.ActorFrom(ctx).May(auth.Reviewer, rest.Project(ctx)) != nil {
			rec.Withhold()
		}
		return rec, err
	})
	rest.Handle(r, rest.Operation{
		ID: "list-violations", Route: op.ListViolations.Route(), Role: auth.Viewer, Lags: true, Summary: "Find violations by a beginning of their fingerprint",
		Description: "Looks through the newest 50 evaluations with such a violation. Several items mean that the beginning is not unique, or that the same text was denied " +
			"in several repositories. A denial without a fingerprint cannot be waived and is not found.",
	}, func(ctx context.Context, in *wire.ViolationQuery) (wire.Violations, error) {
		return e.Recorded.Violations(ctx, rest.Project(ctx), in.Fingerprint)
	})
	rest.HandleBody(r, rest.Operation{
		ID: "replay-evaluation", Route: op.ReplayEvaluation.Route(), Role: auth.Reviewer,
		Summary: "Decide an evaluation again from its record",
		Description: "Checks run again on the recorded subject and rules, and the judge decides by the recorded answers of the model; with live " +
			"the model is asked again. Nothing is recorded.",
	}, func(ctx context.Context, in *evaluationRef, body *wire.ReplayRequest) (*wire.Replay, error) {
		return e.Recorded.Replay(ctx, rest.Project(ctx), in.ID, body.Live)
	})
	rest.HandleBody(r, rest.Operation{
		ID: "give-feedback", Route: op.GiveFeedback.Route(), Role: auth.Reviewer,
		Summary:     "Say whether a verdict was right",
		Description: "One judgement per reviewer, evaluation and rule: a later one replaces an earlier one.",
	}, func(ctx context.Context, in *evaluationRef, body *wire.FeedbackRequest) (*wire.Feedback, error) {
		return e.Recorded.GiveFeedback(ctx, rest.Project(ctx), in.ID, body.RuleID, body.Correct, body.Note)
	})
	rest.Handle(r, rest.Operation{
		ID: "list-feedback", Route: op.ListFeedback.Route(), Role: auth.Viewer, Lags: true,
		Summary: "List the feedback on an evaluation", Description: "By rule and reviewer.",
	}, func(ctx context.Context, in *evaluationRef) (wire.FeedbackList, error) {
		list, err := e.Recorded.Feedback(ctx, rest.Project(ctx), in.ID)
		return wire.FeedbackList{Items: list, Total: len(list)}, err
	})
	rest.Handle(rules, rest.Operation{
		ID: "rule-quality", Route: op.RuleQuality.Route(), Role: auth.Viewer,
		Summary:     "Get how often a rule was right",
		Description: "Precision and recall with 95 % Wilson intervals, from feedback on the rule as it is now, and from test cases.",
	}, func(ctx context.Context, in *struct {
		ID string `path:"id" doc:"Id or slug of the rule."`
	},
	) (*wire.RuleQuality, error) {
		return e.Recorded.Quality(ctx, rest.Project(ctx), in.ID)
	})
}

func (e Records) list(ctx context.Context, in *wire.EvaluationQuery) (out wire.EvaluationPage, err error) {
	if in.NodeID, _, err = e.Nodes.NodeID(ctx, rest.Project(ctx), in.NodeID); err != nil {
		return out, err
	}
	return e.Recorded.List(ctx, rest.Project(ctx), *in)
}
