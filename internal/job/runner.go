package job

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"tenet/internal/store"
	"tenet/internal/wire"
)

// Store is the part of the database that a [Runner] uses.
type Store struct {
	store.Updater
	store.JobWatcher
	Jobs store.JobReader
}

// Config sets up [New]. Store and Handlers are required.
type Config struct {
	Store  Store
	Logger *slog.Logger // nil logs nothing
	// Now is the clock; nil means time.Now. The clocks of all nodes must differ by much less than Lease.
	Now      func() time.Time
	Handlers map[string]Handler // by kind; jobs of other kinds are left to other nodes
	Periodic []Periodic
	Workers  int           // jobs that run at once; 0 means 16
	Poll     time.Duration // between looks for jobs that other nodes have enqueued; 0 means 250 ms
	Lease    time.Duration // after which another node takes a job of a dead node; 0 means 15 s
	Keep     time.Duration // after which jobs that have ended are deleted; 0 means a week
	Drain    time.Duration // how long Stop lets jobs go on before it interrupts them; 0 means 5 s
	// Observe gets the outcome of every attempt: succeeded, failed, cancelled, or queued if the job is tried again.
	Observe func(kind, outcome string, took time.Duration)
}

func (c *Config) setDefaults() {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Observe == nil {
		c.Observe = func(string, string, time.Duration) {}
	}
	for field, value := range map[*time.Duration]time.Duration{
		&c.Poll: 250 * time.Millisecond, &c.Lease: 15 * time.Second, &c.Keep: 7 * 24 * time.Hour, &c.Drain: 5 * time.Second,
	} {
		if *field <= 0 {
			*field = value
		}
	}
	if c.Workers <= 0 {
		c.Workers = 16
	}
}

// beat is the time between writes of the progress and leases of running jobs, unless Lease needs a shorter one.
const beat = time.Second

// longestIdle bounds the pauses between attempts to claim jobs that are due but that the node could not have.
const longestIdle = 2 * time.Second

// Runner carries out jobs on one node. It writes for all of them in one transaction at a time.
type Runner struct {
	cfg   Config
	owner string // of this runner, and no other
	kinds []string
	beat  time.Duration

	// The fields below belong to the goroutine that runs the loop, until it ends.
	running map[int64]*attempt
	last    string     // the project of the last job that was claimed
	ended   []*attempt // not written yet
	rounds  map[string]time.Time
	failing bool // the last transaction has failed
	// Due jobs can be out of reach for this node: of a kind it has no handler for, or while one of their key runs elsewhere. It
	// tries to claim them less and less often, not before idleUntil.
	idlePause time.Duration
	idleUntil time.Time

	results  chan *attempt
	stop     context.CancelFunc // begins to stop
	stopping context.Context    //nolint:containedctx // what Stop ends
	gaveUp   chan struct{}      // closed when Stop no longer waits
	done     chan struct{}      // closed when the loop has ended
}

// New returns a Runner. It does nothing before Start.
func New(cfg Config) *Runner {
	cfg.setDefaults()
	r := &Runner{
		cfg: cfg, owner: rand.Text(), running: map[int64]*attempt{}, rounds: map[string]time.Time{},
		beat: min(beat, cfg.Lease/4), results: make(chan *attempt, cfg.Workers), gaveUp: make(chan struct{}), done: make(chan struct{}),
	}
	r.cfg.Handlers = maps.Clone(cfg.Handlers)
	if r.cfg.Handlers == nil {
		r.cfg.Handlers = map[string]Handler{}
	}
	r.cfg.Handlers[cleanKind] = r.clean
	r.cfg.Periodic = append(slices.Clone(cfg.Periodic), Periodic{Kind: cleanKind, Every: time.Hour, Priority: Last})
	r.kinds = slices.Sorted(maps.Keys(r.cfg.Handlers))
	r.stopping, r.stop = context.WithCancel(context.Background())
	return r
}

// Start begins to carry out jobs in the background. Callers call it once.
func (r *Runner) Start() {
	go func() {
		defer close(r.done)
		added, unwatch := r.cfg.Store.WatchJobs()
		defer unwatch()
		r.loop(added)
	}()
}

// Stop claims no more jobs, lets the running ones go on for the time Drain, and then interrupts them, those of priority Last at
// once. Another node does them again, or this one after its next start; the interrupted attempt does not count. Stop returns an
// error if ctx ends before the jobs do: a node then takes them when their leases end. Callers call it once, after Start.
func (r *Runner) Stop(ctx context.Context) error {
	r.stop()
	select {
	case <-r.done:
	case <-ctx.Done():
		close(r.gaveUp)
		<-r.done
	}
	if left := len(r.running) + len(r.ended); left > 0 {
		return fmt.Errorf("%d background jobs had not ended: %w", left, ctx.Err())
	}
	return nil
}

// loop claims, renews and finishes jobs until the runner has stopped.
func (r *Runner) loop(added <-chan struct{}) {
	tick := time.NewTicker(r.cfg.Poll)
	defer tick.Stop()
	stopping := r.stopping.Done()
	var drained <-chan time.Time
	woken := true
	for {
		wrote := r.turn(woken && stopping != nil, stopping == nil)
		if stopping == nil && len(r.running) == 0 && (wrote || len(r.ended) == 0) {
			return
		}
		woken = false
		select {
		case <-added:
			woken = true
		case a := <-r.results:
			r.note(a)
			woken = true // there is a free worker, and perhaps a free unique key
		case <-tick.C:
		case <-stopping:
			stopping = nil
			drained = time.After(r.cfg.Drain)
			for _, a := range r.running {
				if a.job.Priority == Last {
					a.interrupt(errStopping) // long work that resumes and that nobody waits for
				}
			}
		case <-drained:
			for _, a := range r.running {
				a.interrupt(errStopping)
			}
		case <-r.gaveUp:
			for _, a := range r.running {
				a.interrupt(errStopping)
			}
			return
		}
	}
}

// note moves an attempt that has ended out of the running ones, and all others that have ended meanwhile.
func (r *Runner) note(a *attempt) {
	for {
		if r.running[a.job.ID] == a {
			delete(r.running, a.job.ID)
		}
		r.ended = append(r.ended, a)
		select {
		case a = <-r.results:
		default:
			return
		}
	}
}

// turn writes the results of attempts and claims due jobs, in one transaction. woken says that jobs may be due, and closing that
// the runner claims none any more. It returns false if the transaction has failed.
func (r *Runner) turn(woken, closing bool) bool {
	ctx, cancel := context.WithTimeout(context.Background(), r.cfg.Lease)
	defer cancel()
	now := r.cfg.Now()
	t := &ledger{r: r, now: now, ended: r.ended, renew: r.toRenew(), free: r.cfg.Workers - len(r.running)}
	if closing {
		t.free = 0
	} else {
		t.rounds = r.dueRounds(now)
	}
	var err error
	if t.free > 0 {
		t.claim, err = r.anythingDue(ctx, woken && !r.failing, now)
	}
	if err == nil && t.needed() {
		err = t.write(ctx)
	}
	if err != nil {
		if !r.failing {
			r.cfg.Logger.WarnContext(ctx, "background jobs cannot be read or written; trying again", slog.Any("error", err))
		}
		r.failing = true
		return false
	}
	r.failing = false
	r.ended = nil
	if n := len(t.claimed); n > 0 {
		r.last = t.claimed[n-1].ProjectID
		r.idlePause, r.idleUntil = 0, time.Time{}
	} else if t.claim {
		r.idlePause = min(max(2*r.idlePause, r.cfg.Poll), longestIdle)
		r.idleUntil = time.Now().Add(r.idlePause)
	}
	for _, p := range t.rounds {
		r.rounds[p.Kind] = now.Truncate(p.Every).Add(p.Every)
	}
	r.follow(t)
	return true
}

// follow starts and interrupts attempts as a committed transaction demands.
func (r *Runner) follow(t *ledger) {
	held := map[int64]bool{}
	for i := range t.renewed {
		j := &t.renewed[i]
		a := r.running[j.ID]
		held[j.ID] = true
		a.renewed(t.began, r.cfg.Lease)
		if j.Cancel {
			a.interrupt(errCancelled)
		}
	}
	for i := range t.renew {
		if a := r.running[t.renew[i].ID]; !held[t.renew[i].ID] {
			a.interrupt(errLost)
		}
	}
	for _, j := range t.claimed {
		r.begin(j, t.began)
	}
}

// byProject counts the running jobs of each project.
func (r *Runner) byProject() map[string]int {
	counts := map[string]int{}
	for _, a := range r.running {
		counts[a.job.ProjectID]++
	}
	return counts
}

// share is how many of some workers the jobs of one project get: a quarter is left for those of others, which long jobs of one would otherwise keep waiting.
func share(workers int) int { return workers - workers/4 }

// toRenew lists the running jobs whose leases need renewal, with their progress.
func (r *Runner) toRenew() []store.Job {
	var list []store.Job
	for _, a := range r.running {
		if time.Since(a.lastRenewed) >= r.beat {
			list = append(list, a.withProgress())
		}
	}
	return list
}

// dueRounds lists the periodic work whose next round has begun and that this node has not seen taken.
func (r *Runner) dueRounds(now time.Time) []Periodic {
	var list []Periodic
	for _, p := range r.cfg.Periodic {
		if next, seen := r.rounds[p.Kind]; !seen || !now.Before(next) {
			list = append(list, p)
		}
	}
	return list
}

// anythingDue reports whether an attempt to claim jobs is worth it.
func (r *Runner) anythingDue(ctx context.Context, woken bool, now time.Time) (bool, error) {
	if woken {
		return true, nil
	}
	if time.Now().Before(r.idleUntil) {
		return false, nil
	}
	next, any, err := r.cfg.Store.Jobs.Next(ctx)
	if err != nil || !any || next.After(now) {
		r.idlePause = 0
		return false, err
	}
	return true, nil
}

// Causes of an interruption.
var (
	errStopping  = errors.New("the node is stopping")
	errCancelled = errors.New("the job has been cancelled")
	errLost      = errors.New("the node has lost its claim on the job")
)

// cleanKind is the kind of the jobs that delete jobs and runs which ended long ago.
const cleanKind = "jobs.clean"

// cleanBatch is how many jobs and runs one transaction deletes, so that nobody waits long.
const cleanBatch = 1000

// clean deletes jobs and runs that ended long ago.
func (r *Runner) clean(ctx context.Context, _ wire.Job, progress func(done, total int)) error {
	for done := 0; ; {
		n := 0
		err := r.cfg.Store.Update(ctx, func(tx store.Tx) error {
			jobs, err := tx.Jobs.DeleteOld(ctx, r.cfg.Now().Add(-r.cfg.Keep), cleanBatch)
			if err != nil {
				return err
			}
			runs, err := tx.Runs.DeleteOld(ctx, r.cfg.Now().Add(-keepRuns), cleanBatch)
			n = max(jobs, runs)
			return err
		})
		if done += n; err != nil || n < cleanBatch {
			return err
		}
		progress(done, 0)
	}
}
