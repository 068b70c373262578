package storetest

import (
	"errors"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/rule"
	"tenet/internal/store"
)

func scanOf(id string, made time.Time) store.Scan {
	return store.Scan{
		ProjectID: "p", ID: id, JobID: 7, Repository: "acme/pay", Request: []byte(`{"sources":["code_patterns"]}`), CreatedAt: made, CreatedBy: "ann",
		State: store.ScanOpen, Result: []byte{},
	}
}

func candidate(scan store.Scan, n int, fingerprint string) store.Candidate {
	return store.Candidate{
		ProjectID: "p", ID: scan.ID + strconv.Itoa(n), ScanID: scan.ID, N: n, Repository: scan.Repository, Fingerprint: fingerprint,
		Confidence: float64(n) / 10, Body: []byte(`{"n":` + strconv.Itoa(n) + `}`), Status: store.CandidatePending,
	}
}

func completeScan(f *fixture, s store.Scan, candidates ...store.Candidate) {
	f.t.Helper()
	f.update(func(tx store.Tx) error { return tx.Scans.Insert(f.ctx, s, nil) })
	f.update(func(tx store.Tx) error { return tx.Scans.Complete(f.ctx, "p", s.ID, []byte("{}"), candidates, at) })
}

func scanParts(f *fixture, scanID string) []string {
	f.t.Helper()
	var parts []string
	if err := f.s.Scans.Files(f.ctx, "p", scanID, func(part []byte) error { parts = append(parts, string(part)); return nil }); err != nil {
		f.t.Error(err)
	}
	return parts
}

func testScans(t *testing.T, f *fixture) {
	one, two := scanOf("one", at), scanOf("two", at.Add(time.Second))
	two.DocumentID = "d"
	f.update(func(tx store.Tx) error { return tx.Scans.Insert(f.ctx, one, [][]byte{{0, 1, 0xff}, []byte("b")}) })
	f.update(func(tx store.Tx) error { return tx.Scans.Insert(f.ctx, two, [][]byte{[]byte("c")}) })
	f.fails(rule.CodeConflict, func(tx store.Tx) error { return tx.Scans.Insert(f.ctx, one, nil) })
	look := func(want store.Scan) {
		t.Helper()
		got, err := f.s.Scans.Get(f.ctx, "p", want.ID)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("scan: %v (-want +got):\n%s", err, diff)
		}
	}
	look(one)
	look(two)
	if diff := cmp.Diff([]string{"\x00\x01\xff", "b"}, scanParts(f, "one")); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	stop := errors.New("stop")
	if err := f.s.Scans.Files(f.ctx, "p", "one", func([]byte) error { return stop }); err != stop { //nolint:errorlint // the very error comes back
		t.Errorf("error %v, want the callback's", err)
	}
	if list, total, err := f.s.Scans.List(f.ctx, "p", 0, 1); err != nil || total != 2 || len(list) != 1 || list[0].ID != "two" {
		t.Errorf("newest scan: %v of %d, %v", list, total, err)
	}
	if list, err := f.s.Scans.ListOpen(f.ctx, at.Add(time.Second), 10); err != nil || len(list) != 1 || list[0].ID != "one" {
		t.Errorf("open scans: %v, %v", list, err)
	}

	end := at.Add(time.Minute)
	f.update(func(tx store.Tx) error {
		return tx.Scans.Complete(f.ctx, "p", "one", []byte(`{"known":1}`), []store.Candidate{candidate(one, 1, "f1"), candidate(one, 2, "f2")}, end)
	})
	f.update(func(tx store.Tx) error { return tx.Scans.Fail(f.ctx, "p", "two", "no luck", end) })
	one.State, one.Result, one.EndedAt = store.ScanCompleted, []byte(`{"known":1}`), &end
	two.State, two.Error, two.EndedAt = store.ScanFailed, "no luck", &end
	look(one)
	look(two)
	for _, id := range []string{"one", "two"} {
		if left := scanParts(f, id); len(left) != 0 {
			t.Errorf("scan %s has ended and keeps files: %q", id, left)
		}
		f.fails(rule.CodeConflict, func(tx store.Tx) error { return tx.Scans.Fail(f.ctx, "p", id, "again", end) })
		f.fails(rule.CodeConflict, func(tx store.Tx) error { return tx.Scans.Complete(f.ctx, "p", id, nil, nil, end) })
	}
	f.fails(rule.CodeNotFound, func(tx store.Tx) error { return tx.Scans.Fail(f.ctx, "q", "one", "", end) })
	if list, err := f.s.Scans.ListOpen(f.ctx, end, 10); err != nil || len(list) != 0 {
		t.Errorf("open scans: %v, %v; want none", list, err)
	}
	counts, err := f.s.Candidates.Count(f.ctx, "p", []string{"one", "two"})
	if diff := cmp.Diff(map[string]map[string]int{"one": {"pending": 2}}, counts); err != nil || diff != "" {
		t.Errorf("counts: %v (-want +got):\n%s", err, diff)
	}
	_, err = f.s.Scans.Get(f.ctx, "q", "one")
	code(t, "another project's scan", err, rule.CodeNotFound)
}

func testCandidates(t *testing.T, f *fixture) {
	s, later := scanOf("s", at), scanOf("t", at.Add(time.Second))
	completeScan(f, s, candidate(s, 1, "f1"), candidate(s, 2, "f2"), candidate(s, 3, "f3"), candidate(s, 4, "f1"))
	completeScan(f, later, candidate(later, 1, "f1"), candidate(later, 2, "f4"))
	elsewhere := scanOf("u", at)
	elsewhere.Repository = "acme/web"
	completeScan(f, elsewhere, candidate(elsewhere, 1, "f1"))
	find := func(filter store.CandidateFilter, total int, want ...string) {
		t.Helper()
		filter.ProjectID, filter.Limit = "p", max(filter.Limit, 2)
		got, n, err := f.s.Candidates.Find(f.ctx, filter)
		var ids []string
		for _, c := range got {
			ids = append(ids, c.ID)
		}
		if err != nil || n != total || !slices.Equal(ids, want) {
			t.Errorf("found %v of %d, %v; want %v of %d", ids, n, err, want, total)
		}
	}
	find(store.CandidateFilter{ScanID: "s"}, 4, "s1", "s2")
	find(store.CandidateFilter{ScanID: "s", Offset: 2}, 4, "s3", "s4")
	find(store.CandidateFilter{ScanID: "s", MinConfidence: 0.3}, 2, "s3", "s4")
	find(store.CandidateFilter{ScanID: "s", Status: "approved"}, 0)

	approve := store.CandidateDecision{
		ProjectID: "p", ID: "s1", Fingerprints: []string{"f1", "f9"}, Status: store.CandidateApproved, RuleID: "r", At: at.Add(time.Hour), By: "bob",
	}
	f.update(func(tx store.Tx) error { return tx.Candidates.Decide(f.ctx, approve) })
	find(store.CandidateFilter{ScanID: "s", Status: "approved"}, 1, "s1")
	find(store.CandidateFilter{ScanID: "t", Status: "approved"}, 1, "t1")          // the same statement of the same file
	find(store.CandidateFilter{ScanID: "u", Status: "pending"}, 1, "u1")           // of another repository
	find(store.CandidateFilter{ScanID: "s", Status: "pending"}, 3, "s2", "s3")     // the scan's own are decided one by one
	find(store.CandidateFilter{ScanID: "t", Status: "pending", Limit: 5}, 1, "t2") // nothing else
	want := candidate(s, 1, "f1")
	want.Status, want.RuleID, want.DecidedAt, want.DecidedBy = store.CandidateApproved, "r", &approve.At, "bob"
	if got, err := f.s.Candidates.Get(f.ctx, "p", "s1"); err != nil || !cmp.Equal(want, got) {
		t.Errorf("approved: %v (-want +got):\n%s", err, cmp.Diff(want, got))
	}
	again, dismiss := approve, approve
	dismiss.Status, dismiss.RuleID, dismiss.Reason = store.CandidateDismissed, "", "no rule"
	for _, id := range []string{"s1", "t1"} {
		again.ID, dismiss.ID = id, id
		f.fails(rule.CodeConflict, func(tx store.Tx) error { return tx.Candidates.Decide(f.ctx, again) })
		f.fails(rule.CodeConflict, func(tx store.Tx) error { return tx.Candidates.Decide(f.ctx, dismiss) })
	}
	again.ID = "s4" // its statement has been approved
	f.fails(rule.CodeConflict, func(tx store.Tx) error { return tx.Candidates.Decide(f.ctx, again) })
	dismiss.ID, dismiss.Fingerprints = "s2", []string{"f2", "f2"}
	f.update(func(tx store.Tx) error { return tx.Candidates.Decide(f.ctx, dismiss) })
	dismiss.ID, dismiss.Fingerprints = "s4", []string{"f1"}
	f.update(func(tx store.Tx) error { return tx.Candidates.Decide(f.ctx, dismiss) }) // its statement stays approved
	again.ID = "none"
	f.fails(rule.CodeNotFound, func(tx store.Tx) error { return tx.Candidates.Decide(f.ctx, again) })

	decided, err := f.s.Candidates.DecidedPlaces(f.ctx, "p", "acme/pay", []string{"f1", "f2", "f3", "f9"})
	wantDecided := map[string]store.DecidedPlace{
		"f1": {CandidateID: "s1", Status: "approved", RuleID: "r"}, "f9": {CandidateID: "s1", Status: "approved", RuleID: "r"},
		"f2": {CandidateID: "s2", Status: "dismissed"},
	}
	if diff := cmp.Diff(wantDecided, decided); err != nil || diff != "" {
		t.Errorf("decided: %v (-want +got):\n%s", err, diff)
	}
	if other, err := f.s.Candidates.DecidedPlaces(f.ctx, "p", "acme/web", []string{"f1"}); err != nil || len(other) != 0 {
		t.Errorf("another repository's: %v, %v", other, err)
	}
	_, err = f.s.Candidates.Get(f.ctx, "q", "s1")
	code(t, "another project's candidate", err, rule.CodeNotFound)
}

// testRaceCandidate decides on a candidate in concurrent transactions: one succeeds.
func testRaceCandidate(t *testing.T, f *fixture) {
	s := scanOf("s", at)
	completeScan(f, s, candidate(s, 1, "f"))
	handles := f.both(t)
	var wg sync.WaitGroup
	var won atomic.Int32
	for i := range 16 {
		wg.Go(func() {
			d := store.CandidateDecision{ProjectID: "p", ID: "s1", Fingerprints: []string{"f"}, Status: store.CandidateApproved, RuleID: strconv.Itoa(i), At: at}
			if i%2 == 1 {
				d.Status, d.RuleID = store.CandidateDismissed, ""
			}
			switch err := handles[i/2%2].Update(f.ctx, func(tx store.Tx) error { return tx.Candidates.Decide(f.ctx, d) }); rule.CodeOf(err) {
			case "":
				won.Add(1)
			case rule.CodeConflict:
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := won.Load(); n != 1 {
		t.Errorf("%d decisions stand, want 1", n)
	}
}
