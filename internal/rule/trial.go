package rule

import "time"

// Trial is the result of one rule on a sample, outside of the record.
type Trial struct {
	// Raw is the verdict before modality and enforcement soften it: DENY means that the sample breaks the rule.
	Raw Verdict
	// Verdict is the verdict that an evaluation would return.
	Verdict RuleVerdict
	// Models lists the models that answered.
	Models []string
	Cost   Cost
}

// Tests counts the test cases of a rule.
type Tests struct {
	Total     int        `json:"total" doc:"Test cases of the rule."`
	Passing   int        `json:"passing" doc:"Those that have passed on what the rule says now."`
	LastRunAt *time.Time `json:"last_run_at" nullable:"true" doc:"When some of them were last run."`
}

// Finding is one thing that makes a rule hard to judge.
type Finding struct {
	Code    string `json:"code" enum:"no_duty,contradictory_test_cases,several_duties,escape_clause,vague_wording,modality_mismatch,double_negation,dangling_reference,too_long,lone_name,no_scope,no_test_case,one_sided_test_cases" doc:"Kind of finding."`
	Message string `json:"message" doc:"What is the matter and what to do about it."`
	Quote   string `json:"quote,omitempty" doc:"Words of the statement, or name of the test case, that it is about."`
}
