package storetest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/rule"
	"tenet/internal/store"
)

// decide stores a decision on a candidate.
func decide(f *fixture, id, status string, change func(*store.CandidateDecision)) {
	f.t.Helper()
	d := store.CandidateDecision{ProjectID: "p", ID: id, Fingerprints: []string{"f-" + id}, Status: status, At: at.Add(time.Hour), By: "bob"}
	if change != nil {
		change(&d)
	}
	f.update(func(tx store.Tx) error { return tx.Candidates.Decide(f.ctx, d) })
}

// statuses lists the candidates of scan s by number: the first letter of the status of each.
func statuses(f *fixture) string {
	f.t.Helper()
	list, _, err := f.s.Candidates.Find(f.ctx, store.CandidateFilter{ProjectID: "p", ScanID: "s", Limit: 100})
	if err != nil {
		f.t.Fatal(err)
	}
	var b strings.Builder
	for i := range list {
		b.WriteString(list[i].Status[:1])
	}
	return b.String()
}

func testCandidateNeighbours(t *testing.T, f *fixture) {
	s := scanOf("s", at)
	list := []store.Candidate{candidate(s, 1, "f1"), candidate(s, 2, "f2"), candidate(s, 3, "f3"), candidate(s, 4, "f4"), candidate(s, 5, "f5")}
	for i, file := range []string{"docs/a.md", "docs/a/b.md", "docs/a.md", "docs", "docsx/a.md"} {
		list[i].SourceFile, list[i].Excerpt = file, []byte{0, byte(i), 0xff}
	}
	completeScan(f, s, list...)
	if got, err := f.s.Candidates.Excerpt(f.ctx, "p", "s3"); err != nil || !slices.Equal(got, []byte{0, 2, 0xff}) {
		t.Errorf("excerpt %v, %v", got, err)
	}
	for path, want := range map[string]string{"": "12345", "docs": "1234", "docs/a": "2", "docs/a.md": "13", "doc": "", "docs/%": ""} {
		found, _, err := f.s.Candidates.Find(f.ctx, store.CandidateFilter{ProjectID: "p", ScanID: "s", Path: path, Limit: 10})
		var got strings.Builder
		for i := range found {
			got.WriteString(strings.TrimPrefix(found[i].ID, "s"))
		}
		if err != nil || got.String() != want {
			t.Errorf("below %q: %s, %v; want %s", path, got.String(), err, want)
		}
	}
	decide(f, "s2", store.CandidateDismissed, nil)
	look := func(filter store.CandidateFilter, n int, want store.Neighbours) {
		t.Helper()
		filter.ProjectID, filter.ScanID = "p", "s"
		if got, err := f.s.Candidates.Neighbours(f.ctx, filter, n); err != nil || got != want {
			t.Errorf("neighbours of %d: %+v, %v; want %+v", n, got, err, want)
		}
	}
	look(store.CandidateFilter{}, 1, store.Neighbours{Next: "s2", Total: 5})
	look(store.CandidateFilter{Status: "pending"}, 1, store.Neighbours{Next: "s3", Total: 4})
	look(store.CandidateFilter{Status: "pending"}, 3, store.Neighbours{Previous: "s1", Next: "s4", Before: 1, Total: 4})
	look(store.CandidateFilter{Status: "pending", Path: "docs/a.md"}, 3, store.Neighbours{Previous: "s1", Before: 1, Total: 2})
	look(store.CandidateFilter{Status: "pending", MinConfidence: 0.35}, 2, store.Neighbours{Next: "s4", Total: 2})

	files, total, err := f.s.Candidates.FileCounts(f.ctx, "p", "s", 0, 2)
	if diff := cmp.Diff([]store.FileCount{{SourceFile: "docs/a.md", Total: 2, Pending: 2}, {SourceFile: "docs", Total: 1, Pending: 1}}, files); err != nil || total != 4 || diff != "" {
		t.Errorf("files: %d, %v (-want +got):\n%s", total, err, diff)
	}
}

func testReopenCandidates(t *testing.T, f *fixture) {
	s, later := scanOf("s", at), scanOf("t", at.Add(time.Second))
	completeScan(f, s, candidate(s, 1, "f1"), candidate(s, 2, "f2"), candidate(s, 3, "f3"), candidate(s, 4, "f4"))
	completeScan(f, later, candidate(later, 1, "f1"))
	f.fails(rule.CodeConflict, func(tx store.Tx) error { return tx.Candidates.Reopen(f.ctx, "p", "s1") })
	f.fails(rule.CodeNotFound, func(tx store.Tx) error { return tx.Candidates.Reopen(f.ctx, "p", "none") })

	decide(f, "s1", store.CandidateApproved, func(d *store.CandidateDecision) { d.RuleID, d.Fingerprints = "r", []string{"f1"} })
	f.update(func(tx store.Tx) error { return tx.Candidates.Reopen(f.ctx, "p", "s1") })
	for _, id := range []string{"s1", "t1"} {
		if got, err := f.s.Candidates.Get(f.ctx, "p", id); err != nil || got.Status != store.CandidatePending || got.RuleID != "" || got.DecidedAt != nil || got.DecidedBy != "" {
			t.Errorf("%s opened again: %+v, %v", id, got, err)
		}
	}
	if places, err := f.s.Candidates.DecidedPlaces(f.ctx, "p", "acme/pay", []string{"f1"}); err != nil || len(places) != 0 {
		t.Errorf("remembered: %v, %v", places, err)
	}

	// 4 is merged into 3, 3 into 2, and 2 becomes a rule.
	into := func(id string) func(*store.CandidateDecision) {
		return func(d *store.CandidateDecision) { d.MergedInto, d.Fingerprints = id, nil }
	}
	decide(f, "s4", store.CandidateMerged, into("s3"))
	decide(f, "s3", store.CandidateMerged, into("s2"))
	merged, err := f.s.Candidates.Merged(f.ctx, "p", "s2")
	if err != nil || len(merged) != 2 || merged[0].ID != "s3" || merged[1].ID != "s4" {
		t.Errorf("merged: %+v, %v", merged, err)
	}
	if none, err := f.s.Candidates.Merged(f.ctx, "p", ""); err != nil || len(none) != 0 {
		t.Errorf("merged into nothing: %v, %v", none, err)
	}
	f.fails(rule.CodeConflict, func(tx store.Tx) error {
		return tx.Candidates.Decide(f.ctx, store.CandidateDecision{ProjectID: "p", ID: "s3", Status: store.CandidateDismissed, At: at})
	})
	ruleOf := func(id string) string {
		t.Helper()
		c, err := f.s.Candidates.Get(f.ctx, "p", id)
		if err != nil {
			t.Error(err)
		}
		return c.RuleID
	}
	decide(f, "s2", store.CandidateApproved, func(d *store.CandidateDecision) { d.RuleID = "r2" })
	if got := ruleOf("s4"); got != "r2" {
		t.Errorf("the rule of a merged candidate is %q, want r2", got)
	}
	f.update(func(tx store.Tx) error { return tx.Candidates.Reopen(f.ctx, "p", "s2") })
	f.update(func(tx store.Tx) error { return tx.Candidates.Reopen(f.ctx, "p", "s4") })
	if got := statuses(f); got != "ppmp" || ruleOf("s3") != "" {
		t.Errorf("statuses %s, rule %q; want ppmp and none", got, ruleOf("s3"))
	}
}

func testExclusions(t *testing.T, f *fixture) {
	s := scanOf("s", at)
	completeScan(f, s, candidate(s, 1, "f1"), candidate(s, 2, "f2"), candidate(s, 3, "f3"))
	one := store.Exclusion{ProjectID: "p", ID: "e1", Repository: "acme/pay", Path: "docs", Reason: "The manual.", CreatedAt: at, CreatedBy: "bob"}
	every := store.Exclusion{ProjectID: "p", ID: "e2", Path: "vendor", CreatedAt: at, CreatedBy: "bob"}
	elsewhere := one
	elsewhere.ID, elsewhere.Repository = "e3", "acme/web"
	decide(f, "s3", store.CandidateDismissed, nil)
	f.update(func(tx store.Tx) error {
		for _, e := range []store.Exclusion{one, every, elsewhere} {
			if err := tx.Exclusions.Insert(f.ctx, e); err != nil {
				return err
			}
		}
		n, err := tx.Candidates.Exclude(f.ctx, one, []string{"s1", "s3", "none"})
		if err == nil && n != 1 {
			t.Errorf("%d candidates were excluded, want 1", n)
		}
		return err
	})
	if got := statuses(f); got != "dpd" {
		t.Errorf("statuses %s, want dpd", got)
	}
	if c, err := f.s.Candidates.Get(f.ctx, "p", "s1"); err != nil || c.Reason != "The manual." || c.ExclusionID != "e1" || c.DecidedBy != "bob" {
		t.Errorf("excluded: %+v, %v", c, err)
	}
	again := one
	again.ID = "e4"
	f.fails(rule.CodeConflict, func(tx store.Tx) error { return tx.Exclusions.Insert(f.ctx, again) })
	if got, err := f.s.Exclusions.Get(f.ctx, "p", "e1"); err != nil || got != one {
		t.Errorf("exclusion %+v, %v", got, err)
	}
	if list, total, err := f.s.Exclusions.List(f.ctx, "p", 1, 5); err != nil || total != 3 || len(list) != 2 || list[0].ID != "e1" {
		t.Errorf("exclusions %+v of %d, %v", list, total, err)
	}
	if list, err := f.s.Exclusions.For(f.ctx, "p", "acme/pay"); err != nil || len(list) != 2 || list[0].ID != "e2" || list[1].ID != "e1" {
		t.Errorf("exclusions of a repository %+v, %v", list, err)
	}
	f.update(func(tx store.Tx) error {
		n, err := tx.Exclusions.Delete(f.ctx, "p", "e1")
		if err == nil && n != 1 {
			t.Errorf("%d candidates are pending again, want 1", n)
		}
		return err
	})
	if got := statuses(f); got != "ppd" {
		t.Errorf("statuses %s, want ppd", got)
	}
	f.fails(rule.CodeNotFound, func(tx store.Tx) error { _, err := tx.Exclusions.Delete(f.ctx, "p", "e1"); return err })
	_, err := f.s.Exclusions.Get(f.ctx, "q", "e2")
	code(t, "another project's exclusion", err, rule.CodeNotFound)
}

func testPruneScans(t *testing.T, f *fixture) {
	s, empty := scanOf("s", at), scanOf("t", at)
	list := []store.Candidate{candidate(s, 1, "f1"), candidate(s, 2, "f2"), candidate(s, 3, "f3"), candidate(s, 4, "f4"), candidate(s, 5, "f5")}
	for i := range list {
		list[i].Excerpt = []byte("x")
	}
	completeScan(f, s, list...)
	completeScan(f, empty, candidate(empty, 1, "f9"))
	f.update(func(tx store.Tx) error { return tx.Scans.Insert(f.ctx, scanOf("open", at), nil) })
	decide(f, "s1", store.CandidateApproved, func(d *store.CandidateDecision) { d.RuleID = "r" })
	decide(f, "s2", store.CandidateDismissed, nil)
	decide(f, "s3", store.CandidateMerged, func(d *store.CandidateDecision) { d.RuleID = "r" })
	decide(f, "s4", store.CandidateMerged, func(d *store.CandidateDecision) { d.MergedInto = "s5" })
	if list, err := f.s.Scans.ListEnded(f.ctx, "p", at.Add(time.Second), 10); err != nil || len(list) != 2 {
		t.Errorf("ended scans: %+v, %v", list, err)
	}
	if list, err := f.s.Scans.ListEnded(f.ctx, "p", at, 10); err != nil || len(list) != 0 {
		t.Errorf("scans that ended before they did: %+v, %v", list, err)
	}
	f.fails(rule.CodeConflict, func(tx store.Tx) error { _, err := tx.Scans.Prune(f.ctx, "p", "open", at); return err })
	f.fails(rule.CodeNotFound, func(tx store.Tx) error { _, err := tx.Scans.Prune(f.ctx, "p", "none", at); return err })
	prune := func(id string, want int) {
		t.Helper()
		f.update(func(tx store.Tx) error {
			n, err := tx.Scans.Prune(f.ctx, "p", id, at.Add(time.Hour))
			if err == nil && n != want {
				t.Errorf("%d candidates of %s were removed, want %d", n, id, want)
			}
			return err
		})
	}
	prune("s", 3)
	prune("t", 1)
	if got := statuses(f); got != "am" {
		t.Errorf("statuses %s, want am: what has become a rule stays", got)
	}
	if got, err := f.s.Candidates.Excerpt(f.ctx, "p", "s1"); err != nil || len(got) != 0 {
		t.Errorf("excerpt %q, %v", got, err)
	}
	if got, err := f.s.Scans.Get(f.ctx, "p", "s"); err != nil || got.PrunedAt == nil || !got.PrunedAt.Equal(at.Add(time.Hour)) {
		t.Errorf("pruned scan %+v, %v", got, err)
	}
	_, err := f.s.Scans.Get(f.ctx, "p", "t")
	code(t, "a scan without candidates", err, rule.CodeNotFound)
	if list, err := f.s.Scans.ListEnded(f.ctx, "p", at.Add(time.Hour), 10); err != nil || len(list) != 0 {
		t.Errorf("scans to prune again: %+v, %v", list, err)
	}
	// What was decided is remembered for later scans.
	if places, err := f.s.Candidates.DecidedPlaces(f.ctx, "p", "acme/pay", []string{"f-s1", "f-s2"}); err != nil || len(places) != 2 {
		t.Errorf("remembered: %v, %v", places, err)
	}
}
