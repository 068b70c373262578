package health_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tenet/internal/audit"
	"tenet/internal/corpus"
	"tenet/internal/health"
	"tenet/internal/job"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/store/litetest"
	"tenet/internal/store/pgtest"
	"tenet/internal/store/sqlstore"
	"tenet/internal/wire"
)

// open opens a store that is closed with its test.
func open(t testing.TB, s store.Store, err error) store.Store {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// databases are a fresh database of each kind, to be opened as often as one likes.
func databases(t testing.TB) map[string]func() store.Store {
	list := map[string]func() store.Store{}
	dir := litetest.Dir(t)
	list["SQLite"] = func() store.Store {
		s, err := sqlstore.OpenSQLite(t.Context(), dir, sqlstore.Options{})
		return open(t, s, err)
	}
	if _, isBenchmark := t.(*testing.B); isBenchmark && os.Getenv(pgtest.Env) == "" {
		t.Logf("not measured on PostgreSQL: %s is not set", pgtest.Env)
		return list
	}
	dsn := pgtest.DSN(t)
	list["PostgreSQL"] = func() store.Store {
		s, err := sqlstore.OpenPostgres(t.Context(), dsn, sqlstore.Options{})
		return open(t, s, err)
	}
	return list
}

// fill makes a project p with rules in force that were made a hundred days ago.
func fill(t testing.TB, s store.Store, n int) []rule.Rule {
	t.Helper()
	made := time.Now().UTC().Add(-100 * 24 * time.Hour).Truncate(time.Microsecond)
	rules := make([]rule.Rule, n)
	for i := range rules {
		rules[i] = rule.Rule{
			ID: audit.NewID(), ProjectID: "p", Slug: fmt.Sprintf("R-%d", i), Version: 1, Status: rule.Effective, Statement: "Payments must be approved.",
			CreatedAt: made, UpdatedAt: made,
		}
		rules[i].Normalize()
	}
	err := s.Update(t.Context(), func(tx store.Tx) error {
		if err := tx.Projects.Create(t.Context(), rule.Project{ID: "p", Name: "p"}); err != nil {
			return err
		}
		cv, err := tx.Projects.RaiseCorpus(t.Context(), "p")
		if err != nil {
			return err
		}
		return tx.Rules.Insert(t.Context(), cv, rules)
	})
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

func monitor(s store.Store, a *health.Alerts) *health.Monitor {
	return health.New(health.Config{Store: health.Store{Updater: s, Alerts: s.Alerts, Audit: s.Audit, Counts: s.Counts, Feedback: s.Feedback, Health: s.Health, Projects: s.Projects, Rules: s.Rules, Releases: s.Releases, TestCases: s.TestCases, Waivers: s.Waivers}, Views: corpus.NewLive(corpus.Config{Store: corpus.Store{Projects: s.Projects, Federation: s.Federation, Embeddings: s.Embeddings, Waivers: s.Waivers}}), Alerts: a})
}

// Two nodes look for conditions in rounds, as fast as they can: never both at once, and each alert is made once.
func TestTwoNodesNeverBothSweep(t *testing.T) {
	t.Parallel()
	for name, open := range databases(t) {
		t.Run(name, func(t *testing.T) {
			fill(t, open(), 3)
			var running, most, rounds, published atomic.Int64
			enough := make(chan struct{})
			handler := func(m *health.Monitor) job.Handler {
				sweep := m.Handlers()[health.SweepKind]
				return func(ctx context.Context, j wire.Job, progress func(done, total int)) error {
					most.Store(max(most.Load(), running.Add(1)))
					defer running.Add(-1)
					if err := sweep(ctx, j, progress); err != nil {
						return err
					}
					if rounds.Add(1) == 3 {
						close(enough)
					}
					return nil
				}
			}
			for range 2 {
				s := open()
				m := monitor(s, health.NewAlerts(health.AlertsConfig{
					Store: health.AlertStore{Updater: s, Alerts: s.Alerts, Projects: s.Projects, Rules: s.Rules}, Publish: func(context.Context, store.Tx, rule.Event) error { published.Add(1); return nil },
				}))
				rounds := slices.DeleteFunc(m.Periodic(), func(p job.Periodic) bool { return p.Kind != health.SweepKind })
				rounds[0].Every = 20 * time.Millisecond
				r := job.New(job.Config{
					Store: job.Store{Updater: s, JobWatcher: s, Jobs: s.Jobs}, Handlers: map[string]job.Handler{health.SweepKind: handler(m)}, Periodic: rounds, Poll: 5 * time.Millisecond,
				})
				r.Start()
				t.Cleanup(func() {
					if err := r.Stop(context.Background()); err != nil {
						t.Error(err)
					}
				})
			}
			select {
			case <-enough:
			case <-time.After(30 * time.Second):
				t.Fatal("the nodes do not sweep")
			}
			_, total, err := open().Alerts.Find(t.Context(), store.AlertFilter{ProjectID: "p", Limit: 1})
			if most.Load() != 1 || total != 3 || err != nil || published.Load() != 3 {
				t.Errorf("%d sweeps ran at once; %d alerts of 3 dormant rules, %d published (%v)", most.Load(), total, published.Load(), err)
			}
		})
	}
}

func TestRacingToRaiseAnAlert(t *testing.T) {
	t.Parallel()
	for name, open := range databases(t) {
		t.Run(name, func(t *testing.T) {
			s := open()
			r := fill(t, s, 1)[0]
			a := health.NewAlerts(health.AlertsConfig{Store: health.AlertStore{Updater: s, Alerts: s.Alerts, Projects: s.Projects, Rules: s.Rules}, Publish: publishNothing})
			var told atomic.Int64
			var wg sync.WaitGroup
			for range 64 {
				wg.Go(func() {
					mine := 0
					racer := health.NewAlerts(health.AlertsConfig{Store: health.AlertStore{Updater: s, Alerts: s.Alerts, Projects: s.Projects, Rules: s.Rules}, Publish: func(context.Context, store.Tx, rule.Event) error { mine++; return nil }})
					err := s.Update(t.Context(), func(tx store.Tx) error {
						mine = 0 // the transaction may run again
						return racer.Raise(t.Context(), tx, rule.Alert{ProjectID: "p", Type: rule.ConflictDetected, RuleID: r.ID, Message: "It contradicts another."})
					})
					if err != nil {
						t.Error(err)
					}
					told.Add(int64(mine))
				})
			}
			wg.Wait()
			list, total, err := a.List(t.Context(), "p", health.Filter{}, 0, 10)
			if err != nil || total != 1 || told.Load() != 1 || list[0].Metadata == nil || list[0].Status != rule.AlertActive {
				t.Fatalf("%d alerts, %d told: %+v, %v", total, told.Load(), list, err)
			}
			settle := func() {
				t.Helper()
				if err := s.Update(t.Context(), func(tx store.Tx) error {
					return a.Settle(t.Context(), tx, "p", rule.ConflictDetected, r.ID, "The rules agree now.")
				}); err != nil {
					t.Fatal(err)
				}
			}
			settle()
			settle() // nothing is open
			got, err := a.Get(t.Context(), "p", list[0].ID)
			if err != nil || got.Status != rule.AlertDone || got.ResolvedBy != health.System || got.ResolutionNote != "The rules agree now." {
				t.Errorf("settled: %+v, %v", got, err)
			}
			err = s.Update(t.Context(), func(tx store.Tx) error {
				return a.Raise(t.Context(), tx, rule.Alert{ProjectID: "p", Type: rule.ConflictDetected, RuleID: audit.NewID()})
			})
			if rule.CodeOf(err) != rule.CodeNotFound {
				t.Errorf("an alert about no rule: %v", err)
			}
		})
	}
}

// between does something before a sweep reads which alerts are open.
type between struct {
	store.AlertReader

	do func()
}

func (b between) ListOpen(ctx context.Context, projectID string, t rule.AlertType, ruleIDs []string) ([]rule.Alert, error) {
	b.do()
	return b.AlertReader.ListOpen(ctx, projectID, t, ruleIDs)
}

// What is counted while a sweep is under way counts: a rule that has just been evaluated is not called dormant, and an alert of a
// rate that has just become high stays.
func TestASweepHeedsWhatIsCountedMeanwhile(t *testing.T) {
	t.Parallel()
	s := databases(t)["SQLite"]()
	r := fill(t, s, 1)[0]
	counting := monitor(s, health.NewAlerts(health.AlertsConfig{Store: health.AlertStore{Updater: s, Alerts: s.Alerts, Projects: s.Projects, Rules: s.Rules}}))
	var once sync.Once
	meanwhile := s
	meanwhile.Alerts = between{s.Alerts, func() {
		once.Do(func() {
			now := time.Now().UTC()
			err := s.Update(t.Context(), func(tx store.Tx) error {
				err := tx.Counts.Add(t.Context(), store.Counts{
					ProjectID: "p", Mark: store.CountMark{Seq: 1, At: now},
					Rules: []store.RuleCount{{Day: store.DayOf(now), RuleID: r.ID, Denied: 100, LastAt: now}},
				})
				if err != nil {
					return err
				}
				return health.Counted(t.Context(), counting, tx, "p", []string{r.ID})
			})
			if err != nil {
				t.Error(err)
			}
		})
	}}
	told := 0
	a := health.NewAlerts(health.AlertsConfig{
		Store: health.AlertStore{Updater: meanwhile, Alerts: meanwhile.Alerts, Projects: meanwhile.Projects, Rules: meanwhile.Rules}, Publish: func(context.Context, store.Tx, rule.Event) error { told++; return nil },
	})
	if err := monitor(meanwhile, a).Sweep(t.Context(), "p"); err != nil {
		t.Fatal(err)
	}
	list, total, err := a.List(t.Context(), "p", health.Filter{}, 0, 10)
	if err != nil || total != 1 || list[0].Type != rule.HighDenyRate || list[0].Status != rule.AlertActive || told != 0 {
		t.Errorf("%d told, %d alerts: %+v, %v", told, total, list, err)
	}
}

// Of a rate that becomes high while a sweep looks at rates, the alert stays.
func TestASweepDoesNotEndWhatHasJustBegun(t *testing.T) {
	t.Parallel()
	s := databases(t)["SQLite"]()
	r := fill(t, s, 1)[0]
	now := time.Now().UTC()
	add := func(seq int64) {
		err := s.Update(t.Context(), func(tx store.Tx) error {
			err := tx.Counts.Add(t.Context(), store.Counts{
				ProjectID: "p", From: seq - 1, Mark: store.CountMark{Seq: seq, At: now},
				Rules: []store.RuleCount{{Day: store.DayOf(now), RuleID: r.ID, Denied: 19, LastAt: now}}, // 20 are needed for a rate
			})
			if err != nil {
				return err
			}
			return health.Counted(t.Context(), monitor(s, health.NewAlerts(health.AlertsConfig{Store: health.AlertStore{Updater: s, Alerts: s.Alerts, Projects: s.Projects, Rules: s.Rules}})), tx, "p", []string{r.ID})
		})
		if err != nil {
			t.Error(err)
		}
	}
	add(1)
	seq := int64(1)
	meanwhile := s
	meanwhile.Alerts = between{s.Alerts, func() {
		if seq++; seq == 3 { // dormant rules come first
			add(2)
		}
	}}
	a := health.NewAlerts(health.AlertsConfig{Store: health.AlertStore{Updater: meanwhile, Alerts: meanwhile.Alerts, Projects: meanwhile.Projects, Rules: meanwhile.Rules}})
	if err := monitor(meanwhile, a).Sweep(t.Context(), "p"); err != nil {
		t.Fatal(err)
	}
	if n, err := a.Count(t.Context(), "p"); err != nil || n != (wire.Counts{Active: 1}) {
		t.Errorf("%+v, %v; want one alert, active", n, err)
	}
}

func publishNothing(context.Context, store.Tx, rule.Event) error { return nil }

// BenchmarkSweep sweeps 100,000 rules with 10 million verdicts, 100 of each over ten days. One rule in a thousand denies too much,
// and its alert is open.
func BenchmarkSweep(b *testing.B) {
	for name, open := range databases(b) {
		b.Run(name, func(b *testing.B) {
			s := open()
			rules := fill(b, s, 100_000)
			now := time.Now().UTC()
			for d := range 10 {
				day := store.DayOf(now) - store.Day(d)
				c := store.Counts{ProjectID: "p", From: int64(d), Mark: store.CountMark{Seq: int64(d + 1), At: now}}
				for i := range rules {
					r := store.RuleCount{Day: day, RuleID: rules[i].ID, Allowed: 9, Denied: 1, ByCheck: 10, LastAt: day.Time()}
					if i%1000 == 0 {
						r.Allowed, r.Denied = 1, 9
					}
					c.Rules = append(c.Rules, r)
				}
				if err := s.Update(b.Context(), func(tx store.Tx) error { return tx.Counts.Add(b.Context(), c) }); err != nil {
					b.Fatal(err)
				}
			}
			var scores []store.HealthScore
			for i := range rules {
				scores = append(scores, store.HealthScore{RuleID: rules[i].ID, Score: 90})
			}
			err := s.Update(b.Context(), func(tx store.Tx) error { return tx.Health.Put(b.Context(), "p", store.DayOf(now), scores) })
			if err != nil {
				b.Fatal(err)
			}
			live := corpus.NewLive(corpus.Config{Store: corpus.Store{Projects: s.Projects, Federation: s.Federation, Embeddings: s.Embeddings, Waivers: s.Waivers}})
			if _, err := live.View(b.Context(), "p"); err != nil {
				b.Fatal(err)
			}
			a := health.NewAlerts(health.AlertsConfig{Store: health.AlertStore{Updater: s, Alerts: s.Alerts, Projects: s.Projects, Rules: s.Rules}})
			m := health.New(health.Config{Store: health.Store{Updater: s, Alerts: s.Alerts, Audit: s.Audit, Counts: s.Counts, Feedback: s.Feedback, Health: s.Health, Projects: s.Projects, Rules: s.Rules, Releases: s.Releases, TestCases: s.TestCases, Waivers: s.Waivers}, Views: live, Alerts: a})
			first := time.Now()
			if err := m.Sweep(b.Context(), "p"); err != nil {
				b.Fatal(err)
			}
			raising := time.Since(first)
			for b.Loop() {
				if err := m.Sweep(b.Context(), "p"); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(raising.Seconds(), "s/first")
			if n, err := a.Count(b.Context(), "p"); err != nil || n.Active != 100 {
				b.Errorf("%+v, %v; want 100 alerts", n, err)
			}
		})
	}
}
