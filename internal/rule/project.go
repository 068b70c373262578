package rule

import "time"

// DefaultProject is the project that always exists.
const DefaultProject = "default"

// Project is a tenant: rules, evaluations and keys belong to one project.
type Project struct {
	ID            string        `json:"id" doc:"Project identifier: lower-case letters, digits, - and _." example:"payments"`
	Name          string        `json:"name" doc:"Display name."`
	Description   string        `json:"description" doc:"What the project is for."`
	TwoPerson     bool          `json:"two_person_approval" doc:"Refuse an approval by the author of the rule's last content change."`
	TestsRequired bool          `json:"tests_required" doc:"Refuse to make a rule EFFECTIVE unless it has test cases and all of them pass."`
	Policy        ProjectPolicy `json:"policy" doc:"Demands of the project on every evaluation, which callers cannot change."`
	CorpusVersion int64         `json:"corpus_version" doc:"Raised by every change of the project's rules or policy."`
	CreatedAt     time.Time     `json:"created_at" doc:"When the project was made."`
	UpdatedAt     time.Time     `json:"updated_at" doc:"When the project was last changed."`
}

// Relationship is a directed, typed link between two rules of one project.
type Relationship struct {
	ID     string       `json:"id" format:"uuid" doc:"Relationship identifier."`
	FromID string       `json:"from_rule_id" doc:"Rule that has the relationship."`
	ToID   string       `json:"to_rule_id" doc:"Rule it points to."`
	Kind   RelationKind `json:"kind" enum:"REFINES,OVERRIDES,CONFLICTS_WITH,DEPENDS_ON,DERIVES_FROM,SUPERSEDES" doc:"How the first rule stands to the second."`
	Reason string       `json:"reason" doc:"Why the relationship holds."`
	// AllowWeakening lets an OVERRIDES silence a rule that is more severe or more binding; Reason says why that is right.
	AllowWeakening bool      `json:"allow_weakening,omitempty" doc:"Whether an OVERRIDES may silence a rule that is more severe or more binding."`
	CreatedAt      time.Time `json:"created_at" doc:"When it was made."`
	CreatedBy      string    `json:"created_by" doc:"Actor that made it."`
}
