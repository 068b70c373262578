package wire

import (
	"time"

	"tenet/internal/rule"
)

// PageQuery asks for a page of a list.
type PageQuery struct {
	Page     int `query:"page" default:"1" minimum:"1" maximum:"1000000000" doc:"Page, from 1."`
	PageSize int `query:"page_size" default:"20" minimum:"1" maximum:"100" doc:"Items per page."`
}

// Offset is the number of items before the page.
func (q PageQuery) Offset() int { return (q.Page - 1) * q.PageSize }

// OffsetQuery asks for a part of a list.
type OffsetQuery struct {
	Limit  int `query:"limit" default:"20" minimum:"1" maximum:"100" doc:"Items to return."`
	Offset int `query:"offset" default:"0" minimum:"0" maximum:"1000000000" doc:"Items to skip."`
}

// EnvironmentQuery selects the rules that are active in an environment.
type EnvironmentQuery struct {
	Environment string `query:"environment" doc:"production, staging or development: the rules of the snapshot that is active there, instead of the live ones. 409 if nothing is deployed there."`
}

// RollbackQuery says where to roll back.
type RollbackQuery struct {
	Environment string `query:"environment" doc:"Where to roll back; needed if the snapshot is active in several environments."`
}

// AlertQuery selects alerts; empty fields select everything.
type AlertQuery struct {
	Status string `query:"status" doc:"active, acknowledged or resolved, in any letter case."`
	Type   string `query:"alert_type" doc:"dormant_rule, high_deny_rate, health_decline, conflict_detected, edge_stale, edge_silent or spool_growing, in any letter case."`
	RuleID string `query:"rule_id" doc:"Only alerts about this rule; id or slug."`

	Agent   string `query:"agent" maxLength:"256" doc:"Only alerts that name this agent among those who acted, verified or claimed. Letter case does not count." example:"claude-code"`
	Person  string `query:"person" maxLength:"256" doc:"Only alerts that name this person, with or without the name of the provider." example:"ann@example.com"`
	Session string `query:"session" maxLength:"256" doc:"Only alerts that name this session of an agent."`
	OffsetQuery
}

// ConflictQuery selects conflicts; empty fields select everything.
type ConflictQuery struct {
	State  string `query:"state" doc:"suggested, confirmed, rejected or closed, in any letter case."`
	RuleID string `query:"rule_id" doc:"Only conflicts of this rule: its id or slug."`
	// FoundBy is a test, the model or a person.
	FoundBy       string  `query:"found_by" enum:"force,limit,threshold,value,model,person" doc:"Only conflicts that this test, the model or a person has found."`
	MinConfidence float64 `query:"min_confidence" default:"0" minimum:"0" maximum:"1" doc:"Only conflicts with at least this confidence."`
	SeverityMin   string  `query:"severity_min" doc:"LOW, MEDIUM, HIGH or CRITICAL, in any letter case: only conflicts of which one rule is at least so severe."`
	Q             string  `query:"q" maxLength:"500" doc:"Only conflicts with these words in a statement, a slug or the reason, in any letter case."`
	PageQuery
}

// WaiverQuery selects waivers.
type WaiverQuery struct {
	RuleID string `query:"rule_id" doc:"Only waivers of this rule: its id or slug."`
	Ends   int    `query:"ends_within_days" minimum:"0" maximum:"366" doc:"Only waivers that end within so many days and are not revoked, the first to end first; 0 means all, newest first. Not together with rule_id."`
	PageQuery
}

// CandidateQuery selects candidates of a scan; empty fields select everything.
type CandidateQuery struct {
	Status        CandidateStatus `query:"status" enum:"pending,approved,dismissed,merged" doc:"Only candidates with this decision."`
	Path          string          `query:"path" maxLength:"1000" doc:"Only candidates that were found first in this file, or in a file below this folder."`
	MinConfidence float64         `query:"min_confidence" default:"0" minimum:"0" maximum:"1" doc:"Only candidates with at least this confidence."`
	Limit         int             `query:"limit" default:"1000" minimum:"1" maximum:"1000" doc:"Candidates to return."`
	Offset        int             `query:"offset" default:"0" minimum:"0" maximum:"1000000000" doc:"Candidates to skip."`
}

// NeighbourQuery selects the candidates among which a candidate has a next one: those of its scan that wait for a decision.
type NeighbourQuery struct {
	MinConfidence float64 `query:"min_confidence" default:"0" minimum:"0" maximum:"1" doc:"Only those with at least this confidence are neighbours."`
	Path          string  `query:"path" maxLength:"1000" doc:"Only those that were found first in this file, or in a file below this folder, are neighbours."`
}

// JobQuery selects jobs; empty fields select everything.
type JobQuery struct {
	Kind  string `query:"kind" doc:"Only jobs of this kind, such as rules.embed."`
	Every bool   `query:"every" doc:"With project_id *: the jobs of every project too."`
	State string `query:"state" doc:"queued, running, succeeded, failed or cancelled, in any letter case."`
	PageQuery
}

// DeliveryQuery selects deliveries of a webhook policy.
type DeliveryQuery struct {
	PageQuery
	State string `query:"state" doc:"pending, delivered or dead, in any letter case; all if absent."`
}

// NobodysName selects, in place of a team or node, what has none.
const NobodysName = "-"

// PeriodQuery says how many days to count.
type PeriodQuery struct {
	PeriodDays int `query:"period_days" default:"30" minimum:"1" maximum:"400" doc:"Days to count, today included, in UTC."`
}

// InsightsQuery selects what is counted.
type InsightsQuery struct {
	PeriodDays int    `query:"period_days" default:"30" minimum:"1" maximum:"400" doc:"Days to count, today included, in UTC."`
	Team       string `query:"team" maxLength:"256" doc:"Only rules of this owner, and their verdicts; - selects rules without an owner. Only one of team, node_id, agent and person is allowed." example:"payments"`
	NodeID     string `query:"node_id" maxLength:"256" doc:"Only evaluations at this federation node: its id, path or name; - selects those at none."`
	Agent      string `query:"agent" maxLength:"256" doc:"Only evaluations that name this agent, as its key or token or as a claim. Letter case does not count." example:"claude-code"`
	Person     string `query:"person" maxLength:"256" doc:"Only evaluations that an agent asked for this person, named as in people of the answer: with the provider's name if it has one. Letter case does not count." example:"corp:ann@example.com"`
}

// MeasuredQuery selects rules by what was last measured of them; empty fields select everything.
type MeasuredQuery struct {
	Standing string `query:"standing" enum:"never_asked,dormant" doc:"never_asked: in force, and never had a verdict. dormant: in force, and had no verdict for too long. The longest idle come first; without it, those with the lowest scores."`
	Team     string `query:"team" maxLength:"256" doc:"Only rules of this owner; - selects rules without an owner."`
	ScoreMin int    `query:"score_min" default:"0" minimum:"0" maximum:"100" doc:"Only rules with at least this score."`
	ScoreMax int    `query:"score_max" default:"100" minimum:"0" maximum:"100" doc:"Only rules with at most this score."`
	PageQuery
}

// RepositoryQuery selects repositories that were judged; empty fields select everything.
type RepositoryQuery struct {
	Words  string     `query:"q" maxLength:"200" doc:"Part of the name."`
	NodeID string     `query:"node_id" maxLength:"256" doc:"Only repositories whose latest evaluation was at this federation node: its id, path or name; - selects those at none."`
	Before *time.Time `query:"before" doc:"Only repositories that were not judged since."`
	Sort   string     `query:"sort" enum:"last,oldest,denied,name" default:"last" doc:"last: the latest judged first; oldest: the longest not judged first; denied: the most denials first; name."`
	PageQuery
}

// UnjudgedQuery selects repositories that are bound and were never judged; empty fields select everything.
type UnjudgedQuery struct {
	Words  string `query:"q" maxLength:"200" doc:"Part of the name or pattern."`
	NodeID string `query:"node_id" maxLength:"256" doc:"Only those of this federation node: its id, path or name."`
	PageQuery
}

// SamplesQuery selects samples.
type SamplesQuery struct {
	PeriodDays int    `query:"period_days" minimum:"1" maximum:"400" default:"30" doc:"Days to look at, today included, in UTC."`
	Rule       string `query:"rule" maxLength:"256" doc:"Only those of this rule, by id or slug."`
}

// ReportQuery says of which month the report is.
type ReportQuery struct {
	Month  string `query:"month" pattern:"^[0-9]{4}-(0[1-9]|1[0-2])$" doc:"Month in UTC; absent means the last one that has ended." example:"2026-10"`
	Verify bool   `query:"verify" doc:"Verify the audit chain too, which reads all of it. Needs the role admin."`
}

// AuditQuery is an earlier head of the audit chain, which the chain must still hold, and the part of the chain to verify.
type AuditQuery struct {
	ExpectSeq  int64  `query:"expect_seq" minimum:"1" doc:"Number of the entry that was the head earlier; needs expect_hash."`
	ExpectHash string `query:"expect_hash" maxLength:"64" doc:"Hash of that entry."`
	AfterSeq   int64  `query:"after_seq" minimum:"1" doc:"Number of an entry up to which the chain was verified earlier; needs after_hash. Only later entries are verified."`
	AfterHash  string `query:"after_hash" maxLength:"64" doc:"Hash of that entry."`
	Limit      int    `query:"limit" minimum:"1" maximum:"10000000" doc:"Entries to verify at most; the answer's next says where to go on. All if absent."`
}

// AuditFilter selects entries of the audit chain; empty fields select everything, and all that are given must hold.
type AuditFilter struct {
	Kind       []string   `query:"kind" doc:"Kind of the entry, such as evaluation, rule, waiver or key; repeatable."`
	Action     string     `query:"action" maxLength:"200" doc:"What was done, exactly." example:"revised"`
	Actor      string     `query:"actor" maxLength:"500" doc:"Who did it, exactly." example:"key:ci"`
	Person     string     `query:"person" maxLength:"200" doc:"Person for whom an agent acted. Letter case does not count." example:"ann@example.com"`
	Agent      string     `query:"agent" maxLength:"200" doc:"Agent that acted, verified or claimed. Letter case does not count." example:"claude-code"`
	Session    string     `query:"session" maxLength:"200" doc:"Session of the agent."`
	Rule       string     `query:"rule" maxLength:"200" doc:"Id or slug of a rule that the entry concerns." example:"SEC-003"`
	Evaluation string     `query:"evaluation" maxLength:"100" doc:"Id of an evaluation that the entry concerns."`
	Object     string     `query:"object" maxLength:"600" doc:"Kind and id of the object of the entry, with a colon between them." example:"webhook:0198a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b"`
	Verdict    string     `query:"verdict" doc:"Overall verdict of an evaluation, in any letter case."`
	Since      *time.Time `query:"since" doc:"Not before this time."`
	Until      *time.Time `query:"until" doc:"Before this time."`
}

// AuditEntryQuery asks for a page of entries of the audit chain.
type AuditEntryQuery struct {
	AuditFilter
	Cursor string `query:"cursor" maxLength:"100" doc:"next_cursor of the page before: what is recorded meanwhile moves nothing. Not together with page."`
	PageQuery
}

// AuditExportQuery asks for entries of the audit chain as a file.
type AuditExportQuery struct {
	AuditFilter
	Format     string `query:"format" enum:"jsonl,csv,pack,oscal" default:"jsonl" doc:"jsonl: one JSON object a line; csv: a table for spreadsheets; pack: a ZIP file with the entries, the rules that decided and what proves them, for tenet audit check; oscal: OSCAL assessment results."`
	After      int64  `query:"after_seq" minimum:"0" doc:"Only entries after this number."`
	Node       string `query:"node" maxLength:"100" doc:"Only evaluations at this federation node, by id."`
	Scope      string `query:"scope" maxLength:"500" doc:"Only evaluations of subjects in this scope or below." example:"payments"`
	Repository string `query:"repository" maxLength:"500" doc:"Only evaluations of subjects of this repository." example:"acme/billing"`
	Checkpoint int64  `query:"checkpoint" minimum:"0" doc:"Size of the checkpoint that proves a pack, as the state of the log names it; the newest if absent."`
	Offset     int64  `query:"offset" minimum:"0" doc:"Leaves out so many bytes of a pack, to go on where a connection broke. Needs checkpoint."`
}

// ImportQuery says how rules are imported.
type ImportQuery struct {
	Mode   string `query:"mode" enum:"upsert,create" default:"upsert" doc:"upsert updates rules that exist; create refuses them."`
	Prune  bool   `query:"prune" doc:"Retire the rules of the project that the file does not name; if it has a federation, also delete the nodes and remove the attachments that it does not name."`
	DryRun bool   `query:"dry_run" doc:"Report the changes without making them."`
	WeakeningQuery
}

// WeakeningQuery is the permission to weaken what is guarded, in a query.
type WeakeningQuery struct {
	AllowWeakening bool   `query:"allow_weakening" doc:"Let enforced CRITICAL and HIGH rules end where they hold; needs a reason."`
	Reason         string `query:"reason" doc:"Why; kept in the audit chain."`
}

// Permission returns the query as a permission.
func (w WeakeningQuery) Permission() rule.Permission {
	return rule.Permission{AllowWeakening: w.AllowWeakening, Reason: w.Reason}
}

// ExportQuery says how rules are exported.
type ExportQuery struct {
	Format string `query:"format" enum:"yaml,json" default:"yaml" doc:"Format of the file."`
}

// ContentQuery says what of a document is asked for.
type ContentQuery struct {
	Format string `query:"format" enum:"file,text" default:"file" doc:"The file as it was uploaded, or its text."`
}

// SearchQuery are the parameters of every search for rules.
type SearchQuery struct {
	EnvironmentQuery
	NodeID string `query:"node_id" doc:"Only rules that hold at this federation node, inherited ones included."`
}

// TemporalQuery looks for the rules in force at a time.
type TemporalQuery struct {
	SearchQuery
	AsOf string `query:"as_of" required:"true" doc:"The time, in ISO 8601; a date is its first instant, and a time without zone is in UTC." example:"2026-01-31"`
	Q    string `query:"q" maxLength:"10000" doc:"Words to look for among the rules in force." example:"retention"`
	PageQuery
}

// CitationQuery looks for the rules that refer to a source.
type CitationQuery struct {
	SearchQuery
	Source string `query:"source" required:"true" maxLength:"4000" doc:"Address, name or section of the source." example:"GDPR Art. 32"`
	PageQuery
}

// Profile describes a person.
type Profile struct {
	Role           string `query:"role" maxLength:"256" doc:"The person's role." example:"manager"`
	Location       string `query:"location" maxLength:"256" doc:"The person's place of work." example:"emea/germany"`
	EmploymentType string `query:"employment_type" maxLength:"256" doc:"The person's kind of employment." example:"contractor"`
	Department     string `query:"department" maxLength:"256" doc:"The person's department." example:"finance"`
}

// SubjectQuery looks for the rules for a kind of person.
type SubjectQuery struct {
	SearchQuery
	Profile
	PageQuery
}

// RuleConflictQuery looks for the rules that conflict with a rule.
type RuleConflictQuery struct {
	SearchQuery
	RuleID string `query:"rule_id" required:"true" doc:"Id or slug of the rule." example:"SEC-003"`
}
