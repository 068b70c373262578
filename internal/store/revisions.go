package store

import (
	"context"

	"tenet/internal/rule"
	"tenet/internal/wire"
)

// Revision is a stored revision of a rule: what is proposed beside the version in force.
type Revision struct {
	rule.Revision

	ProjectID string
	// Rule is the rule as it would be, at version BaseVersion+1.
	Rule rule.Rule
	// Relationships are those that would go out from the rule; nil leaves them as they are.
	Relationships []wire.RelationshipInput
}

// RevisionFilter selects revisions of a project. Empty fields select everything.
type RevisionFilter struct {
	RuleIDs []string // nil selects all rules, an empty list none
	State   rule.RevisionState
	Author  string
}

// RevisionReader reads the revisions of rules. Stale, Findings and Conflicts are not stored, and left empty.
type RevisionReader interface {
	// Get returns a revision of a rule by its number, or not_found.
	Get(ctx context.Context, projectID, ruleID string, number int) (Revision, error)
	// List returns a page of revisions, those that were proposed first before others, and the total.
	List(ctx context.Context, projectID string, f RevisionFilter, offset, limit int) ([]Revision, int, error)
}

// RevisionTx writes revisions. The caller holds the lock of [ProjectTx.RaiseCorpus].
type RevisionTx interface {
	RevisionReader

	// Insert stores a new revision and returns its number, one more than the highest of its rule; not_found without the rule.
	Insert(ctx context.Context, r Revision) (int, error)
	// Decide stores the state of a pending revision, who decided, when, why, and the version that was made; not_found without it,
	// conflict if it is not pending.
	Decide(ctx context.Context, r Revision) error
}
