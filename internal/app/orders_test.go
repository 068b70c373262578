package app_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"tenet/internal/app"
	"tenet/internal/wire"
)

// restarting is a folder in which edges of a server start, one after the other.
type restarting struct {
	*origin

	t      *testing.T
	folder string
}

func newRestarting(t *testing.T) *restarting {
	t.Helper()
	return &restarting{origin: newOrigin(t), t: t, folder: t.TempDir()}
}

func (r *restarting) start(configure ...func(*app.Edge)) (e *app.App, answers func() int) {
	r.t.Helper()
	e = r.edge(r.folder, append([]func(*app.Edge){r.shipping(0)}, configure...)...)
	return e, func() int { return ask(r.t, e, "POST", "/api/v1/evaluate", `{"action":"ls"}`, nil) }
}

func (r *restarting) stop(e *app.App) {
	r.t.Helper()
	if err := e.Stop(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
}

// order changes the orders of an edge, and waits until it has reported that it obeys them.
func (r *restarting) order(edge, body string, obeyed func(wire.EdgeReport) bool) {
	r.t.Helper()
	at := "/api/v1/fleet/" + edge
	until(r.t, "the first report of "+edge, func() bool { return ask(r.t, r.App, "GET", at, "", nil) == http.StatusOK })
	if code := ask(r.t, r.App, "PATCH", at, body, nil); code != http.StatusOK {
		r.t.Fatalf("status %d", code)
	}
	until(r.t, edge+" to report "+body, func() bool {
		var e wire.FleetEdge
		return ask(r.t, r.App, "GET", at, "", &e) == http.StatusOK && obeyed(e.Report)
	})
}

// leave makes the server answer 502 at all paths but the named ones.
func (r *restarting) leave(but ...string) {
	r.answer.Store(new(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		for _, prefix := range but {
			if strings.HasPrefix(req.URL.Path, prefix) {
				r.Handler().ServeHTTP(w, req)
				return
			}
		}
		http.Error(w, "away", http.StatusBadGateway)
	})))
}

func (r *restarting) comeBack() { r.answer.Store(nil) }

func named(name string) func(*app.Edge) { return func(e *app.Edge) { e.Name = name } }

// silent fails unless an edge goes on giving no answers.
func silent(t *testing.T, answers func() int) {
	t.Helper()
	for range 10 {
		if code := answers(); code != http.StatusServiceUnavailable {
			t.Fatalf("an edge that may not answer, started without its server, answers %d", code)
		}
		time.Sleep(30 * time.Millisecond)
	}
}

// An order of the server holds until the server takes it back, through starts without a network too.
func TestAPausedEdgeStaysSoWithoutANetwork(t *testing.T) {
	t.Parallel()
	r := newRestarting(t)
	e, _ := r.start()
	r.order("e1", `{"paused":true,"pinned":true}`, func(r wire.EdgeReport) bool { return r.Paused && r.Pinned })
	r.stop(e)

	r.leave()
	e, answers := r.start()
	silent(t, answers)
	r.stop(e)
	// The pause is of the name and of the server.
	for what, other := range map[string]func(*app.Edge){"another name": named("e2"), "no server": func(e *app.Edge) { e.Server = nil }} {
		e, answers = r.start(other)
		if code := answers(); code != http.StatusOK {
			t.Errorf("%s: %d", what, code)
		}
		r.stop(e)
	}

	e, answers = r.start()
	silent(t, answers)
	r.comeBack()
	r.order("e1", `{"paused":false}`, func(r wire.EdgeReport) bool { return !r.Paused && r.Pinned })
	r.stop(e)
	r.leave()
	if _, answers = r.start(); answers() != http.StatusOK {
		t.Error("the end of the pause is lost")
	}
}

// What the server says to one name takes nothing back from another one in the same folder.
func TestOrdersAreKeptByTheNameOfTheEdge(t *testing.T) {
	t.Parallel()
	r := newRestarting(t)
	e, _ := r.start()
	r.order("e1", `{"paused":true}`, func(r wire.EdgeReport) bool { return r.Paused })
	r.stop(e)
	e, answers := r.start(named("e2"))
	r.order("e2", `{"pinned":true}`, func(r wire.EdgeReport) bool { return r.Pinned && !r.Paused })
	if code := answers(); code != http.StatusOK {
		t.Errorf("e2, which is not paused: %d", code)
	}
	r.stop(e)
	r.leave()
	_, answers = r.start()
	silent(t, answers)
}

// A pinned edge stays with its bundle also if it starts while only the place of bundles can be reached.
func TestAPinnedEdgeStaysSoWithoutItsServer(t *testing.T) {
	t.Parallel()
	r := newRestarting(t)
	e, _ := r.start()
	r.order("e1", `{"pinned":true}`, func(r wire.EdgeReport) bool { return r.Pinned })
	before := evaluated(t, e, edgeDiff+"}").Bundle
	r.stop(e)

	r.leave("/api/v1/bundles/")
	ask(t, r.App, "POST", "/api/v1/rules", `{"statement":"Never deploy on Fridays.","severity":"HIGH","status":"EFFECTIVE"}`, nil)
	r.deploy("production")
	e, _ = r.start()
	for range 20 { // it looks for bundles ten times a second
		if got := evaluated(t, e, edgeDiff+"}").Bundle; got != before {
			t.Fatal("a pinned edge that has started without its server took a bundle")
		}
		time.Sleep(50 * time.Millisecond)
	}
	r.stop(e)
	e, _ = r.start(named("e2"))
	until(t, "an edge without orders to take the new bundle", func() bool { return evaluated(t, e, edgeDiff+"}").Bundle != before })
	r.stop(e)
}

// A forgotten edge gives no answers also if it starts without its server: nobody would ever take its records.
func TestAForgottenEdgeStaysSoWithoutItsServer(t *testing.T) {
	t.Parallel()
	r := newRestarting(t)
	e, answers := r.start()
	until(t, "the first report", func() bool { _, ok := r.reported(); return ok })
	if code := ask(t, r.App, "DELETE", "/api/v1/fleet/e1", "", nil); code != http.StatusNoContent {
		t.Fatalf("forgetting: %d", code)
	}
	until(t, "the end of its answers", func() bool { return answers() == http.StatusServiceUnavailable })
	r.stop(e)
	r.leave("/api/v1/bundles/")
	_, answers = r.start()
	silent(t, answers)
}
