package fleet_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tenet/internal/audit"
	"tenet/internal/checkpoint"
	"tenet/internal/fleet"
	"tenet/internal/health"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/store/litetest"
	"tenet/internal/store/sqlstore"
	"tenet/internal/wire"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// bed is a fleet on a fresh database.
type bed struct {
	*fleet.Edges

	t      *testing.T
	now    time.Time
	store  store.Store
	alerts *health.Alerts
	events []string
	keys   *checkpoint.KeyFile
	key    string
}

func newBed(t *testing.T) *bed {
	t.Helper()
	s, err := sqlstore.OpenSQLite(t.Context(), litetest.Dir(t), sqlstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	b := &bed{t: t, now: start, store: s}
	clock := func() time.Time { return b.now }
	if err := s.Update(t.Context(), func(tx store.Tx) error {
		return tx.Projects.Create(t.Context(), rule.Project{ID: "pay", Name: "Pay", CreatedAt: start, UpdatedAt: start})
	}); err != nil {
		t.Fatal(err)
	}
	b.alerts = health.NewAlerts(health.AlertsConfig{
		Store: health.AlertStore{Updater: s, Alerts: s.Alerts, Projects: s.Projects, Rules: s.Rules}, Now: clock,
		Publish: func(_ context.Context, _ store.Tx, e rule.Event) error {
			b.events = append(b.events, string(e.Type))
			return nil
		},
	})
	b.Edges = b.with(s)
	if b.keys, err = checkpoint.OpenKeys(filepath.Join(t.TempDir(), "key"), "example.com/edge", start); err != nil {
		t.Fatal(err)
	}
	b.key = b.keyOf("e1")
	return b
}

// with makes a fleet on the database of the bed that writes by an updater.
func (b *bed) with(u store.Updater) *fleet.Edges {
	return fleet.New(fleet.Config{
		Updater: u, Edges: b.store.Edges, Rules: b.store.Rules, Now: func() time.Time { return b.now }, Alerts: b.alerts, Open: b.store.Alerts, Quiet: 7 * 24 * time.Hour,
		Logger: slog.New(slog.DiscardHandler), Newest: func(context.Context, string, wire.Environment) (int64, string, error) { return 2, "two", nil },
	})
}

// fleetRecords reads the audit entries of a bed.
func fleetRecords(b *bed) fleet.Records {
	return fleet.Records{AuditReader: b.store.Audit, Edges: b.store.Edges}
}

func (b *bed) keyOf(name string) string {
	b.t.Helper()
	list, _, err := b.keys.Keys(b.t.Context(), wire.EdgeKeyName("pay", name))
	if err != nil {
		b.t.Fatal(err)
	}
	return list[0]
}

// report has an edge report.
func (b *bed) report(name string, change func(*wire.EdgeReport)) wire.EdgeOrders {
	b.t.Helper()
	r := wire.EdgeReport{Key: b.keyOf(name), Version: "v1", Environment: "production", Bundle: "two", BundleSeq: 2, StartedAt: start}
	if change != nil {
		change(&r)
	}
	o, err := b.Report(b.t.Context(), "pay", name, r)
	if err != nil {
		b.t.Fatal(err)
	}
	return o
}

// open lists the open alerts, as type and edge.
func (b *bed) open() []string {
	b.t.Helper()
	if err := b.Sweep(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
	var list []string
	for _, t := range rule.EdgeAlertTypes {
		alerts, err := b.store.Alerts.ListOpen(b.t.Context(), "pay", t, nil)
		if err != nil {
			b.t.Fatal(err)
		}
		for _, a := range alerts {
			list = append(list, string(t)+" "+a.Edge)
		}
	}
	return list
}

func TestProblemsOfEdgesRaiseAlertsThatEndWithThem(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.report("e1", nil)
	b.report("e2", nil)
	want := func(about string, list ...string) {
		t.Helper()
		if got := b.open(); !slices.Equal(got, list) {
			t.Errorf("%s: open alerts %q, want %q", about, got, list)
		}
	}
	want("all is well")
	b.now = b.now.Add(20 * time.Second)
	b.report("e1", func(r *wire.EdgeReport) { r.Stale, r.BundleAge, r.Spool, r.SpoolAge = true, 4000, 9, 61 })
	b.now = b.now.Add(11 * time.Second)
	want("three problems", "edge_stale e1", "edge_silent e2", "spool_growing e1")
	want("the same again", "edge_stale e1", "edge_silent e2", "spool_growing e1")
	if !slices.Equal(b.events, []string{"alert.created", "alert.created", "alert.created"}) {
		t.Errorf("published %q; want one event for each alert", b.events)
	}
	b.report("e1", nil)
	b.report("e2", func(r *wire.EdgeReport) { r.Spool, r.SpoolAge = 3, 59 })
	want("all have ended")
	list, _, err := b.alerts.List(t.Context(), "pay", health.Filter{Type: rule.EdgeStale}, 0, 10)
	if err != nil || len(list) != 1 || list[0].Status != rule.AlertDone || list[0].ResolvedBy != health.System || !strings.Contains(list[0].Message, "bundle 2") {
		t.Errorf("the ended alert is %+v, %v", list, err)
	}
	if n := len(b.events); n != 6 || b.events[5] != "alert.resolved" {
		t.Errorf("published %q", b.events)
	}
}

// An edge that is gone for good needs one answer of a person; if it comes back and falls silent again, that is another silence.
func TestASilenceThatAPersonHasAnsweredRaisesNoSecondAlert(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.report("e1", nil)
	b.now = b.now.Add(time.Minute)
	if got := b.open(); !slices.Equal(got, []string{"edge_silent e1"}) {
		t.Fatalf("open: %q", got)
	}
	list, _, err := b.alerts.List(t.Context(), "pay", health.Filter{}, 0, 10)
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	if _, err := b.alerts.Resolve(t.Context(), "pay", list[0].ID, "taken down"); err != nil {
		t.Fatal(err)
	}
	b.now = b.now.Add(30 * 24 * time.Hour)
	if got := b.open(); len(got) > 0 {
		t.Errorf("raised again: %q", got)
	}
	b.report("e1", nil)
	b.now = b.now.Add(time.Minute)
	if got := b.open(); !slices.Equal(got, []string{"edge_silent e1"}) {
		t.Errorf("another silence: %q", got)
	}
}

func TestARolloutCountsTheEdgesThatReport(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	for i := range 5 {
		b.report(fmt.Sprintf("e%d", i), func(r *wire.EdgeReport) {
			if i < 2 {
				r.Bundle, r.BundleSeq = "one", 1
			}
		})
	}
	b.now = b.now.Add(time.Minute)
	for i := range 4 {
		b.report(fmt.Sprintf("e%d", i), func(r *wire.EdgeReport) {
			if i < 1 {
				r.Bundle, r.BundleSeq = "one", 1
			}
		})
	}
	f, err := b.List(t.Context(), "pay", wire.PageQuery{Page: 2, PageSize: 2})
	if err != nil || f.Total != 5 || len(f.Items) != 2 || f.Items[0].Name != "e2" {
		t.Fatalf("%+v, %v", f, err)
	}
	if want := []wire.Rollout{{Environment: "production", BundleSeq: 2, Edges: 4, Current: 3}}; !slices.Equal(f.Rollout, want) {
		t.Errorf("the rollout is %+v, want %+v", f.Rollout, want)
	}
}

func TestOrdersAreChangedOneByOne(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.report("e1", nil)
	for i, c := range []wire.ChangeEdge{{Pinned: new(true)}, {Paused: new(true)}, {Reread: true}, {Pinned: new(false)}} {
		if _, err := b.Change(t.Context(), "pay", "e1", c); err != nil {
			t.Fatalf("change %d: %v", i, err)
		}
	}
	if o := b.report("e1", nil); o.Pinned || !o.Paused || o.Reread != 1 {
		t.Errorf("orders %+v", o)
	}
	if _, err := b.Change(t.Context(), "pay", "none", wire.ChangeEdge{}); rule.CodeOf(err) != rule.CodeNotFound {
		t.Errorf("an edge that nobody knows: %v", err)
	}
}

func TestReportsAreOfTheEdgeThatHasTheKey(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.report("e1", nil)
	other, err := checkpoint.OpenKeys(filepath.Join(t.TempDir(), "key"), "example.com/edge", start)
	if err != nil {
		t.Fatal(err)
	}
	keys, _, err := other.Keys(t.Context(), wire.EdgeKeyName("pay", "e1"))
	if err != nil {
		t.Fatal(err)
	}
	for about, tt := range map[string]struct {
		name, key string
		want      rule.Code
	}{
		"another key":          {"e1", keys[0], rule.CodeConflict},
		"the key of another":   {"e2", b.key, rule.CodeInvalid},
		"no key":               {"e3", "", rule.CodeInvalid},
		"a name with a slash":  {"a/b", b.key, rule.CodeInvalid},
		"a name that is empty": {"", b.key, rule.CodeInvalid},
	} {
		if _, err := b.Report(t.Context(), "pay", tt.name, wire.EdgeReport{Key: tt.key}); rule.CodeOf(err) != tt.want {
			t.Errorf("%s: %v, want %s", about, err, tt.want)
		}
	}
}

// chain makes entries of an edge, and the note over the last.
func (b *bed) chain(name string, n int) wire.EdgeRecords {
	b.t.Helper()
	var out wire.EdgeRecords
	prev := ""
	for i := range n {
		body := audit.Compress([]byte(`{"rules":[{"rule_id":"0199f0a0-0000-7000-8000-000000000001","version":1,"content_hash":"h"}]}`))
		e := store.AuditEntry{
			ProjectID: "pay", Seq: int64(i + 1), ID: fmt.Sprintf("0199f0a0-0000-7000-8000-%012d", i), Kind: audit.KindEvaluation, At: start, Actor: "a", Body: body,
			BodyHash: audit.BodyHash(body), PrevHash: prev,
		}
		e.Hash = audit.Hash(e)
		prev = e.Hash
		out.Entries = append(out.Entries, wire.EdgeRecord{
			Seq: e.Seq, ID: e.ID, Kind: e.Kind, At: e.At, Actor: e.Actor, Body: base64.StdEncoding.EncodeToString(body), PrevHash: e.PrevHash, Hash: e.Hash,
		})
	}
	return b.sign(name, out)
}

func (b *bed) sign(name string, in wire.EdgeRecords) wire.EdgeRecords {
	b.t.Helper()
	last := in.Entries[len(in.Entries)-1]
	note, err := checkpoint.SignText(b.t.Context(), b.keys, wire.EdgeKeyName("pay", name), wire.RecordsText("pay", name, wire.AuditHead{Seq: last.Seq, Hash: last.Hash}))
	if err != nil {
		b.t.Fatal(err)
	}
	in.Note = note
	return in
}

func TestRecordsAreStoredOnceAndInOrder(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.report("e1", nil)
	all := b.chain("e1", 6)
	part := func(from, to int) wire.EdgeRecords {
		return b.sign("e1", wire.EdgeRecords{Entries: all.Entries[from:to]})
	}
	for _, tt := range []struct {
		about    string
		from, to int
		end      int64
		want     rule.Code
	}{
		{"a gap", 1, 3, 0, rule.CodeConflict}, {"the first", 0, 2, 2, ""}, {"again", 0, 2, 2, ""}, {"overlapping", 1, 4, 4, ""}, {"the rest", 4, 6, 6, ""},
	} {
		end, err := b.Take(t.Context(), "pay", "e1", part(tt.from, tt.to))
		if err == nil && end.Seq != tt.end || err != nil && rule.CodeOf(err) != tt.want || (err != nil) != (tt.want != "") {
			t.Errorf("%s: the chain ends at %d, %v", tt.about, end.Seq, err)
		}
	}
	e, err := b.Get(t.Context(), "pay", "e1")
	if err != nil || e.Unknown != 6 || e.Orders.Received.Hash != all.Entries[5].Hash {
		t.Errorf("the edge is %+v, %v; its 6 records are by a rule that the server does not have", e, err)
	}
	stored, err := b.store.Edges.Entries(t.Context(), "pay", "e1", 0, 10)
	if err != nil || len(stored) != 6 {
		t.Errorf("%d entries are stored, %v", len(stored), err)
	}
	forked := b.chain("e1", 6)
	forked.Entries[5].Actor = "b"
	if _, err := b.Take(t.Context(), "pay", "e1", forked); rule.CodeOf(err) != rule.CodeInvalid {
		t.Errorf("a changed entry: %v", err)
	}
	unsigned := part(4, 6)
	unsigned.Note = b.sign("e1", wire.EdgeRecords{Entries: all.Entries[:1]}).Note
	if _, err := b.Take(t.Context(), "pay", "e1", unsigned); rule.CodeOf(err) != rule.CodeInvalid {
		t.Errorf("a note about other entries: %v", err)
	}
	if _, err := b.Take(t.Context(), "pay", "none", all); rule.CodeOf(err) != rule.CodeNotFound {
		t.Errorf("an edge that nobody knows: %v", err)
	}
}
