package app

import (
	"context"
	"log/slog"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"tenet/internal/config"
	"tenet/internal/store/litetest"
)

func configured(t *testing.T, settings map[string]string) config.Config {
	t.Helper()
	none := func(string) string { return "" }
	settings["data"], settings["no_seed"] = litetest.Dir(t), "true"
	if settings["listen"] == "" {
		settings["listen"] = "127.0.0.1:0"
	}
	cfg, err := config.Load("", none, settings)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func create(t *testing.T, settings map[string]string) (*App, error) {
	t.Helper()
	return New(t.Context(), configured(t, settings), slog.New(slog.DiscardHandler), Options{Env: func(string) string { return "" }})
}

// own counts the goroutines that run code of this module or of the database, except those of the test.
func own() (n int, stacks string) {
	buf := make([]byte, 4<<20)
	for g := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		if (strings.Contains(g, "tenet/internal/") || strings.Contains(g, "database/sql")) && !strings.Contains(g, "testing.tRunner") {
			n++
			stacks += g + "\n\n"
		}
	}
	return n, stacks
}

// wantNoMore fails unless soon no more goroutines run than before.
func wantNoMore(t *testing.T, before int) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		n, stacks := own()
		if n <= before {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines before, %d after:\n%s", before, n, stacks)
		}
	}
}

func TestAFailedStartLeavesNoGoroutines(t *testing.T) {
	for name, settings := range map[string]map[string]string{
		"no file of agents": {"agents_file": "/does/not/exist"},
		"a bad network":     {"webhook_allow_networks": "nowhere"},
		"a bad GitHub URL":  {"ingest_github_secret": "s", "github_url": "not a url"},
		"a bad embedder":    {"embedding_model": "acme:x"},
	} {
		t.Run(name, func(t *testing.T) {
			before, _ := own()
			if a, err := create(t, settings); err == nil {
				_ = a.Stop(context.WithoutCancel(t.Context()))
				t.Fatal("the node starts")
			}
			wantNoMore(t, before)
		})
	}
}

func TestANodeThatCannotListenLeavesNoGoroutines(t *testing.T) {
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	before, _ := own()
	a, err := create(t, map[string]string{"listen": taken.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Start(t.Context()); err == nil {
		t.Error("two nodes listen on one address")
	}
	if err := a.Stop(context.WithoutCancel(t.Context())); err != nil {
		t.Error(err)
	}
	wantNoMore(t, before)
}

func TestTheEndOfTheServerIsReported(t *testing.T) {
	before, _ := own()
	a, err := create(t, map[string]string{})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-a.Failed():
		t.Fatalf("failed at once: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	if err := a.listener.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-a.Failed():
		if err == nil {
			t.Error("no error")
		}
	case <-time.After(time.Minute):
		t.Fatal("nobody learns that the server has ended")
	}
	if err := a.Stop(context.WithoutCancel(t.Context())); err != nil {
		t.Error(err)
	}
	if err := a.Stop(context.WithoutCancel(t.Context())); err != nil {
		t.Errorf("stopped again: %v", err)
	}
	wantNoMore(t, before)
}

// A stop is no failure.
func TestAStoppedServerHasNotFailed(t *testing.T) {
	a, err := create(t, map[string]string{})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := a.Stop(context.WithoutCancel(t.Context())); err != nil {
		t.Error(err)
	}
	select {
	case err := <-a.Failed():
		t.Errorf("failed: %v", err)
	default:
	}
}
