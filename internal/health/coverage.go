package health

import (
	"cmp"
	"context"
	"slices"
	"time"

	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// fillGroups lists the nodes, teams, agents and people that were concerned most. A team without verdicts is listed for its rules.
func (o *overview) fillGroups(ctx context.Context) error {
	if o.dimension != "" {
		return nil
	}
	teams, err := o.m.cfg.Store.Counts.Groups(ctx, store.GroupFilter{ProjectID: o.ProjectID, Dimension: store.OfTeam, Name: o.team, From: o.from, Limit: maxGroups})
	if err != nil {
		return err
	}
	sums, err := o.m.cfg.Store.Health.TeamSummaries(ctx, o.ProjectID, o.team, maxTeams)
	if err != nil {
		return err
	}
	of := map[string]*store.HealthSummary{}
	for i := range sums {
		of[sums[i].Team] = &sums[i]
	}
	add := func(name string, v wire.Verdicts) {
		f := wire.TeamFigure{Team: name, Verdicts: v}
		if h := of[name]; h != nil {
			f.Rules, f.Health = &h.Rules, meanScore(h)
			f.NeverAsked, f.Dormant = waiting(h)
			delete(of, name)
		}
		o.Teams = append(o.Teams, f)
	}
	for _, t := range teams {
		add(t.Name, verdicts(t.Allowed, t.Denied, t.Unsure))
	}
	for i := range sums {
		if of[sums[i].Team] != nil && len(o.Teams) < maxGroups {
			add(sums[i].Team, wire.Verdicts{})
		}
	}
	if o.team != nil {
		return nil
	}
	nodes, err := o.m.cfg.Store.Counts.Groups(ctx, store.GroupFilter{ProjectID: o.ProjectID, Dimension: store.OfNode, From: o.from, Limit: maxGroups})
	for _, n := range nodes {
		o.Nodes = append(o.Nodes, wire.GroupFigure{NodeID: n.Name, Name: nodeName(o.view, n.Name), Verdicts: verdicts(n.Allowed, n.Denied, n.Unsure)})
	}
	if err != nil {
		return err
	}
	if o.Agents, err = o.actors(ctx, store.OfAgent); err != nil {
		return err
	}
	o.People, err = o.actors(ctx, store.OfPerson)
	return err
}

// actors lists the agents or people with the most evaluations.
func (o *overview) actors(ctx context.Context, d store.Dimension) ([]wire.ActorFigure, error) {
	counts, err := o.m.cfg.Store.Counts.Groups(ctx, store.GroupFilter{ProjectID: o.ProjectID, Dimension: d, From: o.from, Limit: maxGroups})
	list := make([]wire.ActorFigure, len(counts))
	for i, c := range counts {
		list[i] = wire.ActorFigure{Name: c.Name, Verdicts: verdicts(c.Allowed, c.Denied, c.Unsure)}
	}
	return list, err
}

func nodeName(view *corpus.View, id string) string {
	if n, ok := view.Federation().Node(id); ok && id != "" {
		return n.Name
	}
	return ""
}

// meanScore is the score of the rules of a sum on the average; nil without any.
func meanScore(h *store.HealthSummary) *float64 {
	if h == nil || h.Rules == 0 {
		return nil
	}
	return new(mean(h.ScoreSum, int64(h.Rules)))
}

// waiting returns how many rules were never asked and are dormant; nil where it is unknown.
func waiting(h *store.HealthSummary) (never, dormant *int) {
	if h == nil || !h.Asked {
		return nil, nil
	}
	return &h.NeverAsked, &h.Dormant
}

// fillIdle lists the rules that were never asked and those that are dormant.
func (o *overview) fillIdle(ctx context.Context) (err error) {
	o.Dormant.AfterDays = int(o.m.cfg.Settings.DormantAfter / day)
	never, dormant := waiting(o.measured)
	if o.NeverAsked, err = o.idleRules(ctx, never, neverAsked); err != nil {
		return err
	}
	o.Dormant.Idle, err = o.idleRules(ctx, dormant, dormantOnes)
	return err
}

var (
	neverAsked  = []store.Standing{store.StandingNeverAsked, store.StandingNeverDormant}
	dormantOnes = []store.Standing{store.StandingDormant, store.StandingNeverDormant}
)

func (o *overview) idleRules(ctx context.Context, total *int, standings []store.Standing) (wire.Idle, error) {
	idle := wire.Idle{Total: total, Rules: []wire.IdleRule{}}
	if total == nil || *total == 0 {
		return idle, nil
	}
	list, _, err := o.m.cfg.Store.Health.Measured(ctx, store.MeasuredFilter{
		ProjectID: o.ProjectID, Team: o.team, Standings: standings, ScoreMax: 100, Idle: true, NoTotal: true, Limit: maxListed,
	})
	if err != nil {
		return idle, err
	}
	ids := make([]string, len(list))
	for i := range list {
		ids[i] = list[i].RuleID
	}
	last, err := o.m.cfg.Store.Counts.LastVerdicts(ctx, o.ProjectID, ids)
	for i := range list {
		r := wire.IdleRule{RuleID: list[i].RuleID, Team: list[i].Team, LastAt: lastVerdict(last, list[i].RuleID), IdleDays: int(o.now.Sub(list[i].IdleSince) / day)}
		if e, ok := o.view.Get(r.RuleID); ok {
			r.Slug, r.Statement = e.Rule.Slug, e.Rule.Statement
		}
		idle.Rules = append(idle.Rules, r)
	}
	return idle, err
}

func (o *overview) fillHealth(ctx context.Context) error {
	h := &o.Health
	h.Lowest, h.Buckets = []wire.ScoredRule{}, make([]wire.Bucket, store.Bands)
	for i := range h.Buckets {
		h.Buckets[i].From, h.Buckets[i].To = 100/store.Bands*i, 100/store.Bands*(i+1)-1
	}
	h.Buckets[store.Bands-1].To = 100
	if o.measured == nil {
		return nil
	}
	h.MeasuredAt, h.Measured, h.Mean = &o.measured.MeasuredAt, o.measured.Rules, meanScore(o.measured)
	for i, n := range o.measured.Bands {
		h.Buckets[i].Rules = n
	}
	if h.Measured == 0 {
		return nil
	}
	list, _, err := o.m.cfg.Store.Health.Measured(ctx, store.MeasuredFilter{ProjectID: o.ProjectID, Team: o.team, ScoreMax: 100, NoTotal: true, Limit: maxListed})
	for i := range list {
		r := wire.ScoredRule{RuleID: list[i].RuleID, Score: list[i].Score}
		if e, ok := o.view.Get(r.RuleID); ok {
			r.Slug, r.Statement = e.Rule.Slug, e.Rule.Statement
		}
		h.Lowest = append(h.Lowest, r)
	}
	return err
}

func (o *overview) fillWaivers(ctx context.Context) error {
	list, total, err := o.m.cfg.Store.Waivers.Within(ctx, store.WaiverSpan{ProjectID: o.ProjectID, From: o.now, Until: o.now.Add(endSoon), Limit: maxListed})
	o.Waivers = wire.WaiversEnding{Total: total, Items: waiverFigures(o.view, list)}
	return err
}

func waiverFigures(view *corpus.View, list []rule.Waiver) []wire.WaiverFigure {
	figures := make([]wire.WaiverFigure, len(list))
	for i := range list {
		w := &list[i]
		figures[i] = wire.WaiverFigure{
			ID: w.ID, RuleID: w.RuleID, Repository: w.Repository, Reason: w.Reason, CreatedAt: w.CreatedAt, CreatedBy: w.CreatedBy, ExpiresAt: w.ExpiresAt,
		}
		if e, ok := view.Get(w.RuleID); ok {
			figures[i].Slug, figures[i].Statement = e.Rule.Slug, e.Rule.Statement
		}
	}
	return figures
}

func (o *overview) fillRepositories(ctx context.Context) error {
	f := store.RepositoryFilter{ProjectID: o.ProjectID, NodeID: o.node, Limit: maxListed}
	list, total, err := o.m.cfg.Store.Counts.Repositories(ctx, f)
	if err != nil {
		return err
	}
	o.Repositories.Total, o.Repositories.Latest = total, repositoryFigures(o.view, list)
	f.Limit, f.Before = 0, &o.From
	if _, o.Repositories.Silent, err = o.m.cfg.Store.Counts.Repositories(ctx, f); err != nil {
		return err
	}
	judged := total
	if o.node != nil {
		if _, judged, err = o.m.cfg.Store.Counts.Repositories(ctx, store.RepositoryFilter{ProjectID: o.ProjectID}); err != nil {
			return err
		}
	}
	globs, err := o.m.unjudged.globs(ctx, &o.m.cfg, o.view, o.ProjectID, judged)
	if err != nil {
		return err
	}
	globs = ofNode(globs, o.node)
	o.Repositories.NeverJudged, o.Repositories.Unjudged = len(globs), unjudgedFigures(o.view, globs[:min(len(globs), maxListed)])
	f.Before, f.NodeID = nil, new("")
	if o.node == nil || *o.node == "" {
		_, o.Repositories.WithoutNode, err = o.m.cfg.Store.Counts.Repositories(ctx, f)
	}
	return err
}

func repositoryFigures(view *corpus.View, list []store.RepositoryCount) []wire.RepositoryFigure {
	figures := make([]wire.RepositoryFigure, len(list))
	for i := range list {
		r := &list[i]
		figures[i] = wire.RepositoryFigure{
			Repository: r.Repository, Verdicts: verdicts(r.Allowed, r.Denied, r.Unsure), FirstAt: r.FirstAt, LastAt: r.LastAt, LastEvaluationID: r.LastID,
			LastVerdict: storedVerdict(r.LastVerdict), NodeID: r.NodeID, NodeName: nodeName(view, r.NodeID),
		}
	}
	return figures
}

// Repositories lists the repositories of a project that were judged.
func (m *Monitor) Repositories(ctx context.Context, projectID string, q *wire.RepositoryQuery) (page wire.Page[wire.RepositoryFigure], err error) {
	view, err := m.cfg.Views.View(ctx, projectID)
	if err != nil {
		return page, err
	}
	node, err := nodeOf(view, q.NodeID)
	if err != nil {
		return page, err
	}
	if _, _, err := m.bringUp(ctx, projectID); err != nil {
		return page, err
	}
	list, total, err := m.cfg.Store.Counts.Repositories(ctx, store.RepositoryFilter{
		ProjectID: projectID, Words: q.Words, NodeID: chosen(node), Before: q.Before, Order: store.RepositoryOrder(q.Sort),
		Offset: q.Offset(), Limit: q.PageSize,
	})
	return wire.Page[wire.RepositoryFigure]{Items: repositoryFigures(view, list), Total: total, Page: q.Page, PageSize: q.PageSize}, err
}

// Measured lists the rules of a project with what was last measured of them.
func (m *Monitor) Measured(ctx context.Context, projectID string, q *wire.MeasuredQuery) (page wire.MeasuredPage, err error) {
	view, err := m.cfg.Views.View(ctx, projectID)
	if err != nil {
		return page, err
	}
	h, err := m.lastMeasured(ctx, projectID, view, nil)
	if err != nil {
		return page, err
	}
	page.Page = wire.Page[wire.MeasuredRule]{Items: []wire.MeasuredRule{}, Page: q.Page, PageSize: q.PageSize}
	if h == nil {
		return page, nil
	}
	page.MeasuredAt = &h.MeasuredAt
	f := store.MeasuredFilter{
		ProjectID: projectID, Team: chosen(q.Team), ScoreMin: q.ScoreMin, ScoreMax: q.ScoreMax, Standings: map[string][]store.Standing{"never_asked": neverAsked, "dormant": dormantOnes}[q.Standing],
		Idle: q.Standing != "", Offset: q.Offset(), Limit: q.PageSize,
	}
	list, total, err := m.cfg.Store.Health.Measured(ctx, f)
	page.Total = total
	for i := range list {
		s := &list[i]
		r := wire.MeasuredRule{RuleID: s.RuleID, Team: s.Team, Score: s.Score, NeverAsked: s.Standing.Never(), Dormant: s.Standing.Dormant()}
		if !s.IdleSince.IsZero() {
			r.IdleSince = &s.IdleSince
		}
		if e, ok := view.Get(s.RuleID); ok {
			r.Slug, r.Statement, r.Status = e.Rule.Slug, e.Rule.Statement, e.Rule.Status
		}
		page.Items = append(page.Items, r)
	}
	return page, err
}

// MeasureNow measures the rules of a project at once; not_found without the project.
func (m *Monitor) MeasureNow(ctx context.Context, projectID string) (*wire.MeasuredNow, error) {
	if _, err := m.cfg.Views.View(ctx, projectID); err != nil {
		return nil, err
	}
	if _, _, err := m.bringUp(ctx, projectID); err != nil {
		return nil, err
	}
	if err := m.measure(ctx, projectID); err != nil {
		return nil, err
	}
	h, err := m.cfg.Store.Health.Summary(ctx, projectID)
	if err != nil {
		return nil, err
	}
	return &wire.MeasuredNow{MeasuredAt: h.MeasuredAt, Rules: h.Rules}, nil
}

// Projects reports how the rules of projects fare, by id: from what is counted and measured, without reading their rules.
func (m *Monitor) Projects(ctx context.Context, projects []rule.Project, periodDays int) ([]wire.ProjectFigure, error) {
	now := rule.Instant(m.cfg.Now())
	from := store.DayOf(now) - store.Day(periodDays-1)
	list := make([]wire.ProjectFigure, 0, len(projects))
	for i := range projects {
		f, err := projectFigure(ctx, &m.cfg.Store, &projects[i], now, from)
		if err != nil {
			return nil, err
		}
		list = append(list, f)
	}
	slices.SortStableFunc(list, func(a, b wire.ProjectFigure) int { return cmp.Compare(a.ProjectID, b.ProjectID) })
	return list, nil
}

func projectFigure(ctx context.Context, s *Store, p *rule.Project, now time.Time, from store.Day) (f wire.ProjectFigure, err error) {
	f = wire.ProjectFigure{ProjectID: p.ID, Name: p.Name}
	days, err := s.Counts.Days(ctx, p.ID, from)
	if err != nil {
		return f, err
	}
	var sum store.DayCount
	for i := range days {
		sum.Allowed, sum.Denied, sum.Unsure = sum.Allowed+days[i].Allowed, sum.Denied+days[i].Denied, sum.Unsure+days[i].Unsure
	}
	f.Verdicts = verdicts(sum.Allowed, sum.Denied, sum.Unsure)
	h, err := s.Health.Summary(ctx, p.ID)
	if err != nil {
		return f, err
	}
	if h != nil {
		f.Rules, f.InForce, f.Health, f.MeasuredAt = &h.Rules, &h.InForce, meanScore(h), &h.MeasuredAt
		f.NeverAsked, f.Dormant = waiting(h)
	}
	if _, f.WaiversEnding, err = s.Waivers.Within(ctx, store.WaiverSpan{ProjectID: p.ID, From: now, Until: now.Add(endSoon)}); err != nil {
		return f, err
	}
	if _, f.Repositories, err = s.Counts.Repositories(ctx, store.RepositoryFilter{ProjectID: p.ID}); err != nil {
		return f, err
	}
	mark, err := s.Counts.Mark(ctx, p.ID)
	if err != nil {
		return f, err
	}
	head, err := s.Audit.Head(ctx, p.ID)
	f.AsOf, f.Uncounted = asOf(mark), max(head.Seq-mark.Seq, 0)
	return f, err
}
