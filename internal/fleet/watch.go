package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// watchEvery is the time between two rounds of [Edges.Watch].
const watchEvery = 5 * time.Second

// alertBatch bounds the alerts that one transaction changes.
const alertBatch = 200

// Alerts raises and settles alerts.
type Alerts interface {
	// Raise raises an alert, unless one of its type and edge is open.
	Raise(ctx context.Context, tx store.Tx, a rule.Alert) error
	// SettleEdge resolves the open alert of a type about an edge, if any.
	SettleEdge(ctx context.Context, tx store.Tx, projectID string, t rule.AlertType, edge, note string) error
	// Dismissed reports whether a person has resolved the newest alert of a type about an edge, at a time or later.
	Dismissed(ctx context.Context, tx store.Tx, projectID string, t rule.AlertType, edge string, since time.Time) (bool, error)
}

// Watch stores reports, and raises and settles the alerts about edges, until ctx ends. Several nodes may watch at once.
func (f *Edges) Watch(ctx context.Context) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	problem := ""
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), watchEvery)
			defer cancel()
			if err := f.storeLate(last); err != nil {
				f.cfg.Logger.WarnContext(ctx, "the last reports of edges are not stored", slog.Any("error", err))
			}
			return
		case <-tick.C:
		}
		err := f.Sweep(ctx)
		if err != nil && ctx.Err() == nil && err.Error() != problem {
			f.cfg.Logger.WarnContext(ctx, "the alerts about edges are not up to date", slog.Any("error", err))
		}
		if problem = ""; err != nil {
			problem = err.Error()
		}
	}
}

// Sweep stores the reports that could wait, raises the alerts about edges whose conditions hold, and settles those whose conditions have ended. Repeating it changes nothing.
func (f *Edges) Sweep(ctx context.Context) error {
	if err := f.storeLate(ctx); err != nil {
		return err
	}
	projects, err := f.cfg.Edges.Projects(ctx)
	if err != nil {
		return err
	}
	for _, id := range projects {
		if err := f.sweep(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// condition is a problem that an edge has or had.
type condition struct {
	alert rule.Alert
	ended bool
	// since is from when on a person's resolution of its alert counts.
	since time.Time
}

func (f *Edges) sweep(ctx context.Context, projectID string) error {
	open := map[rule.AlertType]map[string]bool{}
	for _, t := range rule.EdgeAlertTypes {
		list, err := f.cfg.Open.ListOpen(ctx, projectID, t, nil)
		if err != nil {
			return err
		}
		open[t] = map[string]bool{}
		for i := range list {
			open[t][list[i].Edge] = true
		}
	}
	list, _, err := f.cfg.Edges.List(ctx, projectID, 0, maxCounted)
	if err != nil {
		return err
	}
	var changes []condition
	for i := range list {
		e := &list[i]
		var r wire.EdgeReport
		if err := json.Unmarshal(e.Report, &r); err != nil {
			return err
		}
		problems := problemsOf(&r, f.cfg.Now().Sub(e.SeenAt))
		for _, t := range rule.EdgeAlertTypes {
			if holds := slices.Contains(problems, string(t)); holds != open[t][e.Name] {
				changes = append(changes, f.condition(e, &r, t, !holds))
			}
		}
	}
	for batch := range slices.Chunk(changes, alertBatch) {
		if err := f.cfg.Updater.Update(ctx, func(tx store.Tx) error { return f.change(ctx, tx, batch) }); err != nil {
			return err
		}
	}
	return nil
}

// condition describes a condition of an edge that has begun or ended.
func (f *Edges) condition(e *store.Edge, r *wire.EdgeReport, t rule.AlertType, ended bool) condition {
	c := condition{
		ended: ended, since: f.cfg.Now().Add(-f.cfg.Quiet),
		alert: rule.Alert{
			ProjectID: e.ProjectID, Type: t, Edge: e.Name,
			Metadata: map[string]any{"environment": r.Environment, "bundle_seq": r.BundleSeq, "version": r.Version, "seen_at": e.SeenAt},
		},
	}
	switch t { //nolint:exhaustive // those of edges
	case rule.EdgeSilent:
		c.since = e.SeenAt // one alert for each silence: an edge that is gone for good needs one answer
		c.alert.Message = fmt.Sprintf("The edge %s has not reported since %s.", e.Name, e.SeenAt.UTC().Format(time.DateTime)+" UTC")
	case rule.EdgeStale:
		c.alert.Message = fmt.Sprintf("The edge %s decides by bundle %d, which no server has vouched for in %s.", e.Name, r.BundleSeq, time.Duration(r.BundleAge)*time.Second)
		c.alert.Metadata["bundle_age_s"] = r.BundleAge
	case rule.SpoolGrowing:
		c.alert.Message = fmt.Sprintf("%d records of the edge %s wait for the server, the oldest for %s.", r.Spool, e.Name, time.Duration(r.SpoolAge)*time.Second)
		c.alert.Metadata["spool"], c.alert.Metadata["spool_age_s"] = r.Spool, r.SpoolAge
	}
	if r.Problem != "" {
		c.alert.Metadata["problem"] = r.Problem
	}
	return c
}

// endNotes say why alerts have ended.
var endNotes = map[rule.AlertType]string{
	rule.EdgeSilent: "The edge has reported again.", rule.EdgeStale: "A server has vouched for the bundle of the edge.", rule.SpoolGrowing: "The server has the records of the edge.",
}

func (f *Edges) change(ctx context.Context, tx store.Tx, changes []condition) error {
	for _, c := range changes {
		a := c.alert
		if c.ended {
			if err := f.cfg.Alerts.SettleEdge(ctx, tx, a.ProjectID, a.Type, a.Edge, endNotes[a.Type]); err != nil {
				return err
			}
			continue
		}
		dismissed, err := f.cfg.Alerts.Dismissed(ctx, tx, a.ProjectID, a.Type, a.Edge, c.since)
		if err != nil {
			return err
		}
		if dismissed {
			continue
		}
		if err := f.cfg.Alerts.Raise(ctx, tx, a); err != nil {
			return err
		}
	}
	return nil
}
