package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"tenet/internal/store"
)

// Bounds of the watch over replicas.
const (
	// DefaultStaleness is the bound where none is set.
	DefaultStaleness = 5 * time.Second
	shortLook        = 20 * time.Millisecond
	longLook         = time.Second
	// maxMarks bounds the positions of the primary that are remembered.
	maxMarks = 1_000
)

// replicas are the databases that follow the primary. Reads that may lag go to one that is behind by no more than the bound.
//
// A node notes the position of the primary's log from time to time. A replica that has replayed up to a noted position has all that was committed before
// it was noted; so clocks are compared with themselves only.
type replicas struct {
	primary *session
	list    []*replica
	bound   time.Duration
	log     *slog.Logger
	next    atomic.Uint32
	marks   []mark // in order of time; of the watch alone
	end     context.CancelFunc
	ended   chan struct{}
}

// mark is a position of the primary's log.
type mark struct {
	at       time.Time
	position int64
}

// replica is one of them.
type replica struct {
	name    string // host and port
	session *session
	pool    *pgxpool.Pool
	reads   atomic.Int64

	mu      sync.Mutex
	fresh   time.Time // it has all that was committed before
	problem string    // why it is left out; empty if it is not
}

// openReplicas makes the pools of replicas and begins to watch them.
func openReplicas(ctx context.Context, o Options, l limits) (*replicas, error) {
	r := &replicas{bound: o.Staleness, log: o.Logger, ended: make(chan struct{})}
	if r.bound <= 0 {
		r.bound = DefaultStaleness
	}
	for _, address := range o.Replicas {
		cfg, err := pgxpool.ParseConfig(address)
		if err != nil {
			r.close()
			return nil, errAddress()
		}
		pool, err := openPool(ctx, cfg, o.Readers, settings(0, 0, l.read))
		if err != nil {
			r.close()
			return nil, err
		}
		db := stdlib.OpenDBFromPool(pool)
		db.SetMaxOpenConns(o.Readers)
		d := newPostgres()
		d.limits, d.renew = &l, (&renewer{pools: []*pgxpool.Pool{pool}}).renew
		r.list = append(r.list, &replica{
			name: net.JoinHostPort(cfg.ConnConfig.Host, strconv.Itoa(int(cfg.ConnConfig.Port))), pool: pool, problem: "not looked at yet",
			session: &session{db: db, d: d, pool: db, gate: &gate{}, damage: &damage{}},
		})
	}
	return r, nil
}

// start watches the replicas of a primary.
func (r *replicas) start(primary *session) {
	alone := *primary
	alone.replicas = nil
	r.primary = &alone
	ctx, end := context.WithCancel(context.Background())
	r.end = end
	go func() {
		defer close(r.ended)
		every := min(max(r.bound/5, shortLook), longLook)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			r.look(ctx, every)
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	}()
}

// close ends the watch and the pools.
func (r *replicas) close() {
	if r.end != nil {
		r.end()
		<-r.ended
	}
	for _, one := range r.list {
		_ = one.session.pool.Close() // nothing is written there
		one.pool.Close()
	}
}

// system identifies a database and those that follow it.
const system = "(SELECT system_identifier FROM pg_control_system())"

// look notes the position of the primary, and how far each replica has come.
func (r *replicas) look(ctx context.Context, every time.Duration) {
	patience := max(every, longLook)
	asking, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	now := time.Now()
	var position, id int64
	if err := r.primary.row(asking, "position of the primary", "SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint, "+system, nil, &position, &id); err == nil {
		if len(r.marks) == maxMarks {
			r.marks = append(r.marks[:0], r.marks[maxMarks/2:]...)
		}
		r.marks = append(r.marks, mark{now, position})
	}
	var looking sync.WaitGroup
	for _, one := range r.list {
		looking.Go(func() { r.measure(asking, one, id) })
	}
	looking.Wait()
}

// measure notes how far a replica of the database with an id has come. An id of 0 is that of a primary that does not answer.
func (r *replicas) measure(ctx context.Context, one *replica, id int64) {
	var position, theirs int64
	err := one.session.row(ctx, "position of a replica", "SELECT (COALESCE(pg_last_wal_replay_lsn(), pg_current_wal_insert_lsn()) - '0/0')::bigint, "+system, nil, &position, &theirs)
	one.mu.Lock()
	defer one.mu.Unlock()
	before := one.problem
	switch {
	case err != nil:
		one.problem = "it does not answer"
	case id != 0 && theirs != id:
		one.problem = "it is no replica of the primary"
	default:
		for i := len(r.marks) - 1; i >= 0; i-- {
			if r.marks[i].position <= position {
				if r.marks[i].at.After(one.fresh) {
					one.fresh = r.marks[i].at
				}
				break
			}
		}
		one.problem = ""
		if behind := time.Since(one.fresh); behind > r.bound {
			one.problem = "it is behind by more than " + r.bound.String()
		}
	}
	switch {
	case before == one.problem || ctx.Err() != nil && errors.Is(context.Cause(ctx), context.Canceled):
	case one.problem == "":
		r.log.InfoContext(ctx, "a replica answers reads", slog.String("replica", one.name))
	default:
		r.log.WarnContext(ctx, "a replica is left out; reads go to the others and to the primary", slog.String("replica", one.name), slog.String("because", one.problem))
	}
}

// pick returns a replica that has all that was committed until since, and is no further behind than the bound; nil without one.
func (r *replicas) pick(since time.Time) *replica {
	n := len(r.list)
	first := int(r.next.Add(1)) % n
	for i := range n {
		one := r.list[(first+i)%n]
		one.mu.Lock()
		good := one.problem == "" && one.fresh.After(since) && time.Since(one.fresh) <= r.bound
		one.mu.Unlock()
		if good {
			return one
		}
	}
	return nil
}

// fail leaves a replica out until it is looked at again.
func (one *replica) fail(ctx context.Context) {
	store.LagOf(ctx).Leave()
	if ctx.Err() != nil {
		return // the caller has gone
	}
	one.mu.Lock()
	defer one.mu.Unlock()
	one.problem = "a read has failed"
}

// behind is by how much a replica is behind.
func (one *replica) behind() (time.Duration, string) {
	one.mu.Lock()
	defer one.mu.Unlock()
	if one.fresh.IsZero() {
		return 0, one.problem
	}
	return time.Since(one.fresh), one.problem
}

// of returns the replica that answers the reads of a context; nil for the primary, also without replicas.
func (r *replicas) of(ctx context.Context) *replica {
	if r == nil {
		return nil
	}
	lag := store.LagOf(ctx)
	if lag == nil {
		return nil
	}
	one, _ := lag.Choose(func() any { return r.pick(lag.Since) }).(*replica)
	if one != nil {
		one.reads.Add(1)
	}
	return one
}

// row is [session.row] at a replica. It reports whether that has answered: what a replica does not have, or cannot read, the primary is asked for.
func (r *replicas) row(ctx context.Context, doing, query string, args []any, dest ...any) bool {
	one := r.of(ctx)
	if one == nil {
		return false
	}
	err := one.session.row(ctx, doing, query, args, dest...)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		one.fail(ctx)
	}
	return err == nil
}

// each is [session.each] at a replica. It reports whether that has answered.
func (r *replicas) each(ctx context.Context, doing, query string, args []any, fn func(*sql.Rows) error) (bool, error) {
	one := r.of(ctx)
	if one == nil {
		return false, nil
	}
	begun := false
	err := one.session.each(ctx, doing, query, args, func(rows *sql.Rows) error {
		begun = true
		return fn(rows)
	})
	if err == nil || begun {
		return true, err
	}
	one.fail(ctx)
	return false, nil
}

// begin begins a transaction that reads at a replica; nil if the primary is to be read.
func (r *replicas) begin(ctx context.Context) (*sql.Tx, *session) {
	one := r.of(ctx)
	if one == nil {
		return nil, nil
	}
	sqlTx, err := one.session.pool.BeginTx(ctx, one.session.d.reading)
	if err != nil {
		one.fail(ctx)
		return nil, nil
	}
	return sqlTx, one.session
}
