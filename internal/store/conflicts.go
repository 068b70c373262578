package store

import (
	"context"
	"time"

	"tenet/internal/rule"
)

// States of a [Conflict].
const (
	ConflictSuggested = "suggested" // found, not yet decided
	ConflictConfirmed = "confirmed" // a person has confirmed it
	ConflictRejected  = "rejected"  // a person has rejected it
	ConflictClosed    = "closed"    // a rule was removed, or its content has changed
)

// Conflict is a pair of rules that seem to contradict each other. A pair has at most one.
type Conflict struct {
	ProjectID, ID string
	// RuleID is the rule whose change brought the conflict, and OtherID the other one.
	RuleID, OtherID string
	State           string
	FoundBy         string // a kind of contradiction, model or person
	Reason          string
	Confidence      float64 // 0 to 1
	// RuleHash and OtherHash are the content hashes of the rules when the conflict was found or decided.
	RuleHash, OtherHash string
	DetectedAt          time.Time
	DecidedAt           *time.Time // when it was confirmed, rejected or closed
	DecidedBy           string
	Note                string // the reason of the decision
	RelationshipID      string // of the relationship that its confirmation created; else empty
}

// ConflictFilter selects conflicts. Empty fields select everything; ProjectID is required.
type ConflictFilter struct {
	ProjectID string
	States    []string
	RuleID    string // either rule
	FoundBy   string
	// MinConfidence is the least confidence.
	MinConfidence float64
	// SeverityMin is the least severity that one of the two rules has now.
	SeverityMin rule.Severity
	// Text is in the slug or the statement that either rule has now, or in the reason, in any letter case.
	Text   string
	Offset int
	Limit  int
}

// ConflictWalk is the progress of a search for conflicts over the rules of a project.
type ConflictWalk struct {
	// Reached is the corpus version up to which all changes were examined, and Toward the target of the walk that has begun; 0 if
	// none has.
	Reached, Toward int64
	// LastID is the last rule, in order of the ids, that the walk has examined.
	LastID string
}

// Suggestion is a suggested conflict in short.
type Suggestion struct {
	ID, RuleID, OtherID string
	Confidence          float64
}

// LeftOut counts contradictions of a rule that were found and are not stored, since the bounds on suggestions kept stronger ones.
type LeftOut struct {
	Pairs   int // that the rule is in
	Brought int // those of them that the rule brought; each pair counts for one rule
}

// ConflictReader reads conflicts. To transactions they are part of the rules of a project.
type ConflictReader interface {
	// Get returns a conflict, or not_found.
	Get(ctx context.Context, projectID, id string) (Conflict, error)
	// Find returns a page of conflicts that match f, newest first, and the total.
	Find(ctx context.Context, f ConflictFilter) ([]Conflict, int, error)
	// OfRules returns the conflicts, of every state, that involve one of the rules, in order of their ids.
	OfRules(ctx context.Context, projectID string, ruleIDs []string) ([]Conflict, error)
	// Suggested returns the number of suggested conflicts of a project.
	Suggested(ctx context.Context, projectID string) (int, error)
	// SuggestedOf returns the suggested conflicts that involve one of the rules, and Weakest some of all of a project: those with the least confidence
	// first, of equals the newest.
	SuggestedOf(ctx context.Context, projectID string, ruleIDs []string) ([]Suggestion, error)
	Weakest(ctx context.Context, projectID string, limit int) ([]Suggestion, error)
	// LeftOut returns how many contradictions of a rule are left out; of the project if ruleID is empty.
	LeftOut(ctx context.Context, projectID, ruleID string) (int, error)
	// Walk returns the progress of the walk with a name; the zero walk if it never began.
	Walk(ctx context.Context, projectID, name string) (ConflictWalk, error)
}

// ConflictTx writes conflicts.
type ConflictTx interface {
	ConflictReader

	// Insert stores a conflict; conflict if the two rules, in either order, have one already, or the id is taken.
	Insert(ctx context.Context, c Conflict) error
	// Update replaces all of a conflict except its id and its pair of rules; not_found without it.
	Update(ctx context.Context, c Conflict) error
	// Drop removes those of the conflicts that are suggested.
	Drop(ctx context.Context, projectID string, ids []string) error
	// PutLeftOut forgets what was left out of rules that were compared again, and then adds counts to rules, which may be others.
	PutLeftOut(ctx context.Context, projectID string, compared []string, counts map[string]LeftOut) error
	// PutWalk stores the progress of a walk.
	PutWalk(ctx context.Context, projectID, name string, w ConflictWalk) error
}
