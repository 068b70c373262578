package wire

import (
	"time"

	"tenet/internal/rule"
)

// CreatePolicy is the body that makes a webhook policy.
type CreatePolicy struct {
	Name       string           `json:"name" minLength:"1" maxLength:"200" doc:"Name, unique within the project." example:"on-call"`
	URL        string           `json:"url" maxLength:"2048" doc:"Where events are sent: http or https, on the public internet or in a network that webhook_allow_networks allows." example:"https://hooks.example.com/tenet"`
	EventTypes []rule.EventType `json:"event_types" nullable:"false" doc:"Events to send: alert.created, alert.resolved, evaluation.violated, snapshot.deployed, candidate.created, candidates.found, rule.submitted, revision.proposed, revision.approved, revision.rejected, waiver.requested, snapshot.approval_requested, approval.requested, approval.decided, signin.break_glass, agent.suspended, agent.resumed, tools.held, tools.accepted."`
	Filter     Filter           `json:"filter,omitzero" doc:"Which of them; all if absent."`
	Secret     string           `json:"secret,omitempty" doc:"whsec_ and the base64 of 24 to 64 bytes; one is made if absent."`
	Enabled    Optional[bool]   `json:"enabled,omitzero" nullable:"false" doc:"Whether events are sent; true if absent."`
	Format     WebhookFormat    `json:"format,omitempty" enum:"standard,slack" default:"standard" doc:"standard is {type, timestamp, data}; slack is a message that Slack and what is compatible with it shows."`
}

// ChangePolicy is the body that changes a webhook policy.
type ChangePolicy struct {
	Name       Optional[string]           `json:"name,omitzero" nullable:"false" doc:"Name, unique within the project."`
	URL        Optional[string]           `json:"url,omitzero" nullable:"false" doc:"Where events are sent."`
	EventTypes Optional[[]rule.EventType] `json:"event_types,omitzero" nullable:"false" doc:"Events to send."`
	Filter     Optional[Filter]           `json:"filter,omitzero" doc:"Which of them; null clears it."`
	Enabled    Optional[bool]             `json:"enabled,omitzero" nullable:"false" doc:"Whether events are sent."`
	Format     Optional[WebhookFormat]    `json:"format,omitzero" nullable:"false" doc:"standard or slack."`
}

// RotateSecret is the body of a rotation. It may be empty: {}.
type RotateSecret struct {
	Secret  string        `json:"secret,omitempty" doc:"whsec_ and the base64 of 24 to 64 bytes; one is made if absent."`
	Overlap Optional[int] `json:"overlap_seconds,omitzero" nullable:"false" doc:"How long the secret before signs too, up to 30 days; a day if absent."`
}

// Receipt says what happens to an event that GitHub has sent.
type Receipt struct {
	Status       string `json:"status" enum:"accepted,ignored" doc:"accepted is evaluated in the background; ignored is nothing to evaluate."`
	SubmissionID string `json:"submission_id,omitempty" doc:"Under this id the evaluation is found once the diff has been fetched."`
	Reason       string `json:"reason,omitempty" doc:"Why it is ignored."`
}

// TestResult is the answer of an endpoint to a ping.
type TestResult struct {
	Delivered  bool   `json:"delivered" doc:"True if the endpoint has answered with a status from 200 to 299."`
	EventID    string `json:"event_id" doc:"The webhook-id that was sent."`
	Status     int    `json:"status,omitempty" doc:"HTTP status of the answer; absent if there was none."`
	Reason     string `json:"reason,omitempty" doc:"Why it counts as failed."`
	Answer     string `json:"answer,omitempty" doc:"How the answer begins, up to 4 KiB."`
	DurationMS int64  `json:"duration_ms" doc:"Time of the attempt in milliseconds."`
}

// WebhookFormat is how an event is written.
type WebhookFormat string

// Formats: the body of the Standard Webhooks specification, or a message that Slack and what is compatible with it shows.
const (
	FormatStandard WebhookFormat = "standard"
	FormatSlack    WebhookFormat = "slack"
)

// WebhookFormats lists all formats.
var WebhookFormats = []WebhookFormat{FormatStandard, FormatSlack}

// Filter selects events by the rules that they concern. What an event does not have (a deployment has no severity) holds it
// back in no way.
type Filter struct {
	SeverityMin rule.Severity `json:"severity_min,omitempty" enum:"LOW,MEDIUM,HIGH,CRITICAL" doc:"Least severity of the rules concerned."`
	Scope       string        `json:"scope,omitempty" doc:"Scope path: finds rules in it and below, and those that hold everywhere." example:"finance"`
	RuleIDs     []string      `json:"rule_ids,omitempty" nullable:"false" doc:"Rules, one of which must be concerned."`
}

// PolicyState says whether events are sent to an endpoint.
type PolicyState string

// States of a policy.
const (
	PolicyActive   PolicyState = "active"   // events are sent
	PolicyPaused   PolicyState = "paused"   // the endpoint fails, and is tried again later
	PolicyDisabled PolicyState = "disabled" // nothing is sent, and new events are not kept for it
)

// Policy says which events are sent to which endpoint.
type Policy struct {
	ID             string           `json:"id" doc:"Identifier."`
	ProjectID      string           `json:"project_id" doc:"Project whose events are sent."`
	Name           string           `json:"name" doc:"Name, unique within the project."`
	URL            string           `json:"url" doc:"Where events are sent."`
	EventTypes     []rule.EventType `json:"event_types" nullable:"false" doc:"Events that are sent."`
	Filter         Filter           `json:"filter" doc:"Which of them."`
	Format         WebhookFormat    `json:"format" enum:"standard,slack" doc:"How they are written."`
	Enabled        bool             `json:"enabled" doc:"Whether events are sent."`
	DisabledReason string           `json:"disabled_reason,omitempty" doc:"Why the server has disabled it."`
	State          PolicyState      `json:"state" enum:"active,paused,disabled" doc:"Whether events are sent to the endpoint."`
	Failures       int              `json:"failures" doc:"Attempts that have failed since the last success."`
	PausedUntil    *time.Time       `json:"paused_until,omitempty" doc:"When a paused endpoint is tried again."`
	OldSecretUntil *time.Time       `json:"old_secret_until,omitempty" doc:"Until then the secret before signs too."`
	CreatedAt      time.Time        `json:"created_at" doc:"Creation time."`
	CreatedBy      string           `json:"created_by" doc:"Who made it."`
	UpdatedAt      time.Time        `json:"updated_at" doc:"Time of the last change."`
}

// PolicyWithSecret is a policy whose secret is shown, this once.
type PolicyWithSecret struct {
	Policy
	Secret string `json:"secret" doc:"What receivers verify signatures with. It is shown this once."`
}

// Delivery is one event on its way to one endpoint.
type Delivery struct {
	ID         int64          `json:"id" doc:"Identifier of the delivery."`
	EventID    string         `json:"event_id" doc:"Identifier of the event: the webhook-id of every attempt."`
	EventType  rule.EventType `json:"event_type" doc:"What has happened."`
	State      string         `json:"state" enum:"pending,delivered,dead" doc:"How far it has come; dead is given up."`
	Attempts   int            `json:"attempts" doc:"Attempts so far."`
	CreatedAt  time.Time      `json:"created_at" doc:"When the event was published."`
	NextAt     *time.Time     `json:"next_attempt_at,omitempty" doc:"When a pending one is tried next, if the endpoint is not paused."`
	ExpiresAt  time.Time      `json:"expires_at" doc:"When it is given up."`
	EndedAt    *time.Time     `json:"ended_at,omitempty" doc:"When it was delivered or given up."`
	LastAt     *time.Time     `json:"last_attempt_at,omitempty" doc:"When it was tried last."`
	LastStatus int            `json:"last_status,omitempty" doc:"HTTP status of the last answer; absent if there was none."`
	Reason     string         `json:"reason,omitempty" doc:"Why the last attempt has failed, or why it was given up."`
	Answer     string         `json:"answer,omitempty" doc:"How the last answer began, up to 4 KiB."`
}
