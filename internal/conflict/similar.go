package conflict

import (
	"cmp"
	"context"
	"slices"

	"tenet/internal/conflict/contradict"
	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/text"
	"tenet/internal/wire"
)

// Bounds of what Similar returns.
const (
	maxSimilar = 8
	maxExcerpt = 400 // bytes of a statement
)

// Similar compares a rule that is not stored with the rules near it. similar are the nearest, the best first; contradictions are those
// that the tests find, the surest first. No model is asked. The rule must be in its normal form.
func (b *Conflicts) Similar(ctx context.Context, projectID string, r *rule.Rule) (similar []wire.RuleExcerpt, contradictions []wire.Contradiction, err error) {
	view, err := b.cfg.Views.View(ctx, projectID)
	if err != nil {
		return nil, nil, err
	}
	s := &search{b: b, projectID: projectID}
	similar, contradictions = []wire.RuleExcerpt{}, []wire.Contradiction{}
	reading := contradict.Read(r)
	for _, other := range s.near(ctx, view, &corpus.Entry{Rule: r}) {
		if len(similar) < maxSimilar {
			similar = append(similar, excerptOf(other.Rule))
		}
		if f, ok := contradict.Compare(reading, contradict.Read(other.Rule)); ok {
			contradictions = append(contradictions, wire.Contradiction{
				Rule: excerptOf(other.Rule), FoundBy: string(f.Kind), Reason: f.Reason, Confidence: f.Confidence,
			})
		}
	}
	slices.SortStableFunc(contradictions, func(a, b wire.Contradiction) int { return cmp.Compare(b.Confidence, a.Confidence) })
	return similar, contradictions, nil
}

func excerptOf(r *rule.Rule) wire.RuleExcerpt {
	return wire.RuleExcerpt{
		RuleID: r.ID, RuleSlug: r.Slug, Modality: r.Modality, Severity: r.Severity, Excerpt: text.Clip(r.Statement, maxExcerpt, " ..."),
	}
}
