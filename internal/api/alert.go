package api

import (
	"context"
	"net/http"

	"tenet/internal/alert"
	"tenet/internal/auth"
	"tenet/internal/rule"
)

const (
	alertsPath = "/api/v1/alerts"
	alertPath  = alertsPath + "/{alert_id}"
	alertTag   = "Alerts"
)

// alertStatuses are the states that a list can be filtered by.
var alertStatuses = []rule.AlertStatus{rule.AlertActive, rule.AlertAcknowledged, rule.AlertDone}

func (s *server) alertRoutes() {
	register(s, operation{
		id: "list-alerts", method: http.MethodGet, path: alertsPath, tag: alertTag, role: auth.Viewer,
		summary: "List alerts", description: "Newest first, with how many there are of each status, whatever the filters.",
	}, s.listAlerts)
	register(s, operation{
		id: "get-alert", method: http.MethodGet, path: alertPath, tag: alertTag, role: auth.Viewer, summary: "Get an alert",
	}, s.getAlert)
	register(s, operation{
		id: "acknowledge-alert", method: http.MethodPost, path: alertPath + "/acknowledge", tag: alertTag, role: auth.Reviewer,
		summary:     "Acknowledge an alert",
		description: "You take it on: it stays in lists, and is not counted as active any more. Again: 200, unchanged. 409 if it is resolved.",
	}, s.acknowledgeAlert)
	registerOptional(s, operation{
		id: "resolve-alert", method: http.MethodPost, path: alertPath + "/resolve", tag: alertTag, role: auth.Reviewer,
		summary:     "Resolve an alert",
		description: "The body may be left out. Again: 200, unchanged. While the condition holds on, it is not told again for some days (alert_quiet_days).",
	}, s.resolveAlert)
}

// Alerts is a page of alerts.
type Alerts struct {
	Total  int          `json:"total" doc:"Alerts that match, on all pages."`
	Alerts []rule.Alert `json:"alerts" nullable:"false" doc:"Alerts of this page."`
	Counts alert.Counts `json:"counts" doc:"All alerts of the project by status."`
}

type alertsOutput struct{ Body Alerts }

type alertOutput struct{ Body rule.Alert }

func (s *server) listAlerts(ctx context.Context, in *struct {
	ProjectQuery
	Status string `query:"status" doc:"active, acknowledged or resolved, in any letter case."`
	Type   string `query:"alert_type" doc:"dormant_rule, high_deny_rate, health_decline or conflict_detected, in any letter case."`
	RuleID string `query:"rule_id" doc:"Only alerts about this rule; id or slug."`
	OffsetQuery
},
) (*alertsOutput, error) {
	var p rule.Problems
	f := alert.Filter{
		Status: enumParam(&p, "status", in.Status, alertStatuses), Type: enumParam(&p, "alert_type", in.Type, rule.AlertTypes), Rule: in.RuleID,
	}
	if err := p.Err("the query is invalid"); err != nil {
		return nil, err
	}
	list, total, err := s.cfg.Alerts.List(ctx, project(ctx), f, in.Offset, in.Limit)
	if err != nil {
		return nil, err
	}
	counts, err := s.cfg.Alerts.Count(ctx, project(ctx))
	if err != nil {
		return nil, err
	}
	return &alertsOutput{Alerts{Total: total, Alerts: list, Counts: counts}}, nil
}

// AlertRef names an alert in a path.
type AlertRef struct {
	ProjectQuery
	AlertID string `path:"alert_id" doc:"Id of the alert."`
}

func (s *server) getAlert(ctx context.Context, in *AlertRef) (*alertOutput, error) {
	return oneAlert(s.cfg.Alerts.Get(ctx, project(ctx), in.AlertID))
}

func (s *server) acknowledgeAlert(ctx context.Context, in *AlertRef) (*alertOutput, error) {
	return oneAlert(s.cfg.Alerts.Acknowledge(ctx, project(ctx), in.AlertID))
}

// ResolveAlert is the body that resolves an alert.
type ResolveAlert struct {
	ResolutionNote string `json:"resolution_note,omitempty" nullable:"true" maxLength:"4000" doc:"What was done about it."`
}

func (s *server) resolveAlert(ctx context.Context, in *AlertRef, body *ResolveAlert) (*alertOutput, error) {
	return oneAlert(s.cfg.Alerts.Resolve(ctx, project(ctx), in.AlertID, body.ResolutionNote))
}

func oneAlert(a rule.Alert, err error) (*alertOutput, error) {
	if err != nil {
		return nil, err
	}
	return &alertOutput{a}, nil
}
