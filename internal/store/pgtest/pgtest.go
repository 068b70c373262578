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

// Env names the variable that holds the address of a server on which databases may be made.
const Env = "TENET_TEST_POSTGRES"

var template = sync.OnceValues(makeTemplate)

// DSN makes a database with the current schema for this test and returns its address; the database goes with the test. It
// fails the test if no server is given: a test that needs PostgreSQL is never skipped.
func DSN(t testing.TB) string {
	t.Helper()
	server(t)
	name, err := template()
	if err != nil {
		t.Fatalf("making the template database: %v", err)
	}
	return fresh(t, "TEMPLATE "+name)
}

// Empty makes a database without any tables, with options as CREATE DATABASE has them, and returns its address; the
// database goes with the test.
func Empty(t testing.TB, options string) string {
	t.Helper()
	return fresh(t, "TEMPLATE template0 "+options)
}

func server(t testing.TB) string {
	t.Helper()
	address := os.Getenv(Env)
	if address == "" {
		t.Fatalf("this test needs PostgreSQL: run `make test`, which starts one, or set %s to the address of a server", Env)
	}
	return address
}

func fresh(t testing.TB, options string) string {
	t.Helper()
	address, name := server(t), newName("test")
	if err := admin(address, "CREATE DATABASE "+name+" "+options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := admin(address, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)"); err != nil {
			t.Error(err)
		}
	})
	return withDatabase(address, name)
}

// makeTemplate makes a migrated database, once per test binary. Nothing tells when the last test has used it, so the
// databases that older runs have left behind go here.
func makeTemplate() (string, error) {
	address, name := os.Getenv(Env), newName("template")
	if err := admin(address, "CREATE DATABASE "+name); err != nil {
		return "", err
	}
	s, err := sqlstore.OpenPostgres(context.Background(), withDatabase(address, name), sqlstore.Options{})
	if err != nil {
		return "", err
	}
	if err := s.Close(); err != nil {
		return "", err
	}
	return name, dropStale(address)
}

// stale is the age at which a database belongs to no running test any more.
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

// newName is a name that no other test has, with the time of its making: tenet_test_1760000000_a1b2.
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
