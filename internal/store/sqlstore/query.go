package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"tenet/internal/rule"
)

// conn is a pool or a transaction.
type conn interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// session reads and writes on a pool or in a transaction.
type session struct {
	db   conn
	d    *dialect
	pool *sql.DB // nil in a transaction
	gate *gate   // nil in a transaction, which has passed it
	// replicas answer reads that may lag; nil for none.
	replicas *replicas
	state    *txState        // of a transaction that writes; else nil
	within   context.Context //nolint:containedctx // of the transaction: its end rolls the transaction back; nil outside of one
	// damage and parsed are shared by all sessions of a database; parsed is nil in a transaction that writes.
	damage *damage
	parsed *parsedRows
}

// snapshot calls fn with a session that sees one state of the database.
func (s *session) snapshot(ctx context.Context, fn func(*session) error) error {
	if s.pool == nil {
		return fn(s) // a transaction holds the locks of the rows that it reads
	}
	if err := s.gate.enter(); err != nil {
		return err
	}
	defer s.gate.leave()
	if sqlTx, there := s.replicas.begin(ctx); sqlTx != nil {
		defer func() { _ = sqlTx.Rollback() }() // it only reads
		return fn(&session{db: sqlTx, d: there.d, damage: there.damage, within: ctx})
	}
	sqlTx, err := s.pool.BeginTx(ctx, s.d.reading)
	if err != nil {
		return s.wrap(ctx, "begin reading", err)
	}
	defer func() { _ = sqlTx.Rollback() }() // it only reads
	return fn(&session{db: sqlTx, d: s.d, damage: s.damage, parsed: s.parsed, within: ctx})
}

// exec runs a statement and returns the number of rows that it has touched.
func (s *session) exec(ctx context.Context, doing, query string, args ...any) (int64, error) {
	if !storable(args) {
		return 0, rule.Errorf(rule.CodeInvalid, "text must be valid UTF-8 without NUL characters")
	}
	ctx, cancel := s.limited(ctx)
	defer cancel()
	result, err := s.db.ExecContext(ctx, s.d.bind(query), s.d.arguments(args)...)
	if err != nil {
		return 0, s.wrap(ctx, doing, err)
	}
	n, err := result.RowsAffected()
	if err != nil {
		return 0, s.wrap(ctx, doing, err)
	}
	return n, nil
}

// row reads one row into dest; [sql.ErrNoRows] without one.
func (s *session) row(ctx context.Context, doing, query string, args []any, dest ...any) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	if !storable(args) {
		return sql.ErrNoRows // no stored text equals it
	}
	if s.replicas.row(ctx, doing, query, args, dest...) {
		return nil
	}
	ctx, cancel := s.limited(ctx)
	defer cancel()
	err := s.db.QueryRowContext(ctx, s.d.bind(query), s.d.arguments(args)...).Scan(dest...)
	if err == nil || errors.Is(err, sql.ErrNoRows) {
		return err
	}
	return s.wrap(ctx, doing, err)
}

// exists returns nil if a query has a row, and otherwise not_found of the noun with ref.
func (s *session) exists(ctx context.Context, noun, ref, query string, args ...any) error {
	var one int
	return notFound(s.row(ctx, noun, query, args, &one), noun, ref)
}

// each calls fn for every row of a query. Until it returns, the transaction can run no other statement.
func (s *session) each(ctx context.Context, doing, query string, args []any, fn func(*sql.Rows) error) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	if !storable(args) {
		return nil // no stored text equals it
	}
	if done, err := s.replicas.each(ctx, doing, query, args, fn); done {
		return err
	}
	ctx, cancel := s.limited(ctx)
	defer cancel()
	rows, err := s.db.QueryContext(ctx, s.d.bind(query), s.d.arguments(args)...)
	if err != nil {
		return s.wrap(ctx, doing, err)
	}
	defer func() { _ = rows.Close() }() // after the loop there is nothing left to fail
	for rows.Next() {
		if err := fn(rows); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return s.wrap(ctx, doing, err)
	}
	return nil
}

func (s *session) enter() error {
	if s.gate == nil {
		return nil
	}
	return s.gate.enter()
}

func (s *session) leave() {
	if s.gate != nil {
		s.gate.leave()
	}
}

// wrap wraps a driver's error. Its text is for the log; users see only the [rule.Error] in its chain.
func (s *session) wrap(ctx context.Context, doing string, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) || s.d.demoted(err) {
		s.d.renew()
	}
	if s.state != nil && !s.state.spread && s.d.unsupported(err) {
		// The tables have been spread or migrated since this node opened the database: the next try goes the other way.
		s.d.spread.Store(true)
		s.state.retry = cmp.Or(s.state.retry, err)
	}
	if errors.Is(err, sql.ErrTxDone) && s.within != nil && s.within.Err() != nil {
		// The transaction was rolled back because its context ended. That of the statement may end a moment later, or not at all.
		ctx = s.within
	}
	switch {
	case s.d.damaged(err):
		return fmt.Errorf("sqlstore: %s: %w", doing, s.damage.note(err))
	case errors.Is(context.Cause(ctx), errSilent):
		return fmt.Errorf("sqlstore: %s: %w: %w", doing, unavailable("it does not answer"), errSilent)
	case s.state != nil && (s.d.retryable(err) || s.d.unsent(err)):
		if s.state.retry == nil {
			s.state.retry = err
		}
		return fmt.Errorf("sqlstore: %s: %w: %w", doing, unavailable(s.d.reason(err)), err)
	case ctx.Err() != nil:
		return fmt.Errorf("sqlstore: %s: %w: %w", doing, ctx.Err(), err)
	case s.d.unreachable(err):
		return fmt.Errorf("sqlstore: %s: %w: %w", doing, unavailable(s.d.reason(err)), err)
	}
	return fmt.Errorf("sqlstore: %s: %w", doing, err)
}

// unavailable is the error of a database that cannot be used now, for a reason that may be empty.
func unavailable(reason string) error {
	if reason != "" {
		reason = ": " + reason
	}
	return rule.Errorf(rule.CodeUnavailable, "the database is not available now%s; try again later", reason)
}

// storable reports whether a database can hold the strings among args. SQLite would cut at a NUL, and PostgreSQL refuses
// both NUL and what is not UTF-8.
func storable(args []any) bool {
	for _, a := range args {
		if s, ok := a.(string); ok && !text(s) {
			return false
		}
	}
	return true
}

func text(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }

func micros(t time.Time) int64 { return t.UnixMicro() }

func fromMicros(n int64) time.Time { return time.UnixMicro(n).UTC() }

// nullable turns an optional time into a column value.
func nullable(t *time.Time) any {
	if t == nil {
		return nil
	}
	return t.UnixMicro()
}
