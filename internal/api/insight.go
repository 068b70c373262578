package api

import (
	"context"
	"slices"

	"tenet/internal/api/rest"
	"tenet/internal/auth"
	"tenet/internal/health"
	"tenet/internal/rule"
	"tenet/internal/store"
	sampling "tenet/internal/watch"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// Insights serves the figures on how the rules fare.
type Insights struct {
	Health   *health.Monitor
	Watch    *sampling.Watch
	Projects store.ProjectReader
}

// projectsQuery selects a page of projects.
type projectsQuery struct {
	wire.PeriodQuery
	wire.PageQuery
}

// Routes implements [rest.Resource].
func (s Insights) Routes(r *rest.Router) {
	r = r.Tag(insightTag)
	rest.Handle(r, rest.Operation{
		ID: "get-insights", Route: op.GetInsights.Route(), Role: auth.Viewer, Lags: true, Summary: "Get the figures on the rules of a project",
		Description: "Evaluations and verdicts, the rules that deny most, are slowest or dormant, the cost of models, the trend by day, and " +
			"health; of the project, of a team (the owner of rules) or of a federation node. The figures come from daily counts, which outlive " +
			"old records; as_of is the time of the last count. What was not measured yet is null.",
	}, func(ctx context.Context, in *wire.InsightsQuery) (*wire.Overview, error) {
		return s.Health.Overview(ctx, rest.Project(ctx), in)
	})
	rest.Handle(r, rest.Operation{
		ID: "measure-insights", Route: op.MeasureInsights.Route(), Role: auth.Reviewer, Summary: "Measure the rules of a project now",
		Description: "Scores and which rules are asked are otherwise measured within a minute after a change, and once an hour.",
	}, func(ctx context.Context, _ *rest.None) (*wire.MeasuredNow, error) {
		return s.Health.MeasureNow(ctx, rest.Project(ctx))
	})
	rest.Handle(r, rest.Operation{
		ID: "list-measured-rules", Route: op.MeasuredRules.Route(), Role: auth.Viewer, Lags: true, Summary: "List rules by health and by when they were last asked",
	}, func(ctx context.Context, in *wire.MeasuredQuery) (wire.MeasuredPage, error) {
		return s.Health.Measured(ctx, rest.Project(ctx), in)
	})
	rest.Handle(r, rest.Operation{
		ID: "list-judged-repositories", Route: op.ListRepositories.Route(), Role: auth.Viewer, Lags: true, Summary: "List the repositories that were judged",
		Description: "With the counts of their evaluations, and when, how and at which federation node the latest was judged; those of the last 400 days.",
	}, func(ctx context.Context, in *wire.RepositoryQuery) (wire.Page[wire.RepositoryFigure], error) {
		return s.Health.Repositories(ctx, rest.Project(ctx), in)
	})
	rest.Handle(r, rest.Operation{
		ID: "list-unjudged-repositories", Route: op.ListUnjudged.Route(), Role: auth.Viewer, Lags: true, Summary: "List the bound repositories that were never judged",
		Description: "Repositories and patterns that federation nodes are bound to and of which nothing was judged in the last 400 days: rules that hold there " +
			"are asked about nothing.",
	}, func(ctx context.Context, in *wire.UnjudgedQuery) (wire.Page[wire.UnjudgedRepository], error) {
		return health.Unjudged(ctx, s.Health, rest.Project(ctx), in)
	})
	rest.Handle(r, rest.Operation{
		ID: "get-samples", Route: op.GetSamples.Route(), Role: auth.Viewer, Summary: "Get how often the judge disagrees with checks and triage",
		Description: "A part of what checks decide and of what triage rules out, chosen by a hash, is judged too, after the evaluation and without an effect on it. " +
			"A check that a model proposed decides denials only after the first disagreement.",
	}, func(ctx context.Context, in *wire.SamplesQuery) (*wire.Samples, error) {
		return s.Watch.Figures(ctx, rest.Project(ctx), in)
	})
	rest.Handle(r, rest.Operation{
		ID: "get-report", Route: op.GetReport.Route(), Role: auth.Viewer, Summary: "Get the report of a month",
		Description: "Verdicts against the month before, denials by rule, waivers, releases, changes, and why evaluations were undecided. verify needs the role admin.",
	}, func(ctx context.Context, in *wire.ReportQuery) (*wire.MonthReport, error) {
		if in.Verify {
			if err := auth.ActorFrom(ctx).May(auth.Admin, rest.Project(ctx)); err != nil {
				return nil, err
			}
		}
		return s.Health.Report(ctx, rest.Project(ctx), in)
	})
	rest.Handle(r, rest.Operation{
		ID: "list-project-insights", Route: op.InsightProjects.Route(), Role: auth.Viewer, Lags: true, Place: rest.EachProject,
		Summary: "Compare projects", Description: "Evaluations, health and coverage of the projects that the key may access, from what is counted and measured already.",
	}, s.projects)
	rest.Handle(r, rest.Operation{
		ID: "rule-health", Route: op.RuleHealth.Route(), Role: auth.Viewer, Summary: "Get the health score of a rule",
		Description: "From 0 to 100, measured now, with its parts. Parts without data do not count.",
	}, func(ctx context.Context, in *ruleRef) (*wire.Health, error) {
		return s.Health.Health(ctx, rest.Project(ctx), in.ID)
	})
}

func (s Insights) projects(ctx context.Context, in *projectsQuery) (page wire.Page[wire.ProjectFigure], err error) {
	all, err := s.Projects.List(ctx)
	own := auth.ActorFrom(ctx).ProjectID
	all = slices.DeleteFunc(all, func(p rule.Project) bool { return own != store.AllProjects && p.ID != own })
	some, err := rest.Slice(in.PageQuery, all, err)
	if err != nil {
		return page, err
	}
	page = wire.Page[wire.ProjectFigure]{Total: some.Total, Page: some.Page, PageSize: some.PageSize}
	page.Items, err = s.Health.Projects(ctx, some.Items, in.PeriodDays)
	return page, err
}
