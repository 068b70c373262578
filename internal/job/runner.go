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
)

// Config sets up [New]. Store and Handlers are required.
type Config struct {
	Store  store.Store
	Logger *slog.Logger // nil logs nothing
	// Now is the clock; nil means time.Now. The clocks of all nodes must agree to within a good part of Lease.
	Now      func() time.Time
	Handlers map[string]Handler // by kind; jobs of other kinds are left to other nodes
	Periodic []Periodic
	Workers  int           // jobs that run at once; 0 means 16
	Poll     time.Duration // how often jobs that other nodes have made are looked for; 0 means 250 ms
	Lease    time.Duration // how long after its node's death a job is taken up again; 0 means 15 s
	Keep     time.Duration // how long jobs that have ended are kept; 0 means a week
	Drain    time.Duration // how long Stop lets jobs go on before it interrupts them; 0 means 5 s
	// Observe is told of every attempt that has ended: succeeded, failed, cancelled, or queued if it is to be tried again.
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

// beat is how often the progress of running jobs is written and their leases are renewed, unless Lease needs it more often.
const beat = time.Second

// longestIdle bounds the pauses after which a node tries again for jobs that are due but that it could not have.
const longestIdle = 2 * time.Second

// Runner carries out jobs on one node. All that it writes for them, whatever their number, goes through one transaction at
// a time.
type Runner struct {
	cfg   Config
	owner string // of this runner, and no other
	kinds []string
	beat  time.Duration

	// The fields below belong to the goroutine that runs keepBooks, until it is over.
	running map[int64]*attempt
	ended   []*attempt // not yet written
	rounds  map[string]time.Time
	failing bool // the last transaction has failed
	// Jobs can be due that this node cannot have: of a kind it does not know, or while one of their key runs elsewhere. It
	// tries for them less and less often, not before idleUntil.
	idlePause time.Duration
	idleUntil time.Time

	results  chan *attempt
	stop     context.CancelFunc // begins to stop
	stopping context.Context    //nolint:containedctx // what Stop ends
	given    chan struct{}      // closed when Stop has given up waiting
	over     chan struct{}
}

// New makes a runner; it does nothing before Start.
func New(cfg Config) *Runner {
	cfg.setDefaults()
	r := &Runner{
		cfg: cfg, owner: rand.Text(), running: map[int64]*attempt{}, rounds: map[string]time.Time{},
		beat: min(beat, cfg.Lease/4), results: make(chan *attempt, cfg.Workers), given: make(chan struct{}), over: make(chan struct{}),
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

// Start begins to carry out jobs, in the background. It is called once.
func (r *Runner) Start() {
	go func() {
		defer close(r.over)
		added, unwatch := r.cfg.Store.WatchJobs()
		defer unwatch()
		r.keepBooks(added)
	}()
}

// Stop takes no more jobs and lets those that run go on for the time Drain, and then interrupts them, those of priority Last at
// once; they are done by another node, or by this one after its next start, and the interrupted attempt does not count. It returns an error if ctx
// ends before they do: what still runs then is taken up again when its lease has ended. It is called once, after Start.
func (r *Runner) Stop(ctx context.Context) error {
	r.stop()
	select {
	case <-r.over:
	case <-ctx.Done():
		close(r.given)
		<-r.over
	}
	if left := len(r.running) + len(r.ended); left > 0 {
		return fmt.Errorf("%d background jobs had not ended: %w", left, ctx.Err())
	}
	return nil
}

// keepBooks is the life of a runner.
func (r *Runner) keepBooks(added <-chan struct{}) {
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
					a.interrupt(errStopping) // long work that goes on where it was, and that nobody waits for
				}
			}
		case <-drained:
			for _, a := range r.running {
				a.interrupt(errStopping)
			}
		case <-r.given:
			for _, a := range r.running {
				a.interrupt(errStopping)
			}
			return
		}
	}
}

// note takes an attempt that has ended out of the running ones, and all others that have ended meanwhile.
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

// turn writes what has happened and claims what there is to do, in one transaction. woken says that there may be something
// to claim, and closing that nothing is to be claimed any more. It returns false if the transaction has failed.
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
	if len(t.claimed) > 0 {
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

// follow does in this process what a transaction has written.
func (r *Runner) follow(t *ledger) {
	had := map[int64]bool{}
	for i := range t.had {
		j := &t.had[i]
		a := r.running[j.ID]
		had[j.ID] = true
		a.renewed(t.began, r.cfg.Lease)
		if j.Cancel {
			a.interrupt(errCancelled)
		}
	}
	for i := range t.renew {
		if a := r.running[t.renew[i].ID]; !had[t.renew[i].ID] {
			a.interrupt(errLost)
		}
	}
	for _, j := range t.claimed {
		r.begin(j, t.began)
	}
}

// toRenew lists the running jobs whose lease is to be renewed, with their progress.
func (r *Runner) toRenew() []store.Job {
	var list []store.Job
	for _, a := range r.running {
		if time.Since(a.lastRenewed) >= r.beat {
			list = append(list, a.withProgress())
		}
	}
	return list
}

// dueRounds lists the periodic work whose next round has begun, as far as this node knows.
func (r *Runner) dueRounds(now time.Time) []Periodic {
	var list []Periodic
	for _, p := range r.cfg.Periodic {
		if next, known := r.rounds[p.Kind]; !known || !now.Before(next) {
			list = append(list, p)
		}
	}
	return list
}

// anythingDue reports whether it is worth trying to claim.
func (r *Runner) anythingDue(ctx context.Context, woken bool, now time.Time) (bool, error) {
	if woken {
		return true, nil
	}
	if time.Now().Before(r.idleUntil) {
		return false, nil
	}
	next, any, err := r.cfg.Store.NextJob(ctx)
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

// cleanKind is the kind of the jobs that remove jobs and runs which have ended long ago.
const cleanKind = "jobs.clean"

// clean removes jobs and runs that have ended long ago, some at a time so that nobody waits long.
func (r *Runner) clean(ctx context.Context, _ Job, progress func(done, total int)) error {
	const some = 1000
	for done := 0; ; {
		n := 0
		err := r.cfg.Store.Update(ctx, func(tx store.Tx) error {
			jobs, err := tx.DeleteJobs(ctx, r.cfg.Now().Add(-r.cfg.Keep), some)
			if err != nil {
				return err
			}
			runs, err := tx.DeleteRuns(ctx, r.cfg.Now().Add(-keepRuns), some)
			n = max(jobs, runs)
			return err
		})
		if done += n; err != nil || n < some {
			return err
		}
		progress(done, 0)
	}
}
