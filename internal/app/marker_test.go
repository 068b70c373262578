package app

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tenet/internal/rule"
	"tenet/internal/store/sqlstore"
)

// A database that is gone is no new one.
func TestARemovedDatabaseIsNotSeededAgain(t *testing.T) {
	cfg := configured(t, map[string]string{})
	start := func() error {
		a, err := New(t.Context(), cfg, slog.New(slog.DiscardHandler), Options{Env: func(string) string { return "" }})
		if err != nil {
			return err
		}
		return a.Stop(context.WithoutCancel(t.Context()))
	}
	for range 2 {
		if err := start(); err != nil {
			t.Fatal(err)
		}
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(filepath.Join(cfg.Data, sqlstore.FileName+suffix)); err != nil && suffix == "" {
			t.Fatal(err)
		}
	}
	for range 2 { // the attempt leaves no project behind
		if err := start(); rule.CodeOf(err) != rule.CodeUnavailable || !strings.Contains(err.Error(), "backup") {
			t.Errorf("starting without the database: %v", err)
		}
	}
	if err := os.Remove(filepath.Join(cfg.Data, markerName)); err != nil {
		t.Fatal(err)
	}
	if err := start(); err != nil {
		t.Errorf("beginning again: %v", err)
	}
}
