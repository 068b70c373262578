package watch

import (
	"context"
	"time"

	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// maxDisputed bounds the disagreements of one answer.
const maxDisputed = 20

// Figures returns how often the judge disagreed with samples of a period, and the latest disagreements.
func (w *Watch) Figures(ctx context.Context, projectID string, q *wire.SamplesQuery) (*wire.Samples, error) {
	since := w.cfg.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, 1-q.PeriodDays)
	ruleID := ""
	if q.Rule != "" {
		r, err := w.cfg.Rules.Get(ctx, projectID, q.Rule)
		if err != nil {
			return nil, err
		}
		ruleID = r.ID
	}
	counts, err := w.cfg.Read.Count(ctx, projectID, ruleID, since)
	if err != nil {
		return nil, err
	}
	list, err := w.cfg.Read.Disputed(ctx, projectID, ruleID, since, maxDisputed)
	if err != nil {
		return nil, err
	}
	out := &wire.Samples{ProjectID: projectID, PeriodDays: q.PeriodDays, From: since, Part: w.cfg.Part, Latest: make([]wire.SampleFigure, len(list))}
	for _, c := range counts {
		f := &out.Checks
		if c.Kind == store.SampledTriage {
			f = &out.Triage
		}
		switch {
		case c.Judged == rule.NeedsConfirmation:
			f.Open += c.Count
		case c.Judged == rule.Deny && c.Said != rule.Deny:
			f.Missed += c.Count
		case c.Judged != rule.Deny && c.Said == rule.Deny:
			f.False += c.Count
		default:
			f.Agreed += c.Count
		}
	}
	for _, f := range []*wire.SampledFigure{&out.Checks, &out.Triage} {
		f.Sampled = f.Agreed + f.Missed + f.False + f.Open
		f.MissRate = rule.Wilson(f.Missed, f.Agreed+f.Missed+f.False)
	}
	for i, s := range list {
		out.Latest[i] = figureOf(s)
		r, err := w.cfg.Rules.Get(ctx, projectID, s.RuleID)
		if rule.CodeOf(err) == rule.CodeNotFound {
			continue
		}
		if err != nil {
			return nil, err
		}
		out.Latest[i].Slug, out.Latest[i].Statement = r.Slug, r.Statement
		out.Latest[i].Demoted = r.Check != nil && r.Check.Proposed && r.Check.Decides == rule.DenyOnly && r.Version > s.RuleVersion
	}
	return out, nil
}

func figureOf(s store.Sample) wire.SampleFigure {
	return wire.SampleFigure{EvaluationID: s.EvaluationID, RuleID: s.RuleID, RuleVersion: s.RuleVersion, Kind: string(s.Kind), Said: string(s.Said), Judged: s.Judged, At: s.At}
}
