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

// template is the file of an empty database with the current schema. Migrating takes many times as long as copying, so it runs
// once per test binary.
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

// Dir creates a folder with a database of the current schema, which the test removes at its end.
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
