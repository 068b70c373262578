package app

import (
	"context"

	"tenet/internal/evaluate"
	"tenet/internal/release"
	"tenet/internal/rule"
)

// replayer gives simulations the evaluations that an evaluator has recorded.
type replayer struct{ evaluator *evaluate.Evaluator }

// Recent implements release.Replayer.
func (r replayer) Recent(ctx context.Context, projectID string, verdict rule.Verdict, limit int) ([]release.Recorded, error) {
	list, err := r.evaluator.Recent(ctx, projectID, verdict, limit)
	out := make([]release.Recorded, len(list))
	for i, p := range list {
		out[i] = p
	}
	return out, err
}
