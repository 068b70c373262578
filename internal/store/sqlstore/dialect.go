package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"net"
	"strconv"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// dialect is what really differs between the databases. All SQL is written once, with ? as placeholder.
type dialect struct {
	goose goose.Dialect
	types struct{ Blob string }
	// forUpdate is the clause that locks the rows a SELECT reads.
	forUpdate string
	// list is a sub-select of the strings of one parameter, a JSON array. A row of as many parameters as strings would be
	// planned anew for each length, and badly.
	list string
	// numbered is true where placeholders are $1, $2 and so on.
	numbered bool
	locker   func() (lock.SessionLocker, error)
	// retryable tells a transaction that failed only because of another one.
	retryable func(error) bool
	// duplicate tells a violated unique key.
	duplicate func(error) bool
	// away tells a database that cannot be reached or cannot write now.
	away func(error) bool

	rebound sync.Map // query with ? to query with $n
}

func newSQLite() *dialect {
	d := &dialect{goose: goose.DialectSQLite3, list: "(SELECT value FROM json_each(?))"}
	d.types.Blob = "BLOB"
	code := func(err error) int {
		if e, ok := errors.AsType[*sqlite.Error](err); ok {
			return e.Code()
		}
		return 0
	}
	d.retryable = func(err error) bool {
		c := code(err) & 0xff
		return c == sqlite3.SQLITE_BUSY || c == sqlite3.SQLITE_LOCKED
	}
	d.duplicate = func(err error) bool {
		c := code(err)
		return c == sqlite3.SQLITE_CONSTRAINT_UNIQUE || c == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY
	}
	d.away = func(err error) bool {
		switch code(err) & 0xff {
		case sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY:
			return true
		}
		return d.retryable(err)
	}
	return d
}

func newPostgres() *dialect {
	d := &dialect{
		goose: goose.DialectPostgres, forUpdate: " FOR UPDATE", numbered: true,
		list: "(SELECT jsonb_array_elements_text(CAST(? AS jsonb)))",
	}
	d.types.Blob = "BYTEA"
	d.locker = func() (lock.SessionLocker, error) { return lock.NewPostgresSessionLocker() }
	code := func(err error) string {
		if e, ok := errors.AsType[*pgconn.PgError](err); ok {
			return e.Code
		}
		return ""
	}
	d.retryable = func(err error) bool {
		c := code(err)
		return c == "40001" || c == "40P01" // serialization_failure, deadlock_detected
	}
	d.duplicate = func(err error) bool { return code(err) == "23505" } // unique_violation
	d.away = func(err error) bool {
		switch c := code(err); {
		case strings.HasPrefix(c, "08"), strings.HasPrefix(c, "53"), strings.HasPrefix(c, "57P"), c == "25006":
			return true // connection, resources, shutdown, read-only
		}
		if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
			return true
		}
		if _, ok := errors.AsType[net.Error](err); ok {
			return !errors.Is(err, context.DeadlineExceeded)
		}
		return d.retryable(err) || pgconn.SafeToRetry(err)
	}
	return d
}

// bind writes a query's placeholders as the database wants them.
func (d *dialect) bind(query string) string {
	if !d.numbered {
		return query
	}
	if q, ok := d.rebound.Load(query); ok {
		return q.(string)
	}
	var b strings.Builder
	n := 0
	for {
		before, after, found := strings.Cut(query, "?")
		b.WriteString(before)
		if !found {
			break
		}
		n++
		b.WriteByte('$')
		b.WriteString(strconv.Itoa(n))
		query = after
	}
	return b.String()
}

// prepared is bind for a query that is written in the program and so worth keeping.
func (d *dialect) prepared(query string) string {
	bound := d.bind(query)
	if d.numbered {
		d.rebound.LoadOrStore(query, bound)
	}
	return bound
}

// conn is a pool or a transaction.
type conn interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}
