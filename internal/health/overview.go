package health

import (
	"cmp"
	"context"
	"math"
	"slices"

	"tenet/internal/corpus"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// Periods of an overview, in days.
const (
	MinPeriod     = 1
	DefaultPeriod = 30
	MaxPeriod     = retention
)

// maxListed is how many rules each list of an overview names.
const maxListed = 10

// Overview reports how the rules of a project did over the last days, today included; not_found without the project.
func (m *Monitor) Overview(ctx context.Context, projectID string, days int) (*wire.Overview, error) {
	view, err := m.cfg.Views.View(ctx, projectID)
	if err != nil {
		return nil, err
	}
	left, mark, err := m.bringUp(ctx, projectID)
	if err != nil {
		return nil, err
	}
	from := store.DayOf(m.cfg.Now()) - store.Day(days-1)
	o := &wire.Overview{ProjectID: projectID, PeriodDays: days, From: from.Time(), AsOf: asOf(mark), Uncounted: left}
	for _, fill := range []func(context.Context, *wire.Overview, *corpus.View, store.Day) error{
		m.fillDays, m.fillRules, m.fillModels, m.fillDormant, m.fillHealth,
	} {
		if err := fill(ctx, o, view, from); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// setRates computes the rates from the counts.
func setRates(v *wire.Verdicts) {
	if v.Total > 0 {
		of := float64(v.Total)
		v.AllowRate, v.DenyRate, v.UnsureRate = round(float64(v.Allow)/of), round(float64(v.Deny)/of), round(float64(v.Unsure)/of)
	}
}

// round cuts to four places, which is more than any of these figures means.
func round(x float64) float64 { return math.Round(x*10_000) / 10_000 }

func mean(sum, n int64) float64 {
	if n == 0 {
		return 0
	}
	return math.Round(float64(sum)/float64(n)*10) / 10
}

func (m *Monitor) fillDays(ctx context.Context, o *wire.Overview, _ *corpus.View, from store.Day) error {
	counts, err := m.cfg.Store.Counts.Days(ctx, o.ProjectID, from)
	if err != nil {
		return err
	}
	o.Days = make([]wire.DayFigure, o.PeriodDays)
	for i := range o.Days {
		o.Days[i].Date = (from + store.Day(i)).String()
	}
	sum := int64(0)
	for _, c := range counts {
		o.Totals.Total, o.Totals.Allow = o.Totals.Total+c.Evaluations, o.Totals.Allow+c.Allowed
		o.Totals.Deny, o.Totals.Unsure = o.Totals.Deny+c.Denied, o.Totals.Unsure+c.Unsure
		o.Incidents += c.Incidents
		sum, o.Latency.MaxMS = sum+c.LatencyMS, max(o.Latency.MaxMS, c.MaxLatencyMS)
		if i := int(c.Day - from); i < len(o.Days) { // a node whose clock is ahead may have counted tomorrow
			o.Days[i].Verdicts = wire.Verdicts{Total: c.Evaluations, Allow: c.Allowed, Deny: c.Denied, Unsure: c.Unsure}
			setRates(&o.Days[i].Verdicts)
			o.Days[i].Latency = wire.Latency{MeanMS: mean(c.LatencyMS, c.Evaluations), MaxMS: c.MaxLatencyMS}
		}
	}
	o.Latency.MeanMS = mean(sum, o.Totals.Total)
	setRates(&o.Totals)
	return nil
}

func (m *Monitor) fillRules(ctx context.Context, o *wire.Overview, view *corpus.View, from store.Day) error {
	all, err := m.cfg.Store.Counts.Rules(ctx, store.RuleCountFilter{ProjectID: o.ProjectID, From: from, Min: 1})
	if err != nil {
		return err
	}
	v, by := &o.Verdicts, &o.Verdicts.DecidedBy
	for i := range all {
		c := &all[i]
		v.Total, v.Allow, v.Deny, v.Unsure = v.Total+c.Verdicts(), v.Allow+c.Allowed, v.Deny+c.Denied, v.Unsure+c.Unsure
		by.Check, by.Model, by.Cache, by.Triage = by.Check+c.ByCheck, by.Model+c.ByModel, by.Cache+c.ByCache, by.Triage+c.ByTriage
	}
	by.None = v.Total - by.Check - by.Model - by.Cache - by.Triage
	setRates(&v.Verdicts)
	o.MostDenied = figures(view, all, func(c *store.RuleCount) float64 { return float64(c.Denied) })
	o.Slowest = figures(view, all, func(c *store.RuleCount) float64 { return mean(c.CallMS, c.Calls) })
	return nil
}

// figures are the rules with the highest values above 0, highest first.
func figures(view *corpus.View, all []store.RuleCount, value func(*store.RuleCount) float64) []wire.RuleFigure {
	top := make([]*store.RuleCount, 0, maxListed+1)
	for i := range all {
		c := &all[i]
		if value(c) <= 0 || len(top) == maxListed && value(c) <= value(top[maxListed-1]) {
			continue
		}
		// Equal ones stay in the order of their ids, in which they come.
		at, _ := slices.BinarySearchFunc(top, value(c), func(t *store.RuleCount, v float64) int {
			if value(t) >= v {
				return -1
			}
			return 1
		})
		top = slices.Insert(top, at, c)
		top = top[:min(len(top), maxListed)]
	}
	list := make([]wire.RuleFigure, len(top))
	for i, c := range top {
		list[i] = wire.RuleFigure{
			RuleID: c.RuleID, Verdicts: c.Verdicts(), Denied: c.Denied, Calls: c.Calls, MeanCallMS: mean(c.CallMS, c.Calls), Tokens: c.Tokens,
		}
		if n := c.Verdicts(); n > 0 {
			list[i].DenyRate = round(float64(c.Denied) / float64(n))
		}
		if e, ok := view.Get(c.RuleID); ok {
			list[i].Slug, list[i].Statement = e.Rule.Slug, e.Rule.Statement
		}
	}
	return list
}

func (m *Monitor) fillModels(ctx context.Context, o *wire.Overview, _ *corpus.View, from store.Day) error {
	counts, err := m.cfg.Store.Counts.Models(ctx, o.ProjectID, from)
	o.Models = make([]wire.ModelCost, len(counts))
	for i, c := range counts {
		o.Models[i] = wire.ModelCost{Model: c.Model, Calls: c.Calls, Failed: c.Failed, InputTokens: c.InputTokens, OutputTokens: c.OutputTokens, CachedTokens: c.CachedTokens, MeanMS: mean(c.DurationMS, c.Calls)}
	}
	slices.SortStableFunc(o.Models, func(a, b wire.ModelCost) int {
		return cmp.Compare(b.InputTokens+b.OutputTokens, a.InputTokens+a.OutputTokens)
	})
	return err
}

func (m *Monitor) fillDormant(ctx context.Context, o *wire.Overview, view *corpus.View, _ store.Day) error {
	o.Dormant = wire.Dormant{AfterDays: int(m.cfg.Settings.DormantAfter / day), Rules: []wire.IdleRule{}}
	idle, _, err := m.conditions.idle(ctx, o.ProjectID, view)
	if err != nil {
		return err
	}
	slices.SortStableFunc(idle, func(a, b idleRule) int { return b.days - a.days })
	o.Dormant.Total = len(idle)
	for _, r := range idle[:min(len(idle), maxListed)] {
		o.Dormant.Rules = append(o.Dormant.Rules, wire.IdleRule{RuleID: r.ID, Slug: r.Slug, Statement: r.Statement, LastAt: r.last, IdleDays: r.days})
	}
	return nil
}

func (m *Monitor) fillHealth(ctx context.Context, o *wire.Overview, view *corpus.View, _ store.Day) error {
	h := &o.Health
	h.Lowest = []wire.ScoredRule{}
	for from := 0; from < 100; from += 20 {
		h.Buckets = append(h.Buckets, wire.Bucket{From: from, To: from + 19})
	}
	h.Buckets[4].To = 100
	scores, err := m.scores(ctx, o.ProjectID)
	if err != nil {
		return err
	}
	sum := int64(0)
	var all []wire.ScoredRule
	for e := range view.All() {
		score, ok := scores[e.Rule.ID]
		if !ok || ceased(e.Rule) {
			continue
		}
		h.Measured, sum = h.Measured+1, sum+int64(score)
		h.Buckets[min(score/20, 4)].Rules++
		all = append(all, wire.ScoredRule{RuleID: e.Rule.ID, Slug: e.Rule.Slug, Statement: e.Rule.Statement, Score: score})
	}
	h.Mean = mean(sum, int64(h.Measured))
	slices.SortStableFunc(all, func(a, b wire.ScoredRule) int { return a.Score - b.Score })
	h.Lowest = append(h.Lowest, all[:min(len(all), maxListed)]...)
	return nil
}
