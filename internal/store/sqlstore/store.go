// Package sqlstore keeps Tenet's data in SQLite or PostgreSQL. The SQL is written once; a dialect holds the few real
// differences. Times are stored as microseconds since the Unix epoch, rules and records as JSON.
package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"tenet/internal/rule"
	"tenet/internal/store"
)

// Options set up a store. The zero value is useful.
type Options struct {
	Logger *slog.Logger
	// MaxConns bounds the connections for reading (SQLite) or for everything (PostgreSQL); 0 means 8 and 20.
	MaxConns int
}

// Store is a store.Store on an SQL database.
type Store struct {
	reader
	write   *sql.DB
	log     *slog.Logger
	release func() error
}

var _ store.Store = (*Store)(nil)

// FileName is the name of the SQLite database in its folder.
const FileName = "tenet.db"

// OpenSQLite opens the database in dir, making both if needed. Only the user may read them. Writes go through one
// connection, so that they never wait for one another inside the database; other processes may have it open too.
func OpenSQLite(ctx context.Context, dir string, o Options) (store.Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, rule.Errorf(rule.CodeUnavailable, "cannot make the data folder: %w", err)
	}
	path := filepath.Join(dir, FileName)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, rule.Errorf(rule.CodeUnavailable, "cannot open the database: %w", err)
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	write, err := openSQLite(path, "_txlock=immediate&_pragma=synchronous(FULL)&_pragma=journal_mode(WAL)")
	if err != nil {
		return nil, err
	}
	write.SetMaxOpenConns(1)
	read, err := openSQLite(path, "_pragma=query_only(1)&_pragma=cache_size(-16000)")
	if err != nil {
		return nil, errors.Join(err, write.Close())
	}
	conns := o.MaxConns
	if conns == 0 {
		conns = max(8, 2*runtime.GOMAXPROCS(0))
	}
	read.SetMaxOpenConns(conns)
	read.SetMaxIdleConns(conns)
	return prepare(ctx, newSQLite(), read, write, o, func() error { return errors.Join(read.Close(), write.Close()) })
}

func openSQLite(path, settings string) (*sql.DB, error) {
	name := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath()}
	name.RawQuery = "_pragma=busy_timeout(15000)&_pragma=foreign_keys(1)&" + settings
	db, err := sql.Open("sqlite", name.String())
	if err != nil {
		return nil, fmt.Errorf("sqlstore: %w", err)
	}
	return db, nil
}

// OpenPostgres opens the database at dsn (postgres://...), which must exist.
func OpenPostgres(ctx context.Context, dsn string, o Options) (store.Store, error) {
	cfg, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		// The parser's error may quote the password.
		return nil, rule.Errorf(rule.CodeInvalid, "the database URL cannot be read; write postgres://user:password@host:port/database")
	}
	cfg.MaxConns = 20
	if o.MaxConns > 0 {
		cfg.MaxConns = int32(min(o.MaxConns, 1000)) //nolint:gosec // bounded by min
	}
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, rule.Errorf(rule.CodeUnavailable, "cannot reach the database: %w", err)
	}
	db := stdlib.OpenDBFromPool(pool)
	return prepare(ctx, newPostgres(), db, db, o, func() error {
		err := db.Close()
		pool.Close()
		return err
	})
}

// migrateTries is how often bringing up the schema is tried when another process does the same.
const migrateTries = 5

func prepare(ctx context.Context, d *dialect, read, write *sql.DB, o Options, release func() error) (store.Store, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Store{reader: reader{db: read, d: d, pool: read}, write: write, log: o.Logger, release: release}
	var err error
	for try := range migrateTries {
		if err = migrate(ctx, write, d); err == nil || rule.CodeOf(err) == rule.CodeConflict || ctx.Err() != nil {
			break
		}
		if d.away(err) && !d.retryable(err) {
			err = rule.Errorf(rule.CodeUnavailable, "cannot reach the database: %w", err)
			break
		}
		time.Sleep(time.Duration(try+1) * 50 * time.Millisecond)
	}
	if err != nil {
		return nil, errors.Join(err, release())
	}
	return s, nil
}

// Ping implements store.Store.
func (s *Store) Ping(ctx context.Context) error {
	var one int
	if err := s.db.QueryRowContext(ctx, "SELECT 1").Scan(&one); err != nil {
		return s.fault("ping", err)
	}
	return nil
}

// Close implements store.Store.
func (s *Store) Close() error { return s.release() }

// maxTries bounds how often Update runs its callback.
const maxTries = 12

// Update implements store.Store.
func (s *Store) Update(ctx context.Context, fn func(store.Tx) error) error {
	for try := 1; ; try++ {
		err := s.once(ctx, fn)
		if err == nil || try == maxTries || !s.d.retryable(err) {
			return err
		}
		pause := time.Duration(rand.Int64N(int64(5*time.Millisecond) << min(try, 6)))
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *Store) once(ctx context.Context, fn func(store.Tx) error) (err error) {
	sqlTx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return s.fault("begin", err)
	}
	done := false
	defer func() {
		if !done { // fn failed or panicked
			_ = sqlTx.Rollback() // the first error is the one that matters
		}
	}()
	if err := fn(&tx{reader{db: sqlTx, d: s.d}}); err != nil {
		return err
	}
	done = true
	if err := sqlTx.Commit(); err != nil {
		return s.fault("commit", err)
	}
	return nil
}

// tx is a store.Tx.
type tx struct{ reader }

// reader is a store.Reader on a pool or in a transaction.
type reader struct {
	db   conn
	d    *dialect
	pool *sql.DB // nil in a transaction
}

// fault wraps a driver's error for the log and, where the database is away, gives it the code unavailable.
func (r *reader) fault(doing string, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if r.d.away(err) {
		return rule.Errorf(rule.CodeUnavailable, "the database is not available now: %w", fmt.Errorf("%s: %w", doing, err))
	}
	return fmt.Errorf("sqlstore: %s: %w", doing, err)
}

func (r *reader) exec(ctx context.Context, doing, query string, args ...any) (int64, error) {
	result, err := r.db.ExecContext(ctx, r.d.prepared(query), args...)
	if err != nil {
		return 0, r.fault(doing, err)
	}
	n, err := result.RowsAffected()
	if err != nil {
		return 0, r.fault(doing, err)
	}
	return n, nil
}

// row reads one row into dest; sql.ErrNoRows if there is none.
func (r *reader) row(ctx context.Context, doing, query string, args []any, dest ...any) error {
	err := r.db.QueryRowContext(ctx, r.d.prepared(query), args...).Scan(dest...)
	if err == nil || errors.Is(err, sql.ErrNoRows) {
		return err
	}
	return r.fault(doing, err)
}

// each calls fn for every row of a query.
func (r *reader) each(ctx context.Context, doing, query string, args []any, fn func(*sql.Rows) error) error {
	rows, err := r.db.QueryContext(ctx, r.d.prepared(query), args...)
	if err != nil {
		return r.fault(doing, err)
	}
	defer func() { _ = rows.Close() }() // after the loop there is nothing left to fail
	for rows.Next() {
		if err := fn(rows); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return r.fault(doing, err)
	}
	return nil
}

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
