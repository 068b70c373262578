package operate_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tenet/internal/operate"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/store/litetest"
	"tenet/internal/store/sqlstore"
	"tenet/internal/wire"
)

func open(t *testing.T) store.Store {
	t.Helper()
	s, err := sqlstore.OpenSQLite(t.Context(), litetest.Dir(t), sqlstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// rows is a list of servers in memory, for tests in fake time.
type rows struct {
	store.ServerTx

	mu   sync.Mutex
	list map[string]store.Server
}

// Records lie in a form that older versions cannot read only once no server of such a version runs, or may still run.
func TestWhatAllServersCanRead(t *testing.T) {
	t.Parallel()
	s := open(t)
	now := time.Now()
	can := func(want bool, when time.Time) {
		t.Helper()
		got, err := operate.AllRead(t.Context(), s.Servers, store.BodiesApart, when)
		if err != nil || got != want {
			t.Errorf("all can read it: %v, %v; want %v", got, err, want)
		}
	}
	can(true, now) // this one has not written its row yet
	this := operate.NewServers(operate.ServersConfig{
		Store: operate.Store{Updater: s, Servers: s.Servers}, Logger: slog.New(slog.DiscardHandler), Now: func() time.Time { return now },
		Self: wire.Server{ID: "this"}, Models: func() []wire.ModelHealth { return nil }, Address: func() string { return "" },
	})
	if err := this.Note(t.Context()); err != nil {
		t.Fatal(err)
	}
	can(true, now)
	err := s.Update(t.Context(), func(tx store.Tx) error {
		return tx.Servers.Put(t.Context(), store.Server{ID: "older", StartedAt: now, SeenAt: now, Data: []byte(`{"id":"older","version":"1.0"}`)})
	})
	if err != nil {
		t.Fatal(err)
	}
	can(false, now)
	can(false, now.Add(time.Minute)) // it may stand still
	can(true, now.Add(time.Hour))
	list, err := this.List(t.Context())
	if err != nil || len(list) != 2 {
		t.Errorf("the list: %+v, %v", list, err)
	}
}

// count is the number of rows, and whether one of them has an id.
func (r *rows) count(id string) (n int, has bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, has = r.list[id]
	return len(r.list), has
}

func (r *rows) Update(_ context.Context, fn func(store.Tx) error) error {
	return fn(store.Tx{Servers: r})
}

func (r *rows) List(context.Context) ([]store.Server, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []store.Server
	for _, s := range r.list {
		all = append(all, s)
	}
	return all, nil
}

func (r *rows) Put(_ context.Context, s store.Server) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list[s.ID] = s
	return nil
}

func (r *rows) Delete(_ context.Context, id string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.list, id)
	return nil
}

func (r *rows) DeleteUnseen(_ context.Context, before time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, s := range r.list {
		if s.SeenAt.Before(before) {
			delete(r.list, id)
		}
	}
	return nil
}

func TestServersComeGoAndGetLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &rows{list: map[string]store.Server{}}
		server := func(id, address string) *operate.Servers {
			return operate.NewServers(operate.ServersConfig{
				Store: operate.Store{Updater: r, Servers: r}, Logger: slog.New(slog.DiscardHandler), Now: time.Now,
				Self:    wire.Server{ID: id, Name: "host-" + id, Version: "v1", StartedAt: time.Now()},
				Models:  func() []wire.ModelHealth { return []wire.ModelHealth{{Purpose: "judge", Model: "fake:" + id}} },
				Address: func() string { return address },
			})
		}
		one, two := server("one", "one:8080"), server("two", "")
		if list, err := one.List(t.Context()); err != nil || len(list) != 1 || !list[0].This || list[0].Status != wire.ServerLive {
			t.Errorf("a server that is about to write its row: %+v, %v", list, err)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { one.Run(ctx); close(done) }()
		synctest.Wait()
		list, err := two.List(t.Context())
		if err != nil || len(list) != 1 || list[0].Name != "host-one" || list[0].Address != "one:8080" || list[0].Status != wire.ServerLive || list[0].This || list[0].Models[0].Model != "fake:one" {
			t.Fatalf("while it runs: %+v, %v", list, err)
		}
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if live, lost, _ := two.Live(t.Context()); live != 1 || lost != 0 {
			t.Errorf("after five minutes: %d live, %d lost", live, lost)
		}
		if list, _ := one.List(t.Context()); !list[0].This {
			t.Errorf("a server does not know itself: %+v", list)
		}
		stop()
		<-done
		if list, _ := two.List(t.Context()); len(list) != 0 {
			t.Errorf("after its end: %+v", list)
		}

		// One that ends without a word is lost, and forgotten after a day.
		if err := r.Put(t.Context(), store.Server{ID: "dead", StartedAt: time.Now(), SeenAt: time.Now(), Data: []byte("not JSON")}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(31 * time.Second)
		if list, err := two.List(t.Context()); err != nil || len(list) != 1 || list[0].Status != wire.ServerLost {
			t.Errorf("a dead one: %+v, %v", list, err)
		}
		ctx, stop = context.WithCancel(t.Context())
		done = make(chan struct{})
		go func() { two.Run(ctx); close(done) }()
		time.Sleep(25 * time.Hour)
		synctest.Wait()
		if n, dead := r.count("dead"); dead || n != 1 {
			t.Errorf("after a day: %d servers, the dead one among them %v", n, dead)
		}
		stop()
		<-done
	})
}

func TestUsageIsSummedUpWithItsCost(t *testing.T) {
	s, ctx := open(t), t.Context()
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	day := store.DayOf(now)
	for _, id := range []string{"p", "q"} {
		if err := s.Update(ctx, func(tx store.Tx) error {
			if err := tx.Projects.Create(ctx, rule.Project{ID: id, Name: id, CreatedAt: now, UpdatedAt: now}); err != nil {
				return err
			}
			return tx.Counts.Add(ctx, store.Counts{ProjectID: id, Mark: store.CountMark{Seq: 1, At: now}, Models: []store.ModelCount{
				{Day: day, Model: "a:dear", Calls: 2, Failed: 1, InputTokens: 1_000_000, CachedTokens: 500_000, OutputTokens: 100_000, DurationMS: 300},
				{Day: day - 1, Model: "b:free", Calls: 1, InputTokens: 9_000_000, DurationMS: 10},
				{Day: day - 7, Model: "a:dear", Calls: 50, InputTokens: 7},
			}})
		}); err != nil {
			t.Fatal(err)
		}
	}
	u := operate.Usage{
		Counts: s.Counts, Projects: s.Projects, Now: func() time.Time { return now }, Currency: "EUR",
		Prices: map[string]operate.Price{"a:dear": func(input, output, cached int64) float64 {
			return float64(input-cached)/1e6*2 + float64(cached)/1e6 + float64(output)/1e6*10
		}},
	}
	got, err := u.Sum(ctx, "p", 7)
	if err != nil {
		t.Fatal(err)
	}
	if got.Total.Calls != 3 || got.Total.Failed != 1 || got.Total.InputTokens != 10_000_000 || got.Total.Cost == nil || *got.Total.Cost != 2.5 {
		t.Errorf("total %+v", got.Total)
	}
	if len(got.Models) != 2 || got.Models[0].Model != "b:free" || got.Models[0].Cost != nil || got.Models[1].MeanMS != 150 {
		t.Errorf("models %+v", got.Models)
	}
	if len(got.Days) != 7 || got.Days[6].Date != "2026-05-04" || got.Days[6].Calls != 2 || got.Days[5].Calls != 1 || got.Days[0].Calls != 0 {
		t.Errorf("days %+v", got.Days)
	}
	if len(got.Unpriced) != 1 || got.Unpriced[0] != "b:free" {
		t.Errorf("without a price: %v", got.Unpriced)
	}
	if all, err := u.Sum(ctx, store.AllProjects, 8); err != nil || all.Total.Calls != 106 || *all.Total.Cost < 5 {
		t.Errorf("of all projects: %+v, %v", all.Total, err)
	}
	if _, err := u.Sum(ctx, "none", 7); rule.CodeOf(err) != rule.CodeNotFound {
		t.Errorf("of no project: %v", err)
	}
}
