// Package fleet knows the edges of a project: their reports, their orders, and their records, which it verifies as they arrive and
// keeps as chains of their own.
package fleet

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// Times after which an edge has a problem.
const (
	silentAfter  = 30 * time.Second
	growingAfter = time.Minute
)

// maxName bounds the name of an edge, in bytes.
const maxName = 100

// Config sets up [New]. All fields but Alerts, Open and Logger, which [Edges.Watch] needs, are required.
type Config struct {
	Updater store.Updater
	Edges   store.EdgeReader
	Rules   store.RuleReader
	Now     func() time.Time
	// Newest returns the number and the hash of the newest bundle of an environment; an error if there is none.
	Newest func(ctx context.Context, projectID string, environment wire.Environment) (int64, string, error)
	// Head returns the signed head of that bundle, or an error; nil never has one.
	Head   func(ctx context.Context, projectID string, environment wire.Environment) (string, error)
	Alerts Alerts
	Open   store.AlertReader
	// Quiet is the time in which an alert that a person has resolved is not raised again.
	Quiet  time.Duration
	Logger *slog.Logger
}

// Edges lists edges, takes their reports and records, and changes their orders. It is safe for concurrent use.
type Edges struct {
	cfg Config

	mu   sync.Mutex
	news map[edgeRef]wire.EdgeReport // what the last report of an edge said that is stored at once
	late map[edgeRef]store.Edge      // reports that the next [Edges.Sweep] stores
}

// edgeRef names an edge.
type edgeRef struct{ project, name string }

// New makes Edges.
func New(cfg Config) *Edges {
	return &Edges{cfg: cfg, news: map[edgeRef]wire.EdgeReport{}, late: map[edgeRef]store.Edge{}}
}

// checkName returns an invalid error for what cannot be the name of an edge.
func checkName(name string) error {
	if name == "" || len(name) > maxName || strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") != "" {
		var p rule.Problems
		p.Add("edge", "is %q; use 1 to %d letters, digits, dots, - and _", name, maxName)
		return p.Err("the name of the edge is invalid")
	}
	return nil
}

// Change changes the orders of an edge.
func (f *Edges) Change(ctx context.Context, projectID, name string, c wire.ChangeEdge) (wire.FleetEdge, error) {
	var e store.Edge
	err := f.cfg.Updater.Update(ctx, func(tx store.Tx) error {
		var err error
		if e, err = inUse(tx.Edges.Get(ctx, projectID, name)); err != nil {
			return err
		}
		o, err := ordersOf(&e)
		if err != nil {
			return err
		}
		if c.Pinned != nil {
			o.Pinned = *c.Pinned
		}
		if c.Paused != nil {
			o.Paused = *c.Paused
		}
		if c.Reread {
			o.Reread++
		}
		o.Received = wire.AuditHead{}
		e.Orders = audit.JSON(o)
		if err := tx.Edges.Put(ctx, e); err != nil {
			return err
		}
		return audit.Append(ctx, tx, projectID, audit.Record{
			Kind: audit.KindRelease, At: rule.Instant(f.cfg.Now()), Actor: auth.ActorFrom(ctx).Name,
			Body: audit.JSON(map[string]any{"action": "edge", "edge": name, "pinned": o.Pinned, "paused": o.Paused, "reread": c.Reread}),
		})
	})
	if err != nil {
		return wire.FleetEdge{}, err
	}
	return f.show(ctx, &e, map[wire.Environment]newest{})
}

// inUse turns a forgotten edge into not_found.
func inUse(e store.Edge, err error) (store.Edge, error) {
	if err == nil && e.Forgotten {
		err = rule.Errorf(rule.CodeNotFound, "the edge %s was forgotten; its records stay", e.Name)
	}
	return e, err
}

// forgottenNote says why the alerts about a forgotten edge have ended.
const forgottenNote = "The edge was forgotten."

// Forget ends an edge for good: its chain ends where it is, which the audit log records, its records stay, and its name and key are refused. Alerts about
// it end.
func (f *Edges) Forget(ctx context.Context, projectID, name string) error {
	err := f.cfg.Updater.Update(ctx, func(tx store.Tx) error {
		e, err := inUse(tx.Edges.Get(ctx, projectID, name))
		if err != nil {
			return err
		}
		now := rule.Instant(f.cfg.Now())
		if err := tx.Edges.Forget(ctx, projectID, name, now); err != nil {
			return err
		}
		if f.cfg.Alerts != nil {
			for _, t := range rule.EdgeAlertTypes {
				if err := f.cfg.Alerts.SettleEdge(ctx, tx, projectID, t, name, forgottenNote); err != nil {
					return err
				}
			}
		}
		return audit.Append(ctx, tx, projectID, audit.Record{
			Kind: audit.KindRelease, At: now, Actor: auth.ActorFrom(ctx).Name,
			Body: audit.JSON(map[string]any{"action": "edge forgotten", "edge": name, "key": e.Key, "received": e.Received}),
		})
	})
	if err == nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.news, edgeRef{projectID, name})
		delete(f.late, edgeRef{projectID, name})
	}
	return err
}

type newest struct {
	seq  int64
	hash string
}

// newestOf returns the newest bundle of an environment, which it asks for once.
func (f *Edges) newestOf(ctx context.Context, projectID string, environment wire.Environment, cache map[wire.Environment]newest) newest {
	n, ok := cache[environment]
	if !ok {
		if seq, hash, err := f.cfg.Newest(ctx, projectID, environment); err == nil {
			n = newest{seq, hash}
		}
		cache[environment] = n
	}
	return n
}

func (f *Edges) show(ctx context.Context, e *store.Edge, cache map[wire.Environment]newest) (wire.FleetEdge, error) {
	f.mu.Lock()
	if late, ok := f.late[edgeRef{e.ProjectID, e.Name}]; ok && late.SeenAt.After(e.SeenAt) {
		e.Report, e.SeenAt = late.Report, late.SeenAt
	}
	f.mu.Unlock()
	out := wire.FleetEdge{Name: e.Name, SeenAt: e.SeenAt, CreatedAt: e.CreatedAt, Problems: []string{}, Unknown: e.Unknown}
	var err error
	if out.Orders, err = ordersOf(e); err != nil {
		return out, err
	}
	if err := json.Unmarshal(e.Report, &out.Report); err != nil {
		return out, err
	}
	n := f.newestOf(ctx, e.ProjectID, out.Report.Environment, cache)
	out.Problems = problemsOf(&out.Report, f.cfg.Now().Sub(e.SeenAt))
	out.Current = n.hash != "" && n.hash == out.Report.Bundle
	return out, nil
}

// problemsOf returns the problems of an edge by its last report and the time since then.
func problemsOf(r *wire.EdgeReport, unseen time.Duration) []string {
	list := []string{}
	if unseen > silentAfter {
		list = append(list, wire.EdgeSilent)
	}
	if r.Stale {
		list = append(list, wire.EdgeStale)
	}
	if r.Spool > 0 && time.Duration(r.SpoolAge)*time.Second > growingAfter {
		list = append(list, wire.SpoolGrowing)
	}
	return list
}

// maxCounted bounds the edges over which a rollout is counted.
const maxCounted = 10_000

// List returns a page of edges by name, and how far the newest bundles have come over all.
func (f *Edges) List(ctx context.Context, projectID string, q wire.PageQuery) (wire.Fleet, error) {
	out := wire.Fleet{Items: []wire.FleetEdge{}, Page: q.Page, PageSize: q.PageSize, Rollout: []wire.Rollout{}}
	list, total, err := f.cfg.Edges.List(ctx, projectID, 0, maxCounted)
	if err != nil {
		return out, err
	}
	out.Total = total
	cache := map[wire.Environment]newest{}
	rollouts := map[wire.Environment]*wire.Rollout{}
	for i := range list {
		e, err := f.show(ctx, &list[i], cache)
		if err != nil {
			return out, err
		}
		if i >= q.Offset() && len(out.Items) < q.PageSize {
			out.Items = append(out.Items, e)
		}
		if slices.Contains(e.Problems, wire.EdgeSilent) {
			continue
		}
		r := rollouts[e.Report.Environment]
		if r == nil {
			r = &wire.Rollout{Environment: e.Report.Environment, BundleSeq: cache[e.Report.Environment].seq}
			rollouts[e.Report.Environment] = r
		}
		r.Edges++
		if e.Current {
			r.Current++
		}
	}
	for _, environment := range wire.Environments {
		if r := rollouts[environment]; r != nil {
			out.Rollout = append(out.Rollout, *r)
		}
	}
	return out, nil
}

// Get returns an edge.
func (f *Edges) Get(ctx context.Context, projectID, name string) (wire.FleetEdge, error) {
	e, err := inUse(f.cfg.Edges.Get(ctx, projectID, name))
	if err != nil {
		return wire.FleetEdge{}, err
	}
	return f.show(ctx, &e, map[wire.Environment]newest{})
}

// Count sums up what edges that are not silent have reported since their starts.
type Count struct {
	Project          string
	Requests, Errors int64
}

// Counts returns a sum for each project that has edges, in order.
func (f *Edges) Counts(ctx context.Context) ([]Count, error) {
	projects, err := f.cfg.Edges.Projects(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]Count, 0, len(projects))
	for _, id := range projects {
		edges, _, err := f.cfg.Edges.List(ctx, id, 0, maxCounted)
		if err != nil {
			return nil, err
		}
		c := Count{Project: id}
		for i := range edges {
			if f.cfg.Now().Sub(edges[i].SeenAt) > silentAfter {
				continue
			}
			var r wire.EdgeReport
			if err := json.Unmarshal(edges[i].Report, &r); err != nil {
				return nil, err
			}
			c.Requests += r.Requests
			c.Errors += r.Errors
		}
		list = append(list, c)
	}
	return list, nil
}
