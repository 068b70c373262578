package evaluate

import (
	"context"
	"runtime"
	"time"

	"golang.org/x/sync/errgroup"

	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/wire"
)

// Effects compares the verdicts of one rule on recorded evaluations.
type Effects struct{ Evaluator *Evaluator }

// Effect decides the newest recorded evaluations of a project, limit at most, under two views that differ in one rule, and compares
// its verdicts. It asks no model and records nothing. When the time within has passed, the result holds what was done by then and is
// partial. An error means that the records could not be read.
func (s Effects) Effect(ctx context.Context, projectID, ruleID string, before, after *corpus.View, limit int, within time.Duration) (wire.RevisionReplay, error) {
	out := wire.RevisionReplay{Flips: []wire.Flip{}, NotReplayed: []wire.NotReplayed{}}
	records, err := s.Evaluator.Recent(ctx, projectID, "", limit)
	if err != nil {
		return out, err
	}
	out.Evaluations = len(records)
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	results := make([]effect, len(records))
	var all errgroup.Group
	all.SetLimit(runtime.GOMAXPROCS(0))
	for i, rec := range records {
		if ctx.Err() != nil {
			break
		}
		all.Go(func() error {
			results[i] = rec.effect(ctx, ruleID, before, after)
			return nil
		})
	}
	_ = all.Wait() // an effect holds its own error
	for i := range results {
		r := &results[i]
		switch {
		case !r.done:
			out.Partial = true
		case r.problem != nil:
			out.NotReplayed = append(out.NotReplayed, wire.NotReplayed{EvaluationID: records[i].ID(), Reason: publicReason(r.problem)})
		case r.open:
			out.NeedModel++
		default:
			out.Replayed++
			if r.flip.Before != r.flip.After || r.flip.OverallBefore != r.flip.OverallAfter {
				out.Flips = append(out.Flips, r.flip)
			}
		}
	}
	return out, nil
}

// effect is the comparison of one recorded evaluation.
type effect struct {
	flip    wire.Flip
	open    bool // only a model can decide the rule
	problem error
	done    bool
}

func (p *Past) effect(ctx context.Context, ruleID string, before, after *corpus.View) effect {
	out := effect{flip: wire.Flip{EvaluationID: p.ID(), Timestamp: p.rec.Evaluation.Timestamp}}
	f := &out.flip
	for _, side := range []struct {
		view          *corpus.View
		rule, overall *rule.Verdict
		why           *string
	}{{before, &f.Before, &f.OverallBefore, new(string)}, {after, &f.After, &f.OverallAfter, &f.Why}} {
		e, open, err := p.Under(ctx, side.view, false)
		if err != nil {
			out.problem, out.done = err, ctx.Err() == nil
			return out
		}
		*side.overall = e.OverallVerdict
		for i := range e.RuleVerdicts {
			v := &e.RuleVerdicts[i]
			if v.RuleID != ruleID {
				continue
			}
			*side.rule, *side.why = v.Verdict, v.Reasoning
			out.open = out.open || v.DecidedBy == rule.ByNone && open.Verdicts > 0
		}
	}
	out.done = ctx.Err() == nil
	return out
}

// publicReason is the part of an error that callers may see.
func publicReason(err error) string {
	if rule.CodeOf(err) == rule.CodeInternal {
		return "it could not be read"
	}
	return err.Error()
}
