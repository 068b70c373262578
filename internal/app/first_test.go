package app

import (
	"log/slog"
	"strings"
	"testing"

	"tenet/internal/auth"
	"tenet/internal/store"
)

// The first key of the settings opens a server that had none, and is not made again once it was revoked.
func TestFirstKey(t *testing.T) {
	settings := map[string]string{}
	cfg := configured(t, settings)
	cfg.FirstKey = auth.NewSecret()
	start := func() *App {
		t.Helper()
		a, err := New(t.Context(), cfg, slog.New(slog.DiscardHandler), Options{Env: func(string) string { return "" }})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	a := start()
	who, err := a.keys.Authenticate(t.Context(), cfg.FirstKey)
	if err != nil || who.Role != auth.Admin {
		t.Fatalf("the first key is %+v (%v), want an administrator's", who, err)
	}
	keys, err := a.store.Keys.ListAll(t.Context())
	if err != nil || len(keys) != 1 {
		t.Fatalf("%d keys (%v), want 1", len(keys), err)
	}
	if err := a.keys.Revoke(t.Context(), store.AllProjects, keys[0].ID); err != nil {
		t.Fatal(err)
	}
	if err := a.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	a = start()
	defer func() { _ = a.Stop(t.Context()) }()
	if _, err := a.keys.Authenticate(t.Context(), cfg.FirstKey); err == nil {
		t.Error("a revoked first key works after a restart")
	}
	cfg.FirstKey = "tnt_short"
	if _, err := New(t.Context(), cfg, slog.New(slog.DiscardHandler), Options{Env: func(string) string { return "" }}); err == nil || !strings.Contains(err.Error(), "first_key") {
		t.Errorf("a short key: %v", err)
	}
}
