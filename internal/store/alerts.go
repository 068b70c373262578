package store

import (
	"context"
	"time"

	"tenet/internal/rule"
)

// AlertReader reads alerts.
type AlertReader interface {
	// Alert returns an alert, or not_found.
	Alert(ctx context.Context, projectID, id string) (rule.Alert, error)
	// FindAlerts returns a page of alerts that match f, newest first, and how many match.
	FindAlerts(ctx context.Context, f AlertFilter) ([]rule.Alert, int, error)
	// CountAlerts counts the alerts of a project ([AllProjects] for those of all) by status and type.
	CountAlerts(ctx context.Context, projectID string) ([]AlertCount, error)
	// OpenAlerts returns the alerts of a type that are not resolved, by rule: of ruleIDs or, if it is nil, of all.
	OpenAlerts(ctx context.Context, projectID string, t rule.AlertType, ruleIDs []string) ([]rule.Alert, error)
	// ResolvedAlerts returns the rules that had an alert of a type which somebody other than `but` has resolved at since or
	// later, each once, in order.
	ResolvedAlerts(ctx context.Context, projectID string, t rule.AlertType, since time.Time, but string) ([]string, error)
}

// AlertTx writes alerts.
type AlertTx interface {
	// InsertAlert stores a new alert and reports whether it did: not if one of its type and rule is not resolved yet. Of
	// transactions that race, one does. The rule must exist.
	InsertAlert(ctx context.Context, a rule.Alert) (bool, error)
	// UpdateAlert changes the status of an alert and who has acknowledged and resolved it; not_found without it.
	UpdateAlert(ctx context.Context, a rule.Alert) error
}

// AlertFilter selects alerts. Empty fields select everything; ProjectID is required.
type AlertFilter struct {
	ProjectID string
	Status    rule.AlertStatus
	Type      rule.AlertType
	RuleID    string
	Offset    int
	Limit     int
}

// AlertCount is how many alerts of a type are in a status.
type AlertCount struct {
	Status rule.AlertStatus
	Type   rule.AlertType
	Count  int
}
