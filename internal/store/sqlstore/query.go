package sqlstore

import (
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

// reader is a store.Reader on a pool or in a transaction.
type reader struct {
	db     conn
	d      *dialect
	pool   *sql.DB // nil in a transaction
	gate   *gate   // nil in a transaction, which has passed it
	inside *inside // of a transaction that writes, else nil
}

// snapshot calls fn with a reader to which the database stands still.
func (r *reader) snapshot(ctx context.Context, fn func(*reader) error) error {
	if r.pool == nil {
		return fn(r) // the transaction, which holds the locks of what it reads
	}
	if err := r.gate.enter(); err != nil {
		return err
	}
	defer r.gate.leave()
	sqlTx, err := r.pool.BeginTx(ctx, r.d.reading)
	if err != nil {
		return r.fault(ctx, "begin reading", err)
	}
	defer func() { _ = sqlTx.Rollback() }() // it only reads
	return fn(&reader{db: sqlTx, d: r.d})
}

// exec runs a statement and returns how many rows it has touched.
func (r *reader) exec(ctx context.Context, doing, query string, args ...any) (int64, error) {
	if !storable(args) {
		return 0, rule.Errorf(rule.CodeInvalid, "text must be valid UTF-8 without NUL characters")
	}
	result, err := r.db.ExecContext(ctx, r.d.bind(query), args...)
	if err != nil {
		return 0, r.fault(ctx, doing, err)
	}
	n, err := result.RowsAffected()
	if err != nil {
		return 0, r.fault(ctx, doing, err)
	}
	return n, nil
}

// row reads one row into dest; [sql.ErrNoRows] if there is none.
func (r *reader) row(ctx context.Context, doing, query string, args []any, dest ...any) error {
	if err := r.enter(); err != nil {
		return err
	}
	defer r.leave()
	if !storable(args) {
		return sql.ErrNoRows // nothing stored is equal to it
	}
	err := r.db.QueryRowContext(ctx, r.d.bind(query), args...).Scan(dest...)
	if err == nil || errors.Is(err, sql.ErrNoRows) {
		return err
	}
	return r.fault(ctx, doing, err)
}

// each calls fn for every row of a query. Until it returns, the transaction can do nothing else.
func (r *reader) each(ctx context.Context, doing, query string, args []any, fn func(*sql.Rows) error) error {
	if err := r.enter(); err != nil {
		return err
	}
	defer r.leave()
	if !storable(args) {
		return nil // nothing stored is equal to it
	}
	rows, err := r.db.QueryContext(ctx, r.d.bind(query), args...)
	if err != nil {
		return r.fault(ctx, doing, err)
	}
	defer func() { _ = rows.Close() }() // after the loop there is nothing left to fail
	for rows.Next() {
		if err := fn(rows); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return r.fault(ctx, doing, err)
	}
	return nil
}

func (r *reader) enter() error {
	if r.gate == nil {
		return nil
	}
	return r.gate.enter()
}

func (r *reader) leave() {
	if r.gate != nil {
		r.gate.leave()
	}
}

// fault wraps a driver's error. Its text is for the log; users are shown the [rule.Error] in its chain, if there is one.
func (r *reader) fault(ctx context.Context, doing string, err error) error {
	switch {
	case r.inside != nil && r.d.retryable(err):
		if r.inside.rival == nil {
			r.inside.rival = err
		}
		return fmt.Errorf("sqlstore: %s: %w: %w", doing, unavailable(), err)
	case ctx.Err() != nil:
		return fmt.Errorf("sqlstore: %s: %w: %w", doing, ctx.Err(), err)
	case r.d.away(err):
		return fmt.Errorf("sqlstore: %s: %w: %w", doing, unavailable(), err)
	}
	return fmt.Errorf("sqlstore: %s: %w", doing, err)
}

func unavailable() error {
	return rule.Errorf(rule.CodeUnavailable, "the database is not available now; try again later")
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

func fromNullable(n sql.NullInt64) *time.Time {
	if !n.Valid {
		return nil
	}
	t := fromMicros(n.Int64)
	return &t
}
