// Package pgtest gives tests fresh PostgreSQL databases.
package pgtest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tenet/internal/store/sqlstore"
)

// Env names the variable that holds the address of a server on which tests may create databases.
const Env = "TENET_TEST_POSTGRES"

// made holds the name of the template database and its schema.
type made struct{ name, schema string }

var template = sync.OnceValues(makeTemplate)

// DSN creates an empty database with the current schema for this test, and returns its address. When the test has passed, it
// empties the database for the next one, since creating one takes several times as long. Without a server it fails the test: a
// test that needs PostgreSQL is never skipped.
func DSN(t testing.TB) string {
	t.Helper()
	address := server(t)
	from, err := template()
	if err != nil {
		t.Fatalf("making the template database: %v", err)
	}
	name, found := emptied.take()
	if !found {
		name = create(t, "TEMPLATE "+from.name)
	}
	t.Cleanup(func() {
		if !t.Failed() && clean(withDatabase(address, name), from.schema) == nil {
			emptied.give(name)
			return
		}
		drop(t, name)
	})
	return withDatabase(address, name)
}

// names holds the names of databases to use again.
type names struct {
	mu   sync.Mutex
	list []string
}

var emptied names

func (n *names) take() (string, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	last := len(n.list) - 1
	if last < 0 {
		return "", false
	}
	name := n.list[last]
	n.list = n.list[:last]
	return name, true
}

func (n *names) give(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.list = append(n.list, name)
}

// Empty creates a database without tables, with options as CREATE DATABASE has them, and returns its address. The
// test drops it at its end.
func Empty(t testing.TB, options string) string {
	t.Helper()
	name := create(t, "TEMPLATE template0 "+options)
	t.Cleanup(func() { drop(t, name) })
	return withDatabase(server(t), name)
}

// Named returns the address of the database with a name, which it creates without tables if the server has none. Nothing drops it.
func Named(t testing.TB, name string) string {
	t.Helper()
	name = "tenet_" + name
	var exists bool
	err := connected(server(t), func(ctx context.Context, conn *pgx.Conn) error {
		return conn.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM pg_database WHERE datname = $1)", name).Scan(&exists)
	})
	if err == nil && !exists {
		err = admin(server(t), "CREATE DATABASE "+pgx.Identifier{name}.Sanitize())
	}
	if err != nil {
		t.Fatal(err)
	}
	return withDatabase(server(t), name)
}

func server(t testing.TB) string {
	t.Helper()
	address := os.Getenv(Env)
	if address == "" {
		t.Fatalf("this test needs PostgreSQL: run `make test`, which starts one, or set %s to the address of a server", Env)
	}
	return address
}

// create creates a database, with options as CREATE DATABASE has them.
func create(t testing.TB, options string) string {
	t.Helper()
	name := newName("test")
	if err := admin(server(t), "CREATE DATABASE "+name+" "+options); err != nil {
		t.Fatal(err)
	}
	return name
}

func drop(t testing.TB, name string) {
	t.Helper()
	if err := admin(server(t), "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)"); err != nil {
		t.Error(err)
	}
}

// schema identifies the schema of a database by its newest migration and the numbers of its tables, indices, columns, constraints, triggers, functions
// and namespaces. Partitions do not count.
const schema = `WITH own AS (SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace AND NOT relispartition)
SELECT concat_ws('/',
	(SELECT max(version_id) FROM goose_db_version),
	(SELECT count(*) FROM own),
	(SELECT count(*) FROM pg_attribute JOIN own ON attrelid = own.oid WHERE NOT attisdropped),
	(SELECT count(*) FROM pg_constraint JOIN own ON conrelid = own.oid),
	(SELECT count(*) FROM pg_trigger JOIN own ON tgrelid = own.oid),
	(SELECT count(*) FROM pg_event_trigger),
	(SELECT count(*) FROM pg_proc WHERE pronamespace = 'public'::regnamespace),
	(SELECT count(*) FROM pg_namespace WHERE nspname NOT LIKE 'pg\_%'))`

// empty drops partitions, deletes all rows, including those that triggers protect, and resets sequences. For few rows DELETE is faster than TRUNCATE.
const empty = `DO $$
DECLARE one record;
BEGIN
	PERFORM pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid();
	SET LOCAL session_replication_role = replica;
	FOR one IN SELECT c.relname AS name FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace LOOP
		EXECUTE format('DROP TABLE %I', one.name);
	END LOOP;
	FOR one IN SELECT tablename AS name, pg_total_relation_size(quote_ident(tablename)::regclass) AS size FROM pg_tables
		WHERE schemaname = 'public' AND tablename <> 'goose_db_version' LOOP
		IF one.size > 1000000 THEN
			EXECUTE format('TRUNCATE %I CASCADE', one.name);
		ELSE
			EXECUTE format('DELETE FROM %I', one.name);
		END IF;
	END LOOP;
	FOR one IN SELECT sequencename AS name FROM pg_sequences WHERE schemaname = 'public' AND sequencename NOT LIKE 'goose%' LOOP
		EXECUTE format('ALTER SEQUENCE %I RESTART', one.name);
	END LOOP;
END $$`

// clean empties a database. It returns an error if the database cannot be used again.
func clean(dsn, want string) error {
	return connected(dsn, func(ctx context.Context, conn *pgx.Conn) error {
		var have string
		if err := conn.QueryRow(ctx, schema).Scan(&have); err != nil {
			return err
		}
		if have != want {
			return fmt.Errorf("the schema was changed: %s, not %s", have, want)
		}
		_, err := conn.Exec(ctx, empty)
		return err
	})
}

// makeTemplate creates a migrated database, once per test binary. The end of the last test is unknown, so the next run drops the
// databases of older runs here.
func makeTemplate() (made, error) {
	address, m := os.Getenv(Env), made{name: newName("template")}
	if err := admin(address, "CREATE DATABASE "+m.name); err != nil {
		return m, err
	}
	s, err := sqlstore.OpenPostgres(context.Background(), withDatabase(address, m.name), sqlstore.Options{})
	if err != nil {
		return m, err
	}
	if err := s.Close(); err != nil {
		return m, err
	}
	err = connected(withDatabase(address, m.name), func(ctx context.Context, conn *pgx.Conn) error {
		return conn.QueryRow(ctx, schema).Scan(&m.schema)
	})
	return m, errors.Join(err, dropStale(address))
}

// stale is the age from which a database belongs to no running test.
const stale = 2 * time.Hour

func dropStale(address string) error {
	return connected(address, func(ctx context.Context, conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, `SELECT datname FROM pg_database WHERE datname LIKE 'tenet\_%'`)
		if err != nil {
			return err
		}
		names, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return err
		}
		for _, name := range names {
			var kind, random string
			var made int64
			if n, _ := fmt.Sscanf(strings.ReplaceAll(name, "_", " "), "tenet %s %d %s", &kind, &made, &random); n != 3 ||
				time.Since(time.Unix(made, 0)) < stale {
				continue
			}
			if _, err := conn.Exec(ctx, "DROP DATABASE IF EXISTS "+pgx.Identifier{name}.Sanitize()); err != nil {
				return err
			}
		}
		return nil
	})
}

// newName returns a unique name with the time of its creation: tenet_test_1760000000_a1b2.
func newName(kind string) string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails, see crypto/rand
	return fmt.Sprintf("tenet_%s_%d_%x", kind, time.Now().Unix(), b)
}

func admin(address, statement string) error {
	return connected(address, func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, statement)
		if err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
		return nil
	})
}

func connected(address string, fn func(context.Context, *pgx.Conn) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return fmt.Errorf("connecting to the test server: %w", err)
	}
	return errors.Join(fn(ctx, conn), conn.Close(ctx))
}

func withDatabase(server, name string) string {
	u, err := url.Parse(server)
	if err != nil {
		return server
	}
	u.Path = "/" + name
	return u.String()
}
