package app

import (
	"context"

	"tenet/internal/evaluate"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// caseCounts counts how the test cases of rules came out.
type caseCounts struct{ store store.Store }

// CountCases implements evaluate.Cases. Cases that were not run on what the rule says now do not count.
func (c caseCounts) CountCases(ctx context.Context, projectID, ruleID string) ([]evaluate.CaseCount, error) {
	r, err := c.store.Rule(ctx, projectID, ruleID)
	if err != nil {
		return nil, err
	}
	cases, err := c.store.TestCases(ctx, projectID, ruleID)
	if err != nil {
		return nil, err
	}
	hash := r.ContentHash()
	var out []evaluate.CaseCount
	for i := range cases {
		if t := &cases[i]; t.LastRunAt != nil && t.LastHash == hash {
			out = append(out, evaluate.CaseCount{Expected: rule.Verdict(t.Expected), Given: rule.Verdict(t.LastResult), Count: 1})
		}
	}
	return out, nil
}
