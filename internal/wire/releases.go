package wire

import (
	"slices"
	"time"

	"tenet/internal/rule"
)

// CreateSnapshot is the body that takes a snapshot.
type CreateSnapshot struct {
	Name        string `json:"name" doc:"Name, 1 to 200 characters." example:"2026-12 release"`
	Description string `json:"description,omitempty" doc:"What is in it, at most 4000 characters."`
}

// Snapshots is a page of snapshots.
type Snapshots struct {
	Items  []Snapshot `json:"items" nullable:"false" doc:"Snapshots of this page."`
	Total  int        `json:"total" doc:"Snapshots on all pages."`
	Limit  int        `json:"limit" doc:"Items per page."`
	Offset int        `json:"offset" doc:"Items before this page."`
}

// DeploySnapshot is the body that deploys a snapshot.
type DeploySnapshot struct {
	Environment string `json:"environment" doc:"production, staging or development." example:"staging"`
	Reason      string `json:"reason,omitempty" maxLength:"2000" doc:"Why; kept in the history."`
}

// RollbackSnapshot is the body that takes a deployment back.
type RollbackSnapshot struct {
	Reason string `json:"reason,omitempty" maxLength:"2000" doc:"Why; kept in the history."`
}

// ApproveSnapshot is the body that approves a snapshot.
type ApproveSnapshot struct {
	Note string `json:"note,omitempty" doc:"What there is to say about it."`
}

// Deployment is the answer to a deployment.
type Deployment struct {
	SnapshotID         string      `json:"snapshot_id" doc:"The snapshot that is active now."`
	Environment        Environment `json:"environment" enum:"production,staging,development" doc:"The environment."`
	DeployedAt         time.Time   `json:"deployed_at" doc:"Since when."`
	PreviousSnapshotID *string     `json:"previous_snapshot_id" doc:"The snapshot that was active before, to which a rollback leads; null if there was none."`
	Unchanged          bool        `json:"unchanged,omitempty" doc:"True if the snapshot was active already, so that nothing was deployed."`
}

// RolledBack is the answer to a rollback.
type RolledBack struct {
	Environment    Environment `json:"environment" enum:"production,staging,development" doc:"The environment."`
	RolledBackFrom string      `json:"rolled_back_from" doc:"The snapshot that was active before."`
	RolledBackTo   string      `json:"rolled_back_to" doc:"The snapshot that is active now."`
	DeployedAt     time.Time   `json:"deployed_at" doc:"Since when."`
}

// ActiveDeployment is a snapshot that is active in an environment.
type ActiveDeployment struct {
	Environment Environment `json:"environment" enum:"production,staging,development" doc:"The environment."`
	SnapshotID  string      `json:"snapshot_id" doc:"The snapshot that is active there."`
	DeployedAt  time.Time   `json:"deployed_at" doc:"Since when."`
}

// EnvironmentSummary describes an environment: its active snapshot, its gates, and where a rollback leads.
type EnvironmentSummary struct {
	Environment Environment     `json:"environment" enum:"production,staging,development" doc:"The environment."`
	Active      *ActiveSnapshot `json:"active" doc:"The active snapshot; null if nothing was ever deployed."`
	Previous    *NamedSnapshot  `json:"previous" doc:"The snapshot that a rollback makes active; null if there is none to go back to."`
	Gates       Gates           `json:"gates" doc:"The gates that a deployment must pass."`
	Frozen      *Freeze         `json:"frozen" doc:"The freeze that is in force; null without one."`
	Deployments int             `json:"deployments" doc:"Deployments and rollbacks in its history."`
}

// NamedSnapshot names a snapshot.
type NamedSnapshot struct {
	SnapshotID   string `json:"snapshot_id" doc:"The snapshot."`
	SnapshotName string `json:"snapshot_name" doc:"Its name."`
}

// DeploymentQuery selects deployments; an empty environment selects all.
type DeploymentQuery struct {
	Environment string `query:"environment" doc:"Only deployments to this environment: production, staging or development."`
	PageQuery
}

// EnvironmentState is an environment with its history.
type EnvironmentState struct {
	Environment Environment     `json:"environment" enum:"production,staging,development" doc:"The environment."`
	Active      *ActiveSnapshot `json:"active" doc:"The active snapshot; null if nothing was ever deployed."`
	History     []HistoryEntry  `json:"history" nullable:"false" doc:"All deployments and rollbacks, newest first."`
}

// ActiveSnapshot is the snapshot that is active in an environment.
type ActiveSnapshot struct {
	SnapshotID   string    `json:"snapshot_id" doc:"The snapshot."`
	SnapshotName string    `json:"snapshot_name" doc:"Its name."`
	DeployedAt   time.Time `json:"deployed_at" doc:"Since when."`
	DeployedBy   string    `json:"deployed_by" doc:"By whom."`
	// Action and Reason are those of the step that made it active.
	Action DeploymentAction `json:"action" enum:"deploy,rollback" doc:"What made it active."`
	Reason string           `json:"reason,omitempty" doc:"Why."`
}

// HistoryEntry is one deployment or rollback.
type HistoryEntry struct {
	Environment  Environment      `json:"environment" enum:"production,staging,development" doc:"The environment."`
	SnapshotID   string           `json:"snapshot_id" doc:"The snapshot that became active."`
	SnapshotName string           `json:"snapshot_name" doc:"Its name."`
	Action       DeploymentAction `json:"action" enum:"deploy,rollback" doc:"What made it active."`
	DeployedAt   time.Time        `json:"deployed_at" doc:"Since when."`
	DeployedBy   string           `json:"deployed_by" doc:"By whom."`
	Reason       string           `json:"reason,omitempty" doc:"Why."`
	ReplacedAt   *time.Time       `json:"replaced_at" doc:"Until when; null for the active one, and in lists over environments."`
}

// Difference lists how one snapshot differs from another.
type Difference struct {
	From          string         `json:"from" doc:"The snapshot that is compared with, or live."`
	FromName      string         `json:"from_name,omitempty" doc:"Its name."`
	To            string         `json:"to" doc:"The snapshot that is compared, or live."`
	ToName        string         `json:"to_name,omitempty" doc:"Its name."`
	RulesAdded    int            `json:"rules_added" doc:"Rules that only the second holds."`
	RulesRemoved  int            `json:"rules_removed" doc:"Rules that only the first holds."`
	RulesModified int            `json:"rules_modified" doc:"Rules that both hold, in versions that differ."`
	Relationships int            `json:"relationships_changed" doc:"Relationships that only one of them holds."`
	Federation    bool           `json:"federation_changed" doc:"True if nodes, or what is attached to them, differ."`
	Added         []RuleNote     `json:"added" nullable:"false" doc:"The added rules of this page."`
	Removed       []RuleNote     `json:"removed" nullable:"false" doc:"The removed rules of this page."`
	Modified      []RuleModified `json:"modified" nullable:"false" doc:"The modified rules of this page, with what differs."`
	Truncated     bool           `json:"truncated" doc:"True if further rules follow those listed: ask again with a higher offset."`
}

// LiveRules takes the place of a snapshot's id where the live rules are compared with one.
const LiveRules = "live"

// DiffQuery selects a page of a difference.
type DiffQuery struct {
	Change string `query:"change" enum:"added,removed,modified" doc:"List only these rules; all are counted."`
	Limit  int    `query:"limit" default:"1000" minimum:"1" maximum:"1000" doc:"Rules of each kind to list."`
	Offset int    `query:"offset" default:"0" minimum:"0" maximum:"1000000000" doc:"Rules of each kind to skip."`
}

// RuleNote names a rule.
type RuleNote struct {
	RuleID    string        `json:"rule_id" doc:"The rule."`
	Slug      string        `json:"slug,omitempty" doc:"Its slug."`
	Version   int           `json:"version" doc:"Its version in the snapshot."`
	Statement string        `json:"statement" doc:"What it says."`
	Severity  rule.Severity `json:"severity" enum:"LOW,MEDIUM,HIGH,CRITICAL" doc:"Its severity."`
	Status    rule.Status   `json:"status" enum:"DRAFT,REVIEW,APPROVED,EFFECTIVE,SUPERSEDED,RETIRED" doc:"Its status."`
}

// RuleModified names a rule whose versions differ.
type RuleModified struct {
	RuleNote
	FromVersion int                `json:"from_version" doc:"Its version in the first snapshot."`
	Fields      []rule.FieldChange `json:"fields" nullable:"false" doc:"What differs."`
}

// Gates are the conditions for a deployment to an environment. The zero value lets everything pass. A rollback passes no gates: the way
// back must be open when it is needed.
type Gates struct {
	TestsPass bool     `json:"tests_pass,omitempty" doc:"All confirmed test cases of the snapshot's rules must have passed on the rules as they are in it, at least one; POST /api/v1/test-runs with its snapshot_id runs them."`
	MaxRisk   Risk     `json:"max_risk,omitempty" enum:"none,low,medium,high,critical" doc:"The most risk that a simulation against the active snapshot may find; absent for any. A simulation that replays no evaluation passes only if the rules are the same."`
	Approvals int      `json:"approvals,omitempty" minimum:"0" maximum:"10" doc:"How many people other than the one who took the snapshot must have approved it."`
	Freezes   []Freeze `json:"freezes,omitempty" doc:"Times in which nothing is deployed, at most 50."`
}

// Freeze is a time in which nothing is deployed.
type Freeze struct {
	From   time.Time `json:"from" doc:"Beginning."`
	Until  time.Time `json:"until" doc:"End, which is not part of it."`
	Reason string    `json:"reason,omitempty" doc:"Why, for those who are refused."`
}

// Approval is a person's word for a snapshot.
type Approval struct {
	SnapshotID string    `json:"snapshot_id" doc:"The snapshot."`
	Actor      string    `json:"actor" doc:"Who approved it."`
	At         time.Time `json:"at" doc:"When."`
	Note       string    `json:"note" doc:"What they had to say."`
}

// GateResult says whether a snapshot passes one gate.
type GateResult struct {
	Gate   string `json:"gate" enum:"freeze,approvals,tests,risk" doc:"The gate."`
	Passed bool   `json:"passed" doc:"Whether it lets the snapshot pass."`
	Detail string `json:"detail" doc:"What that rests on."`
	// Pending and SimulationID are those of the risk gate, asked with skip_simulation.
	Pending      bool   `json:"pending,omitempty" doc:"True if the gate was not looked at, because no simulation is at hand: a deployment simulates first."`
	SimulationID string `json:"simulation_id,omitempty" doc:"The earlier simulation that the result rests on."`
}

// GateQuery says how gates are checked.
type GateQuery struct {
	SkipSimulation bool `query:"skip_simulation" doc:"Do not simulate for the risk gate, which may take time and ask a model; answer by the newest simulation of the two snapshots, if there is one."`
}

// Environment is where a snapshot is active.
type Environment string

// The environments.
const (
	Production  Environment = "production"
	Staging     Environment = "staging"
	Development Environment = "development"
)

// Environments are all environments, most careful first.
var Environments = []Environment{Production, Staging, Development}

// DeploymentAction is the action that made a snapshot active.
type DeploymentAction string

// The actions.
const (
	ActionDeploy   DeploymentAction = "deploy"
	ActionRollback DeploymentAction = "rollback"
)

// Snapshot is a snapshot with where it is, or was, deployed.
type Snapshot struct {
	ID            string          `json:"id" doc:"Snapshot identifier."`
	ProjectID     string          `json:"project_id" doc:"Project whose rules it holds."`
	Name          string          `json:"name" doc:"Name given at creation."`
	Description   string          `json:"description" doc:"Description given at creation."`
	RuleCount     int             `json:"rule_count" doc:"Number of rules captured, of all statuses but RETIRED."`
	ContentHash   string          `json:"content_hash" doc:"Merkle root (SHA-256, RFC 6962) over the captured rules; equal corpora have equal hashes."`
	CorpusVersion int64           `json:"corpus_version" doc:"Version of the corpus that it was taken from."`
	CreatedAt     time.Time       `json:"created_at" doc:"Creation time."`
	CreatedBy     string          `json:"created_by" doc:"Who took it."`
	Deployments   []SnapshotPlace `json:"deployments" nullable:"false" doc:"Where it is or was deployed, newest first."`
	Approvals     []Approval      `json:"approvals,omitempty" doc:"Who has approved it, oldest first; not in lists."`
}

// SnapshotPlace is a deployment of one snapshot.
type SnapshotPlace struct {
	Environment Environment `json:"environment" enum:"production,staging,development" doc:"The environment."`
	DeployedAt  time.Time   `json:"deployed_at" doc:"Since when it was active there."`
	Active      bool        `json:"active" doc:"Whether it still is."`
}

// Verification is the result of checking a stored snapshot.
type Verification struct {
	SnapshotID  string   `json:"snapshot_id" doc:"The snapshot."`
	Valid       bool     `json:"valid" doc:"True if the stored rules give the snapshot's hash."`
	ContentHash string   `json:"content_hash" doc:"The hash that was stored with the snapshot."`
	Computed    string   `json:"computed_hash" doc:"The hash of the rules as they are stored now."`
	Missing     []string `json:"missing" nullable:"false" doc:"Ids of captured rules whose version is not there."`
}

// Risk says how much a change of rules may upset, from none to critical.
type Risk string

// The levels, least first.
const (
	RiskNone     Risk = "none"
	RiskLow      Risk = "low"
	RiskMedium   Risk = "medium"
	RiskHigh     Risk = "high"
	RiskCritical Risk = "critical"
)

// Risks are all levels, least first.
var Risks = []Risk{RiskNone, RiskLow, RiskMedium, RiskHigh, RiskCritical}

// Above reports whether r is a higher level than other.
func (r Risk) Above(other Risk) bool { return slices.Index(Risks, r) > slices.Index(Risks, other) }

// NotReplayed is an evaluation that could not be replayed.
type NotReplayed struct {
	EvaluationID string `json:"evaluation_id" doc:"The recorded evaluation."`
	Reason       string `json:"reason" doc:"Why not."`
}
