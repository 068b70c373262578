package store

import (
	"context"
	"time"

	"tenet/internal/rule"
)

// SampleKind says what gave a verdict that was sampled.
type SampleKind string

// What gives verdicts that are sampled.
const (
	SampledCheck  SampleKind = "check"
	SampledTriage SampleKind = "triage"
)

// SaidRuledOut is the word of triage in a sample.
const SaidRuledOut rule.Verdict = "RULED_OUT"

// Sample is a verdict that the judge has decided again to see whether it agrees.
type Sample struct {
	ProjectID    string
	EvaluationID string
	RuleID       string
	Kind         SampleKind
	RuleVersion  int
	ContentHash  string
	Said         rule.Verdict
	Judged       rule.Verdict // NEEDS_CONFIRMATION if the judge did not decide
	At           time.Time
}

// Disputed reports whether the judge decided otherwise.
func (s *Sample) Disputed() bool {
	return s.Judged != rule.NeedsConfirmation && (s.Judged == rule.Deny) != (s.Said == rule.Deny)
}

// SampleCount is the number of equal samples.
type SampleCount struct {
	Kind         SampleKind
	Said, Judged rule.Verdict
	Count        int
}

// SampleReader reads samples. An empty ruleID selects all rules.
type SampleReader interface {
	// Number returns how many samples a project has since a time.
	Number(ctx context.Context, projectID string, since time.Time) (int, error)
	// Count counts the samples since a time, in a fixed order.
	Count(ctx context.Context, projectID, ruleID string, since time.Time) ([]SampleCount, error)
	// Disputed lists up to limit disputed samples since a time, the latest first.
	Disputed(ctx context.Context, projectID, ruleID string, since time.Time, limit int) ([]Sample, error)
}

// SampleTx writes samples.
type SampleTx interface {
	SampleReader

	// Put stores a sample in place of an earlier one of the same evaluation, rule and kind.
	Put(ctx context.Context, s Sample) error
}
