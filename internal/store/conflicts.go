package store

import (
	"context"
	"time"
)

// States of a [Conflict].
const (
	ConflictSuggested = "suggested" // found, and nobody has decided
	ConflictConfirmed = "confirmed" // a person says so
	ConflictRejected  = "rejected"  // a person says that it is none
	ConflictClosed    = "closed"    // it has ended: a rule has gone, or says something else
)

// Conflict is two rules that seem to contradict each other. Of two rules there is one at most.
type Conflict struct {
	ProjectID, ID string
	// RuleID is the rule that brought the conflict, which is the one that was changed last, and OtherID the one it was found with.
	RuleID, OtherID string
	State           string
	FoundBy         string // what has found it: a kind of contradiction, or model
	Reason          string
	Confidence      float64 // 0 to 1
	// RuleHash and OtherHash tell what the rules said when the conflict was found or decided.
	RuleHash, OtherHash string
	DetectedAt          time.Time
	DecidedAt           *time.Time // when it was confirmed, rejected or closed
	DecidedBy           string
	Note                string // why it was
	RelationshipID      string // of the relationship that confirming it has made; else empty
}

// ConflictFilter selects conflicts. Empty fields select everything; ProjectID is required.
type ConflictFilter struct {
	ProjectID string
	States    []string
	RuleID    string // of either rule
	Offset    int
	Limit     int
}

// ConflictWalk is how far a walk over the rules of a project that looks for conflicts has come.
type ConflictWalk struct {
	// Reached is the corpus version up to which all changes have been looked at, and Toward the one that a walk that has begun is
	// to reach; 0 if none has.
	Reached, Toward int64
	// LastID is the last rule, in order of the ids, that the walk has looked at.
	LastID string
}

// ConflictReader reads conflicts. They belong to what transactions see as the rules of a project.
type ConflictReader interface {
	// Conflict returns a conflict, or not_found.
	Conflict(ctx context.Context, projectID, id string) (Conflict, error)
	// FindConflicts returns a page of conflicts that match f, newest first, and how many match.
	FindConflicts(ctx context.Context, f ConflictFilter) ([]Conflict, int, error)
	// ConflictsOf returns all conflicts, of every state, that one of the rules is in, in order of their ids.
	ConflictsOf(ctx context.Context, projectID string, ruleIDs []string) ([]Conflict, error)
	// ConflictWalk returns how far a walk of some name has come; the zero walk if it never began.
	ConflictWalk(ctx context.Context, projectID, name string) (ConflictWalk, error)
}

// ConflictTx writes conflicts.
type ConflictTx interface {
	// InsertConflict stores a conflict; conflict if there is one between the two rules, whichever way round, or the id is taken.
	InsertConflict(ctx context.Context, c Conflict) error
	// UpdateConflict replaces all of a conflict but its id and which two rules it is between; not_found without it.
	UpdateConflict(ctx context.Context, c Conflict) error
	// PutConflictWalk stores how far a walk has come.
	PutConflictWalk(ctx context.Context, projectID, name string, w ConflictWalk) error
}
