package rule

import "slices"

var transitions = map[Status][]Status{
	Draft:      {Review, Retired},
	Review:     {Approved, Draft, Retired},
	Approved:   {Effective, Review, Retired},
	Effective:  {Superseded, Retired},
	Superseded: {Retired},
	Retired:    {},
}

// CanTransition reports whether a rule may go from one status to another. DRAFT, REVIEW, APPROVED, EFFECTIVE and RETIRED
// follow one another; REVIEW goes back to DRAFT and APPROVED to REVIEW; EFFECTIVE may become SUPERSEDED; anything but
// RETIRED may be retired.
func CanTransition(from, to Status) bool { return slices.Contains(transitions[from], to) }

// NextStatuses lists where a rule may go from a status.
func NextStatuses(from Status) []Status { return slices.Clone(transitions[from]) }

// RelationKind names how one rule stands to another.
type RelationKind string

// Relation kinds, read from the rule that has the relationship to the other one.
const (
	Refines       RelationKind = "REFINES"
	Overrides     RelationKind = "OVERRIDES"
	ConflictsWith RelationKind = "CONFLICTS_WITH"
	DependsOn     RelationKind = "DEPENDS_ON"
	DerivesFrom   RelationKind = "DERIVES_FROM"
	Supersedes    RelationKind = "SUPERSEDES"
)

// RelationKinds lists all relation kinds.
var RelationKinds = []RelationKind{Refines, Overrides, ConflictsWith, DependsOn, DerivesFrom, Supersedes}
