package api

import (
	"context"

	"tenet/internal/api/rest"
	"tenet/internal/auth"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// previewRoute adds the operation that tries a change of a rule.
func (s Rules) previewRoute(r *rest.Router) {
	rest.HandleBody(r, rest.Operation{
		ID: "preview-revision", Route: op.PreviewRevision.Route(), Role: auth.Reviewer, Summary: "Try a change of a rule",
		Description: "Nothing is stored and no model is asked. The answer has the rule as it would be with its lint findings, what would be weaker, and the rules that it " +
			"would contradict. With replay it also has the recorded evaluations that would be decided in another way, as if the rule were in force now.",
	}, s.preview)
}

func (s Rules) preview(ctx context.Context, in *ruleRef, body *wire.PreviewRevision) (wire.RevisionPreview, error) {
	out, err := s.Catalog.Preview(ctx, rest.Project(ctx), in.ID, func(r *rule.Rule) { r.Assign(&body.Change) })
	if err != nil {
		return out, err
	}
	if body.Replay > 0 {
		replay, err := s.Replays.Try(ctx, rest.Project(ctx), out.Rule, body.Replay)
		if err != nil {
			return out, err
		}
		out.Replay = &replay
	}
	out.Rule = s.noticed(ctx, s.counted(ctx, out.Rule))
	return out, nil
}
