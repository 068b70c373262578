package store

import (
	"context"
	"errors"

	"tenet/internal/rule"
)

// RuleState is a rule with its outgoing relationships.
type RuleState struct {
	Rule          rule.Rule
	Relationships []rule.Relationship
	// Hash is that of the row; zero where it was not read from the database as the rule is now.
	Hash RowHash
}

// Tally is how many rules of all statuses a project has, and a digest of their rows, as they were counted with the last change of rules.
type Tally struct {
	Version int64  `json:"corpus_version"` // of that change
	Rules   int    `json:"rules"`
	Digest  string `json:"digest"`
}

// ErrDamaged is the cause of an unavailable error of a corpus whose rows are not those that were written.
var ErrDamaged = errors.New("")

// VersionRef is a reference to one version of a rule.
type VersionRef struct {
	RuleID  string
	Version int
}

// RuleReader reads rules and their relationships.
type RuleReader interface {
	// AtVersions returns exact versions of rules, current or past, by rule id. It omits missing ones. refs has each rule once
	// at most.
	AtVersions(ctx context.Context, projectID string, refs []VersionRef) (map[string]rule.Rule, error)
	// Get returns the current version of the rule with the id ref, or else of the unretired rule with the slug ref; or
	// not_found.
	Get(ctx context.Context, projectID, ref string) (rule.Rule, error)
	// GetMany returns the current versions of the rules among refs (ids or slugs, as in Get) that exist, by ref.
	GetMany(ctx context.Context, projectID string, refs []string) (map[string]rule.Rule, error)
	// Version returns one version of a rule, current or past, or not_found.
	Version(ctx context.Context, projectID, ruleID string, version int) (rule.Rule, error)
	// Versions returns a page of all versions of a rule, newest first, and their total; not_found without the rule.
	Versions(ctx context.Context, projectID, ruleID string, offset, limit int) ([]rule.Rule, int, error)
	// Changes calls fn, in order of rule id, for every rule that has changed after the corpus version `after`, with its
	// outgoing relationships, and returns the current corpus version. It reads one committed state. With after 0 it reads the
	// whole corpus, and fails with an unavailable error of the cause [ErrDamaged] if the rows are not those of the tally. A row that
	// cannot be read is such an error always. An error of fn ends the walk, and the method returns it.
	Changes(ctx context.Context, projectID string, after int64, fn func(RuleState) error) (int64, error)
	// Tally returns how many rules there should be; not_found for a project of an older database that was not counted yet.
	Tally(ctx context.Context, projectID string) (Tally, error)
	// Relationships returns the relationships from and to a rule, oldest first.
	Relationships(ctx context.Context, projectID, ruleID string) ([]rule.Relationship, error)
}

// RuleTx writes rules and their relationships. The caller holds the lock of [ProjectTx.RaiseCorpus].
type RuleTx interface {
	RuleReader

	// Insert stores new rules at corpus version cv; conflict, naming the rule, if an id is taken, or a slug by a rule
	// that is not retired.
	Insert(ctx context.Context, cv int64, rules []rule.Rule) error
	// Update replaces the current versions of rules and keeps the old ones as past versions. Each rule must have the
	// stored version plus one, else precondition_failed; not_found without the rule; conflict as in Insert.
	Update(ctx context.Context, cv int64, rules []rule.Rule) error
	// Recount makes the rows of a project that there are at corpus version cv those that there should be, and returns their tally;
	// unavailable if one cannot be read.
	Recount(ctx context.Context, projectID string, cv int64) (Tally, error)
	// InsertRelationship stores a relationship and marks its from-rule as changed at cv; conflict if a relationship of this
	// kind between these rules exists; not_found without the rules.
	InsertRelationship(ctx context.Context, projectID string, cv int64, rel rule.Relationship) error
	// DeleteRelationship removes the relationship with an id from or to ruleID and marks its from-rule as
	// changed at cv; not_found without it.
	DeleteRelationship(ctx context.Context, projectID string, cv int64, ruleID, id string) error
}
