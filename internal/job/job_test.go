package job_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tenet/internal/job"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/store/litetest"
	"tenet/internal/store/pgtest"
	"tenet/internal/store/sqlstore"
	"tenet/internal/wire"
)

// patience is how long a test waits for what must come.
const patience = 30 * time.Second

// clock is a clock that tests move.
type clock struct{ at atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.at.Store(time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC).UnixMicro())
	return c
}

func (c *clock) now() time.Time { return time.UnixMicro(c.at.Load()).UTC() }

func (c *clock) move(d time.Duration) { c.at.Add(d.Microseconds()) }

// bed is a database with a clock.
type bed struct {
	t     testing.TB
	open  func() store.Store
	s     store.Store
	clock *clock
	queue job.Queue
	jobs  *job.Jobs
}

// onBoth runs a test on a fresh database of each kind.
func onBoth(t *testing.T, test func(t *testing.T, b *bed)) {
	t.Run("SQLite", func(t *testing.T) { test(t, newBed(t, litetest.Dir(t))) })
	t.Run("PostgreSQL", func(t *testing.T) { test(t, newBed(t, pgtest.DSN(t))) })
}

func newBed(t testing.TB, target string) *bed {
	b := &bed{t: t, clock: newClock()}
	b.open = func() store.Store {
		s, err := openTarget(context.Background(), target)
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
	b.s = b.open()
	b.queue, b.jobs = job.NewQueue(b.clock.now), job.NewJobs(b.s, b.s.Jobs, b.clock.now)
	return b
}

func openTarget(ctx context.Context, target string) (store.Store, error) {
	if strings.HasPrefix(target, "postgres://") {
		return sqlstore.OpenPostgres(ctx, target, sqlstore.Options{})
	}
	return sqlstore.OpenSQLite(ctx, target, sqlstore.Options{})
}

func storeOf(s store.Store) job.Store { return job.Store{Updater: s, JobWatcher: s, Jobs: s.Jobs} }

// run starts a runner that ends with the test.
func (b *bed) run(cfg job.Config) *job.Runner {
	b.t.Helper()
	if cfg.Store.Updater == nil {
		cfg.Store = storeOf(b.s)
	}
	if cfg.Poll == 0 {
		cfg.Poll = 20 * time.Millisecond
	}
	cfg.Now = b.clock.now
	cfg.Logger = slog.New(slog.DiscardHandler)
	r := job.New(cfg)
	r.Start()
	stop := sync.OnceValue(func() error {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		return r.Stop(ctx)
	})
	b.t.Cleanup(func() {
		if err := stop(); err != nil {
			b.t.Error(err)
		}
	})
	return r
}

func (b *bed) add(kind string, o job.Options) (id int64) {
	b.t.Helper()
	err := b.s.Update(context.Background(), func(tx store.Tx) (err error) {
		id, err = b.queue.Enqueue(context.Background(), tx, kind, "p", nil, o)
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return id
}

func (b *bed) get(id int64) wire.Job {
	b.t.Helper()
	j, err := b.jobs.Get(context.Background(), "p", id)
	if err != nil {
		b.t.Fatal(err)
	}
	return j
}

// until waits for a condition.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

func (b *bed) untilState(id int64, state string) wire.Job {
	b.t.Helper()
	until(b.t, fmt.Sprintf("job %d is %s", id, state), func() bool { return b.get(id).State == state })
	return b.get(id)
}

func TestAJobExistsWithItsTransactionOnly(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bed) {
		type args struct{ Text string }
		heard := make(chan string, 10)
		b.run(job.Config{Handlers: map[string]job.Handler{"say": func(_ context.Context, j wire.Job, _ func(int, int)) error {
			var a args
			if err := job.DecodeArgs(&j, &a); err != nil {
				return err
			}
			heard <- j.ProjectID + " " + a.Text
			return nil
		}}})
		var id int64
		for _, fails := range []bool{true, false} {
			err := b.s.Update(t.Context(), func(tx store.Tx) (err error) {
				if id, err = b.queue.Enqueue(t.Context(), tx, "say", "p", args{fmt.Sprintf("fails: %t", fails)}, job.Options{}); err != nil {
					return err
				}
				if fails {
					return errors.New("no")
				}
				return nil
			})
			if (err != nil) != fails {
				t.Fatal(err)
			}
		}
		if got := <-heard; got != "p fails: false" {
			t.Errorf("the handler was given %q", got)
		}
		if j := b.untilState(id, job.Succeeded); j.Attempt != 1 || j.Error != "" || j.FinishedAt == nil {
			t.Errorf("done: %+v", j)
		}
		if _, total, err := b.jobs.List(t.Context(), store.JobFilter{ProjectID: "p", Limit: 1}); total != 1 || err != nil {
			t.Errorf("%d jobs, %v; want the one that was committed", total, err)
		}
	})
}

func TestFailuresAreTriedAgainLaterAndLater(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bed) {
		b.run(job.Config{Handlers: map[string]job.Handler{
			"away": func(context.Context, wire.Job, func(int, int)) error {
				return rule.Errorf(rule.CodeUnavailable, "nobody is there")
			},
			"panics": func(context.Context, wire.Job, func(int, int)) error { panic("secret") },
			"wrong": func(context.Context, wire.Job, func(int, int)) error {
				return rule.Errorf(rule.CodeInvalid, "that cannot be")
			},
			"gone": func(context.Context, wire.Job, func(int, int)) error {
				return fmt.Errorf("it: %w", rule.NotFound("rule", "x"))
			},
			"patient": func(context.Context, wire.Job, func(int, int)) error {
				return job.RetryIn(time.Hour, errors.New("secret"))
			},
			"args": func(_ context.Context, j wire.Job, _ func(int, int)) error { return job.DecodeArgs(&j, new(string)) },
		}})
		for kind, want := range map[string]string{"wrong": "that cannot be", "gone": `there is no rule "x"`, "args": "cannot be read"} {
			if j := b.untilState(b.add(kind, job.Options{}), job.Failed); j.Attempt != 1 || !strings.Contains(j.Error, want) {
				t.Errorf("%s: %+v, want it final with %q", kind, j, want)
			}
		}
		for kind, first := range map[string]time.Duration{"away": time.Second, "panics": time.Second, "patient": time.Hour} {
			id := b.add(kind, job.Options{MaxAttempts: 4})
			for attempt, want := 1, first; attempt < 4; attempt++ {
				until(t, "the attempt has failed", func() bool { j := b.get(id); return j.State == job.Queued && j.Attempt == attempt })
				j := b.get(id)
				if wait := j.RunAt.Sub(b.clock.now()); wait < want || wait > want*6/5 {
					t.Errorf("%s: %v until attempt %d, want %v and at most a fifth more", kind, wait, attempt+1, want)
				}
				if strings.Contains(j.Error, "secret") || j.Error == "" {
					t.Errorf("%s: people are shown %q", kind, j.Error)
				}
				b.clock.move(j.RunAt.Sub(b.clock.now()))
				if kind != "patient" {
					want *= 2
				}
			}
			if j := b.untilState(id, job.Failed); j.Attempt != 4 {
				t.Errorf("%s failed after %d attempts", kind, j.Attempt)
			}
			if _, err := b.jobs.Retry(t.Context(), "p", id); err != nil {
				t.Error(err)
			}
			until(t, "the retried job has begun", func() bool { j := b.get(id); return j.State == job.Queued && j.Attempt == 1 })
		}
	})
}

// Many runners race for jobs; each is done once, and those of one key never side by side.
func TestNodesRace(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bed) {
		const jobs = 20
		nodes := 16
		if strings.HasSuffix(t.Name(), "SQLite") {
			nodes = 4 // which write one after the other anyway
		}
		var mu sync.Mutex
		times, inside, most := map[int64]int{}, 0, 0
		handlers := map[string]job.Handler{
			"free": func(_ context.Context, j wire.Job, _ func(int, int)) error {
				mu.Lock()
				defer mu.Unlock()
				times[j.ID]++
				return nil
			},
			"keyed": func(_ context.Context, j wire.Job, _ func(int, int)) error {
				mu.Lock()
				inside++
				most = max(most, inside)
				times[j.ID]++
				mu.Unlock()
				time.Sleep(time.Millisecond) // gives others the chance to be there too
				mu.Lock()
				inside--
				mu.Unlock()
				return nil
			},
		}
		for range nodes {
			b.run(job.Config{Handlers: handlers, Workers: 1, Poll: 50 * time.Millisecond})
		}
		ids := []int64{b.add("keyed", job.Options{UniqueKey: "u"})}
		for range 2 {
			ids = append(ids, b.add("keyed", job.Options{UniqueKey: "u"}))
		}
		err := b.s.Update(t.Context(), func(tx store.Tx) error {
			for range jobs {
				id, err := b.queue.Enqueue(t.Context(), tx, "free", "p", nil, job.Options{})
				if err != nil {
					return err
				}
				ids = append(ids, id)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range ids {
			b.untilState(id, job.Succeeded)
		}
		mu.Lock()
		defer mu.Unlock()
		for id, n := range times {
			if n != 1 {
				t.Errorf("job %d was done %d times", id, n)
			}
		}
		if most != 1 {
			t.Errorf("%d jobs of one key ran at once", most)
		}
	})
}

func TestPeriodicWorkComesRoundOnceOverAllNodes(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bed) {
		var rounds atomic.Int64
		cfg := job.Config{
			Handlers: map[string]job.Handler{"sweep": func(_ context.Context, j wire.Job, _ func(int, int)) error {
				if j.ProjectID != store.AllProjects {
					t.Errorf("it is of project %q", j.ProjectID)
				}
				rounds.Add(1)
				return nil
			}},
			Periodic: []job.Periodic{{Kind: "sweep", Every: time.Hour}},
		}
		b.run(cfg)
		cfg.Store = storeOf(b.open())
		b.run(cfg)
		done := func() int {
			_, total, err := b.jobs.List(t.Context(), store.JobFilter{ProjectID: store.AllProjects, Kind: "sweep", State: job.Succeeded})
			if err != nil {
				t.Fatal(err)
			}
			return total
		}
		for round := 1; round <= 4; round++ {
			until(t, "the round is done", func() bool { return done() >= round })
			if round == 3 {
				b.clock.move(5 * time.Hour) // the rounds that nobody was there for are made up for once
			} else {
				b.clock.move(time.Hour)
			}
		}
		until(t, "the last round is done", func() bool { return done() >= 5 })
		if got := rounds.Load(); got != 5 {
			t.Errorf("%d rounds, want 5", got)
		}
	})
}

func TestStoppingWaitsThenInterrupts(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bed) {
		begun, finish := make(chan string, 4), make(chan struct{})
		r := job.New(job.Config{Store: job.Store{Updater: b.s, JobWatcher: b.s, Jobs: b.s.Jobs}, Now: b.clock.now, Poll: 5 * time.Millisecond, Drain: 300 * time.Millisecond, Handlers: map[string]job.Handler{
			"short": func(context.Context, wire.Job, func(int, int)) error { begun <- "short"; <-finish; return nil },
			"long": func(ctx context.Context, _ wire.Job, _ func(int, int)) error {
				begun <- "long"
				<-ctx.Done()
				return ctx.Err()
			},
		}})
		r.Start()
		short, long := b.add("short", job.Options{}), b.add("long", job.Options{MaxAttempts: 1})
		<-begun
		<-begun
		stopped := make(chan error)
		go func() { stopped <- r.Stop(context.Background()) }()
		late := b.add("short", job.Options{})
		close(finish)
		if err := <-stopped; err != nil {
			t.Error(err)
		}
		if j := b.get(short); j.State != job.Succeeded {
			t.Errorf("a job that could end: %+v", j)
		}
		if j := b.get(long); j.State != job.Queued || j.Attempt >= j.MaxAttempts || j.Error != "" {
			t.Errorf("an interrupted job: %+v, want it queued and the attempt not counted", j)
		}
		if j := b.get(late); j.State == job.Running {
			t.Errorf("a job that came late: %+v", j)
		}
	})
}

// A command that works on jobs does not wait at its end for long background work that it has not asked for.
func TestStoppingDoesNotWaitForWorkOfTheLastPriority(t *testing.T) {
	b := newBed(t, t.TempDir())
	begun := make(chan bool)
	var log strings.Builder
	logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	r := job.New(job.Config{Store: job.Store{Updater: b.s, JobWatcher: b.s, Jobs: b.s.Jobs}, Now: b.clock.now, Drain: time.Hour, Logger: logger, Handlers: map[string]job.Handler{
		"long": func(ctx context.Context, _ wire.Job, _ func(int, int)) error {
			begun <- true
			<-ctx.Done()
			return ctx.Err()
		},
	}})
	r.Start()
	id := b.add("long", job.Options{Priority: job.Last, MaxAttempts: 1})
	<-begun
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := r.Stop(ctx); err != nil {
		t.Error(err)
	}
	if j := b.get(id); j.State != job.Queued || j.Attempt >= j.MaxAttempts || log.Len() > 0 {
		t.Errorf("the job: %+v, want it queued and the attempt not counted; the log warns of %q", j, log.String())
	}
}

func TestAStopThatCannotWaitLeavesTheRestToTheLease(t *testing.T) {
	b := newBed(t, litetest.Dir(t))
	begun, finish := make(chan bool), make(chan bool)
	r := job.New(job.Config{Store: job.Store{Updater: b.s, JobWatcher: b.s, Jobs: b.s.Jobs}, Now: b.clock.now, Drain: time.Millisecond, Handlers: map[string]job.Handler{
		"deaf": func(context.Context, wire.Job, func(int, int)) error { begun <- true; <-finish; return nil },
	}})
	r.Start()
	defer close(finish)
	id := b.add("deaf", job.Options{})
	<-begun
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := r.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("stopping: %v", err)
	}
	if j := b.get(id); j.State != job.Running {
		t.Errorf("the job: %+v", j)
	}
	var again atomic.Bool
	b.clock.move(time.Hour)
	b.run(job.Config{Handlers: map[string]job.Handler{"deaf": func(context.Context, wire.Job, func(int, int)) error { again.Store(true); return nil }}})
	if j := b.untilState(id, job.Succeeded); j.Attempt != 2 || !again.Load() {
		t.Errorf("after its lease: %+v", j)
	}
}

func TestJobsOfDeadNodesComeToAnEnd(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bed) {
		id := b.add("deadly", job.Options{MaxAttempts: 2})
		die := func() {
			until(t, "a node has taken the job and died", func() (taken bool) {
				err := b.s.Update(t.Context(), func(tx store.Tx) error {
					got, err := tx.Jobs.Claim(t.Context(), store.JobClaim{Now: b.clock.now(), Kinds: []string{"deadly"}, Owner: "dead", Lease: b.clock.now().Add(time.Minute), Limit: 1})
					taken = len(got) == 1
					return err
				})
				if err != nil {
					t.Fatal(err)
				}
				return taken
			})
		}
		die()
		b.run(job.Config{}) // knows no such kind, and yet puts the job back
		b.clock.move(2 * time.Minute)
		if j := b.untilState(id, job.Queued); j.Attempt != 1 {
			t.Errorf("put back: %+v", j)
		}
		die()
		b.clock.move(2 * time.Minute)
		if j := b.untilState(id, job.Failed); j.Attempt != 2 || !strings.Contains(j.Error, "node") {
			t.Errorf("a job that kills its nodes: %+v", j)
		}
	})
}

// An attempt whose claim another node has taken is interrupted, and what it says at last changes nothing.
func TestALostClaimInterrupts(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bed) {
		interrupted := make(chan bool, 1)
		begun := make(chan bool, 1)
		b.run(job.Config{Lease: 400 * time.Millisecond, Handlers: map[string]job.Handler{
			"slow": func(ctx context.Context, _ wire.Job, _ func(int, int)) error {
				begun <- true
				<-ctx.Done()
				interrupted <- true
				return nil
			},
		}})
		id := b.add("slow", job.Options{})
		<-begun
		err := b.s.Update(t.Context(), func(tx store.Tx) error { // another node, whose clock is far ahead
			far := b.clock.now().Add(time.Hour)
			taken, err := tx.Jobs.ListExpired(t.Context(), far, 10)
			taken = slices.DeleteFunc(taken, func(j store.Job) bool { return j.ID != id }) // the runner's own may be among them
			if err != nil || len(taken) != 1 {
				return fmt.Errorf("expired: %v, %w", taken, err)
			}
			taken[0].State = store.JobQueued
			taken[0].RunAt = far
			return tx.Jobs.Finish(t.Context(), taken)
		})
		if err != nil {
			t.Fatal(err)
		}
		select {
		case <-interrupted:
		case <-time.After(patience):
			t.Fatal("the attempt goes on")
		}
		time.Sleep(50 * time.Millisecond) // in which it would say that it has succeeded
		if j := b.get(id); j.State != job.Queued {
			t.Errorf("the job: %+v", j)
		}
	})
}

func TestCancelledJobsStopAndTellHowFarTheyGot(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bed) {
		b.run(job.Config{Lease: 2 * time.Second, Handlers: map[string]job.Handler{
			"long": func(ctx context.Context, _ wire.Job, progress func(int, int)) error {
				progress(3, 10)
				<-ctx.Done()
				return ctx.Err()
			},
		}})
		id := b.add("long", job.Options{})
		until(t, "its progress shows", func() bool { return b.get(id).Progress == wire.Progress{Done: 3, Total: 10} })
		if j, err := b.jobs.Cancel(t.Context(), "p", id); err != nil || !j.Cancelling {
			t.Errorf("cancelling: %+v, %v", j, err)
		}
		if j := b.untilState(id, job.Cancelled); j.Progress.Done != 3 || j.Cancelling {
			t.Errorf("cancelled: %+v", j)
		}
	})
}

func TestEndedJobsAreForgotten(t *testing.T) {
	b := newBed(t, litetest.Dir(t))
	b.run(job.Config{Keep: 2 * time.Hour, Handlers: map[string]job.Handler{"k": func(context.Context, wire.Job, func(int, int)) error { return nil }}})
	old := b.add("k", job.Options{})
	b.untilState(old, job.Succeeded)
	b.clock.move(90 * time.Minute)
	young := b.add("k", job.Options{})
	b.untilState(young, job.Succeeded)
	b.clock.move(time.Hour)
	until(t, "the old job is gone", func() bool {
		_, err := b.jobs.Get(t.Context(), "p", old)
		return rule.CodeOf(err) == rule.CodeNotFound
	})
	b.get(young)
}

func TestWhatCannotBeQueued(t *testing.T) {
	b := newBed(t, litetest.Dir(t))
	for name, tt := range map[string]struct {
		kind string
		args any
		want rule.Code
	}{
		"no kind":           {"", nil, rule.CodeInternal},
		"too large":         {"k", make([]byte, 1<<20), rule.CodeTooLarge},
		"not JSON":          {"k", func() {}, rule.CodeInternal},
		"a kind with a NUL": {"k\x00", nil, rule.CodeInvalid},
	} {
		err := b.s.Update(t.Context(), func(tx store.Tx) error {
			_, err := b.queue.Enqueue(t.Context(), tx, tt.kind, "p", tt.args, job.Options{})
			return err
		})
		if rule.CodeOf(err) != tt.want {
			t.Errorf("%s: %v, want %s", name, err, tt.want)
		}
	}
}
