package wire

import (
	"time"

	"tenet/internal/rule"
)

// DecideConflict is the body that confirms or rejects a conflict.
type DecideConflict struct {
	Note string `json:"note,omitempty" nullable:"true" doc:"Why, for those who come later."`
}

// ScanConflicts is the body that asks for a look at all rules.
type ScanConflicts struct {
	Model bool `json:"model,omitempty" nullable:"true" doc:"Ask the model about every rule and those near it: one call for each rule."`
}

// ConflictSide is one of the two rules of a conflict.
type ConflictSide struct {
	ID        string        `json:"id" format:"uuid" doc:"Rule identifier."`
	Slug      string        `json:"slug,omitempty" doc:"Its slug."`
	Version   int           `json:"version" doc:"Its current version."`
	Statement string        `json:"statement" doc:"What it says now."`
	Modality  rule.Modality `json:"modality" enum:"MUST,MUST_NOT,SHOULD,MAY,INFO" doc:"How binding it is."`
	Status    rule.Status   `json:"status" enum:"DRAFT,REVIEW,APPROVED,EFFECTIVE,SUPERSEDED,RETIRED" doc:"Place in the life cycle."`
}

// Conflict is two rules that seem to contradict each other.
type Conflict struct {
	ID             string       `json:"id" format:"uuid" doc:"Conflict identifier."`
	ProjectID      string       `json:"project_id" doc:"Project of the rules."`
	State          string       `json:"state" enum:"suggested,confirmed,rejected,closed" doc:"suggested until somebody decides; closed once a rule has gone or the contradiction has."`
	Rule           ConflictSide `json:"rule" doc:"The rule that brought the conflict: the one that was changed last."`
	Other          ConflictSide `json:"other" doc:"The rule that it was found with."`
	FoundBy        string       `json:"found_by" enum:"force,limit,threshold,value,model,person" doc:"What has found it: one of the tests, the model, or the person who has made a CONFLICTS_WITH relationship."`
	Reason         string       `json:"reason" doc:"Why they conflict."`
	Confidence     float64      `json:"confidence" minimum:"0" maximum:"1" doc:"How sure that is."`
	DetectedAt     time.Time    `json:"detected_at" doc:"When it was found."`
	DecidedAt      *time.Time   `json:"decided_at" doc:"When it was confirmed, rejected or closed."`
	DecidedBy      string       `json:"decided_by" doc:"Who did; system if it ended automatically."`
	Note           string       `json:"note" doc:"Why."`
	RelationshipID string       `json:"relationship_id,omitempty" doc:"The CONFLICTS_WITH relationship that confirming it has made."`
}
