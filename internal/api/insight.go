package api

import (
	"context"
	"net/http"

	"tenet/internal/auth"
	"tenet/internal/insight"
)

const insightTag = "Insights"

func (s *server) insightRoutes() {
	register(s, operation{
		id: "get-insights", method: http.MethodGet, path: "/api/v1/insights", tag: insightTag, role: auth.Viewer,
		summary: "Get how the rules of a project fare",
		description: "Evaluations and verdicts, the rules that deny most, are slowest or dormant, what models have cost, the trend by day, and " +
			"health. Made of counts that are kept by day, which survive the removal of old records; as_of says up to when they reach.",
	}, s.getInsights)
	register(s, operation{
		id: "rule-health", method: http.MethodGet, path: rulesPath + "/{id}/health", tag: insightTag, role: auth.Viewer,
		summary:     "Get the health score of a rule",
		description: "From 0 to 100, measured now, with the parts that it is made of. Parts that nothing is known about are left out of it.",
	}, s.ruleHealth)
}

type insightsOutput struct{ Body *insight.Overview }

func (s *server) getInsights(ctx context.Context, in *struct {
	ProjectQuery
	PeriodDays int `query:"period_days" default:"30" minimum:"1" maximum:"400" doc:"Days to look at, today included, in UTC."`
},
) (*insightsOutput, error) {
	o, err := s.cfg.Insights.Overview(ctx, project(ctx), in.PeriodDays)
	if err != nil {
		return nil, err
	}
	return &insightsOutput{o}, nil
}

type healthOutput struct{ Body *insight.Health }

func (s *server) ruleHealth(ctx context.Context, in *RuleInProject) (*healthOutput, error) {
	h, err := s.cfg.Insights.Health(ctx, project(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	return &healthOutput{h}, nil
}
