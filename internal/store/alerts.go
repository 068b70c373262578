package store

import (
	"context"
	"time"

	"tenet/internal/rule"
)

// AlertFilter selects alerts. Empty fields select everything; ProjectID is required.
type AlertFilter struct {
	ProjectID string
	Status    rule.AlertStatus
	Type      rule.AlertType
	RuleID    string
	Edge      string // name of an edge
	// Agent, Person and Session select the alerts that name them in Acted; letter case does not count, and a person is found without the name
	// of the identity provider too.
	Agent, Person, Session string
	Offset                 int
	Limit                  int
}

// AlertCount is how many alerts of a type are in a status.
type AlertCount struct {
	Status rule.AlertStatus
	Type   rule.AlertType
	Count  int
}

// AlertReader reads alerts.
type AlertReader interface {
	// Get returns an alert, or not_found.
	Get(ctx context.Context, projectID, id string) (rule.Alert, error)
	// Find returns a page of alerts that match f, newest first, and the total.
	Find(ctx context.Context, f AlertFilter) ([]rule.Alert, int, error)
	// Count counts the alerts of a project ([AllProjects] for those of all) by status and type.
	Count(ctx context.Context, projectID string) ([]AlertCount, error)
	// ListOpen returns the alerts of a type that are not resolved, by rule or edge: of ruleIDs or, if it is nil, of all.
	ListOpen(ctx context.Context, projectID string, t rule.AlertType, ruleIDs []string) ([]rule.Alert, error)
	// ResolvedRules returns the rules that had an alert of a type that an actor other than `but` has resolved at
	// since or later, each once, in order.
	ResolvedRules(ctx context.Context, projectID string, t rule.AlertType, since time.Time, but string) ([]string, error)
}

// AlertTx writes alerts.
type AlertTx interface {
	AlertReader

	// Insert stores a new alert and reports whether it did. It does not if an alert of the same type and rule is
	// unresolved. Of concurrent transactions, one inserts it. Its rule must exist; an alert without a rule is of the type and
	// edge. At most [rule.MaxActed] of those who acted are stored.
	Insert(ctx context.Context, a rule.Alert) (bool, error)
	// Update changes the status of an alert and who has acknowledged and resolved it; not_found without it.
	Update(ctx context.Context, a rule.Alert) error
}
