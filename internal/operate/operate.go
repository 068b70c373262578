// Package operate shows how a cluster runs: its servers, their models, what models are asked and cost, and the settings in force.
package operate

import (
	"context"
	"encoding/json"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"time"

	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

const (
	// beat is how often a server says that it runs, and patience after how long without a word it is lost.
	beat     = 10 * time.Second
	patience = 3 * beat
	// remember is how long lost servers are listed.
	remember = 24 * time.Hour
	// farewell bounds the removal of a server from the list as it ends.
	farewell = 2 * time.Second
)

// Store is the part of the database that [Servers] uses.
type Store struct {
	store.Updater
	Servers store.ServerReader
}

// ServersConfig sets up [NewServers].
type ServersConfig struct {
	Store  Store
	Logger *slog.Logger
	Now    func() time.Time
	// Self describes this server without what changes; its id, name, version and start are given.
	Self wire.Server
	// Models returns how this server fares with its models now.
	Models func() []wire.ModelHealth
	// Replicas returns how this server fares with the replicas of its database now; nil without any.
	Replicas func() []wire.Replica
	// Address returns the address that this server listens on; empty before it does.
	Address func() string
}

// Servers lists the servers of the cluster, and keeps this one in the list. It is safe for concurrent use.
type Servers struct {
	cfg ServersConfig

	mu   sync.Mutex // held while the row of this server is written
	left bool       // the row has been removed
}

// NewServers returns the Servers of a database.
func NewServers(cfg ServersConfig) *Servers {
	cfg.Self.StartedAt = rule.Instant(cfg.Self.StartedAt)
	return &Servers{cfg: cfg}
}

// self describes this server as it is now.
func (s *Servers) self() wire.Server {
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	one := s.cfg.Self
	one.SeenAt, one.Status, one.Address = rule.Instant(s.cfg.Now()), wire.ServerLive, s.cfg.Address()
	one.Memory = int64(memory.HeapInuse) //nolint:gosec // no heap has so many bytes
	one.Models = s.cfg.Models()
	if s.cfg.Replicas != nil {
		one.Replicas = s.cfg.Replicas()
	}
	return one
}

// Run keeps this server in the list until ctx ends, and then removes it. A server that cannot write its row goes on, and others take it for lost.
func (s *Servers) Run(ctx context.Context) {
	for {
		if err := s.Note(ctx); err != nil && ctx.Err() == nil {
			s.cfg.Logger.WarnContext(ctx, "the list of servers cannot be written", slog.Any("error", err))
		}
		select {
		case <-time.After(beat):
		case <-ctx.Done():
			s.leave(ctx)
			return
		}
	}
}

// Note writes how this server is now into the list, unless it has left the list.
func (s *Servers) Note(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left {
		return nil
	}
	one := s.self()
	data, err := json.Marshal(written{one, []string{store.BodiesApart}})
	if err != nil {
		return err
	}
	return s.cfg.Store.Update(ctx, func(tx store.Tx) error {
		if err := tx.Servers.Put(ctx, store.Server{ID: one.ID, StartedAt: one.StartedAt, SeenAt: one.SeenAt, Data: data}); err != nil {
			return err
		}
		return tx.Servers.DeleteUnseen(ctx, one.SeenAt.Add(-remember))
	})
}

// written is the row of a server: what is shown of it, and what it can read that older versions cannot.
type written struct {
	wire.Server

	Reads []string `json:"reads"`
}

// unsure is how long a server that was not seen may still run, as far as others are concerned that want to write what it might not be able to read.
const unsure = 10 * patience

// AllRead reports whether all servers of a database can read something that older versions cannot.
func AllRead(ctx context.Context, servers store.ServerReader, what string, now time.Time) (bool, error) {
	rows, err := servers.List(ctx)
	for _, row := range rows {
		var one written
		if now.Sub(row.SeenAt) <= unsure && (json.Unmarshal(row.Data, &one) != nil || !slices.Contains(one.Reads, what)) {
			return false, nil
		}
	}
	return err == nil, err
}

func (s *Servers) leave(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left = true
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer cancel()
	if err := s.cfg.Store.Update(ctx, func(tx store.Tx) error { return tx.Servers.Delete(ctx, s.cfg.Self.ID) }); err != nil {
		s.cfg.Logger.WarnContext(ctx, "this server stays in the list of servers for a day", slog.Any("error", err))
	}
}

// List returns the servers, those that have run longest first. This one is as it is now, if it serves.
func (s *Servers) List(ctx context.Context) ([]wire.Server, error) {
	rows, err := s.cfg.Store.Servers.List(ctx)
	if err != nil {
		return nil, err
	}
	now := s.cfg.Now()
	known := slices.ContainsFunc(rows, func(row store.Server) bool { return row.ID == s.cfg.Self.ID })
	if !known && s.cfg.Address() != "" { // it serves, and writes its row at this moment
		rows = append(rows, store.Server{ID: s.cfg.Self.ID, StartedAt: s.cfg.Self.StartedAt, SeenAt: now, Data: []byte("{}")})
	}
	list := make([]wire.Server, 0, len(rows)+1)
	for _, row := range rows {
		var one wire.Server
		if err := json.Unmarshal(row.Data, &one); err != nil {
			one = wire.Server{Name: "written by another version"} // it runs all the same
		}
		if row.ID == s.cfg.Self.ID {
			one = s.self()
			one.This = true
		}
		one.ID, one.StartedAt, one.SeenAt, one.Status = row.ID, row.StartedAt, row.SeenAt, wire.ServerLive
		if now.Sub(row.SeenAt) > patience {
			one.Status = wire.ServerLost
		}
		if one.Models == nil {
			one.Models = []wire.ModelHealth{}
		}
		list = append(list, one)
	}
	return list, nil
}

// Live counts the servers by status.
func (s *Servers) Live(ctx context.Context) (live, lost int, err error) {
	list, err := s.List(ctx)
	for i := range list {
		if list[i].Status == wire.ServerLive {
			live++
		}
	}
	return live, len(list) - live, err
}

// Price is the cost of tokens of a model: of input, output, and those of the input that were cached.
type Price func(input, output, cached int64) float64

// Usage sums up what models were asked.
type Usage struct {
	Counts   store.CountReader
	Projects store.ProjectReader
	Now      func() time.Time
	Prices   map[string]Price
	Currency string
}

// Sum returns the usage of a project, or of all for [store.AllProjects], over the last days, today included; not_found without the project.
func (u *Usage) Sum(ctx context.Context, projectID string, days int) (wire.Usage, error) {
	if projectID != store.AllProjects {
		if _, err := u.Projects.Get(ctx, projectID); err != nil {
			return wire.Usage{}, err
		}
	}
	from := store.DayOf(u.Now()) - store.Day(days-1)
	counts, err := u.Counts.ModelDays(ctx, projectID, from)
	if err != nil {
		return wire.Usage{}, err
	}
	out := wire.Usage{
		ProjectID: projectID, PeriodDays: days, From: from.Time(), Currency: u.Currency, Models: []wire.ModelUsage{}, Days: make([]wire.DayUsage, days),
	}
	if out.Judged, out.Reused, err = u.Counts.Reuse(ctx, projectID, from); err != nil {
		return out, err
	}
	for i := range out.Days {
		out.Days[i].Date = (from + store.Day(i)).String()
	}
	models, duration := map[string]*wire.ModelUsage{}, map[string]int64{}
	for i := range counts {
		c := &counts[i]
		m := models[c.Model]
		if m == nil {
			m = &wire.ModelUsage{Model: c.Model}
			models[c.Model] = m
		}
		duration[c.Model] += c.DurationMS
		sums := []*wire.UsageFigures{&out.Total, &m.UsageFigures}
		if at := int(c.Day - from); at < days { // a clock that runs ahead counts for no day
			sums = append(sums, &out.Days[at].UsageFigures)
		}
		for _, f := range sums {
			u.add(f, c)
		}
	}
	for id, m := range models {
		if m.Calls > 0 {
			m.MeanMS = float64(duration[id]) / float64(m.Calls)
		}
		out.Models = append(out.Models, *m)
		if u.Prices[id] == nil {
			out.Unpriced = append(out.Unpriced, id)
		}
	}
	slices.Sort(out.Unpriced)
	slices.SortFunc(out.Models, func(a, b wire.ModelUsage) int {
		if x, y := a.InputTokens+a.OutputTokens, b.InputTokens+b.OutputTokens; x != y {
			return int(min(max(y-x, -1), 1))
		}
		if a.Model < b.Model {
			return -1
		}
		return 1
	})
	return out, nil
}

// add adds the counts of a day and model to figures.
func (u *Usage) add(f *wire.UsageFigures, c *store.ModelCount) {
	f.Calls += c.Calls
	f.Failed += c.Failed
	f.InputTokens += c.InputTokens
	f.OutputTokens += c.OutputTokens
	f.CachedTokens += c.CachedTokens
	if price := u.Prices[c.Model]; price != nil {
		cost := price(c.InputTokens, c.OutputTokens, c.CachedTokens)
		if f.Cost != nil {
			cost += *f.Cost
		}
		f.Cost = &cost
	}
}
