package app

import (
	"context"

	"tenet/internal/catalog"
	"tenet/internal/evaluate"
	"tenet/internal/rule"
	"tenet/internal/subject"
)

// sampled is how many verdicts are sampled; without a model, none.
func (m models) sampled(part float64) float64 {
	if m.judge == nil {
		return 0
	}
	return part
}

// judged lets the judge decide samples.
type judged struct{ evaluator *evaluate.Evaluator }

func (j judged) try(ctx context.Context, r rule.Rule, in subject.Input) (rule.Trial, error) {
	return j.evaluator.Try(ctx, r, in, true)
}

// demoter demotes checks.
type demoter struct{ catalog *catalog.Catalog }

// demote makes the check of the version of a rule decide denials only.
func (d demoter) demote(ctx context.Context, projectID, ruleID string, version int, note string) error {
	_, err := d.catalog.Revise(ctx, projectID, ruleID, version, rule.Permission{Reason: note}, func(r *rule.Rule) error {
		if r.Check == nil {
			return rule.Errorf(rule.CodeConflict, "the rule has no check any more")
		}
		r.Check.Decides = rule.DenyOnly
		return nil
	})
	return err
}
