package app_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"tenet/internal/app"
	"tenet/internal/config"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/store/litetest"
	"tenet/internal/store/pgtest"
	"tenet/internal/store/sqlstore"
	"tenet/internal/wire"
)

func none(string) string { return "" }

// node makes a node that ends with the test.
func node(t testing.TB, o app.Options, settings map[string]string) *app.App {
	t.Helper()
	if o.Env == nil {
		o.Env = none
	}
	if settings["listen"] == "" {
		settings["listen"] = "127.0.0.1:0"
	}
	cfg, err := config.Load("", none, settings)
	if err != nil {
		t.Fatal(err)
	}
	a, err := app.New(t.Context(), cfg, slog.New(slog.DiscardHandler), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return a
}

// ask sends a request to the node in process and decodes the answer.
func ask(t testing.TB, a *app.App, method, path, body string, into any) int {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, "http://localhost"+path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	a.Handler().ServeHTTP(w, r)
	if into != nil {
		if err := json.Unmarshal(w.Body.Bytes(), into); err != nil {
			t.Fatalf("%s %s: %v in %s", method, path, err, w.Body)
		}
	}
	return w.Code
}

func count(t *testing.T, a *app.App) int {
	t.Helper()
	var page struct{ Total int }
	if code := ask(t, a, http.MethodGet, "/api/v1/rules?page_size=1", "", &page); code != http.StatusOK {
		t.Fatalf("status %d", code)
	}
	return page.Total
}

func TestTheFirstStartLoadsTheStarterPacksOnce(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	first := node(t, app.Options{}, map[string]string{"data": data})
	packed := count(t, first)
	if packed < 80 {
		t.Fatalf("%d rules after the first start, want the starter packs", packed)
	}
	if code := ask(t, first, http.MethodPost, "/api/v1/rules", `{"statement": "One more."}`, nil); code != http.StatusCreated {
		t.Fatalf("status %d", code)
	}
	if n := count(t, node(t, app.Options{}, map[string]string{"data": data})); n != packed+1 {
		t.Errorf("%d rules after the second start, want %d", n, packed+1)
	}
}

func TestNoSeedStartsEmptyAndStaysSo(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	for _, settings := range []map[string]string{{"data": data, "no_seed": "true"}, {"data": data}} {
		if n := count(t, node(t, app.Options{}, settings)); n != 0 {
			t.Errorf("%d rules, want none", n)
		}
	}
}

func TestAnAddressThatOthersCanReachNeedsAKey(t *testing.T) {
	t.Parallel()
	for _, listen := range []string{"0.0.0.0:0", "[::]:0", ":0", "192.0.2.1:0", "example.com:0"} {
		a := node(t, app.Options{}, map[string]string{"data": litetest.Dir(t), "no_seed": "true", "listen": listen})
		if err := a.Start(t.Context()); rule.CodeOf(err) != rule.CodeInvalid || !strings.Contains(err.Error(), "tenet keys create") {
			t.Errorf("listening on %s without a key: %v", listen, err)
		}
	}
}

func TestNodesShareADatabase(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	rules := []*wire.RuleFile{{Rules: []wire.RuleInput{{Slug: new("A-1"), Statement: "One."}}}}
	one := node(t, app.Options{Rules: rules}, map[string]string{"database_url": dsn})
	two := node(t, app.Options{Rules: rules}, map[string]string{"database_url": dsn})
	if err := two.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := count(t, two); n != 1 {
		t.Fatalf("%d rules on the second node, want 1", n)
	}
	if code := ask(t, one, http.MethodPost, "/api/v1/rules", `{"slug": "A-2", "statement": "Two."}`, nil); code != http.StatusCreated {
		t.Fatalf("status %d", code)
	}
	if n := count(t, one); n != 2 {
		t.Errorf("%d rules on the node that wrote, want 2 at once", n)
	}
	for limit := time.Now().Add(time.Minute); count(t, two) != 2; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatal("the other node does not show the rule")
		}
	}
}

func TestReadyOnceTheRulesAreLoaded(t *testing.T) {
	t.Parallel()
	a := node(t, app.Options{}, map[string]string{"data": litetest.Dir(t)})
	if err := a.Ready(t.Context()); rule.CodeOf(err) != rule.CodeUnavailable {
		t.Errorf("before the start: %v, want unavailable", err)
	}
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	for limit := time.Now().Add(time.Minute); a.Ready(t.Context()) != nil; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatal(a.Ready(t.Context()))
		}
	}
	if a.Model() != "" {
		t.Errorf("model %q without one being configured", a.Model())
	}
}

func TestNotReadyWhileTheDatabaseCannotBeWritten(t *testing.T) {
	t.Parallel()
	dir := litetest.Dir(t)
	a := node(t, app.Options{}, map[string]string{"data": dir})
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	becomes := func(code rule.Code) {
		t.Helper()
		for limit := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
			err := a.Ready(t.Context())
			if rule.CodeOf(err) == code {
				return
			}
			if time.Now().After(limit) {
				t.Fatalf("ready is %v, want the code %q", err, code)
			}
		}
	}
	becomes("")
	other, err := sqlstore.OpenSQLite(t.Context(), dir, sqlstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	holds, free, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	var once sync.Once
	go func() {
		done <- other.Update(t.Context(), func(tx store.Tx) error {
			if err := tx.Servers.Delete(t.Context(), "nobody"); err != nil {
				return err
			}
			once.Do(func() { close(holds); <-free })
			return nil
		})
	}()
	select {
	case <-holds:
	case err := <-done:
		t.Fatalf("the other node's transaction has ended before it held anything: %v", err)
	}
	becomes(rule.CodeUnavailable)
	close(free)
	if err := <-done; err != nil {
		t.Error(err)
	}
	becomes("")
}

func TestABadModelIsToldAtTheStart(t *testing.T) {
	t.Parallel()
	for _, model := range []string{"gpt-5", "openai:", "acme:x", "openai:gpt-5-mini"} {
		cfg, err := config.Load("", none, map[string]string{"data": litetest.Dir(t), "judge_model": model})
		if err != nil {
			t.Fatal(err)
		}
		_, err = app.New(t.Context(), cfg, slog.New(slog.DiscardHandler), app.Options{Env: none})
		if rule.CodeOf(err) != rule.CodeInvalid {
			t.Errorf("model %q without a key: %v", model, err)
		}
	}
}

// TestABadKeyIsToldInReady: the server serves without its model, and says what is wrong with it, but never the key.
func TestABadKeyIsToldInReady(t *testing.T) {
	t.Parallel()
	key := strings.Join([]string{"sk", "test", "0123456789"}, "-")
	vendor := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]string{"message": "bad " + r.Header.Get("Authorization")}})
	}))
	defer vendor.Close()
	env := func(name string) string {
		return map[string]string{"OPENAI_BASE_URL": vendor.URL, "OPENAI_API_KEY": key}[name]
	}
	a := node(t, app.Options{Env: env}, map[string]string{"data": litetest.Dir(t), "no_seed": "true", "judge_model": "openai:tiny"})
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	var body struct {
		Status string
		Judge  struct{ Model, Status, Detail string }
	}
	for limit := time.Now().Add(time.Minute); body.Judge.Status != "bad_key"; time.Sleep(5 * time.Millisecond) {
		if a.Ready(t.Context()) == nil {
			ask(t, a, http.MethodGet, "/ready", "", &body)
		}
		if time.Now().After(limit) {
			t.Fatalf("got %+v", body)
		}
	}
	if code := ask(t, a, http.MethodGet, "/ready", "", &body); code != http.StatusOK || body.Status != "ready" || body.Judge.Model != "openai:tiny" ||
		!strings.Contains(body.Judge.Detail, "check OPENAI_API_KEY") || strings.Contains(body.Judge.Detail, key) {
		t.Errorf("%d with %+v", code, body)
	}
}

func TestAMissingKeyEndsTheStart(t *testing.T) {
	t.Parallel()
	cfg, err := config.Load("", none, map[string]string{"data": litetest.Dir(t), "judge_model": "anthropic:claude-x"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := app.New(t.Context(), cfg, slog.New(slog.DiscardHandler), app.Options{Env: none}); rule.CodeOf(err) != rule.CodeInvalid || !strings.Contains(err.Error(), "set ANTHROPIC_API_KEY") {
		t.Errorf("got %v", err)
	}
}
