package store

import (
	"context"
	"time"

	"tenet/internal/rule"
)

// Snapshot is a stored snapshot. It never changes.
type Snapshot struct {
	ProjectID     string
	ID            string
	Name          string
	Description   string
	RuleCount     int
	ContentHash   string // Merkle root in hex; see package release
	CorpusVersion int64  // of the corpus that it was taken from
	CreatedAt     time.Time
	CreatedBy     string
	Manifest      []byte // what it holds; nil in lists
}

// Deployment is one entry in the history of an environment: from At on a snapshot was active. It never changes.
type Deployment struct {
	ProjectID   string
	Environment string
	Seq         int64 // from 1, without gaps within an environment
	Action      string
	SnapshotID  string
	At          time.Time
	By          string
	// Key is the caller's name for the request that made the step, unique within the project, or empty; Request says what was asked.
	Key     string
	Request string
}

// Approval is a person's word for a snapshot.
type Approval struct {
	ProjectID  string
	SnapshotID string
	Actor      string
	At         time.Time
	Note       string
}

// VersionRef names one version of a rule.
type VersionRef struct {
	RuleID  string
	Version int
}

// ReleaseReader reads snapshots and deployments.
type ReleaseReader interface {
	// Snapshot returns a snapshot with its manifest, or not_found.
	Snapshot(ctx context.Context, projectID, id string) (Snapshot, error)
	// Snapshots returns a page of a project's snapshots without their manifests, newest first, and how many there are.
	Snapshots(ctx context.Context, projectID string, offset, limit int) ([]Snapshot, int, error)
	// Deployments returns the history of an environment, or of all if it is empty, by environment and in order of Seq.
	Deployments(ctx context.Context, projectID, environment string) ([]Deployment, error)
	// DeploymentByKey returns the step that a request with a key made, or not_found.
	DeploymentByKey(ctx context.Context, projectID, key string) (Deployment, error)
	// Gates returns what was put for an environment, or nothing.
	Gates(ctx context.Context, projectID, environment string) ([]byte, error)
	// Approvals lists the approvals of a snapshot, oldest first.
	Approvals(ctx context.Context, projectID, snapshotID string) ([]Approval, error)
	// RulesAt returns exact versions of rules, current or past, by rule id. What does not exist is left out. Each rule may be named
	// once.
	RulesAt(ctx context.Context, projectID string, refs []VersionRef) (map[string]rule.Rule, error)
}

// ReleaseTx writes snapshots and deployments.
type ReleaseTx interface {
	// InsertSnapshot stores a snapshot; conflict if the id is taken, not_found without the project.
	InsertSnapshot(ctx context.Context, s Snapshot) error
	// AppendDeployment stores the next step of an environment's history, whose Seq must follow the last; conflict if it does
	// not or if the key is taken, not_found without the snapshot. The caller holds RaiseCorpus, so that nodes learn of it.
	AppendDeployment(ctx context.Context, d Deployment) error
	// PutGates replaces what an environment demands of a deployment; not_found without the project.
	PutGates(ctx context.Context, projectID, environment string, body []byte) error
	// PutApproval stores an approval, or returns the one that this actor has given before and fresh false; not_found without the
	// snapshot.
	PutApproval(ctx context.Context, a Approval) (stored Approval, fresh bool, err error)
}
