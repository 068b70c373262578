package wire

import (
	"time"

	"tenet/internal/rule"
)

// Health is the score of a rule.
type Health struct {
	RuleID     string       `json:"rule_id" doc:"The rule."`
	Slug       string       `json:"slug,omitempty" doc:"Its slug, if it has one."`
	Score      int          `json:"score" minimum:"0" maximum:"100" doc:"Mean of the known parts by their weights."`
	Parts      []Part       `json:"parts" nullable:"false" doc:"What the score is made of."`
	MeasuredAt time.Time    `json:"measured_at" doc:"When, which is now."`
	AsOf       *time.Time   `json:"as_of" doc:"Time of the last entry of the audit chain that is counted; null before the first."`
	History    []HealthDate `json:"history" nullable:"false" doc:"Scores as they were stored, newest first: one for each day on which it changed."`
}

// HealthDate is the score that a rule has had since a day.
type HealthDate struct {
	Date  string `json:"date" format:"date" doc:"The day, in UTC."`
	Score int    `json:"score" minimum:"0" maximum:"100" doc:"The score at its end."`
}

// Overview is how the rules of a project fare.
type Overview struct {
	ProjectID    string             `json:"project_id" doc:"The project."`
	Team         string             `json:"team,omitempty" doc:"The team that was asked for."`
	NodeID       string             `json:"node_id,omitempty" doc:"The federation node that was asked for."`
	NodePath     string             `json:"node_path,omitempty" doc:"Its path; absent where it is gone."`
	Agent        string             `json:"agent,omitempty" doc:"The agent that was asked for."`
	Person       string             `json:"person,omitempty" doc:"The person who was asked for."`
	PeriodDays   int                `json:"period_days" doc:"Days looked at, today included, in UTC."`
	From         time.Time          `json:"from" doc:"Beginning of the period."`
	AsOf         *time.Time         `json:"as_of" doc:"Time of the last entry of the audit chain that is counted; null before the first."`
	Uncounted    int64              `json:"uncounted" doc:"Entries of the audit chain that are not counted yet; they soon will be."`
	Unfilled     int64              `json:"unfilled,omitempty" doc:"Entries that an earlier version has counted, and that undecided, teams, nodes, agents, people or repositories lack; they soon will have them."`
	Counting     Counting           `json:"counting" enum:"evaluations,rule_verdicts" doc:"What evaluations and days count: evaluations or, with team, verdicts of its rules."`
	Totals       Verdicts           `json:"evaluations" doc:"Evaluations by overall verdict; with team, verdicts of its rules."`
	Incidents    int64              `json:"incidents" doc:"Denied evaluations of what had happened already (mode posthoc); 0 with team, node_id, agent or person."`
	Latency      Latency            `json:"latency" doc:"Time of evaluations; 0 with team, node_id, agent or person."`
	Verdicts     RuleVerdicts       `json:"rule_verdicts" doc:"Verdicts of rules; 0 with node_id, agent or person. What decided them is 0 with team."`
	Undecided    []ReasonFigure     `json:"undecided" nullable:"false" doc:"Why evaluations are NEEDS_CONFIRMATION, the most frequent reason first: one with several counts for each. With team, why verdicts of its rules are."`
	MostDenied   []RuleFigure       `json:"most_denied" nullable:"false" doc:"Up to 10 rules with the most DENY verdicts. With node_id, agent or person, of those evaluations, and other counts are 0."`
	Slowest      []RuleFigure       `json:"slowest" nullable:"false" doc:"Up to 10 rules with the longest calls to models; empty with node_id, agent or person."`
	Nodes        []GroupFigure      `json:"nodes" nullable:"false" doc:"Up to 20 federation nodes with the most evaluations; empty with team, node_id, agent or person."`
	Teams        []TeamFigure       `json:"teams" nullable:"false" doc:"Up to 20 teams with the most verdicts or, without verdicts, rules; only that of team, and empty with node_id, agent or person."`
	Agents       []ActorFigure      `json:"agents" nullable:"false" doc:"Up to 20 agents with the most evaluations, as keys, tokens or requests name them; empty with team, node_id, agent or person. One that names two agents counts for both."`
	People       []ActorFigure      `json:"people" nullable:"false" doc:"Up to 20 people for whom agents asked for the most evaluations; empty with team, node_id, agent or person."`
	NeverAsked   Idle               `json:"never_asked" doc:"Rules in force that have never had a verdict, as last measured; of all the rules with node_id, agent or person."`
	Dormant      Dormant            `json:"dormant" doc:"Rules in force that have had no verdict for too long, as last measured; of all the rules with node_id, agent or person."`
	Waivers      WaiversEnding      `json:"waivers_ending" doc:"Waivers that end within 30 days."`
	Repositories RepositoryCoverage `json:"repositories" doc:"Repositories that were judged; of all agents and people."`
	Models       []ModelCost        `json:"models" nullable:"false" doc:"What models have cost, most tokens first; empty with team, node_id, agent or person."`
	Days         []DayFigure        `json:"days" nullable:"false" doc:"All days of the period, in order."`
	Health       Distribution       `json:"health" doc:"Scores of the rules that are not retired or superseded, as last measured; of all of them with node_id, agent or person."`
}

// Samples is how often the judge disagreed with verdicts that were given without it, by a sample of them.
type Samples struct {
	ProjectID  string         `json:"project_id" doc:"The project."`
	PeriodDays int            `json:"period_days" doc:"Days looked at, today included, in UTC."`
	From       time.Time      `json:"from" doc:"Beginning of the period."`
	Part       float64        `json:"part" doc:"How many of the verdicts are sampled, from 0 to 1."`
	Checks     SampledFigure  `json:"checks" doc:"Verdicts of checks."`
	Triage     SampledFigure  `json:"triage" doc:"Rules that triage ruled out."`
	Latest     []SampleFigure `json:"latest" nullable:"false" doc:"Up to 20 disagreements, the latest first."`
}

// SampledFigure counts samples by what the judge said of them.
type SampledFigure struct {
	Sampled  int        `json:"sampled" doc:"How many were sampled."`
	Agreed   int        `json:"agreed" doc:"Of them, the judge said the same."`
	Missed   int        `json:"missed" doc:"The judge denied what was allowed, or ruled out."`
	False    int        `json:"false_alarms" doc:"The judge allowed what was denied."`
	Open     int        `json:"open" doc:"The judge did not decide."`
	MissRate *rule.Rate `json:"miss_rate" doc:"The part that was missed of those that the judge decided, with a 95 % Wilson interval; null without any."`
}

// SampleFigure is a disagreement of the judge.
type SampleFigure struct {
	EvaluationID string       `json:"evaluation_id" doc:"The evaluation that the verdict is from."`
	RuleID       string       `json:"rule_id" doc:"The rule."`
	RuleVersion  int          `json:"rule_version" doc:"Its version then."`
	Slug         string       `json:"slug,omitempty" doc:"Its slug, if it has one."`
	Statement    string       `json:"statement" doc:"What it says; empty if it is gone."`
	Kind         string       `json:"kind" enum:"check,triage" doc:"What gave the verdict."`
	Said         string       `json:"said" enum:"ALLOW,DENY,RULED_OUT" doc:"What it said; triage says RULED_OUT."`
	Judged       rule.Verdict `json:"judged" enum:"ALLOW,DENY" doc:"What the judge said."`
	Demoted      bool         `json:"demoted" doc:"The check, which a model proposed, decides denials only since."`
	At           time.Time    `json:"at" doc:"When the judge said it."`
}

// Counting names the things that an overview counts.
type Counting string

// Things that an overview counts.
const (
	CountsEvaluations Counting = "evaluations"
	CountsVerdicts    Counting = "rule_verdicts"
)

// ReasonFigure counts verdicts that have a reason to be NEEDS_CONFIRMATION.
type ReasonFigure struct {
	Reason  rule.UndecidedReason `json:"reason" enum:"softened,doubtful,check_open,unexamined,no_model,no_answer,not_asked,uncovered,below_floor,nothing_given,other" doc:"Why."`
	Meaning string               `json:"meaning" doc:"The same in words."`
	Count   int64                `json:"count" doc:"How many."`
}

// GroupFigure counts evaluations of a group.
type GroupFigure struct {
	NodeID string `json:"node_id" doc:"The federation node whose rules were applied; empty where none was."`
	Name   string `json:"name" doc:"Its name; empty where it is gone."`
	Verdicts
}

// ActorFigure counts evaluations of an agent, or for a person.
type ActorFigure struct {
	Name string `json:"name" doc:"The name, in lower case." example:"claude-code"`
	Verdicts
}

// TeamFigure counts verdicts of the rules of a team, and what was last measured of them.
type TeamFigure struct {
	Team string `json:"team" doc:"Owner of the rules when the verdicts were counted; empty for rules without one."`
	Verdicts
	Rules      *int     `json:"rules" doc:"Rules of the team that are not retired or superseded; null before they are measured."`
	NeverAsked *int     `json:"never_asked" doc:"Of them, in force and without a verdict so far; null where it is unknown."`
	Dormant    *int     `json:"dormant" doc:"Of them, in force and without a verdict for too long; null where it is unknown."`
	Health     *float64 `json:"health" doc:"Score on the average; null before it is measured."`
}

// Idle lists rules that wait for a verdict.
type Idle struct {
	Total *int       `json:"total" doc:"How many there are; null before the rules are measured, and where records of the time in question are gone."`
	Rules []IdleRule `json:"rules" nullable:"false" doc:"Up to 10 of them, longest idle first."`
}

// WaiversEnding lists the waivers that end soon.
type WaiversEnding struct {
	Total int            `json:"total" doc:"How many there are."`
	Items []WaiverFigure `json:"items" nullable:"false" doc:"Up to 10 of them, the first to end first."`
}

// WaiverFigure is a waiver with its rule.
type WaiverFigure struct {
	ID         string    `json:"id" doc:"The waiver."`
	RuleID     string    `json:"rule_id" doc:"The rule."`
	Slug       string    `json:"slug,omitempty" doc:"Its slug, if it has one."`
	Statement  string    `json:"statement" doc:"What it says; empty if it is gone."`
	Repository string    `json:"repository,omitempty" doc:"Repository that it covers."`
	Reason     string    `json:"reason" doc:"Why the denial may stand."`
	CreatedAt  time.Time `json:"created_at" doc:"When it was made."`
	CreatedBy  string    `json:"created_by" doc:"Who made it."`
	ExpiresAt  time.Time `json:"expires_at" doc:"When it lapses."`
}

// RepositoryCoverage counts the repositories that were judged, of the last 400 days.
type RepositoryCoverage struct {
	Total       int                `json:"total" doc:"All of them; with node_id, those whose latest evaluation was at the node."`
	WithoutNode int                `json:"without_node" doc:"Those whose latest evaluation was at no federation node."`
	Silent      int                `json:"silent" doc:"Those that were not judged in the period."`
	Latest      []RepositoryFigure `json:"latest" nullable:"false" doc:"Up to 10 of them, the latest judged first."`
	NeverJudged int                `json:"never_judged" doc:"Repositories and patterns that federation nodes are bound to and of which nothing was judged in the last 400 days; with node_id, those of the node."`
	// Unjudged begins the list of those.
	Unjudged []UnjudgedRepository `json:"unjudged" nullable:"false" doc:"Up to 10 of those, by name."`
}

// UnjudgedRepository is a repository, or a pattern of repositories, that a federation node is bound to and of which nothing was judged.
type UnjudgedRepository struct {
	Repository string `json:"repository" doc:"Its normal form." example:"acme/ledger-api"`
	Pattern    bool   `json:"pattern" doc:"Whether it is a pattern, such as acme/pay-*."`
	NodeID     string `json:"node_id" doc:"Federation node that is bound to it."`
	NodeName   string `json:"node_name" doc:"Its name."`
	NodePath   string `json:"node_path" doc:"Its path of names from the root."`
}

// RepositoryFigure is a repository that was judged.
type RepositoryFigure struct {
	Repository string `json:"repository" doc:"Its normal form."`
	Verdicts
	FirstAt          time.Time    `json:"first_at" doc:"Its first evaluation that is counted."`
	LastAt           time.Time    `json:"last_at" doc:"Its latest evaluation."`
	LastEvaluationID string       `json:"last_evaluation_id" doc:"Which one that was."`
	LastVerdict      rule.Verdict `json:"last_verdict" enum:"ALLOW,DENY,NEEDS_CONFIRMATION" doc:"Its overall verdict."`
	NodeID           string       `json:"node_id" doc:"Federation node whose rules were applied then; empty where none was."`
	NodeName         string       `json:"node_name" doc:"Its name; empty where it is gone."`
}

// MeasuredPage is a page of rules with what was last measured of them.
type MeasuredPage struct {
	Page[MeasuredRule]

	MeasuredAt *time.Time `json:"measured_at" doc:"When; null before the first time, and the list is then empty."`
}

// MeasuredRule is a rule with what was last measured of it.
type MeasuredRule struct {
	RuleID     string      `json:"rule_id" doc:"The rule."`
	Slug       string      `json:"slug,omitempty" doc:"Its slug, if it has one."`
	Statement  string      `json:"statement" doc:"What it says."`
	Team       string      `json:"team" doc:"Its owner."`
	Status     rule.Status `json:"status" enum:"DRAFT,REVIEW,APPROVED,EFFECTIVE,SUPERSEDED,RETIRED" doc:"Its status now."`
	Score      int         `json:"score" doc:"Its score."`
	NeverAsked bool        `json:"never_asked" doc:"Whether it is in force and never had a verdict."`
	Dormant    bool        `json:"dormant" doc:"Whether it is in force and had no verdict for too long."`
	IdleSince  *time.Time  `json:"idle_since" doc:"Since when it waits for a verdict: its last one, its last change, or when it came into force; null if it does not wait."`
}

// MeasuredNow is the answer to a measurement.
type MeasuredNow struct {
	MeasuredAt time.Time `json:"measured_at" doc:"When, which is now."`
	Rules      int       `json:"rules" doc:"Rules that were measured."`
}

// ProjectFigure is how the rules of one project of several fare.
type ProjectFigure struct {
	ProjectID string `json:"project_id" doc:"The project."`
	Name      string `json:"name" doc:"Its name."`
	Verdicts
	Rules         *int       `json:"rules" doc:"Rules that are not retired or superseded; null before they are measured."`
	InForce       *int       `json:"in_force" doc:"Of them, in force and to be judged."`
	NeverAsked    *int       `json:"never_asked" doc:"Of them, without a verdict so far; null where it is unknown."`
	Dormant       *int       `json:"dormant" doc:"Of them, without a verdict for too long; null where it is unknown."`
	Health        *float64   `json:"health" doc:"Score on the average; null before it is measured."`
	MeasuredAt    *time.Time `json:"measured_at" doc:"When rules were last measured; null before."`
	WaiversEnding int        `json:"waivers_ending" doc:"Waivers that end within 30 days."`
	Repositories  int        `json:"repositories" doc:"Repositories that were judged; of all agents and people."`
	AsOf          *time.Time `json:"as_of" doc:"Time of the last entry of the audit chain that is counted; null before the first."`
	Uncounted     int64      `json:"uncounted" doc:"Entries of the audit chain that are not counted yet."`
}

// Verdicts counts by verdict. Shares are of the total, and 0 without any.
type Verdicts struct {
	Total      int64   `json:"total" doc:"How many."`
	Allow      int64   `json:"allow" doc:"ALLOW."`
	Deny       int64   `json:"deny" doc:"DENY."`
	Unsure     int64   `json:"needs_confirmation" doc:"NEEDS_CONFIRMATION."`
	AllowRate  float64 `json:"allow_rate" doc:"Share of ALLOW."`
	DenyRate   float64 `json:"deny_rate" doc:"Share of DENY."`
	UnsureRate float64 `json:"needs_confirmation_rate" doc:"Share of NEEDS_CONFIRMATION."`
}

// RuleVerdicts counts the verdicts of rules by verdict and by what decided them.
type RuleVerdicts struct {
	Verdicts
	DecidedBy DecidedBy `json:"decided_by" doc:"By what decided."`
}

// DecidedBy counts verdicts by what decided them.
type DecidedBy struct {
	Check    int64 `json:"check" doc:"Deterministic checks."`
	Model    int64 `json:"model" doc:"A model that was asked."`
	Cache    int64 `json:"cache" doc:"Stored verdicts of a model."`
	Triage   int64 `json:"triage" doc:"A model that ruled the rule out among many."`
	Approval int64 `json:"approval" doc:"People who have confirmed it."`
	None     int64 `json:"none" doc:"Nothing: the verdict is NEEDS_CONFIRMATION."`
}

// Latency is the time of evaluations, in milliseconds.
type Latency struct {
	MeanMS float64 `json:"mean_ms" doc:"On the average."`
	MaxMS  int64   `json:"max_ms" doc:"The longest."`
}

// RuleFigure is a rule with what was counted of it.
type RuleFigure struct {
	RuleID     string  `json:"rule_id" doc:"The rule."`
	Slug       string  `json:"slug,omitempty" doc:"Its slug, if it has one."`
	Statement  string  `json:"statement" doc:"What it says; empty if it is gone."`
	Verdicts   int64   `json:"verdicts" doc:"Verdicts it gave."`
	Denied     int64   `json:"denied" doc:"Those that were DENY."`
	DenyRate   float64 `json:"deny_rate" doc:"Their share."`
	Calls      int64   `json:"calls" doc:"Calls to models that asked about it."`
	MeanCallMS float64 `json:"mean_call_ms" doc:"Time of those calls on the average, in milliseconds."`
	Tokens     int64   `json:"tokens" doc:"Tokens of its share of those calls, in and out."`
}

// Dormant lists dormant rules.
type Dormant struct {
	AfterDays int `json:"after_days" doc:"Days without a verdict after which a rule is dormant."`
	Idle
}

// IdleRule is a rule that waits for a verdict.
type IdleRule struct {
	RuleID    string     `json:"rule_id" doc:"The rule."`
	Slug      string     `json:"slug,omitempty" doc:"Its slug, if it has one."`
	Statement string     `json:"statement" doc:"What it says."`
	Team      string     `json:"team" doc:"Its owner."`
	LastAt    *time.Time `json:"last_evaluated_at" doc:"Its last verdict; null if it never had one."`
	IdleDays  int        `json:"idle_days" doc:"Days since then, or since it was last changed or began to hold."`
}

// ModelCost is the cost of a model.
type ModelCost struct {
	Model        string  `json:"model" doc:"The model."`
	Calls        int64   `json:"calls" doc:"Calls made."`
	Failed       int64   `json:"failed" doc:"Those without an answer."`
	InputTokens  int64   `json:"input_tokens" doc:"Tokens sent."`
	OutputTokens int64   `json:"output_tokens" doc:"Tokens received."`
	CachedTokens int64   `json:"cached_tokens" doc:"Tokens sent that the provider had in its prompt cache."`
	MeanMS       float64 `json:"mean_ms" doc:"Time of a call on the average, in milliseconds."`
}

// DayFigure is a day of the trend.
type DayFigure struct {
	Date string `json:"date" format:"date" doc:"The day, in UTC."`
	Verdicts
	Latency Latency `json:"latency" doc:"Time of its evaluations."`
}

// Distribution is how scores are spread.
type Distribution struct {
	MeasuredAt *time.Time   `json:"measured_at" doc:"When rules were last measured; null before the first time."`
	Measured   int          `json:"measured" doc:"Rules with a score."`
	Mean       *float64     `json:"mean" doc:"Score on the average; null without any."`
	Buckets    []Bucket     `json:"buckets" nullable:"false" doc:"How many rules have which scores."`
	Lowest     []ScoredRule `json:"lowest" nullable:"false" doc:"Up to 10 rules with the lowest scores."`
}

// Bucket counts rules with scores from From to To, both included.
type Bucket struct {
	From  int `json:"from" doc:"Lowest score."`
	To    int `json:"to" doc:"Highest score."`
	Rules int `json:"rules" doc:"How many rules."`
}

// ScoredRule is a rule with its score.
type ScoredRule struct {
	RuleID    string `json:"rule_id" doc:"The rule."`
	Slug      string `json:"slug,omitempty" doc:"Its slug, if it has one."`
	Statement string `json:"statement" doc:"What it says."`
	Score     int    `json:"score" doc:"Its score."`
}

// Part is one part of the score of a rule.
type Part struct {
	Name   string `json:"name" enum:"completeness,clarity,tests_passing,precision,freshness,activity" doc:"Which part."`
	Weight int    `json:"weight" doc:"Its weight among the parts that are known; all weights together are 100."`
	Known  bool   `json:"known" doc:"False without data to measure it; the score then consists of the others."`
	Value  *int   `json:"value" minimum:"0" maximum:"100" doc:"From 0 to 100; null if it is unknown."`
	Detail string `json:"detail" doc:"What it rests on, for people."`
}
