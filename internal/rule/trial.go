package rule

import "time"

// Trial is what one rule says of a sample, tried out of the record.
type Trial struct {
	// Raw is the verdict before modality and enforcement soften it: DENY means that the sample breaks the rule.
	Raw Verdict
	// Verdict is what an evaluation would tell.
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
