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

// Advances reports whether a status comes after another one in DRAFT, REVIEW, APPROVED, EFFECTIVE. A rule file, which is reviewed
// where it is kept, may take several of these steps at once.
func Advances(from, to Status) bool {
	order := []Status{Draft, Review, Approved, Effective}
	at := slices.Index(order, from)
	return at >= 0 && slices.Index(order, to) > at
}

// NextStatuses lists where a rule may go from a status.
func NextStatuses(from Status) []Status { return slices.Clone(transitions[from]) }

// RelationKind is the kind of relationship from one rule to another.
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
