package subject

import "tenet/internal/rule"

// Past is the subject of a recorded evaluation, with the verdict of one rule on it.
type Past struct {
	EvaluationID string
	Subject      Input
	Verdict      rule.Verdict
}
