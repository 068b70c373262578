package wire

import (
	"time"

	"tenet/internal/rule"
)

// PlaygroundRequest is the body of a sandbox evaluation.
type PlaygroundRequest struct {
	RuleID        string               `json:"rule_id,omitempty" nullable:"true" doc:"Id or slug of a stored rule to start from." example:"SEC-003"`
	RuleStatement string               `json:"rule_statement,omitempty" nullable:"true" doc:"Rule to evaluate against; required without rule_id." example:"No credentials in code."`
	RuleModality  rule.Modality        `json:"rule_modality,omitempty" nullable:"true" enum:"MUST,MUST_NOT,SHOULD,MAY,INFO" doc:"Default MUST; in any letter case."`
	RuleSeverity  rule.Severity        `json:"rule_severity,omitempty" nullable:"true" enum:"LOW,MEDIUM,HIGH,CRITICAL" doc:"Default MEDIUM; in any letter case."`
	Check         Optional[rule.Check] `json:"check,omitzero" doc:"Deterministic check of the rule; null takes that of a stored rule away."`
	Revision      *ReviseRule          `json:"revision,omitempty" doc:"Change of the stored rule to try, as in a revision of it; needs rule_id."`
	ChecksOnly    bool                 `json:"checks_only,omitempty" doc:"Ask no model: what no check decides needs confirmation."`
	SampleCode    string               `json:"sample_code,omitempty" nullable:"true" doc:"Code snippet or unified diff; the content decides which."`
	SamplePath    string               `json:"sample_path,omitempty" nullable:"true" maxLength:"1024" doc:"Path of the snippet; one that the rule concerns if absent." example:"app/settings.py"`
	SampleFacts   map[string]any       `json:"sample_facts,omitempty" nullable:"true" doc:"Keys and values; the text under the key narrative is the scenario in plain words."`
}

// PlaygroundAnswer is the verdict on a sample.
type PlaygroundAnswer struct {
	Verdict          rule.Verdict    `json:"verdict" enum:"ALLOW,DENY,NEEDS_CONFIRMATION" doc:"The verdict that an evaluation would give."`
	Confidence       float64         `json:"confidence" minimum:"0" maximum:"1" doc:"0.0 to 1.0; 1.0 for checks."`
	Reasoning        string          `json:"reasoning" doc:"Explanation."`
	IssueDescription string          `json:"issue_description" doc:"The issue; empty for ALLOW."`
	FixSuggestion    *string         `json:"fix_suggestion" nullable:"true" doc:"How to fix it; null for ALLOW."`
	Locations        []rule.Location `json:"locations" nullable:"false" doc:"Code locations; typically empty for facts."`
	Evidence         []rule.Evidence `json:"evidence" nullable:"false" doc:"What the verdict rests on, found in the sample by the server."`
	DecidedBy        rule.DecidedBy  `json:"decided_by" enum:"check,model,none" doc:"What the verdict rests on."`
	ModelIDsUsed     []string        `json:"model_ids_used" nullable:"false" doc:"Identifiers of the language models used."`
	Cost             rule.Cost       `json:"cost" doc:"Model calls and tokens."`
}

// CreateTestCase is the body that makes a test case.
type CreateTestCase struct {
	Name            string       `json:"name" doc:"Label."`
	SampleInput     string       `json:"sample_input" doc:"Code snippet, unified diff, JSON object of facts, or scenario text."`
	InputType       string       `json:"input_type,omitempty" nullable:"true" enum:"code,facts" default:"code" doc:"How the sample is read."`
	ExpectedVerdict rule.Verdict `json:"expected_verdict" enum:"ALLOW,DENY" doc:"ALLOW if the sample keeps the rule, DENY if it breaks it; in any letter case."`
}

// GenerateCases is the body that asks for test cases.
type GenerateCases struct {
	Count *int `json:"count,omitempty" nullable:"true" minimum:"1" maximum:"50" default:"6" doc:"How many."`
}

// KeepEvaluation is the body that makes a test case of a recorded evaluation.
type KeepEvaluation struct {
	RuleID          string       `json:"rule_id,omitempty" nullable:"true" doc:"Id or slug of one of the rules that judged; may be absent if there was one only."`
	Name            string       `json:"name,omitempty" nullable:"true" doc:"Label; names the evaluation if absent."`
	ExpectedVerdict rule.Verdict `json:"expected_verdict,omitempty" nullable:"true" enum:"ALLOW,DENY" doc:"The verdict that the rule gave, if absent."`
}

// Case is a sample with the verdict that a rule must give on it.
type Case struct {
	ID              string        `json:"id" doc:"Identifier."`
	RuleID          string        `json:"rule_id" doc:"The rule."`
	Name            string        `json:"name" doc:"Label."`
	SampleInput     string        `json:"sample_input" doc:"Code snippet, diff or scenario text."`
	InputType       string        `json:"input_type" enum:"code,facts" doc:"How the sample is read."`
	ExpectedVerdict rule.Verdict  `json:"expected_verdict" enum:"ALLOW,DENY" doc:"ALLOW if the sample keeps the rule, DENY if it breaks it."`
	Origin          string        `json:"origin" enum:"manual,generated,import" doc:"Where the case comes from."`
	Confirmed       bool          `json:"confirmed" doc:"False for a generated case until a person confirms it."`
	LastResult      *rule.Verdict `json:"last_result" doc:"Verdict of the latest run, null before the first one: DENY if the sample breaks the rule, regardless of its modality and enforcement."`
	Passing         *bool         `json:"passing" doc:"Whether last_result equals expected_verdict; null before the first run."`
	Stale           bool          `json:"stale,omitempty" doc:"The rule says something else than at the latest run."`
	LastRunAt       *time.Time    `json:"last_run_at" doc:"Time of the latest run; null before the first one."`
	LastReasoning   string        `json:"last_reasoning" doc:"Why the latest run came to its result; empty before the first one."`
	LastDecidedBy   string        `json:"last_decided_by,omitempty" doc:"check, model or none."`
	LastModel       string        `json:"last_model,omitempty" doc:"Model that judged in the latest run."`
	LastRuleVersion int           `json:"last_rule_version,omitempty" doc:"Version of the rule in the latest run."`
	CreatedAt       time.Time     `json:"created_at" doc:"When it was made."`
	CreatedBy       string        `json:"created_by" doc:"Actor that made it."`
}

// Result returns the verdict of the latest run, "" before the first one.
func (c *Case) Result() rule.Verdict {
	if c.LastResult == nil {
		return ""
	}
	return *c.LastResult
}

// Proposal is a check that agrees with every test case that its author, a model, was shown, and denies none that keeps the rule.
type Proposal struct {
	Check       rule.Check `json:"check" doc:"The check; a person adopts it by revising the rule. It decides both only if nothing in deny_only speaks against it."`
	Explanation string     `json:"explanation" doc:"The model's words on how it decides the rule."`
	Cases       int        `json:"cases" doc:"Test cases that it was tried on."`
	HeldBack    int        `json:"held_back" doc:"Those of them that the model was not shown."`
	Variants    int        `json:"variants" doc:"Variants of the cases that it was tried on besides: other names, quotes, spaces, orders, facts that say nothing."`
	Recorded    Agreement  `json:"recorded" doc:"How it would have done on recent recorded evaluations."`
	DenyOnly    []string   `json:"deny_only" nullable:"false" doc:"Why the check must not decide alone that a subject keeps the rule: what it missed, or too little to try it on. Its decides is deny then, and both without a reason."`
}

// Agreement compares a check with recorded verdicts of its rule.
type Agreement struct {
	Evaluations int      `json:"evaluations" doc:"Recorded evaluations with a verdict of the rule that were looked at."`
	Agree       int      `json:"agree" doc:"Those on which the check gives the verdict that was recorded."`
	Differ      int      `json:"differ" doc:"The others."`
	Differing   []string `json:"differing" nullable:"false" doc:"Ids of the first of those."`
}

// Proposals are the checks that the model proposed, and how many were discarded.
type Proposals struct {
	Proposals []Proposal `json:"proposals" nullable:"false" doc:"Checks that agree with every test case that the model was shown."`
	Rejected  int        `json:"rejected" doc:"Proposals that do not compile, contradict a test case, or copy the text of one."`
}

// Report is the result of a run of test cases.
type Report struct {
	Total   int    `json:"total" doc:"Cases run."`
	Passing int    `json:"passing" doc:"Cases whose result is the expected verdict."`
	Failing int    `json:"failing" doc:"The others."`
	Results []Case `json:"results" nullable:"false" doc:"The cases with their results, oldest first."`
}

// RunFilter selects the rules of a run; empty fields select everything. Retired and superseded rules are left out unless
// they are named or their status is asked for.
type RunFilter struct {
	// SnapshotID takes the rules as they are in a snapshot. Results of their cases there count as the latest, so they are stale
	// for a rule that says something else by now.
	SnapshotID string `json:"snapshot_id,omitempty" doc:"Run on the rules as they are in this snapshot, instead of the live ones."`

	RuleIDs  []string      `json:"rule_ids,omitempty" maxItems:"1000" doc:"Ids or slugs; an unknown one is 404."`
	Tags     []string      `json:"tags,omitempty" doc:"Labels that a rule must all have."`
	Status   rule.Status   `json:"status,omitempty" enum:"DRAFT,REVIEW,APPROVED,EFFECTIVE,SUPERSEDED,RETIRED" doc:"Status, in any letter case."`
	Severity rule.Severity `json:"severity,omitempty" enum:"LOW,MEDIUM,HIGH,CRITICAL" doc:"Severity, in any letter case."`
	Scope    string        `json:"scope,omitempty" doc:"Scope path: a finds the rules of a, a/b and a/b/c."`
}

// TestRun is one run over the test cases of many rules, in the background.
type TestRun struct {
	ID         string     `json:"id" doc:"Identifier."`
	JobID      int64      `json:"job_id" doc:"The job that runs it."`
	State      string     `json:"state" enum:"queued,running,succeeded,failed,cancelled" doc:"State of the job; succeeded means that all cases were run, whether they pass or not."`
	Progress   Progress   `json:"progress" doc:"Rules done, and rules there are."`
	Filter     RunFilter  `json:"filter" doc:"Which rules."`
	CreatedAt  time.Time  `json:"created_at" doc:"When it was asked for."`
	CreatedBy  string     `json:"created_by" doc:"Actor that asked for it."`
	FinishedAt *time.Time `json:"finished_at,omitempty" doc:"When it had finished."`
	Error      string     `json:"error,omitempty" doc:"Why it failed."`
	Result     *RunResult `json:"result,omitempty" doc:"What it has found, once it has finished."`
}

// RunResult sums up a run.
type RunResult struct {
	Rules    int    `json:"rules" doc:"Rules with test cases."`
	Total    int    `json:"total" doc:"Cases run."`
	Passing  int    `json:"passing" doc:"Cases whose result is the expected verdict."`
	Failing  int    `json:"failing" doc:"The others."`
	Failures []Case `json:"failures" nullable:"false" doc:"The first 100 failing cases."`
}
