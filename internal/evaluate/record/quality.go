package record

import (
	"context"

	"tenet/internal/rule"
	"tenet/internal/wire"
)

// Quality returns how often a rule was right; not_found without the rule.
func (a *Archive) Quality(ctx context.Context, projectID, ruleRef string) (*wire.RuleQuality, error) {
	r, err := a.store.Rules.Get(ctx, projectID, ruleRef)
	if err != nil {
		return nil, err
	}
	counts, err := a.store.Feedback.Count(ctx, projectID, r.ID)
	if err != nil {
		return nil, err
	}
	q := &wire.RuleQuality{RuleID: r.ID, RuleVersion: r.Version, ContentHash: r.ContentHash()}
	var m ruleFeedback
	for _, c := range counts {
		if c.ContentHash == q.ContentHash {
			addTo(&q.Feedback, c.Verdict, c.Correct, c.Count)
			m.add(c)
		}
	}
	rateOf(&q.Feedback)
	q.Judged = m.judged
	if m.judged >= minFeedback {
		q.Confidence = &wire.RuleConfidence{Allow: m.confidence(rule.Allow), Deny: m.confidence(rule.Deny)}
	}
	cases, err := a.store.TestCases.Count(ctx, projectID, []string{r.ID})
	if err != nil {
		return nil, err
	}
	for _, c := range cases {
		if c.Confirmed && c.LastHash == q.ContentHash {
			addTo(&q.TestCases, rule.Verdict(c.LastResult), c.LastResult == c.Expected, c.Total)
		}
	}
	rateOf(&q.TestCases)
	return q, nil
}

func addTo(t *wire.RuleTally, v rule.Verdict, correct bool, n int) {
	switch {
	case v == rule.Deny && correct:
		t.TruePositives += n
	case v == rule.Deny:
		t.FalsePositives += n
	case v == rule.Allow && correct:
		t.TrueNegatives += n
	case v == rule.Allow:
		t.FalseNegatives += n
	default:
		t.Unsure += n
	}
}

func rateOf(t *wire.RuleTally) {
	t.Precision = rule.Wilson(t.TruePositives, t.TruePositives+t.FalsePositives)
	t.Recall = rule.Wilson(t.TruePositives, t.TruePositives+t.FalseNegatives)
}
