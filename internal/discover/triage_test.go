package discover

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/discover/source"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

func (f *fixture) triage() Triage { return Triage{f.Discovery} }

// get reads a candidate.
func (f *fixture) get(id string) wire.CandidateDetail {
	f.t.Helper()
	c, err := f.triage().Get(f.ctx, rule.DefaultProject, id, wire.NeighbourQuery{})
	if err != nil {
		f.t.Fatal(err)
	}
	return c
}

// rule reads a rule.
func (f *fixture) rule(id string) rule.Rule {
	f.t.Helper()
	r, err := f.rules.Get(f.ctx, rule.DefaultProject, id)
	if err != nil {
		f.t.Fatal(err)
	}
	return r
}

// create makes a rule.
func (f *fixture) create(statement string, status rule.Status) rule.Rule {
	f.t.Helper()
	r, err := f.rules.Create(f.ctx, rule.DefaultProject, wire.RuleInput{Statement: statement, Status: status})
	if err != nil {
		f.t.Fatal(err)
	}
	return r
}

func TestACandidateHasTheLinesRoundIt(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var b strings.Builder
	for range 20 {
		b.WriteString("# heading\r\n")
	}
	secret := "ghp_" + "x7Kq29LmZpR4sT8vWyB1cD3eF5gH6jN0aQuE"
	b.WriteString("# token: " + secret + "\n" + "Cards must not be stored.\n" + "# " + strings.Repeat("y", 500) + "\n")
	_, list := f.scanned(map[string]string{"a.md": b.String()})
	got := f.get(list[0].ID).Excerpt
	if got.FirstLine != 14 || len(got.Lines) != 11 || got.Lines[8] != "Cards must not be stored." || got.Lines[0] != "# heading" || got.Quoted {
		t.Errorf("excerpt: %+v", got)
	}
	if strings.Contains(strings.Join(got.Lines, "\n"), secret) || !strings.Contains(got.Lines[7], "[redacted:") {
		t.Errorf("the secret beside it is shown: %q", got.Lines[7])
	}
	if n := len([]rune(got.Lines[9])); n != excerptWidth {
		t.Errorf("a line of %d characters, want it cut to %d", n, excerptWidth)
	}
	// What is no text has its quote.
	if e := unpackExcerpt(nil, &wire.Candidate{Place: wire.Place{SourceLine: 3, Quote: "a\nb"}}); !e.Quoted || e.FirstLine != 3 || !slices.Equal(e.Lines, []string{"a", "b"}) {
		t.Errorf("excerpt of a quote: %+v", e)
	}
	for _, place := range [][2]int{{0, 1}, {2, 1}, {1, 9}} {
		if e := excerptOf([]string{"a", "b"}, place[0], place[1]); e != nil {
			t.Errorf("lines %v of two: %+v", place, e)
		}
	}
}

func TestCandidatesOfAScanThatAreAlike(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, list := f.scanned(map[string]string{
		"a.md": "Payments above 100 EUR need a second person.\nInvoices are kept for ten years.",
		"b.md": "Payments above 100 EUR need a second approver.",
	})
	var one wire.Candidate
	for _, c := range list {
		if c.SourceFile == "b.md" {
			one = c
		}
	}
	got := f.get(one.ID).Alike
	if len(got) != 1 || got[0].SourceFile != "a.md" || got[0].SourceLine != 1 || got[0].Similarity < 0.6 {
		t.Fatalf("alike: %+v", got)
	}
	if _, err := f.triage().Dismiss(f.ctx, rule.DefaultProject, got[0].CandidateID, ""); err != nil {
		t.Fatal(err)
	}
	if got := f.get(one.ID).Alike; len(got) != 0 {
		t.Errorf("alike and decided: %+v", got)
	}
}

func TestMergingIntoARule(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	r := f.create("Cards must never be stored.", rule.Effective)
	_, list := f.scanned(map[string]string{"a.md": "Cards must not be stored."})
	merge := func(id string, m wire.MergeCandidate) error {
		_, err := f.triage().Merge(f.ctx, rule.DefaultProject, id, m)
		return err
	}
	none := "00000000-0000-7000-8000-000000000001"
	for _, bad := range []struct {
		m    wire.MergeCandidate
		code rule.Code
	}{
		{wire.MergeCandidate{}, rule.CodeInvalid},
		{wire.MergeCandidate{RuleID: r.ID, CandidateID: none}, rule.CodeInvalid},
		{wire.MergeCandidate{CandidateID: list[0].ID}, rule.CodeInvalid},
		{wire.MergeCandidate{CandidateID: "x"}, rule.CodeInvalid},
		{wire.MergeCandidate{CandidateID: none}, rule.CodeNotFound},
		{wire.MergeCandidate{RuleID: none}, rule.CodeNotFound},
	} {
		if err := merge(list[0].ID, bad.m); rule.CodeOf(err) != bad.code {
			t.Errorf("%+v: %v, want %s", bad.m, err, bad.code)
		}
	}
	if err := merge(list[0].ID, wire.MergeCandidate{RuleID: r.ID}); err != nil {
		t.Fatal(err)
	}
	want := []rule.SourceRef{{Kind: "policy", URI: "a.md:1", Quote: "Cards must not be stored."}}
	if got := f.rule(r.ID); !cmp.Equal(got.SourceRefs, want) || got.Version != 2 || got.Status != rule.Effective || !strings.Contains(got.ChangeNote, "a.md, line 1") {
		t.Errorf("rule: %+v", got)
	}
	if c := f.get(list[0].ID); c.Status != wire.CandidateMerged || c.RuleID != r.ID || c.DecidedBy != "ann" {
		t.Errorf("merged: %+v", c)
	}
	if err := merge(list[0].ID, wire.MergeCandidate{RuleID: r.ID}); rule.CodeOf(err) != rule.CodeConflict {
		t.Errorf("merged twice: %v", err)
	}
	if s, _ := f.scanned(map[string]string{"a.md": "Cards must not be stored."}); s.Known != 1 || *s.CandidatesCount != 0 {
		t.Errorf("scanned again: %+v", s)
	}
	if _, err := f.triage().Reopen(f.ctx, rule.DefaultProject, list[0].ID); err != nil {
		t.Fatal(err)
	}
	if got := f.rule(r.ID); len(got.SourceRefs) != 0 || f.get(list[0].ID).Status != wire.CandidateUndecided {
		t.Errorf("taken back: %+v", got)
	}
}

func TestMergingIntoACandidate(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	files := map[string]string{"a.md": "Cards must not be stored.", "b.md": "Card numbers must not be kept."}
	_, list := f.scanned(files)
	one, two := list[0], list[1]
	triage := f.triage()
	if _, err := triage.Merge(f.ctx, rule.DefaultProject, two.ID, wire.MergeCandidate{CandidateID: strings.ToUpper(one.ID)}); err != nil {
		t.Fatal(err)
	}
	if got := f.get(one.ID); len(got.Merged) != 1 || got.Merged[0].Statement != two.Statement || got.Waiting != 1 {
		t.Errorf("merged: %+v", got)
	}
	done, err := triage.Approve(f.ctx, rule.DefaultProject, one.ID, wire.CandidateApproval{})
	if err != nil {
		t.Fatal(err)
	}
	var uris []string
	for _, ref := range f.rule(done.RuleID).SourceRefs {
		uris = append(uris, ref.URI)
	}
	if !slices.Equal(uris, []string{"a.md:1", "b.md:1"}) {
		t.Errorf("sources %v, want those of both", uris)
	}
	if s, _ := f.scanned(files); s.Known != 2 {
		t.Errorf("%d known, want both", s.Known)
	}
	if _, err := triage.Reopen(f.ctx, rule.DefaultProject, two.ID); rule.CodeOf(err) != rule.CodeConflict {
		t.Errorf("taken back alone: %v", err)
	}
	if _, err := triage.Reopen(f.ctx, rule.DefaultProject, one.ID); err != nil {
		t.Fatal(err)
	}
	if got := f.rule(done.RuleID); got.Status != rule.Retired {
		t.Errorf("the rule is %s, want RETIRED", got.Status)
	}
	if _, err := triage.Reopen(f.ctx, rule.DefaultProject, two.ID); err != nil {
		t.Fatal(err)
	}
	if s, _ := f.scanned(files); s.Known != 0 || *s.CandidatesCount != 2 {
		t.Errorf("after both were taken back: %+v", s)
	}
	// What was built on is not taken back.
	done, err = triage.Approve(f.ctx, rule.DefaultProject, one.ID, wire.CandidateApproval{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.rules.Transition(f.ctx, rule.DefaultProject, done.RuleID, 0, rule.Review, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := triage.Reopen(f.ctx, rule.DefaultProject, one.ID); rule.CodeOf(err) != rule.CodeConflict || f.get(one.ID).Status != wire.CandidateApproved {
		t.Errorf("taken back too late: %v", err)
	}
}

func TestExcludedFoldersAreLeftOut(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	files := map[string]string{"docs/a.md": "Cards must not be stored.\nOne thing.", "docs/deep/b.md": "Other thing.", "c.md": "One thing."}
	s, _ := f.scanned(files)
	x := Exclusions{f.Discovery}
	for _, bad := range []wire.CreateExclusion{{}, {Path: "/"}, {Path: "a/../.."}, {Path: "a\nb"}, {Path: "a", Repository: "x\ny"}, {Path: "a", Reason: strings.Repeat("x", 1001)}} {
		if _, err := x.Exclude(f.ctx, rule.DefaultProject, bad); rule.CodeOf(err) != rule.CodeInvalid {
			t.Errorf("%+v: %v, want it refused", bad, err)
		}
	}
	made, err := x.Exclude(f.ctx, rule.DefaultProject, wire.CreateExclusion{Repository: "r", Path: "/docs/", Reason: "The manual."})
	if err != nil || made.Path != "docs" || made.Dismissed != 2 {
		t.Fatalf("excluded: %+v, %v; one of its three candidates was found elsewhere too", made, err)
	}
	if _, err := x.Exclude(f.ctx, rule.DefaultProject, wire.CreateExclusion{Repository: "r", Path: "docs"}); rule.CodeOf(err) != rule.CodeConflict {
		t.Errorf("excluded twice: %v", err)
	}
	again, list := f.scanned(files)
	left := []wire.Excluded{{Reason: excludedByProject, Files: 2, Examples: []string{"docs/a.md", "docs/deep/b.md"}}}
	if !cmp.Equal(again.Excluded, left) || again.Files != 3 || again.FilesRead != 1 || len(list) != 1 || list[0].SourceFile != "c.md" {
		t.Errorf("scanned again: %+v, %+v", again, list)
	}
	if list, total, err := x.List(f.ctx, rule.DefaultProject, 0, 10); err != nil || total != 1 || list[0].Reason != "The manual." || list[0].CreatedBy != "ann" {
		t.Errorf("exclusions: %+v, %v", list, err)
	}
	lifted, err := x.Lift(f.ctx, rule.DefaultProject, made.ID)
	if err != nil || lifted.Reopened != 2 {
		t.Errorf("lifted: %+v, %v", lifted, err)
	}
	if now, err := f.GetScan(f.ctx, rule.DefaultProject, s.ID); err != nil || *now.Pending != 3 {
		t.Errorf("the first scan: %+v, %v", now, err)
	}
	if again, _ := f.scanned(files); len(again.Excluded) != 0 || *again.CandidatesCount != 3 {
		t.Errorf("after it was lifted: %+v", again)
	}
}

func TestScansAreRemovedAfterTheirRetention(t *testing.T) {
	t.Parallel()
	now := time.Now()
	f := newFixture(t, func(c *Config) { c.Retention, c.Now = 30*24*time.Hour, func() time.Time { return now } })
	files := map[string]string{"a.md": "Cards must not be stored.\nOne thing."}
	s, list := f.scanned(files)
	done, err := f.triage().Approve(f.ctx, rule.DefaultProject, list[0].ID, wire.CandidateApproval{})
	if err != nil {
		t.Fatal(err)
	}
	prune := func() {
		t.Helper()
		if err := f.Prune(f.ctx, wire.Job{}, func(int, int) {}); err != nil {
			t.Fatal(err)
		}
	}
	now = now.Add(29 * 24 * time.Hour)
	prune()
	if got, err := f.GetScan(f.ctx, rule.DefaultProject, s.ID); err != nil || *got.CandidatesCount != 2 || got.PrunedAt != nil {
		t.Fatalf("too early: %+v, %v", got, err)
	}
	now = now.Add(2 * 24 * time.Hour)
	prune()
	got, err := f.GetScan(f.ctx, rule.DefaultProject, s.ID)
	if err != nil || *got.CandidatesCount != 1 || got.PrunedAt == nil || got.Decided[wire.CandidateApproved] != 1 {
		t.Errorf("after its retention: %+v, %v", got, err)
	}
	if c := f.get(list[0].ID); c.RuleID != done.RuleID || !c.Excerpt.Quoted || c.Excerpt.Lines[0] != c.Quote {
		t.Errorf("the approved candidate: %+v", c)
	}
	if r := f.rule(done.RuleID); len(r.SourceRefs) != 1 || r.SourceRefs[0].Quote == "" {
		t.Errorf("the rule has lost its source: %+v", r)
	}
	if again, _ := f.scanned(files); again.Known != 1 {
		t.Errorf("%d known, want the approved one", again.Known)
	}
}

func TestAScanThatFindsSomethingIsPublishedOnce(t *testing.T) {
	t.Parallel()
	var events []rule.Event
	f := newFixture(t, func(c *Config) {
		c.Publish = func(_ context.Context, _ store.Tx, e rule.Event) error { events = append(events, e); return nil }
	})
	f.scanned(map[string]string{"a.md": "# nothing"})
	if len(events) != 0 {
		t.Errorf("events of a scan that has found nothing: %+v", events)
	}
	s, _ := f.scanned(map[string]string{"a.md": "Cards must not be stored.\nOne thing."})
	var found []rule.Event
	for _, e := range events {
		if e.Type == rule.CandidatesFound {
			found = append(found, e)
		}
	}
	if len(found) != 1 || found[0].Severity != rule.Medium {
		t.Fatalf("events: %+v", events)
	}
	var data wire.CandidatesFound
	if err := json.Unmarshal(found[0].Data, &data); err != nil || data.ID != s.ID || *data.Pending != 2 || data.BySeverity["medium"] != 2 || len(data.First) != 2 ||
		data.First[0].SourceFile != "a.md" || bytes.Contains(found[0].Data, []byte(`"problems":null`)) {
		t.Errorf("data: %s, %v", found[0].Data, err)
	}
}

func TestBytesThatAreNoTextReachTheReaders(t *testing.T) {
	t.Parallel()
	parts, err := pack(map[string]string{"a.md": "caf\xe9", "b.md": "plain"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := unpack(parts[0])
	want := []source.File{{Path: "a.md", Content: []byte("caf\xe9")}, {Path: "b.md", Content: []byte("plain")}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}
