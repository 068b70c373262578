package api

import (
	"context"

	"tenet/internal/api/rest"
	"tenet/internal/auth"
	"tenet/internal/health"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// Insights serves the figures on how the rules fare.
type Insights struct{ Health *health.Monitor }

// Routes implements [rest.Resource].
func (s Insights) Routes(r *rest.Router) {
	r = r.Tag(insightTag)
	rest.Handle(r, rest.Operation{
		ID: "get-insights", Route: op.GetInsights.Route(), Role: auth.Viewer, Summary: "Get the figures on the rules of a project",
		Description: "Evaluations and verdicts, the rules that deny most, are slowest or dormant, the cost of models, the trend by day, and " +
			"health. The figures come from daily counts, which outlive old records; as_of is the time of the last count.",
	}, func(ctx context.Context, in *wire.InsightsQuery) (*wire.Overview, error) {
		return s.Health.Overview(ctx, rest.Project(ctx), in.PeriodDays)
	})
	rest.Handle(r, rest.Operation{
		ID: "rule-health", Route: op.RuleHealth.Route(), Role: auth.Viewer, Summary: "Get the health score of a rule",
		Description: "From 0 to 100, measured now, with its parts. Parts without data do not count.",
	}, func(ctx context.Context, in *ruleRef) (*wire.Health, error) {
		return s.Health.Health(ctx, rest.Project(ctx), in.ID)
	})
}
