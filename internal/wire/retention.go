package wire

import (
	"time"

	"tenet/internal/rule"
)

// Retention says how long a project keeps its records.
type Retention struct {
	HighRisk bool                    `json:"high_risk" doc:"Whether the project is marked as high-risk: records of evaluations and agents are then kept for at least 183 days."`
	Kinds    []KeptKind              `json:"kinds" nullable:"false" doc:"What is kept for a time."`
	Proposal *rule.RetentionProposal `json:"proposal" doc:"Change that shortens a minimum and waits for a second administrator; null without one."`
	Holds    int                     `json:"holds" doc:"Legal holds in force."`
}

// KeptKind is how long a project keeps what is of a kind.
type KeptKind struct {
	Kind string `json:"kind" enum:"evaluation,agent,submission,scan" doc:"Bodies of records of evaluations, of requests to agents, names of submissions, or candidates of scans."`
	rule.KeepTime
	Server    int `json:"server_days" doc:"Days in the settings of the server; 0 is without limit."`
	Least     int `json:"least_days" doc:"Days before which nothing is deleted: the minimum, or that of high-risk projects."`
	Effective int `json:"effective_days" doc:"Days after which it is deleted; 0 is without limit."`
}

// ChangeRetention is the body that changes how long a project keeps its records. Absent parts stay as they are.
type ChangeRetention struct {
	HighRisk *bool                     `json:"high_risk,omitempty" doc:"Mark the project as high-risk, or no longer."`
	Kinds    map[string]ChangeKeepTime `json:"kinds,omitempty" doc:"Times by kind: evaluation, agent, submission or scan."`
	Reason   string                    `json:"reason,omitempty" maxLength:"1000" doc:"Why; needed for a change that shortens a minimum."`
}

// ChangeKeepTime changes how long what is of a kind is kept.
type ChangeKeepTime struct {
	Days    Optional[int] `json:"days,omitzero" doc:"Days after which it is deleted; 0 keeps it without limit, null takes the setting of the server."`
	Minimum *int          `json:"minimum_days,omitempty" doc:"Days before which nothing deletes it."`
}

// PlaceHold is the body that places a legal hold. All conditions that are given must hold.
type PlaceHold struct {
	Reason     string     `json:"reason" maxLength:"1000" doc:"Why the records must be kept."`
	Rule       string     `json:"rule,omitempty" maxLength:"256" doc:"Id or slug of a rule that has a verdict in them."`
	Scope      string     `json:"scope,omitempty" maxLength:"256" doc:"Scope of their subjects, or a wider one."`
	NodeID     string     `json:"node_id,omitempty" maxLength:"256" doc:"Federation node that they name: its id, its path, or its name if no other has it." example:"acme/payments"`
	Repository string     `json:"repository,omitempty" maxLength:"1024" doc:"Repository that they are about."`
	Actor      string     `json:"actor,omitempty" maxLength:"256" doc:"Who asked for them, exactly."`
	Since      *time.Time `json:"since,omitempty" doc:"Not before this time."`
	Until      *time.Time `json:"until,omitempty" doc:"Before this time."`
}

// LiftHold is the body that lifts a legal hold.
type LiftHold struct {
	Reason string `json:"reason" maxLength:"1000" doc:"Why the records need not be kept any more."`
}
