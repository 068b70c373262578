package console_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"tenet/internal/client"
	"tenet/internal/store"
	"tenet/internal/store/litetest"
	"tenet/internal/store/sqlstore"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// reports has an edge report that it fares badly.
func (n *node) reports(name string, change ...func(*wire.EdgeReport)) {
	n.t.Helper()
	r := wire.EdgeReport{
		Key: wire.EdgeKeyName("default", name) + "+key", Version: "v2 <b>", Environment: "production", Bundle: strings.Repeat("a", 64), BundleSeq: 3, BundleAge: 7200, Stale: true,
		Spool: 40, SpoolBytes: 9000, SpoolAge: 90, Head: 400, Evaluations: 12345, Requests: 13000, Errors: 17, StartedAt: time.Now(), Problem: "cannot reach <i>", ModelStatus: "live",
	}
	for _, f := range change {
		f(&r)
	}
	if _, err := client.Call(n.t.Context(), n.api, op.ReportEdge.At(name), r); err != nil {
		n.t.Fatal(err)
	}
}

// TestEdgesWithoutScripts pins, pauses and re-reads, each back again, as an administrator and not as anybody else.
func TestEdgesWithoutScripts(t *testing.T) {
	n := newNode(t, nil)
	v := n.visitor()
	has(t, v.get("/p/default/fleet").body, "No edge has reported.")
	n.reports("till-7")
	orders := func() wire.EdgeOrders {
		t.Helper()
		e, err := client.Get(t.Context(), n.api, op.GetEdge.At("till-7"))
		if err != nil {
			t.Fatal(err)
		}
		return e.Orders
	}
	for _, tt := range []struct {
		do, says, shows string
		pinned, paused  bool
		reread          int64
	}{
		{"pin", "stays at its bundle", "Unpin Pause Re-read", true, false, 0},
		{"pause", "answers no evaluations", "Unpin Resume Re-read", true, true, 0},
		{"reread", "reads its place of bundles again", "paused pinned", true, true, 1},
		{"unpin", "takes newer bundles", "Pin Resume Re-read", false, true, 1},
		{"resume", "answers again", "Pin Pause Re-read", false, false, 1},
	} {
		if r := v.post("/p/default/fleet", "do", tt.do, "edge", "till-7", "next", "/p/default/fleet"); r.status != http.StatusSeeOther {
			t.Fatalf("%s: %d %s", tt.do, r.status, r.body)
		}
		has(t, v.get("/p/default/fleet").body, tt.says, tt.shows)
		if o := orders(); o.Pinned != tt.pinned || o.Paused != tt.paused || o.Reread != tt.reread {
			t.Errorf("after %s: %+v", tt.do, o)
		}
	}
	if page := v.get("/p/default/fleet").body; strings.Contains(page, "Forget it for good") {
		t.Error("an edge that reports is offered to be forgotten")
	}
	reviewer := n.signedIn(n.key("reviewer", "reviewer", "default"))
	if page := reviewer.get("/p/default/fleet").body; strings.Contains(page, "Re-read</button>") || !strings.Contains(page, "your role is reviewer") {
		t.Error("a reviewer is offered orders")
	}
	if r := reviewer.post("/p/default/fleet", "do", "pause", "edge", "till-7"); r.status != http.StatusForbidden || orders().Paused {
		t.Errorf("a reviewer pauses an edge: %d", r.status)
	}
}

// TestAnEdgeIsForgottenFromThePage takes an edge that is silent out of the fleet.
func TestAnEdgeIsForgottenFromThePage(t *testing.T) {
	data := litetest.Dir(t)
	n := newNode(t, map[string]string{"data": data})
	v := n.visitor()
	n.reports("till-7")
	n.reports("till-8")
	s, err := sqlstore.OpenSQLite(t.Context(), data, sqlstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if err := s.Update(t.Context(), func(tx store.Tx) error {
		e, err := tx.Edges.Get(t.Context(), "default", "till-7")
		if err != nil {
			return err
		}
		e.SeenAt = time.Now().Add(-time.Hour)
		return tx.Edges.Seen(t.Context(), []store.Edge{e})
	}); err != nil {
		t.Fatal(err)
	}
	page := v.get("/p/default/fleet").body
	has(t, page, "silent", "Forget", "Its records here stay; its name is refused. 40 that waited there would not be taken.")
	if n := strings.Count(page, "Forget it for good"); n != 1 {
		t.Errorf("%d edges are offered to be forgotten", n)
	}
	if r := v.post("/p/default/fleet", "do", "forget", "edge", "till-7", "next", "/p/default/fleet"); r.status != http.StatusSeeOther {
		t.Fatalf("%d %s", r.status, r.body)
	}
	page = v.get("/p/default/fleet").body
	has(t, page, "The edge till-7 is forgotten. Its records stay.", "till-8")
	if strings.Contains(page, "edge-till-7") {
		t.Error("the forgotten edge is listed")
	}
	has(t, v.get("/p/default/audit").body, "edge forgotten")
	reviewer := n.signedIn(n.key("reviewer", "reviewer", "default"))
	if r := reviewer.post("/p/default/fleet", "do", "forget", "edge", "till-8"); r.status != http.StatusForbidden {
		t.Errorf("a reviewer forgets an edge: %d", r.status)
	}
}

// TestThePageOfEdgesIsLive changes while it is open, the alerts about edges lead to it, and releases show how far they have come.
func TestThePageOfEdgesIsLive(t *testing.T) {
	n := newNode(t, nil)
	n.reports("till-7")
	v := n.visitor()
	has(t, v.get("/p/default/fleet").body, "17 errors")
	s := v.follow(t, "/p/default/fleet")
	began := time.Now()
	s.says("12,345")
	n.reports("till-7", func(r *wire.EdgeReport) { r.Evaluations, r.Version = 12399, "v3" })
	s.says("12,399")
	if took := time.Since(began); took > time.Minute {
		t.Errorf("the page shows a report after %s", took)
	}
	deadline := time.Now().Add(time.Minute)
	for !strings.Contains(v.get("/p/default/alerts").body, "Spool growing") {
		if time.Now().After(deadline) {
			t.Fatal("no alert about the waiting records")
		}
		time.Sleep(200 * time.Millisecond)
	}
	has(t, v.get("/p/default/alerts?alert_type=edge_stale").body, "decides by bundle 3", "The edges of the project", "1 to 1 of 1")
	n.deployLive()
	n.reports("till-7") // one that is silent counts no more
	has(t, v.get("/p/default/fleet").body, "Production", "On 0 of", "1 edge")
	has(t, v.get("/p/default/releases").body, "On 0 of", "1 edge")
}

// deployLive deploys the rules to production.
func (n *node) deployLive() {
	n.t.Helper()
	s, err := client.Call(n.t.Context(), n.api, op.CreateSnapshot, wire.CreateSnapshot{Name: "one"})
	if err != nil {
		n.t.Fatal(err)
	}
	if _, err := client.Call(n.t.Context(), n.api, op.DeploySnapshot.At(s.ID), wire.DeploySnapshot{Environment: "production"}); err != nil {
		n.t.Fatal(err)
	}
}
