package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"tenet/internal/rule"
)

// On PostgreSQL, a node that stands still inside a transaction, or is cut off without a word, holds its locks for as long as
// the server lets it. The server is asked to end what stands still, and a node ends what the server does not answer, so that the
// others wait for seconds.
type limits struct {
	idle        time.Duration // between two statements of a transaction that writes
	lock        time.Duration // the wait for a lock; longer than idle, so that the holder is ended first
	write, read time.Duration // one statement, in a transaction that writes and outside of one
	grace       time.Duration // how much later than the server a node gives up
}

// usual are the limits of every node.
var usual = limits{idle: 5 * time.Second, lock: 10 * time.Second, write: time.Minute, read: 5 * time.Minute, grace: 5 * time.Second}

const (
	// connectLimit bounds the wait for a connection to one host, if the address does not.
	connectLimit = 5 * time.Second
	// renewal is how often at most all connections are made again.
	renewal = 5 * time.Second
)

// unlimited lets a transaction do what takes long: a migration.
const unlimited = "SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0"

// settings returns the statement that prepares a session of PostgreSQL. Zero is no bound. Every query here has an index. A
// cached plan from the time when a table was small would continue to read the whole table. Where a query must read it anyway, the
// plan's assumed cost is so high that PostgreSQL would compile it, which takes longer than the query.
func settings(idle, lock, statement time.Duration) string {
	return fmt.Sprintf("SET enable_seqscan = off; SET jit = off; SET idle_in_transaction_session_timeout = %d; SET lock_timeout = %d; SET statement_timeout = %d",
		idle.Milliseconds(), lock.Milliseconds(), statement.Milliseconds())
}

// pooled reports that a proxy gives each transaction any connection to the server, as pgbouncer does in its transaction mode. The address says so by a
// way to run statements that leaves nothing on a connection. A setting of the session would then be one of somebody else's.
func pooled(cfg *pgxpool.Config) bool {
	mode := cfg.ConnConfig.DefaultQueryExecMode
	return mode == pgx.QueryExecModeExec || mode == pgx.QueryExecModeSimpleProtocol
}

// local makes the settings of a session those of one transaction.
func local(settings string) string { return strings.ReplaceAll(settings, "SET ", "SET LOCAL ") }

// openPool makes a pool of connections that begin with a statement. It connects when the first is needed.
func openPool(ctx context.Context, cfg *pgxpool.Config, connections int, first string) (*pgxpool.Pool, error) {
	cfg = cfg.Copy()
	cfg.MaxConns = int32(connections) //nolint:gosec // bounded by withDefaults
	if !pooled(cfg) {
		cfg.AfterConnect = func(ctx context.Context, c *pgx.Conn) error {
			_, err := c.Exec(ctx, first)
			return err
		}
	}
	if cfg.ConnConfig.ConnectTimeout == 0 {
		cfg.ConnConfig.ConnectTimeout = connectLimit
	}
	// Of several hosts, only the primary can write. A standby that is promoted becomes it.
	several := false
	for _, other := range cfg.ConnConfig.Fallbacks {
		several = several || other.Host != cfg.ConnConfig.Host || other.Port != cfg.ConnConfig.Port
	}
	if several && cfg.ConnConfig.ValidateConnect == nil {
		cfg.ConnConfig.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("sqlstore: %w: %w", unavailable(""), err)
	}
	return pool, nil
}

// renewer makes connections again after one of them has stood still, since others to the same server then mostly do too.
type renewer struct {
	pools []*pgxpool.Pool
	last  atomic.Int64 // when, in nanoseconds since the Unix epoch
}

func (r *renewer) renew() {
	now, last := time.Now().UnixNano(), r.last.Load()
	if now-last < int64(renewal) || !r.last.CompareAndSwap(last, now) {
		return
	}
	for _, pool := range r.pools {
		pool.Reset()
	}
}

// errSilent is the cause of the end of a statement that the server has not answered.
var errSilent = errors.New("the database does not answer")

// limited bounds a statement where the dialect wants that. In a transaction of SQLite a statement that has begun runs to its end: to wait for the end of ctx, driver and
// library take a goroutine each for every statement.
func (s *session) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	if s.d.limits == nil {
		if s.state != nil && ctx.Err() == nil {
			ctx = context.WithoutCancel(ctx)
		}
		return ctx, func() {}
	}
	within := s.d.limits.read
	if s.state != nil {
		within = s.d.limits.write
	}
	return context.WithTimeoutCause(ctx, within+s.d.limits.grace, errSilent)
}

// alarm ends a transaction whose begin or commit the server does not answer. Stop it once there is an answer.
func (d *dialect) alarm(end context.CancelCauseFunc) (stop func()) {
	if d.limits == nil {
		return func() {}
	}
	timer := time.AfterFunc(d.limits.write+d.limits.grace, func() { end(errSilent) })
	return func() { timer.Stop() }
}

// damage remembers that a database was found damaged.
type damage struct{ err atomic.Pointer[error] }

// note returns the error of a damaged database, for the users.
func (d *damage) note(err error) error {
	e := fmt.Errorf("%w: %w", rule.Errorf(rule.CodeUnavailable,
		"the database is damaged: stop Tenet, keep the files, and restore a backup; docs/operations.md says how"), err)
	d.err.CompareAndSwap(nil, &e)
	return e
}

// found returns the first error that was noted, or nil.
func (d *damage) found() error {
	if e := d.err.Load(); e != nil {
		return *e
	}
	return nil
}
