package rule

import (
	"encoding/json"
	"time"
)

// EventType is the kind of an [Event], by the name under which webhooks get it.
type EventType string

// Types of events.
const (
	AlertCreated       EventType = "alert.created"       // data: the alert
	AlertResolved      EventType = "alert.resolved"      // data: the alert
	EvaluationViolated EventType = "evaluation.violated" // data: the evaluation, without its subject
	SnapshotDeployed   EventType = "snapshot.deployed"   // data: the deployment
	CandidateCreated   EventType = "candidate.created"   // data: the candidate
	CandidatesFound    EventType = "candidates.found"    // data: the scan, how many candidates of each severity, and the first of them
	BreakGlass         EventType = "signin.break_glass"  // data: actor, key_id, address, at
	AgentSuspended     EventType = "agent.suspended"     // data: the suspension
	AgentResumed       EventType = "agent.resumed"       // data: the suspension, which is lifted
	ToolsHeld          EventType = "tools.held"          // data: server, and the tools that a gateway holds back, each with why
	ToolsAccepted      EventType = "tools.accepted"      // data: server, and the tools that somebody has accepted
	VerdictDisputed    EventType = "verdict.disputed"    // data: a sampled verdict of a check or of triage, with which the judge disagrees

	// Something waits for a person, or the wait of its author has ended.
	RuleSubmitted             EventType = "rule.submitted"              // data: the rule, which is in REVIEW now
	EventRevisionProposed     EventType = "revision.proposed"           // data: the revision
	EventRevisionApproved     EventType = "revision.approved"           // data: the revision
	EventRevisionRejected     EventType = "revision.rejected"           // data: the revision
	ApprovalRequested         EventType = "approval.requested"          // data: the approval, which is pending; escalated is true once its substitutes are asked
	ApprovalDecided           EventType = "approval.decided"            // data: the approval, which is approved, rejected, withdrawn or expired
	WaiverRequested           EventType = "waiver.requested"            // data: the waiver, which is pending
	SnapshotApprovalRequested EventType = "snapshot.approval_requested" // data: the snapshot, and the environments whose gates ask
)

// EventTypes lists the values of [Event.Type] that webhooks can receive, in the order in which they are shown.
var EventTypes = []EventType{
	AlertCreated, AlertResolved, EvaluationViolated, SnapshotDeployed, CandidateCreated, CandidatesFound, BreakGlass,
	RuleSubmitted, EventRevisionProposed, EventRevisionApproved, EventRevisionRejected, WaiverRequested, SnapshotApprovalRequested,
	ApprovalRequested, ApprovalDecided,
	AgentSuspended, AgentResumed, ToolsHeld, ToolsAccepted, VerdictDisputed,
}

// Event is something that has happened in a project. It is published in the transaction of its cause.
type Event struct {
	// ID is a UUID, the same for each delivery of the event.
	ID        string
	ProjectID string
	Type      EventType
	Time      time.Time
	// RuleIDs are the rules concerned, Severity the highest of theirs and Scope all their scope paths; empty if no rule is.
	// Webhook policies choose events by them.
	RuleIDs  []string
	Severity Severity
	Scope    []string
	// Data is the JSON object that the API would answer for the subject of the event.
	Data json.RawMessage
}

// AlertType is the condition that an [Alert] reports.
type AlertType string

// The conditions that alerts are raised for.
const (
	DormantRule      AlertType = "dormant_rule"
	HighDenyRate     AlertType = "high_deny_rate"
	HealthDecline    AlertType = "health_decline"
	ConflictDetected AlertType = "conflict_detected"
	EdgeStale        AlertType = "edge_stale"
	EdgeSilent       AlertType = "edge_silent"
	SpoolGrowing     AlertType = "spool_growing"
)

// AlertTypes are the values of [Alert.Type], in the order they are shown in.
var AlertTypes = []AlertType{DormantRule, HighDenyRate, HealthDecline, ConflictDetected, EdgeStale, EdgeSilent, SpoolGrowing}

// EdgeAlertTypes are those of [AlertTypes] that concern edges.
var EdgeAlertTypes = []AlertType{EdgeStale, EdgeSilent, SpoolGrowing}

// AlertStatus is how far an [Alert] has come.
type AlertStatus string

// States of an alert. The first two are open.
const (
	AlertActive       AlertStatus = "active"
	AlertAcknowledged AlertStatus = "acknowledged"
	AlertDone         AlertStatus = "resolved"
)

// Alert reports that something is wrong with a rule or an edge. Of one type and rule or edge at most one is open.
type Alert struct {
	ID        string         `json:"id" format:"uuid" doc:"Alert identifier."`
	ProjectID string         `json:"project_id" doc:"Project of the rule or edge."`
	Type      AlertType      `json:"type" enum:"dormant_rule,high_deny_rate,health_decline,conflict_detected,edge_stale,edge_silent,spool_growing" doc:"What is wrong."`
	Status    AlertStatus    `json:"status" enum:"active,acknowledged,resolved" doc:"How far it has come."`
	RuleID    string         `json:"rule_id" doc:"Rule concerned; empty if it is an edge."`
	Edge      string         `json:"edge,omitempty" doc:"Name of the edge concerned; absent if it is a rule."`
	Message   string         `json:"message" doc:"What is wrong, for people."`
	Metadata  map[string]any `json:"metadata" doc:"What was measured; the keys go with the type."`
	// Acted is empty for alerts that nobody's act raises.
	Acted          []ActedBy  `json:"acted,omitempty" nullable:"false" doc:"Who asked for the newest evaluations behind the alert, or changed the rule that conflicts; the latest first. Absent if nobody's act raises it."`
	CreatedAt      time.Time  `json:"created_at" doc:"When it was raised."`
	AcknowledgedAt *time.Time `json:"acknowledged_at" doc:"When somebody took it on."`
	AcknowledgedBy string     `json:"acknowledged_by" doc:"Who took it on."`
	ResolvedAt     *time.Time `json:"resolved_at" doc:"When it ended."`
	ResolvedBy     string     `json:"resolved_by" doc:"Who ended it; system if its condition had ended."`
	ResolutionNote string     `json:"resolution_note" doc:"What was said when it ended."`
}

// MaxActed bounds [Alert.Acted].
const MaxActed = 10

// ActedBy names somebody whose acts have raised an [Alert].
type ActedBy struct {
	Actor string `json:"actor" doc:"Key or person that asked." example:"key:ci"`
	// Identity is the zero one where the actor says it all. Its session is that of the latest act.
	Identity

	Evaluations  int       `json:"evaluations,omitempty" doc:"Of the newest denials that were looked at, 100 at most, those of this actor, agent and person; absent for changes of rules."`
	EvaluationID string    `json:"evaluation_id,omitempty" doc:"The latest of them."`
	At           time.Time `json:"at" doc:"When they last acted."`
}
