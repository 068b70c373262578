package fleet_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/fleet"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// An edge that is gone for good leaves the fleet: its records stay, its chain ends in the audit log, and nobody goes on under its name.
func TestAForgottenEdge(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.report("e1", nil)
	b.report("e2", nil)
	all := b.chain("e1", 4)
	if _, err := b.Take(t.Context(), "pay", "e1", b.sign("e1", wire.EdgeRecords{Entries: all.Entries[:3]})); err != nil {
		t.Fatal(err)
	}
	b.now = b.now.Add(time.Minute)
	b.report("e2", nil)
	if got := b.open(); !slices.Equal(got, []string{"edge_silent e1"}) {
		t.Fatalf("open: %q", got)
	}
	admin := auth.WithActor(t.Context(), auth.Actor{Name: "ann", Role: auth.Admin, ProjectID: "pay"})
	if err := b.Forget(admin, "pay", "e1"); err != nil {
		t.Fatal(err)
	}
	if got := b.open(); len(got) > 0 {
		t.Errorf("open alerts: %q", got)
	}
	if f, err := b.List(t.Context(), "pay", wire.PageQuery{Page: 1, PageSize: 9}); err != nil || f.Total != 1 || len(f.Items) != 1 || f.Items[0].Name != "e2" || f.Rollout[0].Edges != 1 {
		t.Errorf("the fleet is %+v, %v", f, err)
	}
	_, getErr := b.Get(t.Context(), "pay", "e1")
	_, changeErr := b.Change(t.Context(), "pay", "e1", wire.ChangeEdge{Pinned: new(true)})
	for about, err := range map[string]error{"get": getErr, "change": changeErr, "forget": b.Forget(admin, "pay", "e1"), "forget none": b.Forget(admin, "pay", "none")} {
		if rule.CodeOf(err) != rule.CodeNotFound {
			t.Errorf("%s: %v; want not_found", about, err)
		}
	}
	if o := b.report("e1", func(r *wire.EdgeReport) { r.Version = "v9" }); !o.Forgotten || o.Received.Seq != 3 {
		t.Errorf("its orders are %+v", o)
	}
	if _, err := b.Take(t.Context(), "pay", "e1", b.sign("e1", wire.EdgeRecords{Entries: all.Entries[3:]})); rule.CodeOf(err) != rule.CodeConflict {
		t.Errorf("another record: %v", err)
	}
	records := fleetRecords(b)
	for _, e := range all.Entries[:3] {
		if got, err := records.Get(t.Context(), "pay", e.ID); err != nil || got.Hash != e.Hash {
			t.Errorf("the record %s: %v", e.ID, err)
		}
	}
	log, err := b.store.Audit.Entries(t.Context(), "pay", 0, 100)
	if err != nil || len(log) == 0 {
		t.Fatal(log, err)
	}
	last := log[len(log)-1]
	text, err := audit.Decompress(last.Body)
	if err != nil {
		t.Fatal(err)
	}
	var said struct {
		Action, Edge, Key string
		Received          wire.AuditHead
	}
	if err := json.Unmarshal(text, &said); err != nil || said.Action != "edge forgotten" || said.Edge != "e1" || said.Key != b.key || said.Received.Hash != all.Entries[2].Hash || last.Actor != "ann" {
		t.Errorf("the audit log says %s by %s, %v", text, last.Actor, err)
	}
}

// counting counts transactions that write.
type counting struct {
	store.Updater

	n int
}

func (c *counting) Update(ctx context.Context, fn func(store.Tx) error) error {
	c.n++
	return c.Updater.Update(ctx, fn)
}

// Reports that only say that all goes on are stored together: their number does not count.
func TestReportsOfManyEdgesAreStoredTogether(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	const edges = 200
	counted := &counting{Updater: b.store}
	b.Edges = b.with(counted)
	everybody := func(change func(*wire.EdgeReport)) {
		t.Helper()
		for i := range edges {
			b.report(fmt.Sprintf("e%d", i), change)
		}
	}
	everybody(func(r *wire.EdgeReport) { r.Errors = 1 })
	if counted.n != edges {
		t.Errorf("%d transactions for the first reports of %d edges", counted.n, edges)
	}
	counted.n = 0
	for i := range 6 {
		b.now = b.now.Add(10 * time.Second)
		everybody(func(r *wire.EdgeReport) {
			r.Evaluations, r.Head, r.Requests, r.Errors = int64(i+1), int64(i+1), int64(2*i+2), int64(i+3)
		})
		if got := b.open(); len(got) > 0 {
			t.Fatalf("open alerts: %q", got)
		}
	}
	if counts, err := b.Counts(t.Context()); err != nil || !slices.Equal(counts, []fleet.Count{{Project: "pay", Requests: 12 * edges, Errors: 8 * edges}}) {
		t.Errorf("together they report %+v, %v", counts, err)
	}
	if counted.n > 6 {
		t.Errorf("%d transactions for 6 rounds of reports of %d edges", counted.n, edges)
	}
	e, err := b.store.Edges.Get(t.Context(), "pay", "e77")
	var r wire.EdgeReport
	if err != nil || json.Unmarshal(e.Report, &r) != nil || r.Evaluations != 6 || !e.SeenAt.Equal(b.now) {
		t.Errorf("the stored report is %s of %s, %v", e.Report, e.SeenAt, err)
	}
	b.now = b.now.Add(time.Second)
	b.report("e77", func(r *wire.EdgeReport) { r.Evaluations, r.Head = 7, 7 })
	if shown, err := b.Get(t.Context(), "pay", "e77"); err != nil || shown.Report.Evaluations != 7 || !shown.SeenAt.Equal(b.now) {
		t.Errorf("shown before it is stored: %+v, %v", shown, err)
	}
	counted.n = 0
	b.report("e77", func(r *wire.EdgeReport) { r.Evaluations, r.Head, r.Stale = 7, 7, true })
	if counted.n != 1 {
		t.Errorf("a report of a problem waits: %d transactions", counted.n)
	}
}
