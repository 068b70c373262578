package health

import (
	"context"
	"slices"
	"time"

	"tenet/internal/audit"
	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// Bounds of the lists of a report.
const (
	maxReported  = 25   // rules and teams
	maxWaivers   = 100  // in each list
	maxSnapshots = 1000 // whose names are read
	maxChanges   = 100  // kinds and actions
)

// span is a month in days.
type span struct{ from, until store.Day }

// report is a report that is being made.
type report struct {
	*wire.MonthReport
	m             *Monitor
	view          *corpus.View
	month, month0 span // the month and the one before
}

// Report reports what happened in a project in a month; not_found without the project. Counts are stored for 400 days.
func (m *Monitor) Report(ctx context.Context, projectID string, q *wire.ReportQuery) (*wire.MonthReport, error) {
	now := rule.Instant(m.cfg.Now())
	from, err := monthOf(q.Month, now)
	if err != nil {
		return nil, err
	}
	project, err := m.cfg.Store.Projects.Get(ctx, projectID)
	if err != nil {
		return nil, err
	}
	view, err := m.cfg.Views.View(ctx, projectID)
	if err != nil {
		return nil, err
	}
	left, mark, err := m.bringUp(ctx, projectID)
	if err != nil {
		return nil, err
	}
	until := from.AddDate(0, 1, 0)
	r := &report{
		m: m, view: view, month: span{store.DayOf(from), store.DayOf(until)}, month0: span{store.DayOf(from.AddDate(0, -1, 0)), store.DayOf(from)},
		MonthReport: &wire.MonthReport{
			ProjectID: projectID, ProjectName: project.Name, Month: from.Format("2006-01"), From: from, Until: until, Complete: !now.Before(until), GeneratedAt: now,
			AsOf: asOf(mark), Uncounted: left, Unfilled: mark.Unfilled(), Releases: []wire.ReleaseEvent{},
		},
	}
	for _, fill := range []func(context.Context) error{r.fillVerdicts, r.fillDenied, r.fillUndecided, r.fillTeams, r.fillWaivers, r.fillReleases, r.fillChanges} {
		if err := fill(ctx); err != nil {
			return nil, err
		}
	}
	if !q.Verify {
		return r.MonthReport, nil
	}
	chain, err := audit.Verify(ctx, m.cfg.Store.Audit, projectID, wire.AuditHead{})
	if err != nil {
		return nil, err
	}
	r.Audit = &wire.ReportAudit{Verified: chain.OK(), Entries: chain.Entries, Problems: len(chain.Problems), Head: chain.Head, At: rule.Instant(m.cfg.Now())}
	return r.MonthReport, nil
}

// monthOf returns the beginning of a month; of the last one that has ended if it is not named.
func monthOf(month string, now time.Time) (time.Time, error) {
	now = now.UTC()
	current := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	if month == "" {
		return current.AddDate(0, -1, 0), nil
	}
	from, err := time.Parse("2006-01", month)
	switch {
	case err != nil:
		return from, reportProblem("is %q; give a month such as 2026-10", month)
	case from.After(current):
		return from, reportProblem("is %s, which has not begun", month)
	case from.AddDate(0, 1, 0).Before(now.AddDate(0, 0, -retention)):
		return from, reportProblem("is %s; counts are kept for %d days", month, retention)
	}
	return from, nil
}

func reportProblem(format string, args ...any) error {
	var p rule.Problems
	p.Add("month", format, args...)
	return p.Err("there is no report of this month")
}

func (r *report) fillVerdicts(ctx context.Context) error {
	days, err := r.m.cfg.Store.Counts.Days(ctx, r.ProjectID, r.month0.from)
	var now, before store.DayCount
	for i := range days {
		d := &days[i]
		to := &now
		switch {
		case d.Day >= r.month.until:
			continue
		case d.Day < r.month.from:
			to = &before
		}
		to.Allowed, to.Denied, to.Unsure, to.Incidents = to.Allowed+d.Allowed, to.Denied+d.Denied, to.Unsure+d.Unsure, to.Incidents+d.Incidents
		addVerdicts(&to.Rules, &d.Rules)
	}
	r.Evaluations, r.EvaluationsThen = verdicts(now.Allowed, now.Denied, now.Unsure), verdicts(before.Allowed, before.Denied, before.Unsure)
	r.Incidents, r.IncidentsThen = now.Incidents, before.Incidents
	r.Verdicts, r.VerdictsThen = ruleVerdicts(&now.Rules), ruleVerdicts(&before.Rules)
	return err
}

func (r *report) fillDenied(ctx context.Context) error {
	r.Denied = []wire.DeniedRule{}
	top, err := r.m.cfg.Store.Counts.Top(ctx, store.TopFilter{ProjectID: r.ProjectID, From: r.month.from, Until: r.month.until, Limit: maxReported})
	if err != nil || len(top) == 0 {
		return err
	}
	count := func(s span) (map[string]*store.RuleCount, error) {
		list, err := r.m.cfg.Store.Counts.Rules(ctx, store.RuleCountFilter{ProjectID: r.ProjectID, From: s.from, Until: s.until, RuleIDs: ruleIDs(top)})
		of := make(map[string]*store.RuleCount, len(list))
		for i := range list {
			of[list[i].RuleID] = &list[i]
		}
		return of, err
	}
	now, err := count(r.month)
	if err != nil {
		return err
	}
	before, err := count(r.month0)
	for i := range top {
		d := wire.DeniedRule{RuleID: top[i].RuleID, Denied: top[i].Denied}
		if c := now[d.RuleID]; c != nil {
			d.Verdicts = c.Verdicts()
		}
		if c := before[d.RuleID]; c != nil {
			d.Before = c.Denied
		}
		if e, ok := r.view.Get(d.RuleID); ok {
			d.Slug, d.Statement = e.Rule.Slug, e.Rule.Statement
		}
		r.Denied = append(r.Denied, d)
	}
	return err
}

// parts sums up the parts of a dimension in the month and in the one before, those of the month first.
func (r *report) parts(ctx context.Context, f store.PartFilter) (now []store.PartCount, before map[[2]string]int64, err error) {
	f.ProjectID, f.From, f.Until, f.Limit = r.ProjectID, r.month.from, r.month.until, maxChanges
	if now, err = r.m.cfg.Store.Counts.Parts(ctx, f); err != nil {
		return nil, nil, err
	}
	f.From, f.Until, f.Limit = r.month0.from, r.month0.until, 0
	list, err := r.m.cfg.Store.Counts.Parts(ctx, f)
	before = map[[2]string]int64{}
	for i := range list {
		before[[2]string{list[i].Name, list[i].Part}] = list[i].Count
	}
	return now, before, err
}

func (r *report) fillUndecided(ctx context.Context) error {
	now, before, err := r.parts(ctx, store.PartFilter{Dimension: store.OfProject, Name: new("")})
	r.Undecided = []wire.ReasonChange{}
	for _, p := range now {
		reason := rule.UndecidedReason(p.Part)
		r.Undecided = append(r.Undecided, wire.ReasonChange{
			ReasonFigure: wire.ReasonFigure{Reason: reason, Meaning: meanings[reason], Count: p.Count}, Before: before[[2]string{p.Name, p.Part}],
		})
	}
	return err
}

func (r *report) fillChanges(ctx context.Context) error {
	now, before, err := r.parts(ctx, store.PartFilter{Dimension: store.OfChange})
	r.Changes = []wire.ChangeFigure{}
	for _, p := range now {
		r.Changes = append(r.Changes, wire.ChangeFigure{Kind: p.Name, Action: p.Part, Count: p.Count, Before: before[[2]string{p.Name, p.Part}]})
	}
	return err
}

func (r *report) fillTeams(ctx context.Context) error {
	r.Teams = []wire.TeamMonth{}
	teams, err := r.m.cfg.Store.Counts.Groups(ctx, store.GroupFilter{
		ProjectID: r.ProjectID, Dimension: store.OfTeam, From: r.month.from, Until: r.month.until, Limit: maxReported,
	})
	for _, t := range teams {
		r.Teams = append(r.Teams, wire.TeamMonth{Team: t.Name, Verdicts: verdicts(t.Allowed, t.Denied, t.Unsure)})
	}
	return err
}

func (r *report) fillWaivers(ctx context.Context) error {
	for _, list := range []struct {
		to          *wire.WaiverList
		made        bool
		from, until time.Time
	}{
		{&r.WaiversGranted, true, r.From, r.Until}, {&r.WaiversLapsed, false, r.From, r.Until}, {&r.WaiversLapsing, false, r.Until, r.Until.AddDate(0, 1, 0)},
	} {
		found, total, err := r.m.cfg.Store.Waivers.Within(ctx, store.WaiverSpan{ProjectID: r.ProjectID, Made: list.made, From: list.from, Until: list.until, Limit: maxWaivers})
		if err != nil {
			return err
		}
		*list.to = wire.WaiverList{Total: total, Items: waiverFigures(r.view, found)}
	}
	return nil
}

func (r *report) fillReleases(ctx context.Context) error {
	all, err := r.m.cfg.Store.Releases.Deployments(ctx, r.ProjectID, "")
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(d store.Deployment) bool { return d.At.Before(r.From) || !d.At.Before(r.Until) })
	if len(all) == 0 {
		return nil
	}
	slices.SortStableFunc(all, func(a, b store.Deployment) int { return a.At.Compare(b.At) })
	snapshots, _, err := r.m.cfg.Store.Releases.Snapshots(ctx, r.ProjectID, 0, maxSnapshots)
	names := make(map[string]string, len(snapshots))
	for i := range snapshots {
		names[snapshots[i].ID] = snapshots[i].Name
	}
	for i := range all {
		d := &all[i]
		r.Releases = append(r.Releases, wire.ReleaseEvent{
			At: d.At, Environment: wire.Environment(d.Environment), Action: d.Action, SnapshotID: d.SnapshotID, SnapshotName: names[d.SnapshotID], By: d.By,
		})
	}
	return err
}
