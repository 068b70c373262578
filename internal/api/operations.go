package api

import (
	"context"

	"tenet/internal/api/rest"
	"tenet/internal/auth"
	"tenet/internal/operate"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// Operations serves how the cluster runs: its servers, what models are asked, and the settings of this server.
type Operations struct {
	Servers *operate.Servers
	Usage   *operate.Usage
	// Settings returns the settings in force, without secrets.
	Settings func() wire.Settings
}

// Routes implements [rest.Resource].
func (s Operations) Routes(r *rest.Router) {
	r = r.Tag(operationsTag)
	rest.Handle(r, rest.Operation{
		ID: "list-servers", Route: op.ListServers.Route(), Role: auth.Admin, Place: rest.AllProjects, Summary: "List the servers of the cluster",
		Description: "With their versions and how they fare with their models, those that have run longest first. A server says every 10 seconds that it runs.",
	}, func(ctx context.Context, in *wire.PageQuery) (wire.Page[wire.Server], error) {
		list, err := s.Servers.List(ctx)
		return rest.Slice(*in, list, err)
	})
	rest.Handle(r, rest.Operation{
		ID: "get-settings", Route: op.GetSettings.Route(), Role: auth.Admin, Place: rest.AllProjects, Summary: "Get the settings in force",
		Description: "Of the server that answers, each with what has set it: a flag, the environment, the settings file, or the default. Secrets are not shown.",
	}, func(context.Context, *rest.None) (wire.Settings, error) { return s.Settings(), nil })
	rest.Handle(r, rest.Operation{
		ID: "get-usage", Route: op.GetUsage.Route(), Role: auth.Viewer, Place: rest.OwnOrAll, Summary: "Sum up calls, tokens and cost of models",
		Description: "By model and by day, in UTC. project_id * sums up all projects. Evaluations are counted in the background, within a minute. Cost needs the setting model_prices.",
	}, func(ctx context.Context, in *wire.UsageQuery) (wire.Usage, error) {
		return s.Usage.Sum(ctx, rest.Project(ctx), in.PeriodDays)
	})
}
