package wire

import "tenet/internal/rule"

// SimilarRequest is a rule that is not stored, to be compared with the rules of the project.
type SimilarRequest struct {
	Rule RuleInput `json:"rule" doc:"The rule, as it would be created. It must be valid."`
	// Cases are the test cases that it would have.
	Cases []CreateTestCase `json:"test_cases,omitempty" nullable:"true" maxItems:"50" doc:"Test cases that the rule would have; lint reads them."`
}

// SimilarRules is the comparison of a rule that is not stored with those of the project.
type SimilarRules struct {
	Rule           rule.Rule       `json:"rule" doc:"The rule in its normal form, with defaults filled in. Its id, times and version mean nothing."`
	Similar        []RuleExcerpt   `json:"similar" nullable:"false" doc:"Rules that share its rarest words, the most similar first; at most 8."`
	Contradictions []Contradiction `json:"contradictions" nullable:"false" doc:"Rules that seem to contradict it, the surest first."`
	Lint           []rule.Finding  `json:"lint" nullable:"false" doc:"What makes it hard to judge, and what to do about it."`
}

// Contradiction is a rule that seems to contradict another.
type Contradiction struct {
	Rule       RuleExcerpt `json:"rule" doc:"The rule of the project."`
	FoundBy    string      `json:"found_by" enum:"force,limit,threshold,value" doc:"The test that has found it."`
	Reason     string      `json:"reason" doc:"Why they conflict."`
	Confidence float64     `json:"confidence" minimum:"0" maximum:"1" doc:"How sure that is."`
}
