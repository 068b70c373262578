package wire

import "time"

// MonthReport sums up a month of a project against the month before. Months are of UTC.
type MonthReport struct {
	ProjectID   string     `json:"project_id" doc:"The project."`
	ProjectName string     `json:"project_name" doc:"Its name."`
	Month       string     `json:"month" doc:"The month." example:"2026-10"`
	From        time.Time  `json:"from" doc:"Its beginning."`
	Until       time.Time  `json:"until" doc:"The beginning of the next month."`
	Complete    bool       `json:"complete" doc:"False if the month has not ended yet."`
	GeneratedAt time.Time  `json:"generated_at" doc:"When the report was made."`
	AsOf        *time.Time `json:"as_of" doc:"Time of the last entry of the audit chain that is counted; null before the first."`
	Uncounted   int64      `json:"uncounted" doc:"Entries of the audit chain that are not counted yet."`
	Unfilled    int64      `json:"unfilled,omitempty" doc:"Entries that an earlier version has counted, and that undecided, teams and changes lack; they soon will have them."`

	Evaluations     Verdicts     `json:"evaluations" doc:"Evaluations by overall verdict."`
	EvaluationsThen Verdicts     `json:"evaluations_before" doc:"Those of the month before."`
	Incidents       int64        `json:"incidents" doc:"Denied evaluations of what had happened already (mode posthoc)."`
	IncidentsThen   int64        `json:"incidents_before" doc:"Those of the month before."`
	Verdicts        RuleVerdicts `json:"rule_verdicts" doc:"Verdicts of rules."`
	VerdictsThen    RuleVerdicts `json:"rule_verdicts_before" doc:"Those of the month before."`

	Denied    []DeniedRule   `json:"denied" nullable:"false" doc:"Up to 25 rules with the most DENY verdicts."`
	Undecided []ReasonChange `json:"undecided" nullable:"false" doc:"Why evaluations are NEEDS_CONFIRMATION; one with several reasons counts for each."`
	Teams     []TeamMonth    `json:"teams" nullable:"false" doc:"Up to 25 teams, which are owners of rules, with the most verdicts."`

	WaiversGranted WaiverList `json:"waivers_granted" doc:"Waivers that were made in the month, revoked and pending ones among them."`
	WaiversLapsed  WaiverList `json:"waivers_lapsed" doc:"Waivers that have lapsed or lapse in the month."`
	WaiversLapsing WaiverList `json:"waivers_lapsing" doc:"Waivers that lapse in the month after."`

	Releases []ReleaseEvent `json:"releases" nullable:"false" doc:"Deployments and rollbacks, oldest first."`
	Changes  []ChangeFigure `json:"changes" nullable:"false" doc:"What people changed, by kind of record and action, the most frequent first."`

	Audit *ReportAudit `json:"audit" doc:"Result of verifying the audit chain; null if that was not asked for."`
}

// DeniedRule is a rule with its denials in a month and in the one before.
type DeniedRule struct {
	RuleID    string `json:"rule_id" doc:"The rule."`
	Slug      string `json:"slug,omitempty" doc:"Its slug, if it has one."`
	Statement string `json:"statement" doc:"What it says; empty if it is gone."`
	Denied    int64  `json:"denied" doc:"DENY verdicts."`
	Verdicts  int64  `json:"verdicts" doc:"All its verdicts."`
	Before    int64  `json:"denied_before" doc:"DENY verdicts in the month before."`
}

// ReasonChange counts evaluations with a reason to be NEEDS_CONFIRMATION.
type ReasonChange struct {
	ReasonFigure
	Before int64 `json:"count_before" doc:"How many in the month before."`
}

// TeamMonth counts verdicts of the rules of a team.
type TeamMonth struct {
	Team string `json:"team" doc:"Owner of the rules when the verdicts were counted; empty for rules without one."`
	Verdicts
}

// WaiverList is a bounded list of waivers.
type WaiverList struct {
	Total int            `json:"total" doc:"How many there are."`
	Items []WaiverFigure `json:"items" nullable:"false" doc:"Up to 100 of them, the earliest first."`
}

// ReleaseEvent is a deployment or rollback.
type ReleaseEvent struct {
	At           time.Time   `json:"at" doc:"When."`
	Environment  Environment `json:"environment" enum:"production,staging,development" doc:"Where."`
	Action       string      `json:"action" enum:"deploy,rollback" doc:"What was done."`
	SnapshotID   string      `json:"snapshot_id" doc:"The snapshot that became active."`
	SnapshotName string      `json:"snapshot_name" doc:"Its name; empty for one that is not among the newest 1,000."`
	By           string      `json:"by" doc:"Who did it."`
}

// ChangeFigure counts the records of one kind and action.
type ChangeFigure struct {
	Kind   string `json:"kind" doc:"Kind of the record, such as rule, import, waiver or release."`
	Action string `json:"action" doc:"What was done, such as created or revised. Of imports, rules are counted."`
	Count  int64  `json:"count" doc:"How often."`
	Before int64  `json:"count_before" doc:"How often in the month before."`
}

// ReportAudit is the result of verifying the audit chain.
type ReportAudit struct {
	Verified bool      `json:"verified" doc:"True if the whole chain has no problem."`
	Entries  int64     `json:"entries" doc:"Entries that were read."`
	Problems int       `json:"problems" doc:"Problems that were found; GET /api/v1/audit/verify names them."`
	Head     AuditHead `json:"head" doc:"Head of the chain."`
	At       time.Time `json:"at" doc:"When it was verified."`
}
