package sqlstore

import (
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// dialect holds the differences between the databases. All SQL is written once, with ? as placeholder.
type dialect struct {
	goose goose.Dialect
	// types are the names in migrations. Text compares by bytes, as Go does. Serial is a key that counts up and is never
	// reused.
	types struct {
		Text, Blob, Serial string
		// Clustered ends a table whose rows lie in the order of its key, where the database has that.
		Clustered string
		// Vector reports that full text is a column of type TSVECTOR, rather than a table of FTS5.
		Vector bool
		// Frozen makes the rows of a table permanent.
		Frozen func(table string) string
	}
	// schema makes all tables at once; empty where only migrations do. See [database.fresh].
	schema string
	// requirements are the answers that a server must give.
	requirements []requirement
	// reading and writing are the options of transactions. A reading one sees one state of the database.
	reading, writing *sql.TxOptions
	// rowLocks is true where transactions run concurrently and so must lock the rows that they touch.
	rowLocks bool
	// numbered is true where placeholders are $1, $2 and so on.
	numbered bool
	// keepRows ends a query whose rows nobody else is to change until the transaction ends.
	keepRows string
	// skipLocked ends a query that locks its rows but passes over those that others have locked.
	skipLocked string
	// oneOf compares a column with the strings of one parameter, which list makes.
	oneOf string
	list  func([]string) any
	// oneOfNumbers compares a column with the numbers of one parameter, which numbers makes.
	oneOfNumbers string
	numbers      func([]int64) any
	// unsynced makes commits return before their writes are on disk: those of a connection, outside of a transaction, until it carries out
	// syncAgain, or without syncAgain that of the transaction.
	unsynced, syncAgain string
	// planned, if not nil, is an argument before all others that has a statement planned for the values of this call.
	planned any
	// limit ends a query with a bound on its rows, for those that run all the time. SQLite compiles a statement with a bare parameter there again each time
	// that it is run, to plan for its value.
	limit string
	// each makes rows, in a column value, of the strings of one parameter, which list makes.
	each string
	// fullText is the full-text index of documents.
	fullText fullText
	// retryable reports that a transaction failed only because of another one.
	retryable func(error) bool
	// unsent reports a statement that has not reached the server, so that its transaction has ended without it.
	unsent func(error) bool
	// unsupported reports a statement that the database cannot carry out as it is.
	unsupported func(error) bool
	// duplicate reports a violated unique key.
	duplicate func(error) bool
	// unreachable reports a database that cannot be reached or cannot write now.
	unreachable func(error) bool
	// reason says in a few words why an unreachable database cannot be used; empty if the error does not say it.
	reason func(error) string
	// damaged reports a database whose content cannot be read.
	damaged func(error) bool
	// demoted reports a server that no longer is the one that writes.
	demoted func(error) bool
	// tables lists the tables of a file and their definitions; empty where the server has read them.
	tables string
	// spread is true where the rows of projects are on several servers; see [Distribute]. No statement can then lock rows of several projects.
	spread atomic.Bool
	// first begins a transaction that writes, where connections cannot have settings; else empty. See [pooled].
	first string
	// parts are the parts of time in which bodies lie apart from their entries; nil where none can. Unrouted reports a row for which there is no part.
	parts    *knownParts
	unrouted func(error) bool
	// bodyLength is the length of the body of an entry e of an audit chain, wherever it lies.
	bodyLength string
	// limits bound statements where a server may stay silent; nil elsewhere. Renew then makes all connections again.
	limits *limits
	renew  func()

	bound sync.Map // query with ? to query with $n
}

// requirement is a query to the server with the answer that it needs.
type requirement struct {
	query, text string
	meets       func(answer string) bool
}

func newSQLite() *dialect {
	d := &dialect{goose: goose.DialectSQLite3, schema: sqliteSchema, reading: &sql.TxOptions{ReadOnly: true}, writing: &sql.TxOptions{}}
	d.types.Text, d.types.Blob, d.types.Serial = "TEXT", "BLOB", "INTEGER PRIMARY KEY AUTOINCREMENT"
	d.limit = " LIMIT 0 + ?"
	// In WAL mode the next synced commit syncs the log with all that these have written, and a log that is cut has whole transactions only.
	d.unsynced, d.syncAgain = "PRAGMA synchronous = NORMAL", "PRAGMA synchronous = FULL"
	d.types.Frozen, d.types.Clustered = frozenSQLite, " WITHOUT ROWID"
	d.oneOfNumbers, d.numbers = " IN (SELECT value FROM json_each(?))", func(n []int64) any {
		b, _ := json.Marshal(n) // numbers always encode
		return string(b)
	}
	d.oneOf, d.list = " IN (SELECT value FROM json_each(?))", func(s []string) any {
		b, _ := json.Marshal(s) // strings always encode
		return string(b)
	}
	d.each, d.fullText, d.bodyLength = "json_each(?)", fts5{}, "LENGTH(e.body)"
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
	d.unreachable = func(err error) bool {
		switch code(err) & 0xff {
		case sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY:
			return true
		}
		return d.retryable(err)
	}
	d.reason = func(err error) string { return sqliteReasons[code(err)&0xff] }
	d.damaged = func(err error) bool {
		c := code(err) & 0xff
		return c == sqlite3.SQLITE_CORRUPT || c == sqlite3.SQLITE_NOTADB
	}
	no := func(error) bool { return false }
	d.demoted, d.unsent, d.unsupported, d.unrouted = no, no, no, no
	d.renew, d.tables = func() {}, "SELECT name, sql FROM sqlite_master WHERE type = 'table'"
	return d
}

func newPostgres() *dialect {
	d := &dialect{
		goose: goose.DialectPostgres, rowLocks: true, numbered: true, skipLocked: " FOR UPDATE SKIP LOCKED", keepRows: " FOR NO KEY UPDATE",
		reading: &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true},
		writing: &sql.TxOptions{Isolation: sql.LevelReadCommitted}, // see lockDomain
		requirements: []requirement{
			{"SHOW server_version_num", "PostgreSQL 15 or later is needed", func(v string) bool {
				n, err := strconv.Atoi(v)
				return err == nil && n >= 150_000
			}},
			{"SHOW server_encoding", "a database in UTF8 is needed", func(v string) bool { return v == "UTF8" }},
		},
	}
	d.types.Text, d.types.Blob, d.types.Serial = `TEXT COLLATE "C"`, "BYTEA", "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"
	d.types.Frozen = frozenPostgres
	d.oneOf, d.list = " = ANY (?)", func(s []string) any { return s }
	d.limit = " LIMIT ?"
	d.oneOfNumbers, d.numbers = " = ANY (?)", func(n []int64) any { return n }
	d.unsynced = "SET LOCAL synchronous_commit = off"
	d.planned = pgx.QueryExecModeCacheDescribe
	d.types.Vector = true
	d.each, d.fullText = "unnest(CAST(? AS TEXT[])) AS words (value)", tsvector{}
	code := func(err error) string {
		if e, ok := errors.AsType[*pgconn.PgError](err); ok {
			return e.Code
		}
		return ""
	}
	d.retryable = func(err error) bool {
		c := code(err)
		// serialization_failure, deadlock_detected, lock_not_available, idle_in_transaction_session_timeout
		return c == "40001" || c == "40P01" || c == "55P03" || c == "25P03"
	}
	d.duplicate = func(err error) bool { return code(err) == "23505" } // unique_violation
	d.unreachable = func(err error) bool {
		switch c := code(err); {
		case strings.HasPrefix(c, "08"), strings.HasPrefix(c, "53"), strings.HasPrefix(c, "57P"), c == "25006", c == "3D000", c == "57014":
			return true // connection, resources, shutdown, read-only, no such database, statement_timeout
		}
		if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
			return true
		}
		if _, ok := errors.AsType[net.Error](err); ok {
			return true
		}
		return d.retryable(err) || pgconn.SafeToRetry(err) || errors.Is(err, driver.ErrBadConn) ||
			errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
	}
	d.reason = func(err error) string {
		if _, ok := errors.AsType[*pgconn.ConnectError](err); ok && code(err) == "" {
			return "it cannot be reached"
		}
		return postgresReasons[code(err)]
	}
	d.damaged = func(err error) bool { return strings.HasPrefix(code(err), "XX00") && code(err) != "XX000" } // data_corrupted, index_corrupted
	d.demoted = func(err error) bool { return code(err) == "25006" || strings.HasPrefix(code(err), "57P") }  // read-only, shutdown
	d.unsent = pgconn.SafeToRetry
	d.unsupported = func(err error) bool { return code(err) == "0A000" } // feature_not_supported
	d.bodyLength = "LENGTH(e.body) + COALESCE((SELECT LENGTH(b.body) FROM audit_bodies AS b WHERE b.project_id = e.project_id AND b.seq = e.seq AND b.at = e.at), 0)"
	d.parts, d.unrouted = &knownParts{}, func(err error) bool { return code(err) == "23514" } // check_violation
	d.limits, d.renew = &usual, func() {}
	return d
}

// sqliteReasons says why a file cannot be used, by the primary result code.
var sqliteReasons = map[int]string{
	sqlite3.SQLITE_FULL:     "its disk is full",
	sqlite3.SQLITE_IOERR:    "its disk does not read or write",
	sqlite3.SQLITE_CANTOPEN: "its file cannot be opened",
	sqlite3.SQLITE_READONLY: "its file cannot be written",
	sqlite3.SQLITE_BUSY:     "another program holds its lock",
	sqlite3.SQLITE_LOCKED:   "another statement of this program holds its lock",
}

// postgresReasons says why a server cannot be used, by SQLSTATE.
var postgresReasons = map[string]string{
	"25006": "it is a standby, or takes no writes",
	"25P03": "a transaction paused for too long",
	"40001": "other transactions change the same rows",
	"40P01": "other transactions hold locks crosswise",
	"3D000": "it does not exist on the server",
	"53100": "its disk is full",
	"53200": "its server has no memory left",
	"53300": "its server has no connection left",
	"55P03": "another transaction holds a lock for too long",
	"57014": "a statement took too long",
	"57P01": "its server is stopping",
	"57P02": "its server has crashed and starts again",
	"57P03": "its server is starting or stopping",
}

// bind writes a query's placeholders in the syntax of the database. It caches all queries, so their number must be bounded.
func (d *dialect) bind(query string) string {
	if !d.numbered {
		return query
	}
	if q, ok := d.bound.Load(query); ok {
		return q.(string)
	}
	var b strings.Builder
	for n, rest := 1, query; ; n++ {
		before, after, found := strings.Cut(rest, "?")
		b.WriteString(before)
		if !found {
			break
		}
		b.WriteByte('$')
		b.WriteString(strconv.Itoa(n))
		rest = after
	}
	d.bound.Store(query, b.String())
	return b.String()
}

// longList is the length from which a list is worth a plan of its own.
const longList = 64

// arguments returns the arguments for the driver. A statement with a long list is planned for it: a plan that PostgreSQL keeps for all values may
// compare each row with each element of the list, where one for these values looks the row up among them.
func (d *dialect) arguments(args []any) []any {
	if d.planned == nil {
		return args
	}
	for _, arg := range args {
		strs, _ := arg.([]string)
		numbers, _ := arg.([]int64)
		if arg == d.planned {
			break
		}
		if max(len(strs), len(numbers)) >= longList {
			return append([]any{d.planned}, args...)
		}
	}
	return args
}

// plannedNow returns the arguments of a statement that is planned for their values, whatever it was planned for before: PostgreSQL then leaves out the
// partitions that have none of them, and does not even lock these.
func (d *dialect) plannedNow(args ...any) []any {
	if d.planned == nil {
		return args
	}
	return append([]any{d.planned}, args...)
}

// frozenSQLite refuses changes of a table by triggers.
func frozenSQLite(table string) string {
	var b strings.Builder
	for _, change := range []string{"UPDATE", "DELETE"} {
		fmt.Fprintf(&b, "CREATE TRIGGER %s_frozen_%s BEFORE %s ON %s BEGIN SELECT RAISE(ABORT, 'rows of %s never change'); END;\n",
			table, strings.ToLower(change), change, table, table)
	}
	return b.String()
}

// frozenPostgres refuses changes of a table by a trigger.
func frozenPostgres(table string) string {
	return fmt.Sprintf(`CREATE FUNCTION %[1]s_frozen() RETURNS trigger LANGUAGE plpgsql AS
	$$ BEGIN RAISE EXCEPTION 'rows of %[1]s never change'; END $$;
CREATE TRIGGER %[1]s_frozen BEFORE UPDATE OR DELETE ON %[1]s FOR EACH STATEMENT EXECUTE FUNCTION %[1]s_frozen();
`, table)
}
