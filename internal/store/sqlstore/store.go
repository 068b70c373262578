// Package sqlstore implements package store on SQLite and PostgreSQL. The SQL is written once; a dialect holds the few
// differences. Times are stored as microseconds since the Unix epoch, rules and records as JSON.
//
// # Where things are
//
//	store.go, open.go       opening a database; tables.go lists the nouns
//	query.go, rows.go, statement.go  running statements: sessions, reading rows, statements for many rows
//	dialect.go              the differences of SQLite and PostgreSQL; fulltext.go those of words
//	lock.go, limits.go      transactions on PostgreSQL: locks by domain, and ends of what stands still
//	migrate.go, fresh.go    the schema: migrations/ and schema/
//	replicas.go, spread.go  reads at replicas; tables spread by project with Citus
//	NOUN.go                 one noun: its reads, and where they are long its writes in NOUN_write.go
//	packed.go, tally.go     sums of many counts; sums that show missing rules
package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/telemetry"
)

// database is a store.Database on an SQL database.
type database struct {
	*session
	write   *sql.DB
	log     *slog.Logger
	release func() error
	behind  *replicas // nil for none
	added   watchers  // notified of new jobs
	// patience bounds how long Update retries after conflicts with other transactions.
	patience time.Duration
}

// Serial implements store.Database.
func (s *database) Serial() bool { return !s.d.rowLocks }

// Ping implements store.Database. A database that was once found damaged stays so.
func (s *database) Ping(ctx context.Context) error {
	if err := s.damage.found(); err != nil {
		return err
	}
	var one int
	return s.row(ctx, "ping", "SELECT 1", nil, &one)
}

// Pools implements store.Database.
func (s *database) Pools() []store.Pool {
	of := func(name string, db *sql.DB) store.Pool {
		stats := db.Stats()
		return store.Pool{Name: name, InUse: stats.InUse, Idle: stats.Idle, Waits: stats.WaitCount}
	}
	pools := []store.Pool{of("read", s.pool), of("write", s.write)}
	if s.behind != nil {
		for _, one := range s.behind.list {
			pool := of("replica "+one.name, one.session.pool)
			pool.Replica, pool.Reads = true, one.reads.Load()
			pool.Behind, pool.Problem = one.behind()
			pools = append(pools, pool)
		}
	}
	return pools
}

// follow begins to read at replicas, and returns readers that do so where a context allows it.
func (s *database) follow(r *replicas) store.Readers {
	lagging := *s.session
	lagging.replicas = r
	s.behind = r
	r.start(s.session)
	return lagging.readers()
}

// Close implements store.Database.
func (s *database) Close() error {
	if !s.gate.close() {
		return nil
	}
	if err := s.release(); err != nil {
		return fmt.Errorf("sqlstore: close: %w", err)
	}
	return nil
}

const (
	// usualPatience is the patience of every node.
	usualPatience = 20 * time.Second
	// shortPause and longPause bound the random pauses between the tries.
	shortPause = 2 * time.Millisecond
	longPause  = 100 * time.Millisecond
)

// Update implements store.Database.
func (s *database) Update(ctx context.Context, fn func(store.Tx) error) error {
	return s.update(ctx, synced, fn)
}

// UpdateDerived implements store.Database.
func (s *database) UpdateDerived(ctx context.Context, fn func(store.Tx) error) error {
	return s.update(ctx, unsynced, fn)
}

// syncing says whether a transaction waits until its writes are on disk.
type syncing bool

const (
	synced   syncing = true
	unsynced syncing = false
)

func (s *database) update(ctx context.Context, sync syncing, fn func(store.Tx) error) (err error) {
	ctx, span := telemetry.Start(ctx, "database transaction")
	defer func() { span.End(err) }()
	if err := s.gate.enter(); err != nil {
		return err
	}
	defer s.gate.leave()
	begun, pause := time.Now(), shortPause
	for try := 1; ; try++ {
		retry, err := s.once(ctx, sync, fn)
		if retry == nil {
			return err
		}
		if time.Since(begun) > s.patience {
			return fmt.Errorf("sqlstore: given up after %d tries: %w: %w", try,
				unavailable(cmp.Or(s.d.reason(retry), "it is too busy")), retry)
		}
		select {
		case <-time.After(rand.N(pause)):
		case <-ctx.Done():
			return fmt.Errorf("sqlstore: update: %w", ctx.Err())
		}
		pause = min(2*pause, longPause)
	}
}

// once runs fn in a transaction. retry is a failure that another transaction has caused, so that another try may succeed; fn
// may have wrapped or dropped it.
func (s *database) once(ctx context.Context, sync syncing, fn func(store.Tx) error) (retry, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	begun := s.d.alarm(cancel)
	sqlTx, end, err := s.begin(ctx, sync)
	begun()
	defer end()
	if err != nil {
		if s.d.retryable(err) && ctx.Err() == nil {
			return err, nil
		}
		return nil, s.wrap(ctx, "begin", err)
	}
	t := &session{db: sqlTx, d: s.d, damage: s.damage, within: ctx, state: &txState{spread: s.d.spread.Load(), locked: map[lockDomain]bool{}, webhooks: map[string][]store.WebhookPolicy{}}}
	done := false
	defer func() {
		if !done { // fn has failed or panicked
			_ = sqlTx.Rollback() // the first error is the one that matters
		}
	}()
	if err := fn(t.tx()); err != nil || t.state.retry != nil {
		return t.state.retry, err
	}
	if err := t.raiseQueue(ctx); err != nil {
		return t.state.retry, err
	}
	done = true
	defer s.d.alarm(cancel)()
	if err := sqlTx.Commit(); err != nil {
		if (s.d.retryable(err) || s.d.unsent(err)) && ctx.Err() == nil {
			return err, nil
		}
		return nil, s.wrap(ctx, "commit", err)
	}
	if t.state.jobs {
		s.added.notify()
	}
	return nil, nil
}

// begin begins a transaction that writes. The caller calls end after it, also after an error.
func (s *database) begin(ctx context.Context, sync syncing) (sqlTx *sql.Tx, end func(), err error) {
	end = func() {}
	if sync == synced {
		if sqlTx, err = s.write.BeginTx(ctx, s.d.writing); err == nil && s.d.first != "" {
			if _, err = sqlTx.ExecContext(ctx, s.d.first); err != nil {
				_ = sqlTx.Rollback() // the first error is the one that matters
			}
		}
		return sqlTx, end, err
	}
	conn, err := s.write.Conn(ctx)
	if err != nil {
		return nil, end, err
	}
	end = func() {
		if s.d.syncAgain != "" {
			if _, err := conn.ExecContext(context.WithoutCancel(ctx), s.d.syncAgain); err != nil {
				_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // the next connection syncs
			}
		}
		_ = conn.Close() // gives it back
	}
	if s.d.syncAgain != "" {
		if _, err := conn.ExecContext(ctx, s.d.unsynced); err != nil {
			return nil, end, err
		}
	}
	if sqlTx, err = conn.BeginTx(ctx, s.d.writing); err == nil && s.d.syncAgain == "" {
		if _, err = sqlTx.ExecContext(ctx, s.d.unsynced+"; "+s.d.first); err != nil {
			_ = sqlTx.Rollback() // the first error is the one that matters
		}
	}
	return sqlTx, end, err
}

// txState is the state of a transaction.
type txState struct {
	locked map[lockDomain]bool
	// retry is the first failure that another transaction has caused.
	retry error
	// spread is whether the rows of projects were on several servers when the transaction began, as far as this node knew.
	spread bool
	// jobs is true when the transaction has made jobs to claim.
	jobs bool
	// webhooks holds the webhook policies that the transaction has read, by project.
	webhooks map[string][]store.WebhookPolicy
	// inForce holds what the transaction has changed of what is in force, with the hashes that are known.
	inForce map[forceKey]*store.RowHash
	// before holds what it has changed of it as it was before; nil for what the transaction has made.
	before map[forceKey]*store.RowHash
	// queue holds the lists of the queue that the transaction may have changed.
	queue map[queueList]bool
}

// gate counts the running operations, so that Close can wait for them.
type gate struct {
	mu      sync.Mutex
	running int
	closed  bool
	empty   chan struct{}
}

// enter begins an operation, or fails when the gate is closed.
func (g *gate) enter() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return rule.Errorf(rule.CodeUnavailable, "the database is being closed; try again later")
	}
	g.running++
	return nil
}

// leave ends an operation.
func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running--
	if g.closed && g.running == 0 {
		close(g.empty)
	}
}

// close refuses new operations and waits for the running ones. It returns false if the gate was closed before.
func (g *gate) close() bool {
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		return false
	}
	g.closed, g.empty = true, make(chan struct{})
	if g.running == 0 {
		close(g.empty)
	}
	g.mu.Unlock()
	<-g.empty
	return true
}
