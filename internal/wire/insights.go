package wire

import "time"

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
	ProjectID  string       `json:"project_id" doc:"The project."`
	PeriodDays int          `json:"period_days" doc:"Days looked at, today included, in UTC."`
	From       time.Time    `json:"from" doc:"Beginning of the period."`
	AsOf       *time.Time   `json:"as_of" doc:"Time of the last entry of the audit chain that is counted; null before the first."`
	Uncounted  int64        `json:"uncounted" doc:"Entries of the audit chain that are not counted yet; they soon will be."`
	Totals     Verdicts     `json:"evaluations" doc:"Evaluations by overall verdict."`
	Incidents  int64        `json:"incidents" doc:"Denied evaluations of what had happened already (mode posthoc)."`
	Latency    Latency      `json:"latency" doc:"Time of evaluations."`
	Verdicts   RuleVerdicts `json:"rule_verdicts" doc:"Verdicts of rules."`
	MostDenied []RuleFigure `json:"most_denied" nullable:"false" doc:"Up to 10 rules with the most DENY verdicts."`
	Slowest    []RuleFigure `json:"slowest" nullable:"false" doc:"Up to 10 rules with the longest calls to models."`
	Dormant    Dormant      `json:"dormant" doc:"Rules in force that have had no verdict for too long."`
	Models     []ModelCost  `json:"models" nullable:"false" doc:"What models have cost, most tokens first."`
	Days       []DayFigure  `json:"days" nullable:"false" doc:"All days of the period, in order."`
	Health     Distribution `json:"health" doc:"Scores of the rules that are not retired or superseded, as last stored."`
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
	Check  int64 `json:"check" doc:"Deterministic checks."`
	Model  int64 `json:"model" doc:"A model that was asked."`
	Cache  int64 `json:"cache" doc:"Stored verdicts of a model."`
	Triage int64 `json:"triage" doc:"A model that ruled the rule out among many."`
	None   int64 `json:"none" doc:"Nothing: the verdict is NEEDS_CONFIRMATION."`
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
	AfterDays int        `json:"after_days" doc:"Days without a verdict after which a rule is dormant."`
	Total     int        `json:"total" doc:"How many there are."`
	Rules     []IdleRule `json:"rules" nullable:"false" doc:"Up to 10 of them, longest idle first."`
}

// IdleRule is a rule that waits for a verdict.
type IdleRule struct {
	RuleID    string     `json:"rule_id" doc:"The rule."`
	Slug      string     `json:"slug,omitempty" doc:"Its slug, if it has one."`
	Statement string     `json:"statement" doc:"What it says."`
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
	Measured int          `json:"measured" doc:"Rules with a score."`
	Mean     float64      `json:"mean" doc:"Score on the average; 0 without any."`
	Buckets  []Bucket     `json:"buckets" nullable:"false" doc:"How many rules have which scores."`
	Lowest   []ScoredRule `json:"lowest" nullable:"false" doc:"Up to 10 rules with the lowest scores."`
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
