package store

import "context"

// Kinds of what is in force: what decides evaluations, or who may ask for them.
const (
	RuleInForce         = "rule"
	RelationshipInForce = "relationship"
	NodeInForce         = "node"       // a federation node with its bindings to repositories
	AttachmentInForce   = "attachment" // a rule at a federation node
	WaiverInForce       = "waiver"
	ProjectInForce      = "project" // the policy of a project, and what it demands
	KeyInForce          = "key"
	SuspensionInForce   = "suspension"
	SnapshotInForce     = "snapshot"
	DeploymentInForce   = "deployment"
	GatesInForce        = "gates"
	ApprovalInForce     = "approval"
	RetentionInForce    = "retention" // how long a project keeps its records, and its legal holds
)

// KindsInForce lists the kinds of what is in force.
var KindsInForce = []string{
	RuleInForce, RelationshipInForce, NodeInForce, AttachmentInForce, WaiverInForce, ProjectInForce, KeyInForce, SuspensionInForce, SnapshotInForce, DeploymentInForce,
	GatesInForce, ApprovalInForce, RetentionInForce,
}

// RowHash is the SHA-256 of the columns of a row that is in force; zero for a row that has been removed.
type RowHash [32]byte

// RowInForce is a row that is in force.
type RowInForce struct {
	Kind, ID string
	Hash     RowHash
}

// InForceReader reads the hashes of what is in force, and the entries of audit chains that recorded it. The default project has the rows that
// are for all projects.
type InForceReader interface {
	// Rows returns the rows of a kind: all, or those of some ids. The ids of relationships are those of the rules that they go out from, and those of attachments
	// those of their nodes.
	Rows(ctx context.Context, projectID, kind string, ids []string) ([]RowInForce, error)
	// AllRows is Rows of all projects, without ids, by the project whose chain records them. Those without rows are not in the result.
	AllRows(ctx context.Context, kind string) (map[string][]RowInForce, error)
	// Ends returns the Seq of the last entry of each chain that has entries, by project.
	Ends(ctx context.Context) (map[string]int64, error)
	// FirstRecorded returns the entries of some kinds with Seq <= upTo in the chains of several projects, in order of Seq, by project.
	FirstRecorded(ctx context.Context, projectIDs, kinds []string, upTo int64) (map[string][]AuditEntry, error)
	// Recorded returns entries of some kinds with Seq > after, in order of Seq, up to limit (at least 1), and the Seq up to which it has looked: there are
	// no others before it. It has looked at all if these are fewer than limit.
	Recorded(ctx context.Context, projectID string, kinds []string, after int64, limit int) (list []AuditEntry, until int64, err error)
}

// InForceTx is the memory of a transaction of what it has changed.
type InForceTx interface {
	InForceReader

	// Changed returns the rows of a project that the transaction has changed since the last call, as they are now. whole is true after
	// ChangeAll: what is not among the rows is no longer in force.
	Changed(ctx context.Context, projectID string) (rows []RowInForce, whole bool, err error)
	// ChangeAll has the next call of Changed return all rows of a project.
	ChangeAll(projectID string)
	// Before returns the rows that the transaction has changed as they were before, by the project whose chain records them: with a zero hash those that it has
	// put where none was. Nobody else changes them until it ends. It leaves out those that it has inserted or removed, approvals, and the rows of projects after
	// ChangeAll.
	Before() map[string][]RowInForce
}
