// Package store declares how Tenet keeps its data. The contracts here are checked for every backend by package
// store/storetest; store/sqlstore implements them on SQLite and PostgreSQL.
//
// All errors that a caller can act on are [*rule.Error] values: not_found for a missing thing, conflict for a taken name,
// precondition_failed for a change based on an old version. Timestamps are UTC, cut to microseconds.
package store

import (
	"context"
	"time"

	"tenet/internal/rule"
)

// Store is a database. It is safe for concurrent use.
type Store interface {
	Reader
	// Update runs fn in one serialisable transaction: all its writes happen, or none. If the database reports a
	// serialisation failure or deadlock, fn runs again from the start, so it must have no effects outside tx. An error of
	// fn rolls back and is returned unchanged.
	Update(ctx context.Context, fn func(tx Tx) error) error
	// WatchJobs returns a channel that gets a value after transactions of this process that have made jobs to claim, until
	// stop is called. Values that nobody takes are not counted.
	WatchJobs() (added <-chan struct{}, stop func())
	// Ping reports whether the database answers.
	Ping(ctx context.Context) error
	// Close waits for running transactions and releases the database.
	Close() error
}

// Reader reads. Outside [Store.Update] each method sees one committed state of the database.
type Reader interface {
	DocumentReader
	EmbeddingReader
	JobReader
	SubmissionReader
	FeedbackReader
	FederationReader
	VerdictReader
	TestCaseReader
	RunReader
	ConflictReader
	DiscoveryReader
	AlertReader
	CountReader
	WebhookReader
	WaiverReader

	// Projects lists all projects by id.
	Projects(ctx context.Context) ([]rule.Project, error)
	// Project returns one project, or not_found.
	Project(ctx context.Context, id string) (rule.Project, error)
	// CorpusVersions returns the corpus version of every project: a cheap read, meant to be polled.
	CorpusVersions(ctx context.Context) (map[string]int64, error)

	// Rule returns the current version of the rule with the id ref, or else of the one rule that is not retired and has the
	// slug ref; or not_found.
	Rule(ctx context.Context, projectID, ref string) (rule.Rule, error)
	// Rules returns the current versions of the rules among refs (ids or slugs, as in Rule) that exist, by ref.
	Rules(ctx context.Context, projectID string, refs []string) (map[string]rule.Rule, error)
	// RuleVersion returns one version of a rule, current or past, or not_found.
	RuleVersion(ctx context.Context, projectID, ruleID string, version int) (rule.Rule, error)
	// RuleVersions returns a page of all versions of a rule, newest first, and how many there are; not_found without the rule.
	RuleVersions(ctx context.Context, projectID, ruleID string, offset, limit int) ([]rule.Rule, int, error)
	// Changes calls fn, in order of rule id, for every rule that has changed after the corpus version `after`, with all
	// relationships that go out from it, and returns the corpus version that this state has. All is read from one committed
	// state. With after 0 it gives the whole corpus. An error of fn ends the walk and is returned.
	Changes(ctx context.Context, projectID string, after int64, fn func(RuleState) error) (int64, error)
	// Relationships returns the relationships from and to a rule, oldest first.
	Relationships(ctx context.Context, projectID, ruleID string) ([]rule.Relationship, error)

	// AuditHead returns the head of a project's chain; the zero head if the chain is empty.
	AuditHead(ctx context.Context, projectID string) (AuditHead, error)
	// AuditEntries returns up to limit entries with Seq > after, in order of Seq.
	AuditEntries(ctx context.Context, projectID string, after int64, limit int) ([]AuditEntry, error)
	// AuditEntry returns the entry with an id, or not_found.
	AuditEntry(ctx context.Context, projectID, id string) (AuditEntry, error)
	// FindAudit returns a page of entries that match f, newest first, and how many match.
	FindAudit(ctx context.Context, f AuditFilter) ([]AuditEntry, int, error)

	// Keys lists the API keys of a project ([AllProjects] for the keys of all), newest first, revoked ones included.
	Keys(ctx context.Context, projectID string) ([]Key, error)
	// KeyByHash returns the key with the given hash, or not_found. Revoked and expired keys are returned too.
	KeyByHash(ctx context.Context, hash string) (Key, error)
	// CountKeys returns how many keys are not revoked. Expired ones count: a server that wants keys must not open itself
	// because time passes.
	CountKeys(ctx context.Context) (int, error)

	ReleaseReader
}

// Tx writes. It reads its own writes. It must not be used after the callback it was given to has returned.
type Tx interface {
	Reader
	DocumentTx
	EmbeddingWriter
	JobTx
	SubmissionTx
	FeedbackTx
	RetentionTx
	FederationTx
	VerdictTx
	TestCaseTx
	RunTx
	ConflictTx
	DiscoveryTx
	AlertTx
	CountTx
	WebhookTx
	WaiverTx

	// CreateProject stores a project with corpus version 0; conflict if the id is taken.
	CreateProject(ctx context.Context, p rule.Project) error
	// UpdateProject changes name, description, settings and UpdatedAt; not_found without the project.
	UpdateProject(ctx context.Context, p rule.Project) error
	// RaiseCorpus raises the corpus version of a project by one, returns it, and keeps other transactions from raising it
	// until this one ends; not_found without the project. Every change of rules or relationships is made under it.
	RaiseCorpus(ctx context.Context, projectID string) (int64, error)
	// InsertRules stores new rules at corpus version cv; conflict, naming the rule, if an id is taken, or a slug by a rule
	// that is not retired.
	InsertRules(ctx context.Context, cv int64, rules []rule.Rule) error
	// UpdateRules replaces the current versions of rules and keeps the old ones as past versions. Each rule must have the
	// stored version plus one, else precondition_failed; not_found without the rule; conflict as in InsertRules.
	UpdateRules(ctx context.Context, cv int64, rules []rule.Rule) error
	// InsertRelationship stores a relationship and marks its from-rule as changed at cv; conflict if a relationship of this
	// kind between these rules exists; not_found without the rules.
	InsertRelationship(ctx context.Context, projectID string, cv int64, rel rule.Relationship) error
	// DeleteRelationship removes the relationship with an id that begins or ends at ruleID and marks its from-rule as
	// changed at cv; not_found without it.
	DeleteRelationship(ctx context.Context, projectID string, cv int64, ruleID, id string) error

	// LockAudit returns the head of a project's chain and keeps other transactions from appending to it until this one
	// ends; not_found without the project.
	LockAudit(ctx context.Context, projectID string) (AuditHead, error)
	// AppendAudit stores entries, whose Seq must follow the head without gaps, and moves the head to the last; conflict if
	// the head has moved. The caller holds LockAudit.
	AppendAudit(ctx context.Context, entries []AuditEntry) error

	// InsertKey stores a key; conflict if the id or the hash is taken.
	InsertKey(ctx context.Context, k Key) error
	// RevokeKey marks a key as revoked at a time; not_found without it. Revoking again changes nothing.
	RevokeKey(ctx context.Context, projectID, id string, at time.Time) error

	ReleaseTx
}

// RuleState is a rule with the relationships that go out from it.
type RuleState struct {
	Rule          rule.Rule
	Relationships []rule.Relationship
}

// AuditHead is the end of a chain: sequence number and hash of its last entry.
type AuditHead struct {
	Seq  int64  `json:"seq"`
	Hash string `json:"hash"` // SHA-256 in hex; empty for an empty chain
}

// AuditEntry is one link of a project's audit chain. How the hashes are made is the business of package audit.
type AuditEntry struct {
	ProjectID string
	Seq       int64 // from 1, without gaps
	ID        string
	Kind      string
	At        time.Time
	Actor     string
	Verdict   string // overall verdict of an evaluation, else empty
	Mode      string // mode of an evaluation, else empty
	Body      []byte // compressed record
	BodyHash  string // SHA-256 of Body, hex
	PrevHash  string // Hash of the entry before, empty for the first
	Hash      string // SHA-256 over all of the above, hex
}

// AuditFilter selects entries. Empty fields select everything; ProjectID is required.
type AuditFilter struct {
	ProjectID    string
	Kind         string
	Verdict      string
	Mode         string
	Actor        string
	Since, Until *time.Time // Since <= At < Until
	Offset       int
	Limit        int
}

// AllProjects stands for every project in [Key.ProjectID].
const AllProjects = "*"

// Key is an API key at rest. The secret itself is never stored.
type Key struct {
	ID        string
	ProjectID string // or AllProjects
	Name      string
	Role      string
	Hash      string // SHA-256 of the secret, hex
	CreatedAt time.Time
	CreatedBy string
	ExpiresAt *time.Time
	RevokedAt *time.Time
}
