// Package pgtest gives tests fresh PostgreSQL databases.
package pgtest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"net/url"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tenet/internal/store/sqlstore"
)

// Env names the variable that holds the address of a server on which databases may be made.
const Env = "TENET_TEST_POSTGRES"

var (
	templateOnce sync.Once
	templateName string
	errTemplate  error
)

// DSN makes a database with the current schema for this test and returns its address; the database goes with the test. It
// fails the test if no server is given: a test that needs PostgreSQL is never skipped.
func DSN(t testing.TB) string {
	t.Helper()
	server := os.Getenv(Env)
	if server == "" {
		t.Fatalf("this test needs PostgreSQL: run `make test`, which starts one, or set %s to the address of a server", Env)
	}
	templateOnce.Do(func() { errTemplate = makeTemplate(server) })
	if errTemplate != nil {
		t.Fatalf("making the template database: %v", errTemplate)
	}
	name := "tenet_test_" + random()
	admin(t, server, `CREATE DATABASE `+name+` TEMPLATE `+templateName)
	t.Cleanup(func() { admin(t, server, `DROP DATABASE IF EXISTS `+name+` WITH (FORCE)`) })
	return withDatabase(server, name)
}

// makeTemplate makes a migrated database once per test binary. It stays until the server ends: test binaries share none.
func makeTemplate(server string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	templateName = "tenet_template_" + random()
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err := conn.Exec(ctx, "CREATE DATABASE "+templateName); err != nil {
		return err
	}
	s, err := sqlstore.OpenPostgres(ctx, withDatabase(server, templateName), sqlstore.Options{})
	if err != nil {
		return err
	}
	return s.Close()
}

func admin(t testing.TB, server, statement string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		t.Fatalf("connecting to the test server: %v", err)
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err := conn.Exec(ctx, statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func withDatabase(server, name string) string {
	u, err := url.Parse(server)
	if err != nil {
		return server
	}
	u.Path = "/" + name
	return u.String()
}

func random() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails, see crypto/rand
	return hex.EncodeToString(b[:])
}
