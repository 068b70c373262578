// Package fleet knows the edges of a project: their reports, their orders, and their records, which it verifies as they arrive and
// keeps as chains of their own.
package fleet

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/checkpoint"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// Times after which an edge has a problem.
const (
	silentAfter  = 30 * time.Second
	growingAfter = time.Minute
)

// seenEvery bounds how often the time at which an edge was seen is written, if nothing else has changed.
const seenEvery = 10 * time.Second

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
	seen map[string]seen // by project and name
}

// seen is the last report of an edge that this node has stored or passed over.
type seen struct {
	report string
	at     time.Time
}

// New makes Edges.
func New(cfg Config) *Edges { return &Edges{cfg: cfg, seen: map[string]seen{}} }

// checkName returns an invalid error for what cannot be the name of an edge.
func checkName(name string) error {
	if name == "" || len(name) > maxName || strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") != "" {
		var p rule.Problems
		p.Add("edge", "is %q; use 1 to %d letters, digits, dots, - and _", name, maxName)
		return p.Err("the name of the edge is invalid")
	}
	return nil
}

// Report stores how an edge fares, and returns what it is to do. It is a conflict if the edge signs by another key than before: an edge with a new
// folder needs a new name, since its chain begins again.
func (f *Edges) Report(ctx context.Context, projectID, name string, r wire.EdgeReport) (wire.EdgeOrders, error) {
	if err := checkName(name); err != nil {
		return wire.EdgeOrders{}, err
	}
	if len(r.Key) == 0 || !strings.HasPrefix(r.Key, wire.EdgeKeyName(projectID, name)+"+") {
		return wire.EdgeOrders{}, rule.Errorf(rule.CodeInvalid, "the key of the report is not one of the edge %s in project %s", name, projectID)
	}
	now := rule.Instant(f.cfg.Now())
	e, err := f.cfg.Edges.Get(ctx, projectID, name)
	fresh := rule.CodeOf(err) == rule.CodeNotFound
	if err != nil && !fresh {
		return wire.EdgeOrders{}, err
	}
	if fresh {
		e = store.Edge{ProjectID: projectID, Name: name, Key: r.Key, CreatedAt: now, Orders: []byte("{}")}
	}
	if e.Key != r.Key {
		return wire.EdgeOrders{}, rule.Errorf(rule.CodeConflict, "the edge %s has another key than before; give an edge with a new folder a new name", name)
	}
	body := audit.JSON(r)
	if !fresh && f.passOver(projectID+" "+name, r, now) {
		return ordersOf(&e)
	}
	e.Report, e.SeenAt = body, now
	err = f.cfg.Updater.Update(ctx, func(tx store.Tx) error {
		if stored, err := tx.Edges.Get(ctx, projectID, name); err == nil {
			if stored.Key != r.Key {
				return rule.Errorf(rule.CodeConflict, "the edge %s has another key than before; give an edge with a new folder a new name", name)
			}
			e.Orders, e.CreatedAt = stored.Orders, stored.CreatedAt
			e.Received = stored.Received
		}
		return tx.Edges.Put(ctx, e)
	})
	if err != nil {
		return wire.EdgeOrders{}, err
	}
	return ordersOf(&e)
}

// passOver reports whether a report says nothing new and the edge was seen a moment ago: a thousand edges that report cost few writes.
func (f *Edges) passOver(key string, r wire.EdgeReport, now time.Time) bool {
	r.BundleAge, r.SpoolAge, r.Evaluations, r.Head, r.SpoolBytes = 0, 0, 0, 0, 0
	text := string(audit.JSON(r))
	f.mu.Lock()
	defer f.mu.Unlock()
	last := f.seen[key]
	if last.report == text && now.Sub(last.at) < seenEvery && !now.Before(last.at) {
		return true
	}
	if len(f.seen) >= 10_000 {
		clear(f.seen)
	}
	f.seen[key] = seen{text, now}
	return false
}

func ordersOf(e *store.Edge) (wire.EdgeOrders, error) {
	var o wire.EdgeOrders
	err := json.Unmarshal(e.Orders, &o)
	o.Received = e.Received
	return o, err
}

// Change changes the orders of an edge.
func (f *Edges) Change(ctx context.Context, projectID, name string, c wire.ChangeEdge) (wire.FleetEdge, error) {
	var e store.Edge
	err := f.cfg.Updater.Update(ctx, func(tx store.Tx) error {
		var err error
		if e, err = tx.Edges.Get(ctx, projectID, name); err != nil {
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
	e, err := f.cfg.Edges.Get(ctx, projectID, name)
	if err != nil {
		return wire.FleetEdge{}, err
	}
	return f.show(ctx, &e, map[wire.Environment]newest{})
}

// Take stores records of an edge, and returns the end of its chain here. Records that are stored already are passed over, so that sending them again
// does nothing. Invalid are records whose signature, hashes or order are wrong; then none is stored.
func (f *Edges) Take(ctx context.Context, projectID, name string, in wire.EdgeRecords) (wire.AuditHead, error) {
	e, err := f.cfg.Edges.Get(ctx, projectID, name)
	if err != nil {
		return wire.AuditHead{}, err
	}
	entries, err := read(projectID, &e, in)
	if err != nil {
		return wire.AuditHead{}, err
	}
	used, err := rulesOf(entries)
	if err != nil {
		return wire.AuditHead{}, err
	}
	var end wire.AuditHead
	err = f.cfg.Updater.Update(ctx, func(tx store.Tx) error {
		now, err := tx.Edges.Get(ctx, projectID, name)
		if err != nil {
			return err
		}
		rest, err := after(ctx, tx.Edges, &now, entries)
		if err != nil {
			return err
		}
		if end = now.Received; len(rest) == 0 {
			return nil
		}
		unknown, err := unknown(ctx, tx.Rules, projectID, used[len(used)-len(rest):])
		if err != nil {
			return err
		}
		last := rest[len(rest)-1]
		end = wire.AuditHead{Seq: last.Seq, Hash: last.Hash}
		return tx.Edges.Append(ctx, name, rest, unknown)
	})
	return end, err
}

// refused returns the error for records that cannot be taken.
func refused(format string, args ...any) error {
	return rule.Errorf(rule.CodeInvalid, "the records of the edge are refused: "+format, args...)
}

// read checks a batch: its signature, and that each entry is whole and follows the one before.
func read(projectID string, e *store.Edge, in wire.EdgeRecords) ([]store.AuditEntry, error) {
	if len(in.Entries) == 0 {
		return nil, refused("there are none")
	}
	entries := make([]store.AuditEntry, len(in.Entries))
	for i, r := range in.Entries {
		body, err := base64.StdEncoding.DecodeString(r.Body)
		if err != nil {
			return nil, refused("the body of entry %d is not base64", r.Seq)
		}
		entries[i] = store.AuditEntry{
			ProjectID: projectID, Seq: r.Seq, ID: r.ID, Kind: r.Kind, At: rule.Instant(r.At), Actor: r.Actor, Verdict: r.Verdict, Mode: r.Mode, Body: body,
			BodyHash: audit.BodyHash(body), PrevHash: r.PrevHash, Hash: r.Hash,
		}
		switch {
		case audit.Hash(entries[i]) != r.Hash:
			return nil, refused("the hash of entry %d does not fit its fields", r.Seq)
		case r.Seq < 1 || (r.Seq == 1) != (r.PrevHash == ""):
			return nil, refused("entry %d does not begin or continue a chain", r.Seq)
		case i > 0 && (r.Seq != entries[i-1].Seq+1 || r.PrevHash != entries[i-1].Hash):
			return nil, refused("entry %d does not follow the one before it", r.Seq)
		}
	}
	last := &entries[len(entries)-1]
	text, _, err := checkpoint.OpenText(in.Note, []string{e.Key})
	if err != nil {
		return nil, refused("%w", err)
	}
	if text != wire.RecordsText(projectID, e.Name, wire.AuditHead{Seq: last.Seq, Hash: last.Hash}) {
		return nil, refused("the edge has signed others")
	}
	return entries, nil
}

// after returns the entries behind the end of a stored chain. Those before must be the stored ones.
func after(ctx context.Context, stored store.EdgeReader, e *store.Edge, entries []store.AuditEntry) ([]store.AuditEntry, error) {
	first := entries[0].Seq
	if first > e.Received.Seq+1 {
		return nil, rule.Errorf(rule.CodeConflict, "the next record of the edge %s is %d, not %d", e.Name, e.Received.Seq+1, first)
	}
	known := int(min(e.Received.Seq-first+1, int64(len(entries))))
	if known > 0 {
		list, err := stored.Entries(ctx, e.ProjectID, e.Name, first-1, known)
		if err != nil {
			return nil, err
		}
		for i := range list {
			if list[i].Hash != entries[i].Hash {
				return nil, rule.Errorf(rule.CodeConflict, "entry %d of the edge %s is stored already, and was another one", list[i].Seq, e.Name)
			}
		}
	}
	rest := entries[known:]
	if len(rest) > 0 && rest[0].PrevHash != e.Received.Hash {
		return nil, rule.Errorf(rule.CodeConflict, "entry %d of the edge %s does not follow the stored ones", rest[0].Seq, e.Name)
	}
	return rest, nil
}

// Bounds of the bodies of a batch, unpacked, in bytes: one, and all.
const (
	maxUnpacked    = 64 << 20
	maxUnpackedAll = 1 << 30
)

// rulesOf returns the rules that each of some entries was judged by; nil for one that is no evaluation. One body is in memory at a time.
func rulesOf(entries []store.AuditEntry) ([][]wire.RecordedRule, error) {
	used := make([][]wire.RecordedRule, len(entries))
	left := int64(maxUnpackedAll)
	for i := range entries {
		if entries[i].Kind != audit.KindEvaluation {
			continue
		}
		body, err := audit.DecompressWithin(entries[i].Body, min(left, maxUnpacked))
		if err != nil {
			return nil, refused("the body of entry %d cannot be read", entries[i].Seq)
		}
		left -= int64(len(body))
		var rec struct {
			Rules []wire.RecordedRule `json:"rules"`
		}
		if err := json.Unmarshal(body, &rec); err != nil {
			return nil, refused("the body of entry %d is not a record", entries[i].Seq)
		}
		used[i] = rec.Rules
	}
	return used, nil
}

// unknown counts the evaluations by versions of rules that are not stored.
func unknown(ctx context.Context, rules store.RuleReader, projectID string, used [][]wire.RecordedRule) (int64, error) {
	hashes := map[store.VersionRef]string{}
	for _, list := range used {
		for _, r := range list {
			hashes[store.VersionRef{RuleID: r.RuleID, Version: r.Version}] = ""
		}
	}
	for ref := range hashes { // a batch has few versions of one rule
		r, err := rules.Version(ctx, projectID, ref.RuleID, ref.Version)
		if rule.CodeOf(err) == rule.CodeNotFound {
			continue
		}
		if err != nil {
			return 0, err
		}
		hashes[ref] = r.ContentHash()
	}
	var n int64
	for _, list := range used {
		if slices.ContainsFunc(list, func(r wire.RecordedRule) bool {
			return hashes[store.VersionRef{RuleID: r.RuleID, Version: r.Version}] != r.ContentHash
		}) {
			n++
		}
	}
	return n, nil
}

// Records reads audit entries of a project, and those of its edges by id.
type Records struct {
	store.AuditReader

	Edges store.EdgeReader
}

// Get implements [store.AuditReader].
func (r Records) Get(ctx context.Context, projectID, id string) (store.AuditEntry, error) {
	e, err := r.AuditReader.Get(ctx, projectID, id)
	if rule.CodeOf(err) == rule.CodeNotFound {
		if of, err := r.Edges.Entry(ctx, projectID, id); rule.CodeOf(err) != rule.CodeNotFound {
			return of, err
		}
	}
	return e, err
}
