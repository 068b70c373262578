package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"tenet/internal/alert"
	"tenet/internal/insight"
	"tenet/internal/rule"
)

const alertsPath = "/api/v1/alerts"

func alertPath(id, more string) string { return alertsPath + "/" + url.PathEscape(id) + more }

// AlertFilter selects alerts; empty fields select everything.
type AlertFilter struct {
	Status rule.AlertStatus
	Type   rule.AlertType
	Rule   string // id or slug
	Limit  int    // 1 to 100; 0 leaves the choice to the server
	Offset int
}

// Alerts is a page of alerts, and how many the project has of each status.
type Alerts struct {
	Total  int          `json:"total"`
	Alerts []rule.Alert `json:"alerts"`
	Counts alert.Counts `json:"counts"`
}

// Alerts lists alerts, newest first.
func (c *Client) Alerts(ctx context.Context, f AlertFilter) (Alerts, error) {
	q := url.Values{}
	setText(q, "status", string(f.Status))
	setText(q, "alert_type", string(f.Type))
	setText(q, "rule_id", f.Rule)
	if f.Limit > 0 {
		q.Set("limit", strconv.Itoa(f.Limit))
	}
	if f.Offset > 0 {
		q.Set("offset", strconv.Itoa(f.Offset))
	}
	return into[Alerts](ctx, c, get(alertsPath, q))
}

// Alert returns an alert.
func (c *Client) Alert(ctx context.Context, id string) (rule.Alert, error) {
	return into[rule.Alert](ctx, c, get(alertPath(id, ""), nil))
}

// AcknowledgeAlert takes an alert on.
func (c *Client) AcknowledgeAlert(ctx context.Context, id string) (rule.Alert, error) {
	return into[rule.Alert](ctx, c, call{method: http.MethodPost, path: alertPath(id, "/acknowledge"), repeatable: true})
}

// ResolveAlert ends an alert, with a note that may be empty.
func (c *Client) ResolveAlert(ctx context.Context, id, note string) (rule.Alert, error) {
	k, err := send(http.MethodPost, alertPath(id, "/resolve"), map[string]string{"resolution_note": note})
	if err != nil {
		return rule.Alert{}, err
	}
	k.repeatable = true
	return into[rule.Alert](ctx, c, k)
}

// Insights tells how the rules of the project have fared in the last days; 0 leaves their number to the server.
func (c *Client) Insights(ctx context.Context, days int) (insight.Overview, error) {
	q := url.Values{}
	if days > 0 {
		q.Set("period_days", strconv.Itoa(days))
	}
	return into[insight.Overview](ctx, c, get("/api/v1/insights", q))
}

// RuleHealth measures the health of a rule, named by id or slug.
func (c *Client) RuleHealth(ctx context.Context, ref string) (insight.Health, error) {
	return into[insight.Health](ctx, c, get("/api/v1/rules/"+url.PathEscape(ref)+"/health", nil))
}
