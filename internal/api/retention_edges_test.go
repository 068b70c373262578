package api

import (
	"net/http"
	"testing"
	"time"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/evaluate/record"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// TestRecordsOfEdgesAreRemovedInTime ships records of two edges: those whose time is over lose their bodies, except those that a legal hold
// covers, and the chains stay whole.
func TestRecordsOfEdgesAreRemovedInTime(t *testing.T) {
	t.Parallel()
	onBoth(t, testRecordsOfEdgesAreRemovedInTime)
}

func testRecordsOfEdgesAreRemovedInTime(t *testing.T, n *node) {
	n.key = n.makeKey(auth.Admin, store.AllProjects)
	ctx, now := t.Context(), time.Now().UTC().Truncate(time.Second)
	heads := map[string]wire.AuditHead{}
	ship := func(edge string, ages ...int) {
		t.Helper()
		var entries []store.AuditEntry
		head := heads[edge]
		for _, days := range ages {
			id, at := audit.NewID(), now.AddDate(0, 0, -days)
			rec := wire.EvaluationRecord{
				Evaluation: &rule.Evaluation{EvaluationID: id, ProjectID: rule.DefaultProject, OverallVerdict: rule.Allow, Timestamp: at},
				Subject:    wire.RecordedSubject{Repository: []string{"acme/a", "acme/b"}[(head.Seq+1)%2], Action: "x"},
			}
			body := audit.Compress(audit.JSON(&rec))
			e := store.AuditEntry{
				ProjectID: rule.DefaultProject, Seq: head.Seq + 1, ID: id, Kind: audit.KindEvaluation, At: at, Actor: "edge:" + edge, Verdict: "ALLOW", Mode: "preflight",
				Body: body, BodyHash: audit.BodyHash(body), PrevHash: head.Hash,
			}
			e.Hash = audit.Hash(e)
			head = wire.AuditHead{Seq: e.Seq, Hash: e.Hash}
			entries = append(entries, e)
		}
		heads[edge] = head
		err := n.store.Update(ctx, func(tx store.Tx) error { return tx.Edges.Append(ctx, edge, entries, 0) })
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"e1", "e2", "empty"} {
		err := n.store.Update(ctx, func(tx store.Tx) error {
			return tx.Edges.Put(ctx, store.Edge{ProjectID: rule.DefaultProject, Name: name, Key: "k", CreatedAt: now, SeenAt: now, Report: []byte("{}"), Orders: []byte("{}")})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	ship("e1", 40, 39, 38, 5)
	ship("e2", 50, 2, 1)
	n.call("PATCH", retentionPath, fields{"kinds": fields{"evaluation": fields{"days": 30}}}).want(http.StatusOK)
	hold := into[rule.LegalHold](n.call("POST", holdsPath, fields{"reason": "case 17", "repository": "acme/a"}).want(http.StatusCreated))
	prune := func(days int) {
		t.Helper()
		at := evaluateArchive(n, func() time.Time { return now.AddDate(0, 0, days) })
		if err := at.Prune(record.Retention{Explained: n.logged.CheckStored})(ctx, wire.Job{}, func(int, int) {}); err != nil {
			t.Fatal(err)
		}
	}
	// bodies lists the entries of an edge that have their bodies, and verifies its chain.
	bodies := func(edge string) (has []int64) {
		t.Helper()
		entries, err := n.store.Edges.Entries(ctx, rule.DefaultProject, edge, 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		prev := ""
		for i := range entries {
			e := &entries[i]
			if audit.Hash(*e) != e.Hash || e.PrevHash != prev || e.Seq != int64(i+1) || len(e.Body) > 0 && audit.BodyHash(e.Body) != e.BodyHash {
				t.Errorf("the chain of %s is broken at entry %d", edge, e.Seq)
			}
			if prev = e.Hash; len(e.Body) > 0 {
				has = append(has, e.Seq)
			}
		}
		return has
	}
	want := func(about, edge string, want ...int64) {
		t.Helper()
		got := bodies(edge)
		if len(got) != len(want) {
			t.Errorf("%s, %s has the bodies %v, not %v", about, edge, got, want)
			return
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%s, %s has the bodies %v, not %v", about, edge, got, want)
			}
		}
	}
	prune(0)
	want("with a hold of acme/a", "e1", 2, 4) // even entries are of acme/a
	want("with a hold of acme/a", "e2", 2, 3)
	prune(0)
	entries := func() int {
		return into[wire.AuditPage](n.call("GET", "/api/v1/audit?kind=retention", nil).want(http.StatusOK)).Total
	}
	if got := entries(); got != 1 {
		t.Errorf("%d entries about removals; want 1", got)
	}
	n.call("POST", holdsPath+"/"+hold.ID+"/lift", fields{"reason": "closed"}).want(http.StatusOK)
	prune(0)
	want("after the hold", "e1", 4)
	prune(27)
	want("a month later", "e1")
	want("a month later", "e2", 2, 3)
	prune(30)
	want("in the end", "e2")
	if r := into[wire.AuditReport](n.call("GET", "/api/v1/audit/verify", nil).want(http.StatusOK)); len(r.Problems) != 0 {
		t.Errorf("verified: %+v", r)
	}
}
