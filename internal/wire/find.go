package wire

import (
	"time"

	"tenet/internal/rule"
)

// EvaluationQuery selects recorded evaluations; empty fields select everything, and all that are given must hold.
type EvaluationQuery struct {
	Verdict     string     `query:"verdict" doc:"ALLOW, DENY or NEEDS_CONFIRMATION, in any letter case."`
	Mode        string     `query:"mode" doc:"preflight or posthoc."`
	Actor       string     `query:"actor" doc:"Who asked, exactly." example:"key:ci"`
	Person      string     `query:"person" maxLength:"200" doc:"Person for whom an agent asked. Letter case does not count." example:"ann@example.com"`
	Agent       string     `query:"agent" maxLength:"200" doc:"Agent that asked, verified or claimed. Letter case does not count." example:"claude-code"`
	Session     string     `query:"session" maxLength:"200" doc:"Session of the agent."`
	Since       *time.Time `query:"since" doc:"Not before this time."`
	Until       *time.Time `query:"until" doc:"Before this time."`
	Rule        string     `query:"rule" doc:"Id or slug of a rule that has a verdict in the evaluation." example:"SEC-003"`
	RuleVerdict string     `query:"rule_verdict" doc:"What the rule came to: violated, confirm, kept, not_concerned or waived. Needs rule."`
	Scope       string     `query:"scope" doc:"Scope of the subject; finance finds finance/payments too." example:"finance"`
	Repository  string     `query:"repository" maxLength:"1024" doc:"Repository of the subject, however its name is written." example:"acme/payments"`
	SubjectKind string     `query:"subject_kind" doc:"Kind of the subject: code_change, facts, action, business_event, document, transaction, communication, decision_request or tool_call."`
	Fact        []string   `query:"fact" doc:"Name and value of a fact, such as payment_id:PMT-123 or customer.country=FR; repeatable. Letter case does not count."`
	Words       string     `query:"q" maxLength:"1000" doc:"Words that all occur in the subject: in its action, intent, facts, paths, diff or files." example:"refund invoice"`
	Environment string     `query:"environment" doc:"Environment whose rules judged, as requested: production, staging or development."`
	SnapshotID  string     `query:"snapshot_id" doc:"Snapshot whose rules judged."`
	NodeID      string     `query:"node_id" doc:"Federation node, as requested or as applied: its id, its path, or its name if no other has it." example:"acme/payments"`
	Fingerprint string     `query:"fingerprint" maxLength:"64" doc:"Fingerprint of a violation in the evaluation, or its beginning of at least 8 characters; the first 8 are compared." example:"5c1f0d1e7a0f"`
	PersonalKey string     `query:"personal_key" maxLength:"64" doc:"Id of the key of a person whose data the record holds encrypted."`
	Undecided   string     `query:"undecided" doc:"Why the overall verdict is NEEDS_CONFIRMATION: softened, doubtful, check_open, unexamined, no_model, no_answer, not_asked, uncovered, below_floor, nothing_given or other."`
	Cursor      string     `query:"cursor" maxLength:"100" doc:"next_cursor of the page before: what is recorded meanwhile moves nothing. Not together with page."`
	PageQuery
}

// RuleOutcome is the outcome of a rule in an evaluation.
type RuleOutcome string

// Outcomes of a rule in an evaluation. A denial that a waiver covers is waived, not violated.
const (
	RuleViolated     RuleOutcome = "violated"
	RuleToConfirm    RuleOutcome = "confirm"
	RuleKept         RuleOutcome = "kept"
	RuleNotConcerned RuleOutcome = "not_concerned"
	RuleWaived       RuleOutcome = "waived"
)

// RuleOutcomes lists all values of [RuleOutcome].
var RuleOutcomes = []RuleOutcome{RuleViolated, RuleToConfirm, RuleKept, RuleNotConcerned, RuleWaived}

// EvaluationPage is a page of recorded evaluations, newest first.
type EvaluationPage struct {
	Page[EvaluationSummary]

	NextCursor string `json:"next_cursor,omitempty" doc:"Cursor of the next page; absent on the last."`
	// Partial counts evaluations that may be missing from a search inside subjects.
	Partial    int   `json:"partial,omitempty" doc:"Evaluations that the other parameters select and that fact and q may miss: they have more facts or words than are indexed."`
	Unsearched int64 `json:"unsearched,omitempty" doc:"Entries of the audit chain that are neither indexed yet nor among the newest, and so were not searched; they soon will be."`
}

// ViolationQuery names violations.
type ViolationQuery struct {
	Fingerprint string `query:"fingerprint" required:"true" minLength:"8" maxLength:"64" doc:"Fingerprint of a violation, or its beginning of at least 8 characters, as reports show it." example:"5c1f0d1e7a0f"`
}

// Violations lists the violations that a beginning of a fingerprint may mean.
type Violations struct {
	Items []Violation `json:"items" nullable:"false" doc:"One for each fingerprint and repository, the newest first."`
	Total int         `json:"total" doc:"How many there are among the newest evaluations that were looked at."`
	// Unsearched is as that of [EvaluationPage].
	Unsearched int64 `json:"unsearched,omitempty" doc:"Entries of the audit chain that are not indexed yet, and so were not searched; they soon will be."`
}

// Violation is a denial that a recorded evaluation has found: what a waiver covers.
type Violation struct {
	Fingerprint  string              `json:"fingerprint" doc:"Identifies what the rule objects to."`
	Repository   string              `json:"repository,omitempty" doc:"Repository of the evaluation; absent if it names none."`
	RuleID       string              `json:"rule_id" doc:"The rule."`
	Slug         string              `json:"slug,omitempty" doc:"Its slug, if it has one."`
	Statement    string              `json:"statement" doc:"What the rule says."`
	Severity     rule.Severity       `json:"severity" enum:"LOW,MEDIUM,HIGH,CRITICAL" doc:"Its severity."`
	Issue        string              `json:"issue" doc:"What is wrong."`
	Locations    []rule.Location     `json:"locations" nullable:"false" doc:"Where."`
	Waiver       *rule.AppliedWaiver `json:"waiver,omitempty" doc:"The waiver that covered it in that evaluation."`
	EvaluationID string              `json:"evaluation_id" doc:"Newest evaluation that found it."`
	At           time.Time           `json:"at" doc:"When."`
}
