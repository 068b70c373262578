package wire

import "tenet/internal/rule"

// Alerts is a page of alerts.
type Alerts struct {
	Total  int          `json:"total" doc:"Alerts that match, on all pages."`
	Alerts []rule.Alert `json:"alerts" nullable:"false" doc:"Alerts of this page."`
	Counts Counts       `json:"counts" doc:"All alerts of the project by status."`
}

// ResolveAlert is the body that resolves an alert.
type ResolveAlert struct {
	ResolutionNote string `json:"resolution_note,omitempty" nullable:"true" maxLength:"4000" doc:"What was done about it."`
}

// Counts is how many alerts of a project are in each status.
type Counts struct {
	Active       int `json:"active" doc:"Open, and nobody has taken them on."`
	Acknowledged int `json:"acknowledged" doc:"Open, and taken on by somebody."`
	Resolved     int `json:"resolved" doc:"Ended."`
}
