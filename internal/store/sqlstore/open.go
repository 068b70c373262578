package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"tenet/internal/rule"
	"tenet/internal/store"
)

// Options are the options of a store. The zero value is useful.
type Options struct {
	Logger *slog.Logger
	// Readers bounds the connections that read outside of transactions; 0 means 8, or two for each processor if that is more.
	Readers int
	// Writers bounds the transactions that run at once on PostgreSQL; 0 means 8. SQLite always has one writer.
	Writers int
	// Replicas are addresses of databases that follow the one at the address of [OpenPostgres]. Reads that may lag go there; see [store.MayLag].
	Replicas []string
	// Staleness is by how much a replica may be behind; 0 means [DefaultStaleness].
	Staleness time.Duration
	// Small takes a tenth of the memory for SQLite: few connections that read, and small caches. It is for nodes that mostly append, such as edges.
	Small bool
}

// withDefaults sets the zero fields.
func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Readers <= 0 {
		o.Readers = max(8, 2*runtime.GOMAXPROCS(0))
		if o.Small {
			o.Readers = 2
		}
	}
	if o.Writers <= 0 {
		o.Writers = 8
	}
	o.Readers, o.Writers = min(o.Readers, 1000), min(o.Writers, 1000)
	return o
}

// FileName is the name of the SQLite database in its folder.
const FileName = "tenet.db"

// OpenSQLite opens the database in dir, creating both if needed. Only the user may read them. Writes use one
// connection, so that they never wait for one another inside the database. Other processes may have it open too.
//
// The error has the code unavailable if the folder or the file cannot be used, and conflict if a newer Tenet has made the
// database.
func OpenSQLite(ctx context.Context, dir string, o Options) (store.Store, error) {
	o = o.withDefaults()
	path, err := makeFile(dir)
	if err != nil {
		return store.Store{}, err
	}
	// With WAL, readers do not wait for the writer. FULL makes a commit durable before it returns. The busy timeout is short,
	// since this wait ignores the end of a context: Update continues to wait. The statement journal is in memory: in a file it
	// takes a fifth of the time of a batch of audit entries. A checkpoint comes every 4,000 pages, since a batch over many
	// projects writes hundreds, often the same ones.
	writerCache, readerCache := 16_000, 4_000 // KiB
	if o.Small {
		writerCache, readerCache = 4_000, 1_000
	}
	write, err := openFile(path, "_txlock=immediate&_busy_timeout=250&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)"+
		"&_pragma=journal_size_limit(67108864)&_pragma=temp_store(MEMORY)&_pragma=wal_autocheckpoint(4000)"+fmt.Sprintf("&_pragma=cache_size(-%d)", writerCache))
	if err != nil {
		return store.Store{}, err
	}
	write.SetMaxOpenConns(1)
	read, err := openFile(path, fmt.Sprintf("_busy_timeout=5000&_pragma=query_only(1)&_pragma=cache_size(-%d)", readerCache))
	if err != nil {
		return store.Store{}, errors.Join(err, write.Close())
	}
	read.SetMaxOpenConns(o.Readers)
	read.SetMaxIdleConns(o.Readers)
	// The writer is closed last: closing the last connection moves the write-ahead log into the database, which the readers
	// may not do.
	return open(ctx, newSQLite(), read, write, o, func() error { return errors.Join(read.Close(), write.Close()) })
}

// makeFile creates the folder and the database file if they are missing and returns the file's absolute path.
func makeFile(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", rule.Errorf(rule.CodeUnavailable, "cannot find the data folder: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", rule.Errorf(rule.CodeUnavailable, "cannot make the data folder: %w", err)
	}
	path := filepath.Join(dir, FileName)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", rule.Errorf(rule.CodeUnavailable, "cannot open the database: %w", err)
	}
	return path, f.Close()
}

func openFile(path, settings string) (*sql.DB, error) {
	name := fileURI(path, "_foreign_keys=1&"+settings)
	db, err := sql.Open("sqlite", name)
	if err != nil {
		return nil, fmt.Errorf("sqlstore: %w", err)
	}
	defer func() { _ = db.Close() }() // it has opened no connection
	return sql.OpenDB(preparing{db.Driver(), name}), nil
}

// fileURI is the name of a file by its absolute path, as SQLite takes it.
func fileURI(path, settings string) string {
	name := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: settings}
	if !strings.HasPrefix(name.Path, "/") {
		name.Path = "/" + name.Path // C:/folder
	}
	return name.String()
}

// OpenPostgres opens the database at dsn (postgres://...), which must exist on a server of version 15 or later.
//
// The error has the code unavailable if the database cannot be reached, invalid if the address or the server cannot be
// used, and conflict if a newer Tenet has made the database.
//
// Of several hosts, the one that takes writes is used.
func OpenPostgres(ctx context.Context, dsn string, o Options) (store.Store, error) {
	return openPostgres(ctx, dsn, o, usual)
}

func openPostgres(ctx context.Context, dsn string, o Options, l limits) (store.Store, error) {
	o = o.withDefaults()
	cfg, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return store.Store{}, errAddress()
	}
	// Readers and writers have pools of their own, so that waiting transactions never use up the connections of readers.
	readers, err := openPool(ctx, cfg, o.Readers, settings(0, 0, l.read))
	if err != nil {
		return store.Store{}, err
	}
	writers, err := openPool(ctx, cfg, o.Writers, settings(l.idle, l.lock, l.write))
	if err != nil {
		readers.Close()
		return store.Store{}, err
	}
	read, write := stdlib.OpenDBFromPool(readers), stdlib.OpenDBFromPool(writers)
	read.SetMaxOpenConns(o.Readers)
	write.SetMaxOpenConns(o.Writers)
	d := newPostgres()
	d.limits, d.renew = &l, (&renewer{pools: []*pgxpool.Pool{readers, writers}}).renew
	if pooled(cfg) {
		d.first, d.planned = local(settings(l.idle, l.lock, l.write)), nil
	}
	var behind *replicas
	if len(o.Replicas) > 0 {
		if behind, err = openReplicas(ctx, o, l); err != nil {
			return store.Store{}, errors.Join(err, read.Close(), write.Close())
		}
	}
	s, err := open(ctx, d, read, write, o, func() error {
		if behind != nil {
			behind.close()
		}
		err := errors.Join(read.Close(), write.Close())
		readers.Close()
		writers.Close()
		return err
	})
	if err == nil && behind != nil {
		s.Lagging = s.Database.(*database).follow(behind) //nolint:forcetypeassert // open has made it
	}
	return s, err
}

// errAddress does not quote the error of the parser, which may quote the password.
func errAddress() error {
	return rule.Errorf(rule.CodeInvalid, "the database URL cannot be read; write postgres://user:password@host:port/database")
}

// migratePatience bounds how long a node waits for another one that migrates the schema.
const migratePatience = time.Minute

func open(ctx context.Context, d *dialect, read, write *sql.DB, o Options, release func() error) (store.Store, error) {
	s := &database{session: &session{db: read, d: d, pool: read, gate: &gate{}, damage: &damage{}, parsed: &parsedRows{}}, write: write, log: o.Logger, release: release, patience: usualPatience}
	starting, cancel := context.WithTimeout(ctx, migratePatience)
	defer cancel()
	err := s.check(starting)
	if err == nil {
		err = s.migrate(starting)
	}
	if err != nil {
		return store.Store{}, errors.Join(err, release())
	}
	readers := s.readers()
	return store.Store{Readers: readers, Lagging: readers, Database: s}, nil
}

// check refuses a server that is too old, or whose encoding cannot hold all text, and a file whose list of tables is damaged.
func (s *database) check(ctx context.Context) error {
	if err := s.listTables(ctx); err != nil {
		return err
	}
	for _, q := range s.d.requirements {
		var have string
		if err := s.row(ctx, "look at the server", q.query, nil, &have); err != nil {
			return err
		}
		if !q.meets(have) {
			return rule.Errorf(rule.CodeInvalid, "%s; the server has %s", q.text, have)
		}
	}
	return findSpread(ctx, s.session)
}

// listTables reads the list of tables and the table of migrations of a file. Where these are damaged, the library that migrates
// would try for a minute to make them.
func (s *database) listTables(ctx context.Context) error {
	if s.d.tables == "" {
		return nil
	}
	begun := false
	err := s.each(ctx, "list tables", s.d.tables, nil, func(rows *sql.Rows) error {
		var name, text string
		err := rows.Scan(&name, &text)
		begun = begun || name == goose.DefaultTablename
		return err
	})
	if err != nil || !begun {
		return err
	}
	var migrations int
	return s.row(ctx, "list migrations", "SELECT count(version_id) FROM "+goose.DefaultTablename, nil, &migrations)
}
