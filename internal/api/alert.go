package api

import (
	"context"

	"tenet/internal/api/rest"
	"tenet/internal/auth"
	"tenet/internal/health"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// alertStatuses are the states that a list can be filtered by.
var alertStatuses = []rule.AlertStatus{rule.AlertActive, rule.AlertAcknowledged, rule.AlertDone}

// Alerts serves the alerts.
type Alerts struct{ Alerts *health.Alerts }

// alertRef names an alert in a path.
type alertRef struct {
	AlertID string `path:"alert_id" doc:"Id of the alert."`
}

// Routes implements [rest.Resource].
func (s Alerts) Routes(r *rest.Router) {
	r = r.Tag(alertTag)
	rest.Handle(r, rest.Operation{
		ID: "list-alerts", Route: op.ListAlerts.Route(), Role: auth.Viewer, Lags: true,
		Summary: "List alerts", Description: "Newest first, with the number of each status regardless of the filters.",
	}, s.list)
	rest.Handle(r, rest.Operation{ID: "get-alert", Route: op.GetAlert.Route(), Role: auth.Viewer, Summary: "Get an alert"},
		func(ctx context.Context, in *alertRef) (rule.Alert, error) {
			return s.Alerts.Get(ctx, rest.Project(ctx), in.AlertID)
		})
	rest.Handle(r, rest.Operation{
		ID: "acknowledge-alert", Route: op.AcknowledgeAlert.Route(), Role: auth.Reviewer, Summary: "Acknowledge an alert",
		Description: "You take it on: it stays in lists and no longer counts as active. Acknowledging again changes nothing (200). 409 if it is resolved.",
	}, func(ctx context.Context, in *alertRef) (rule.Alert, error) {
		return s.Alerts.Acknowledge(ctx, rest.Project(ctx), in.AlertID)
	})
	rest.HandleBody(r, rest.Operation{
		ID: "resolve-alert", Route: op.ResolveAlert.Route(), Role: auth.Reviewer, Summary: "Resolve an alert",
		Description: "The body is optional. Resolving again changes nothing (200). While the condition lasts, it is not raised again for some days (alert_quiet_days).",
	}, func(ctx context.Context, in *alertRef, body *wire.ResolveAlert) (rule.Alert, error) {
		return s.Alerts.Resolve(ctx, rest.Project(ctx), in.AlertID, body.ResolutionNote)
	}).Optional()
}

func (s Alerts) list(ctx context.Context, in *wire.AlertQuery) (out wire.Alerts, err error) {
	var p rule.Problems
	f := health.Filter{
		Status: rest.EnumParam(&p, "status", in.Status, alertStatuses), Type: rest.EnumParam(&p, "alert_type", in.Type, rule.AlertTypes), Rule: in.RuleID,
		Agent: in.Agent, Person: in.Person, Session: in.Session,
	}
	if err := p.Err("the query is invalid"); err != nil {
		return out, err
	}
	if out.Alerts, out.Total, err = s.Alerts.List(ctx, rest.Project(ctx), f, in.Offset, in.Limit); err != nil {
		return out, err
	}
	out.Counts, err = s.Alerts.Count(ctx, rest.Project(ctx))
	return out, err
}
