package health

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// Periods of an overview, in days.
const (
	MinPeriod     = 1
	DefaultPeriod = 30
	MaxPeriod     = retention
)

const (
	maxListed = 10                  // rules, waivers and repositories in each list of an overview
	maxGroups = 20                  // teams and nodes
	endSoon   = 30 * 24 * time.Hour // until then a waiver ends soon
)

// overview is an overview that is being filled.
type overview struct {
	*wire.Overview
	m    *Monitor
	view *corpus.View
	now  time.Time
	from store.Day
	team *string // nil means all
	node *string // nil means all
	// actor is the agent or person that the overview is about; nil means all.
	actor *string
	// dimension and rules are those of node or actor; empty without one.
	dimension, rules store.Dimension
	// measured holds the sums of the rules as last measured; nil before the first time.
	measured *store.HealthSummary
}

// chosen returns what a filter selects: nil for everything, and an empty name for what has none.
func chosen(name string) *string {
	switch name {
	case "":
		return nil
	case wire.NobodysName:
		return new("")
	}
	return &name
}

// Overview reports how the rules of a project did over the last days, today included; not_found without the project.
func (m *Monitor) Overview(ctx context.Context, projectID string, q *wire.InsightsQuery) (*wire.Overview, error) {
	if err := oneFilter(q); err != nil {
		return nil, err
	}
	view, err := m.cfg.Views.View(ctx, projectID)
	if err != nil {
		return nil, err
	}
	node, err := nodeOf(view, q.NodeID)
	if err != nil {
		return nil, err
	}
	left, mark, err := m.bringUp(ctx, projectID)
	if err != nil {
		return nil, err
	}
	now := rule.Instant(m.cfg.Now())
	o := &overview{
		m: m,
		Overview: &wire.Overview{
			ProjectID: projectID, Team: q.Team, NodeID: node, NodePath: view.Federation().Path(node), Agent: q.Agent, Person: q.Person, PeriodDays: q.PeriodDays, AsOf: asOf(mark), Uncounted: left, Unfilled: mark.Unfilled(),
			Counting: wire.CountsEvaluations, Undecided: []wire.ReasonFigure{}, MostDenied: []wire.RuleFigure{}, Slowest: []wire.RuleFigure{},
			Nodes: []wire.GroupFigure{}, Teams: []wire.TeamFigure{}, Agents: []wire.ActorFigure{}, People: []wire.ActorFigure{}, Models: []wire.ModelCost{},
		},
		view: view, now: now, from: store.DayOf(now) - store.Day(q.PeriodDays-1), team: chosen(q.Team), node: chosen(node),
	}
	switch {
	case q.NodeID != "":
		o.dimension, o.rules = store.OfNode, store.OfNodeRule
	case q.Agent != "":
		o.dimension, o.rules, o.actor = store.OfAgent, store.OfAgentRule, new(rule.FoldName(q.Agent))
	case q.Person != "":
		o.dimension, o.rules, o.actor = store.OfPerson, store.OfPersonRule, new(rule.FoldName(q.Person))
	}
	o.From = o.from.Time()
	if o.team != nil {
		o.Counting = wire.CountsVerdicts
	}
	if o.measured, err = m.lastMeasured(ctx, projectID, view, o.team); err != nil {
		return nil, err
	}
	for _, fill := range []func(context.Context) error{
		o.fillDays, o.fillReasons, o.fillRules, o.fillModels, o.fillGroups, o.fillIdle, o.fillHealth, o.fillWaivers, o.fillRepositories,
	} {
		if err := fill(ctx); err != nil {
			return nil, err
		}
	}
	return o.Overview, nil
}

// oneFilter refuses a query that asks for several groups at once.
func oneFilter(q *wire.InsightsQuery) error {
	var p rule.Problems
	first := ""
	for _, f := range []struct{ name, value string }{{"team", q.Team}, {"node_id", q.NodeID}, {"agent", q.Agent}, {"person", q.Person}} {
		switch {
		case f.value == "":
		case first == "":
			first = f.name
		default:
			p.Add(f.name, "and %s exclude each other: verdicts and evaluations are counted by one of them at a time", first)
		}
	}
	return p.Err("the query is invalid")
}

// lastMeasured returns the sums of a project, or of a team of it, as last measured; nil before the first time. Where no job measures, it
// measures now what is stale.
func (m *Monitor) lastMeasured(ctx context.Context, projectID string, view *corpus.View, team *string) (*store.HealthSummary, error) {
	h, err := m.cfg.Store.Health.Summary(ctx, projectID)
	if err != nil {
		return nil, err
	}
	if m.alone() && stale(h, view.Version(), m.cfg.Now()) {
		if err := m.measure(ctx, projectID); err != nil {
			return nil, err
		}
		if h, err = m.cfg.Store.Health.Summary(ctx, projectID); err != nil {
			return nil, err
		}
	}
	if h == nil || team == nil {
		return h, nil
	}
	of, err := m.cfg.Store.Health.TeamSummaries(ctx, projectID, team, 1)
	if err != nil || len(of) == 0 {
		return &store.HealthSummary{MeasuredAt: h.MeasuredAt, Asked: h.Asked}, err
	}
	return &of[0], nil
}

// alone reports whether no job counts and measures.
func (m *Monitor) alone() bool { return m.cfg.Off || m.cfg.Working != nil && !m.cfg.Working() }

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

// fillDays counts evaluations by day; of a team, the verdicts of its rules.
func (o *overview) fillDays(ctx context.Context) error {
	o.Days = make([]wire.DayFigure, o.PeriodDays)
	for i := range o.Days {
		o.Days[i].Date = (o.from + store.Day(i)).String()
	}
	if o.team != nil || o.dimension != "" {
		return o.fillGroupDays(ctx)
	}
	counts, err := o.m.cfg.Store.Counts.Days(ctx, o.ProjectID, o.from)
	if err != nil {
		return err
	}
	sum := int64(0)
	var rules store.RuleCount
	for i := range counts {
		c := &counts[i]
		o.addDay(c.Day, wire.Verdicts{Total: c.Evaluations, Allow: c.Allowed, Deny: c.Denied, Unsure: c.Unsure})
		o.Incidents += c.Incidents
		sum, o.Latency.MaxMS = sum+c.LatencyMS, max(o.Latency.MaxMS, c.MaxLatencyMS)
		if at := int(c.Day - o.from); at < len(o.Days) {
			o.Days[at].Latency = wire.Latency{MeanMS: mean(c.LatencyMS, c.Evaluations), MaxMS: c.MaxLatencyMS}
		}
		addVerdicts(&rules, &c.Rules)
	}
	o.Latency.MeanMS = mean(sum, o.Totals.Total)
	setRates(&o.Totals)
	o.Verdicts = ruleVerdicts(&rules)
	return nil
}

func addVerdicts(to, c *store.RuleCount) {
	to.Allowed, to.Denied, to.Unsure = to.Allowed+c.Allowed, to.Denied+c.Denied, to.Unsure+c.Unsure
	to.ByCheck, to.ByModel, to.ByCache, to.ByTriage = to.ByCheck+c.ByCheck, to.ByModel+c.ByModel, to.ByCache+c.ByCache, to.ByTriage+c.ByTriage
	to.ByApproval += c.ByApproval
}

func ruleVerdicts(c *store.RuleCount) wire.RuleVerdicts {
	v := wire.RuleVerdicts{Verdicts: verdicts(c.Allowed, c.Denied, c.Unsure)}
	v.DecidedBy = wire.DecidedBy{Check: c.ByCheck, Model: c.ByModel, Cache: c.ByCache, Triage: c.ByTriage, Approval: c.ByApproval}
	v.DecidedBy.None = v.Total - c.ByCheck - c.ByModel - c.ByCache - c.ByTriage - c.ByApproval
	return v
}

// verdicts are counts with their rates.
func verdicts(allowed, denied, unsure int64) wire.Verdicts {
	v := wire.Verdicts{Total: allowed + denied + unsure, Allow: allowed, Deny: denied, Unsure: unsure}
	setRates(&v)
	return v
}

// addDay adds a day to the totals and the trend.
func (o *overview) addDay(d store.Day, v wire.Verdicts) {
	o.Totals.Total, o.Totals.Allow = o.Totals.Total+v.Total, o.Totals.Allow+v.Allow
	o.Totals.Deny, o.Totals.Unsure = o.Totals.Deny+v.Deny, o.Totals.Unsure+v.Unsure
	if i := int(d - o.from); i < len(o.Days) { // a node whose clock is ahead may have counted tomorrow
		setRates(&v)
		o.Days[i].Verdicts = v
	}
}

func (o *overview) fillGroupDays(ctx context.Context) error {
	dimension, name := o.group()
	counts, err := o.m.cfg.Store.Counts.Groups(ctx, store.GroupFilter{ProjectID: o.ProjectID, Dimension: dimension, Name: name, From: o.from, Daily: true})
	for i := range counts {
		o.addDay(counts[i].Day, verdicts(counts[i].Allowed, counts[i].Denied, counts[i].Unsure))
	}
	setRates(&o.Totals)
	if o.team != nil {
		o.Verdicts.Verdicts = o.Totals
	}
	return err
}

// group returns the group that the overview is about.
func (o *overview) group() (store.Dimension, *string) {
	switch {
	case o.team != nil:
		return store.OfTeam, o.team
	case o.actor != nil:
		return o.dimension, o.actor
	case o.node != nil:
		return store.OfNode, o.node
	}
	return store.OfProject, new("")
}

// meanings are the reasons of [rule.UndecidedReason] in words.
var meanings = map[rule.UndecidedReason]string{
	rule.UndecidedSoftened:   "A SHOULD rule, or one under enforcement warn, is broken",
	rule.UndecidedDoubtful:   "A model found that a person must decide",
	rule.UndecidedCheck:      "A check could not decide: a fact is missing or unreadable",
	rule.UndecidedUnexamined: "A part of the subject was not examined",
	rule.UndecidedNoModel:    "Only a model can decide the rule, and none is configured",
	rule.UndecidedNoAnswer:   "The model failed, or gave no answer that counts",
	rule.UndecidedNotAsked:   "More rules apply than max_rules lets a model judge",
	rule.UndecidedUncovered:  "No rule covers the subject, and the policy then asks",
	rule.UndecidedFloor:      "The caller asked for less than the floor of the policy",
	rule.UndecidedEmpty:      "The request has nothing to judge",
	rule.UndecidedOther:      "Another reason",
}

func (o *overview) fillReasons(ctx context.Context) (err error) {
	dimension, name := o.group()
	o.Undecided, err = o.reasons(ctx, store.PartFilter{ProjectID: o.ProjectID, Dimension: dimension, Name: name, From: o.from})
	return err
}

func (o *overview) reasons(ctx context.Context, f store.PartFilter) ([]wire.ReasonFigure, error) {
	parts, err := o.m.cfg.Store.Counts.Parts(ctx, f)
	list := make([]wire.ReasonFigure, 0, len(parts))
	for _, p := range parts {
		reason := rule.UndecidedReason(p.Part)
		list = append(list, wire.ReasonFigure{Reason: reason, Meaning: meanings[reason], Count: p.Count})
	}
	return list, err
}

func (o *overview) fillRules(ctx context.Context) (err error) {
	if o.rules != "" {
		_, name := o.group()
		parts, err := o.m.cfg.Store.Counts.Parts(ctx, store.PartFilter{
			ProjectID: o.ProjectID, Dimension: o.rules, Name: name, From: o.from, Limit: maxListed,
		})
		for _, p := range parts {
			o.MostDenied = append(o.MostDenied, figure(o.view, &store.RuleCount{RuleID: p.Part, Denied: p.Count}, &store.RuleCount{}))
		}
		return err
	}
	f := store.TopFilter{ProjectID: o.ProjectID, From: o.from, Team: o.team, Limit: maxListed}
	if o.MostDenied, err = o.top(ctx, f); err != nil {
		return err
	}
	f.Called = true
	o.Slowest, err = o.top(ctx, f)
	return err
}

// top lists the rules with the highest counts, with all that was counted of them in the period.
func (o *overview) top(ctx context.Context, f store.TopFilter) ([]wire.RuleFigure, error) {
	top, err := o.m.cfg.Store.Counts.Top(ctx, f)
	if err != nil || len(top) == 0 {
		return []wire.RuleFigure{}, err
	}
	counts, err := o.m.cfg.Store.Counts.Rules(ctx, store.RuleCountFilter{ProjectID: f.ProjectID, From: f.From, Until: f.Until, RuleIDs: ruleIDs(top)})
	of := map[string]*store.RuleCount{}
	for i := range counts {
		of[counts[i].RuleID] = &counts[i]
	}
	list := make([]wire.RuleFigure, len(top))
	for i := range top {
		all := of[top[i].RuleID]
		if all == nil {
			all = &top[i]
		}
		list[i] = figure(o.view, all, all)
	}
	return list, err
}

// figure is a rule with the denials of one count, and all else of another.
func figure(view *corpus.View, denied, c *store.RuleCount) wire.RuleFigure {
	f := wire.RuleFigure{
		RuleID: denied.RuleID, Verdicts: c.Verdicts(), Denied: denied.Denied, Calls: c.Calls, MeanCallMS: mean(c.CallMS, c.Calls), Tokens: c.Tokens,
	}
	if f.Verdicts > 0 {
		f.DenyRate = round(float64(f.Denied) / float64(f.Verdicts))
	}
	if e, ok := view.Get(f.RuleID); ok {
		f.Slug, f.Statement = e.Rule.Slug, e.Rule.Statement
	}
	return f
}

func (o *overview) fillModels(ctx context.Context) error {
	if o.team != nil || o.dimension != "" {
		return nil
	}
	counts, err := o.m.cfg.Store.Counts.Models(ctx, o.ProjectID, o.from)
	o.Models = make([]wire.ModelCost, len(counts))
	for i, c := range counts {
		o.Models[i] = wire.ModelCost{Model: c.Model, Calls: c.Calls, Failed: c.Failed, InputTokens: c.InputTokens, OutputTokens: c.OutputTokens, CachedTokens: c.CachedTokens, MeanMS: mean(c.DurationMS, c.Calls)}
	}
	slices.SortStableFunc(o.Models, func(a, b wire.ModelCost) int {
		return cmp.Compare(b.InputTokens+b.OutputTokens, a.InputTokens+a.OutputTokens)
	})
	return err
}
