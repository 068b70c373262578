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
	Severity  rule.Severity `json:"severity" enum:"LOW,MEDIUM,HIGH,CRITICAL" doc:"How much a violation matters."`
	Status    rule.Status   `json:"status" enum:"DRAFT,REVIEW,APPROVED,EFFECTIVE,SUPERSEDED,RETIRED" doc:"Place in the life cycle."`
	// Pieces together are Statement.
	Pieces []TextPiece `json:"pieces" nullable:"false" doc:"The statement in pieces, with the words that clash with the other rule marked. Where no test finds them, as in a conflict that the model has found, the words by which the two differ are marked."`
}

// TextPiece is a run of words of a statement.
type TextPiece struct {
	Text  string `json:"text" doc:"The words, with the spaces between them."`
	Clash bool   `json:"clash,omitempty" doc:"Whether they clash with the other rule."`
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

// ConflictPage is a page of conflicts.
type ConflictPage struct {
	Page[Conflict]

	LeftOut int `json:"left_out" doc:"Contradictions that were found and are not among the conflicts, since a rule and a project keep only so many suggestions: of the rule in rule_id when it was last compared, or else of the project."`
}

// MendConflict is the body that mends a conflict: by a change of one of its rules, by an exception to one, or by saying which one prevails.
type MendConflict struct {
	Rule           string      `json:"rule" doc:"Id or slug of one of the two rules: the one that is changed or gets the exception; with override, the one that prevails."`
	Change         *ReviseRule `json:"change,omitempty" doc:"Changes the rule, as a revision does."`
	Exception      string      `json:"exception,omitempty" maxLength:"4000" doc:"Adds a case that the rule leaves out. One that names the slug of the other rule leaves out what that rule is about."`
	Override       bool        `json:"override,omitempty" doc:"Adds an OVERRIDES relationship to the other rule, which it silences where both apply; needs a reason."`
	Reason         string      `json:"reason,omitempty" maxLength:"2000" doc:"Why; kept with the rule or the relationship, and with the conflict."`
	AllowWeakening bool        `json:"allow_weakening,omitempty" doc:"With override: let the rule silence one that is more severe or more binding. With change: let an enforced CRITICAL or HIGH rule in force demand less."`
	Version        int         `json:"version,omitempty" minimum:"0" doc:"Version of the rule that the change or exception is made for: 412 if it has another one by now. Absent for any."`
	DryRun         bool        `json:"dry_run,omitempty" doc:"Answer what it would lead to, and store nothing."`
}

// Outcomes of mending a conflict.
const (
	MendOutcomeMended  = "mended"  // the rules do not contradict each other any more
	MendOutcomeRemains = "remains" // they still do
	MendOutcomeWaits   = "waits"   // for a second person, who must approve the change
)

// MendedConflict is the result of mending a conflict.
type MendedConflict struct {
	Outcome  string             `json:"outcome" enum:"mended,remains,waits" doc:"mended: the conflict is closed. remains: the change is stored, but the rules still contradict each other. waits: the change needs a second person, and the conflict stays until then. With dry_run, what it would be."`
	Reason   string             `json:"reason,omitempty" doc:"Why the rules would still contradict each other; absent if they do not."`
	Conflict Conflict           `json:"conflict" doc:"The conflict; with dry_run, with the statements as they would be."`
	Changes  []rule.FieldChange `json:"changes" nullable:"false" doc:"Fields of the rule that change; none with override."`
	Revision int                `json:"revision,omitempty" doc:"Number of the revision that waits."`
	Weakens  []string           `json:"weakens,omitempty" nullable:"false" doc:"With dry_run: in which ways the changed rule, or the one that prevails, demands less; absent without any."`
	// Others are found by words alone.
	Others []rule.RevisionConflict `json:"others,omitempty" nullable:"false" doc:"With dry_run: further rules that the changed rule would contradict."`
}
