package api

import (
	"context"

	"tenet/internal/api/rest"
	"tenet/internal/auth"
	"tenet/internal/catalog"
	"tenet/internal/conflict"
	"tenet/internal/lint"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// Similar compares rules that are not stored with those that are.
type Similar struct {
	Conflicts *conflict.Conflicts
}

// Routes implements [rest.Resource].
func (s Similar) Routes(r *rest.Router) {
	rest.HandleBody(r.Tag(ruleTag), rest.Operation{
		ID: "similar-rules", Route: op.SimilarRules.Route(), Role: auth.Viewer, Summary: "Compare a rule that is not stored with the others",
		Description: "Similar and contradicting rules of the project, and lint findings. Nothing is stored, and no model is asked. A rule that could " +
			"not be created is refused with the same errors.",
	}, s.compare)
}

func (s Similar) compare(ctx context.Context, _ *rest.None, body *wire.SimilarRequest) (out wire.SimilarRules, err error) {
	if out.Rule, err = catalog.Draft(body.Rule); err != nil {
		return out, err
	}
	out.Rule.ProjectID = rest.Project(ctx)
	cases := make([]lint.Case, len(body.Cases))
	for i, c := range body.Cases {
		cases[i] = lint.Case{Name: c.Name, Input: c.SampleInput, Expected: c.ExpectedVerdict}
	}
	if out.Lint = lint.Rule(&out.Rule, lint.Look(cases)); out.Lint == nil {
		out.Lint = []rule.Finding{}
	}
	out.Similar, out.Contradictions, err = s.Conflicts.Similar(ctx, rest.Project(ctx), &out.Rule)
	return out, err
}
