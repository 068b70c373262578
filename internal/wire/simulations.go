package wire

import (
	"time"

	"tenet/internal/rule"
)

// SimulateSnapshot is the body that asks for a simulation.
type SimulateSnapshot struct {
	CompareTo  string `json:"compare_to" doc:"Id of the snapshot to compare with: the one that the switch would be made from."`
	SampleSize *int   `json:"sample_size,omitempty" nullable:"false" default:"50" minimum:"1" maximum:"1000" doc:"Recorded evaluations to replay."`
	Seed       uint32 `json:"seed,omitempty" doc:"Equal seeds draw the same sample of the same records."`
	DryRun     bool   `json:"dry_run,omitempty" doc:"Ask no model; estimate what asking would cost."`
}

// SimulateRequest says what to simulate.
type SimulateRequest struct {
	SnapshotID string `json:"snapshot_id" doc:"The snapshot whose rules would be active."`
	CompareTo  string `json:"compare_to" doc:"The snapshot whose rules are active now."`
	// SampleSize is 1 to [MaxSample]; 0 is [DefaultSample].
	SampleSize int `json:"sample_size" doc:"Recorded evaluations to replay."`
	// Seed draws the same evaluations of the same records when it is the same.
	Seed uint64 `json:"seed" doc:"What the sample is drawn with."`
	// DryRun asks no model. Evaluations that need one are not replayed, and the answer has an estimate of the cost.
	DryRun bool `json:"dry_run" doc:"Ask no model; estimate what asking would cost."`
}

// Simulation lists what a switch of snapshots would change.
type Simulation struct {
	SnapshotID     string          `json:"snapshot_id" doc:"The snapshot that would be active."`
	CompareTo      string          `json:"compare_to" doc:"The snapshot it is compared with."`
	RulesAdded     int             `json:"rules_added" doc:"Rules that only the new snapshot holds."`
	RulesRemoved   int             `json:"rules_removed" doc:"Rules that only the other holds."`
	RulesModified  int             `json:"rules_modified" doc:"Rules that differ."`
	VerdictChanges VerdictChanges  `json:"verdict_changes" doc:"Overall verdicts of the replayed evaluations that change."`
	RiskLevel      Risk            `json:"risk_level" enum:"none,low,medium,high,critical" doc:"How much the switch may upset; docs/releases.md has the rule."`
	RiskReasons    []string        `json:"risk_reasons" nullable:"false" doc:"What the level rests on."`
	Examples       []VerdictChange `json:"examples" nullable:"false" doc:"Verdicts of single rules that change, the first 50, worst first."`
	// Flips are absent in simulations of older servers.
	Flips        []SimulationFlip `json:"flips,omitempty" nullable:"false" doc:"Every replayed evaluation whose overall verdict changes: those that are allowed no longer or again first."`
	Confidence   *rule.Rate       `json:"confidence,omitempty" doc:"Changed share of the sample with its 95 % interval; absent if nothing was replayed."`
	NotReplayed  []NotReplayed    `json:"not_replayed" nullable:"false" doc:"Evaluations of the sample that could not be replayed."`
	CostEstimate rule.Estimate    `json:"cost_estimate" doc:"What the models would be asked, known before they are."`
	Cost         rule.Cost        `json:"cost" doc:"What the models were asked."`
	DryRun       bool             `json:"dry_run" doc:"True if no model was asked; evaluations that need one are among those not replayed."`
	Seed         uint64           `json:"seed" doc:"What the sample was drawn with."`
}

// VerdictChanges counts overall verdicts.
type VerdictChanges struct {
	TotalSampled int `json:"total_sampled" doc:"Evaluations replayed."`
	Changed      int `json:"changed" doc:"Of these, how many have another overall verdict."`
	AllowToDeny  int `json:"allow_to_deny" doc:"ALLOW before, DENY after."`
	DenyToAllow  int `json:"deny_to_allow" doc:"DENY before, ALLOW after."`
	Other        int `json:"other" doc:"All other changes."`
}

// VerdictChange is the verdict of one rule that changes.
type VerdictChange struct {
	EvaluationID string        `json:"evaluation_id" doc:"The recorded evaluation."`
	RuleID       string        `json:"rule_id" doc:"The rule."`
	RuleSlug     string        `json:"rule_slug,omitempty" doc:"Its slug."`
	Severity     rule.Severity `json:"severity" enum:"LOW,MEDIUM,HIGH,CRITICAL" doc:"Its severity."`
	Before       rule.Verdict  `json:"before" doc:"Verdict under the snapshot compared with; empty if the rule is not judged there."`
	After        rule.Verdict  `json:"after" doc:"Verdict under the new snapshot; empty if the rule is not judged there."`
	Why          string        `json:"why" doc:"What gives the new verdict, or why there is none."`
}

// SimulationFlip is an evaluation whose overall verdict changes.
type SimulationFlip struct {
	EvaluationID string          `json:"evaluation_id" doc:"The recorded evaluation."`
	Before       rule.Verdict    `json:"before" doc:"Overall verdict under the snapshot compared with."`
	After        rule.Verdict    `json:"after" doc:"Overall verdict under the new snapshot."`
	Rules        []VerdictChange `json:"rules" nullable:"false" doc:"Rules whose verdict on it changes, worst first, the first 3."`
	RulesChanged int             `json:"rules_changed" doc:"How many rules' verdicts on it change."`
}

// SimulationQuery selects simulations; an empty id selects all.
type SimulationQuery struct {
	SnapshotID string `query:"snapshot_id" doc:"Only simulations of this snapshot, or against it."`
	PageQuery
}

// SimulationRun is a simulation that goes on in the background.
type SimulationRun struct {
	ID       string          `json:"id" doc:"Identifier."`
	JobID    int64           `json:"job_id" doc:"The job that does it."`
	State    string          `json:"state" enum:"queued,running,succeeded,failed,cancelled" doc:"State of the job."`
	Progress Progress        `json:"progress" doc:"Evaluations replayed, and evaluations in the sample."`
	Request  SimulateRequest `json:"request" doc:"What was asked."`
	// SnapshotName and CompareName are those of the snapshots of the request.
	SnapshotName string      `json:"snapshot_name,omitempty" doc:"Name of the snapshot whose rules would be active."`
	CompareName  string      `json:"compare_name,omitempty" doc:"Name of the snapshot that it is compared with."`
	CreatedAt    time.Time   `json:"created_at" doc:"When it was asked for."`
	CreatedBy    string      `json:"created_by" doc:"Actor that asked for it."`
	FinishedAt   *time.Time  `json:"finished_at,omitempty" doc:"When it had finished."`
	Error        string      `json:"error,omitempty" doc:"Why it failed."`
	Result       *Simulation `json:"result,omitempty" doc:"What it has found, once it has finished."`
}
