// Package sqlstore keeps Tenet's data in SQLite or PostgreSQL. The SQL is written once; a dialect holds the few real
// differences. Times are stored as microseconds since the Unix epoch, rules and records as JSON.
package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"tenet/internal/rule"
	"tenet/internal/store"
)

// Store is a store.Store on an SQL database.
type Store struct {
	reader
	write   *sql.DB
	log     *slog.Logger
	release func() error
	added   watchers // of jobs
}

var _ store.Store = (*Store)(nil)

// Ping implements store.Store.
func (s *Store) Ping(ctx context.Context) error {
	var one int
	return s.row(ctx, "ping", "SELECT 1", nil, &one)
}

// Close implements store.Store.
func (s *Store) Close() error {
	if !s.gate.close() {
		return nil
	}
	if err := s.release(); err != nil {
		return fmt.Errorf("sqlstore: close: %w", err)
	}
	return nil
}

const (
	// patience bounds how long Update tries again when other transactions are in the way.
	patience = 20 * time.Second
	// shortPause and longPause bound the pauses between the tries, which are drawn at random so that rivals part.
	shortPause = 2 * time.Millisecond
	longPause  = 100 * time.Millisecond
)

// Update implements store.Store.
func (s *Store) Update(ctx context.Context, fn func(store.Tx) error) error {
	if err := s.gate.enter(); err != nil {
		return err
	}
	defer s.gate.leave()
	begun, pause := time.Now(), shortPause
	for try := 1; ; try++ {
		rival, err := s.once(ctx, fn)
		if rival == nil {
			return err
		}
		if time.Since(begun) > patience {
			return fmt.Errorf("sqlstore: given up after %d tries: %w: %w", try,
				rule.Errorf(rule.CodeUnavailable, "the database is too busy; try again later"), rival)
		}
		select {
		case <-time.After(rand.N(pause)):
		case <-ctx.Done():
			return fmt.Errorf("sqlstore: update: %w", ctx.Err())
		}
		pause = min(2*pause, longPause)
	}
}

// once runs fn in a transaction. rival is the failure that is to blame on another transaction and makes another try
// worthwhile, whatever fn has made of it.
func (s *Store) once(ctx context.Context, fn func(store.Tx) error) (rival, err error) {
	sqlTx, err := s.write.BeginTx(ctx, s.d.writing)
	if err != nil {
		if s.d.retryable(err) && ctx.Err() == nil {
			return err, nil
		}
		return nil, s.fault(ctx, "begin", err)
	}
	t := &tx{reader{db: sqlTx, d: s.d, inside: &inside{held: map[lump]bool{}}}}
	done := false
	defer func() {
		if !done { // fn has failed, or panicked
			_ = sqlTx.Rollback() // the first error is the one that matters
		}
	}()
	if err := fn(t); err != nil || t.inside.rival != nil {
		return t.inside.rival, err
	}
	done = true
	if err := sqlTx.Commit(); err != nil {
		if s.d.retryable(err) && ctx.Err() == nil {
			return err, nil
		}
		return nil, s.fault(ctx, "commit", err)
	}
	if t.inside.jobs {
		s.added.tell()
	}
	return nil, nil
}

// tx is a store.Tx.
type tx struct{ reader }

// inside is what a transaction keeps in mind.
type inside struct {
	held map[lump]bool
	// rival is the first failure that is to blame on another transaction.
	rival error
	// jobs is true once there are jobs to claim.
	jobs bool
	// webhooks are the webhook policies of projects that have been read.
	webhooks map[string][]store.WebhookPolicy
}

// gate counts what is running, so that Close can wait for it.
type gate struct {
	mu      sync.Mutex
	running int
	closed  bool
	empty   chan struct{}
}

// enter begins something, or fails once the gate is closed.
func (g *gate) enter() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return rule.Errorf(rule.CodeUnavailable, "the database is being closed; try again later")
	}
	g.running++
	return nil
}

// leave ends what enter has begun.
func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running--
	if g.closed && g.running == 0 {
		close(g.empty)
	}
}

// close lets nothing more in and waits for what is running. It returns false if the gate was closed before.
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
