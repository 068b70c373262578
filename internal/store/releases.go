package store

import (
	"context"
	"time"
)

// Snapshot is a stored snapshot. It never changes.
type Snapshot struct {
	ProjectID     string
	ID            string
	Name          string
	Description   string
	RuleCount     int
	ContentHash   string // Merkle root in hex; see package release
	CorpusVersion int64  // of the corpus at its creation
	CreatedAt     time.Time
	CreatedBy     string
	Manifest      []byte // its content; nil in lists
}

// Deployment is one entry in the history of an environment: a snapshot became active At. It never changes.
type Deployment struct {
	ProjectID   string
	Environment string
	Seq         int64 // from 1, without gaps within an environment
	Action      string
	SnapshotID  string
	At          time.Time
	By          string
	Reason      string
	// Key is the caller's name for the request, unique within the project, or empty. Request is its content.
	Key     string
	Request string
}

// Approval is a person's approval of a snapshot.
type Approval struct {
	ProjectID  string
	SnapshotID string
	Actor      string
	At         time.Time
	Note       string
}

// GatedEnvironment is an environment that has gates.
type GatedEnvironment struct {
	ProjectID, Environment string
	Gates                  []byte // JSON, as package release stores them
}

// ReleaseReader reads snapshots and deployments.
type ReleaseReader interface {
	// Snapshot returns a snapshot with its manifest, or not_found.
	Snapshot(ctx context.Context, projectID, id string) (Snapshot, error)
	// Snapshots returns a page of a project's snapshots without their manifests, newest first, and their total.
	Snapshots(ctx context.Context, projectID string, offset, limit int) ([]Snapshot, int, error)
	// Deployments returns the history of an environment, or of all if it is empty, by environment and in order of Seq.
	Deployments(ctx context.Context, projectID, environment string) ([]Deployment, error)
	// Named returns those of the snapshots that exist, without their manifests, by id.
	Named(ctx context.Context, projectID string, ids []string) (map[string]Snapshot, error)
	// Steps returns a page of the history of an environment, or of all if it is empty, newest first, and how many steps it has.
	Steps(ctx context.Context, projectID, environment string, offset, limit int) ([]Deployment, int, error)
	// DeploymentByKey returns the deployment of the request with a key, or not_found.
	DeploymentByKey(ctx context.Context, projectID, key string) (Deployment, error)
	// Gates returns the gates of an environment, or nil.
	Gates(ctx context.Context, projectID, environment string) ([]byte, error)
	// Gated lists the environments of a project, or of all with [AllProjects], that have gates.
	Gated(ctx context.Context, projectID string) ([]GatedEnvironment, error)
	// Approvals lists the approvals of a snapshot, oldest first.
	Approvals(ctx context.Context, projectID, snapshotID string) ([]Approval, error)
}

// ReleaseTx writes snapshots and deployments.
type ReleaseTx interface {
	ReleaseReader

	// InsertSnapshot stores a snapshot; conflict if the id is taken, not_found without the project.
	InsertSnapshot(ctx context.Context, s Snapshot) error
	// AppendDeployment stores the next deployment of an environment, whose Seq must follow the last; conflict if it does
	// not or if the key is taken, not_found without the snapshot. The caller holds the lock of [ProjectTx.RaiseCorpus], so that
	// other nodes notice it.
	AppendDeployment(ctx context.Context, d Deployment) error
	// PutGates replaces the gates of an environment; not_found without the project.
	PutGates(ctx context.Context, projectID, environment string, body []byte) error
	// PutApproval stores an approval, or returns the earlier one of the same actor and false; not_found without the
	// snapshot.
	PutApproval(ctx context.Context, a Approval) (stored Approval, fresh bool, err error)
}
