package rule

import "time"

// RevisionState is how far a [Revision] has come.
type RevisionState string

// States of a revision. Only a pending one can be decided on.
const (
	RevisionPending   RevisionState = "pending"
	RevisionApproved  RevisionState = "approved"
	RevisionRejected  RevisionState = "rejected"
	RevisionWithdrawn RevisionState = "withdrawn"
	RevisionReplaced  RevisionState = "replaced" // by a newer one of the same author
	RevisionDropped   RevisionState = "dropped"  // with the retirement of its rule
)

// RevisionStates are the values of [Revision.State].
var RevisionStates = []RevisionState{
	RevisionPending, RevisionApproved, RevisionRejected, RevisionWithdrawn, RevisionReplaced, RevisionDropped,
}

// Revision is a proposed next version of a rule in force. In a project that demands two people it waits, beside the version in force,
// until a person other than its author approves it.
type Revision struct {
	RuleID string `json:"rule_id" format:"uuid" doc:"Rule that it changes."`
	Slug   string `json:"slug,omitempty" doc:"Slug of the rule."`
	// Number counts the revisions of a rule from 1; no number is used twice.
	Number      int           `json:"number" minimum:"1" doc:"Number among the revisions of the rule."`
	State       RevisionState `json:"state" enum:"pending,approved,rejected,withdrawn,replaced,dropped" doc:"How far it has come."`
	BaseVersion int           `json:"base_version" minimum:"1" doc:"Version of the rule that it changes."`
	// Stale is derived: true for a pending revision whose rule has another version than BaseVersion.
	Stale    bool          `json:"stale" doc:"True if the rule has changed since; it must then be proposed again, on the version in force."`
	Severity Severity      `json:"severity" enum:"LOW,MEDIUM,HIGH,CRITICAL" doc:"The higher severity of the rule before and after."`
	Author   string        `json:"author" doc:"Actor that proposed it, who cannot approve it."`
	At       time.Time     `json:"at" doc:"When it was proposed."`
	Note     string        `json:"note,omitempty" doc:"Why, in the words of its author."`
	Changes  []FieldChange `json:"changes" nullable:"false" doc:"Fields that it changes; relationships are one of them."`
	Weakens  []string      `json:"weakens,omitempty" nullable:"false" doc:"In which ways the rule would demand less, or hold in fewer places; absent without any."`

	// Findings and Conflicts are derived, for revisions that wait.
	Findings  []Finding          `json:"lint,omitempty" nullable:"false" doc:"What would make the rule hard to judge; never stored."`
	Conflicts []RevisionConflict `json:"conflicts,omitempty" nullable:"false" doc:"Rules that the rule would contradict, as far as their words show it; never stored."`

	DecidedAt *time.Time `json:"decided_at,omitempty" doc:"When it stopped waiting."`
	DecidedBy string     `json:"decided_by,omitempty" doc:"Actor that decided on it."`
	Decision  string     `json:"decision_note,omitempty" doc:"What the actor said."`
	// Version is 0 unless the revision was approved.
	Version int `json:"version,omitempty" doc:"Version of the rule that its approval made."`
}

// RevisionConflict names a rule that a revision would contradict.
type RevisionConflict struct {
	RuleID    string `json:"rule_id" format:"uuid" doc:"The other rule."`
	Slug      string `json:"slug,omitempty" doc:"Its slug."`
	Statement string `json:"statement" doc:"Its statement."`
	Reason    string `json:"reason" doc:"Why the two contradict each other."`
}
