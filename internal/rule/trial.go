package rule

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
