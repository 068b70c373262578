// Package litetest gives tests fresh SQLite databases.
package litetest

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"tenet/internal/store/sqlstore"
)

// template is the file of a database with the current schema and nothing in it. Bringing up the schema takes many times as long as
// to copy it, so it is done once per test binary.
var template = sync.OnceValues(func() (file []byte, err error) {
	dir, err := os.MkdirTemp("", "tenet-litetest-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // what is left is the system's to remove
	s, err := sqlstore.OpenSQLite(context.Background(), dir, sqlstore.Options{})
	if err != nil {
		return nil, err
	}
	if err := s.Close(); err != nil { // this moves all into the one file
		return nil, err
	}
	return os.ReadFile(filepath.Join(dir, sqlstore.FileName))
})

// Dir makes a folder with a database of the current schema, which goes with the test.
func Dir(t testing.TB) string {
	t.Helper()
	file, err := template()
	if err != nil {
		t.Fatalf("making the template database: %v", err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, sqlstore.FileName), file, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}
