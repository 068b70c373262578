// Package store declares the interfaces of the database. Package store/storetest checks their contracts for every backend, and
// store/sqlstore implements them on SQLite and PostgreSQL.
//
// All errors that a caller can act on are [*rule.Error] values: not_found for something missing, conflict for a taken name,
// precondition_failed for a change based on an old version. Timestamps are UTC, cut to microseconds.
package store

import (
	"context"
	"time"
)

// Store is a database: readers outside of transactions, by noun, and transactions. It is safe for concurrent use. A component
// takes the fields that it uses, not the whole.
type Store struct {
	Readers
	Database
	// Lagging are Readers that may be answered by replicas where a context allows it; see [MayLag]. For components whose readers of lists tolerate it: what
	// keeps an answer in memory, or decides by it, takes Readers.
	Lagging Readers
}

// Database runs transactions.
type Database interface {
	Updater
	DerivedUpdater
	JobWatcher
	// Serial reports whether one transaction runs at a time, so that larger ones are faster.
	Serial() bool
	// Ping reports whether the database answers.
	Ping(ctx context.Context) error
	// Pools reports on the connections of this process.
	Pools() []Pool
	// Close waits for running transactions and releases the database.
	Close() error
}

// Pool is how the connections for a purpose fare.
type Pool struct {
	Name        string // read or write
	InUse, Idle int
	Waits       int64 // requests for a connection that had to wait for one, so far
	// Replica is true for connections to a replica: Reads counts the reads that it was asked for, Behind is by how much it is behind, and Problem why it is
	// left out; empty if it is not.
	Replica bool
	Reads   int64
	Behind  time.Duration
	Problem string
}

// Updater writes.
type Updater interface {
	// Update runs fn in one serialisable transaction: all its writes happen, or none. If the database reports a
	// serialisation failure or deadlock, fn runs again from the start, so it must have no effects outside tx. If fn
	// fails, Update rolls back and returns the error unchanged.
	Update(ctx context.Context, fn func(tx Tx) error) error
}

// DerivedUpdater writes what can be computed again from other rows, such as an index.
type DerivedUpdater interface {
	// UpdateDerived is Update, but returns before the writes are safe from a failure of the machine: after one, the last of them may be
	// missing, each whole and none before it. Writes of Update that follow are safe, and the ones before those with them.
	UpdateDerived(ctx context.Context, fn func(tx Tx) error) error
}

// Readers reads by noun. Each method sees one committed state of the database.
type Readers struct {
	Projects     ProjectReader
	Rules        RuleReader
	Revisions    RevisionReader
	Federation   FederationReader
	Waivers      WaiverReader
	Approvals    ApprovalReader
	TestCases    TestCaseReader
	Conflicts    ConflictReader
	Audit        AuditReader
	Keys         KeyReader
	Agents       AgentReader
	Sessions     SessionReader
	Submissions  SubmissionReader
	Feedback     FeedbackReader
	Verdicts     VerdictReader
	Embeddings   EmbeddingReader
	Documents    DocumentReader
	Vectors      VectorReader
	Scans        ScanReader
	Candidates   CandidateReader
	Exclusions   ExclusionReader
	Releases     ReleaseReader
	Jobs         JobReader
	Runs         RunReader
	Counts       CountReader
	Terms        TermReader
	Health       HealthReader
	Alerts       AlertReader
	Webhooks     WebhookReader
	Deliveries   DeliveryReader
	Queue        QueueReader
	Servers      ServerReader
	Logs         LogReader
	InForce      InForceReader
	Bundles      BundleReader
	Retention    RetentionReader
	PersonalKeys PersonalKeyReader
	Edges        EdgeReader
	Exports      ExportReader
	Samples      SampleReader
	Parts        PartReader
}

// Tx is a transaction that writes, by noun. It reads its own writes. It is invalid after its callback has returned.
type Tx struct {
	Projects     ProjectTx
	Rules        RuleTx
	Revisions    RevisionTx
	Federation   FederationTx
	Waivers      WaiverTx
	Approvals    ApprovalTx
	TestCases    TestCaseTx
	Conflicts    ConflictTx
	Audit        AuditTx
	Keys         KeyTx
	Agents       AgentTx
	Sessions     SessionTx
	Submissions  SubmissionTx
	Feedback     FeedbackTx
	Verdicts     VerdictTx
	Embeddings   EmbeddingTx
	Documents    DocumentTx
	Vectors      VectorTx
	Scans        ScanTx
	Candidates   CandidateTx
	Exclusions   ExclusionTx
	Releases     ReleaseTx
	Jobs         JobTx
	Runs         RunTx
	Counts       CountTx
	Terms        TermTx
	Health       HealthTx
	Alerts       AlertTx
	Webhooks     WebhookTx
	Deliveries   DeliveryTx
	Queue        QueueTx
	Servers      ServerTx
	Logs         LogTx
	InForce      InForceTx
	Bundles      BundleTx
	Retention    RetentionTx
	PersonalKeys PersonalKeyTx
	Edges        EdgeTx
	Exports      ExportTx
	Samples      SampleTx
	Parts        PartTx
}
