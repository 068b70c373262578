package discover

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/auth"
	"tenet/internal/catalog"
	"tenet/internal/change"
	"tenet/internal/corpus"
	"tenet/internal/discover/exclude"
	"tenet/internal/discover/source"
	"tenet/internal/document"
	"tenet/internal/job"
	"tenet/internal/llm/llmtest"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/store/litetest"
	"tenet/internal/store/sqlstore"
	"tenet/internal/wire"
)

// lines finds a rule in each line that does not begin with #, and panics over files named panic.
type lines struct{ kind wire.SourceKind }

func (l lines) Kind() wire.SourceKind { return l.kind }

func (lines) Reads(path string) bool { return strings.HasSuffix(path, ".md") }

func (l lines) Read(_ context.Context, files []source.File) (found []source.Found, problems []source.Problem) {
	for _, f := range files {
		if strings.HasPrefix(f.Path, "panic") {
			panic("boom")
		}
		for i, text := range strings.Split(string(f.Content), "\n") {
			if text == "" || text[0] == '#' {
				continue
			}
			m := rule.Must
			if strings.Contains(strings.ToLower(text), "not") {
				m = rule.MustNot
			}
			found = append(found, source.Found{
				Kind: l.kind, Statement: text, Modality: m, Severity: rule.Medium, File: f.Path, Line: i + 1, EndLine: i + 1, Quote: text, Method: "a line", Confidence: 0.8,
			})
		}
	}
	return found, problems
}

type fixture struct {
	*Discovery
	t     testing.TB
	ctx   context.Context //nolint:containedctx // the test's own
	rules *catalog.Catalog
	live  *corpus.Live
}

func newFixture(t testing.TB, configure ...func(*Config)) *fixture {
	t.Helper()
	s, err := sqlstore.OpenSQLite(t.Context(), litetest.Dir(t), sqlstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	live := corpus.NewLive(corpus.Config{Store: corpus.Store{Projects: s.Projects, Federation: s.Federation, Embeddings: s.Embeddings, Waivers: s.Waivers}, EmbeddingModel: new(llmtest.Embedder).ID()})
	f := &fixture{t: t, rules: catalog.New(catalog.Store{Updater: s, Projects: s.Projects, Rules: s.Rules}, live, change.New(s, live, nil, slog.New(slog.DiscardHandler), time.Now), nil, nil, time.Now), live: live}
	f.ctx = auth.WithActor(t.Context(), auth.Local("ann"))
	if _, err := f.rules.Seed(f.ctx, rule.DefaultProject, nil, false); err != nil {
		t.Fatal(err)
	}
	cfg := Config{
		Store: Store{Updater: s, Candidates: s.Candidates, Documents: s.Documents, Exclusions: s.Exclusions, Jobs: s.Jobs, Projects: s.Projects, Scans: s.Scans}, Readers: []source.Reader{lines{wire.PolicyDocument}}, Rules: f.rules.Adoption(), Views: live, Queue: job.NewQueue(time.Now), Now: time.Now,
		Documents: document.New(document.Config{Store: document.Store{Updater: s, Documents: s.Documents, Projects: s.Projects, Vectors: s.Vectors}, Views: live}),
	}
	for _, c := range configure {
		c(&cfg)
	}
	f.Discovery = New(cfg)
	return f
}

// started asks for a scan of files.
func (f *fixture) started(files map[string]string) wire.Scan {
	f.t.Helper()
	s, err := f.Start(f.ctx, rule.DefaultProject, wire.ScanRequest{Sources: []wire.SourceKind{wire.PolicyDocument}, Files: files, Repository: "r"})
	if err != nil {
		f.t.Fatal(err)
	}
	return s
}

// handle does the job of a scan as the runner would, the nth time.
func (f *fixture) handle(ctx context.Context, s wire.Scan, attempt int) error {
	args, err := json.Marshal(scanArgs{s.ID})
	if err != nil {
		f.t.Fatal(err)
	}
	return f.HandleScan(ctx, wire.Job{ProjectID: rule.DefaultProject, Args: args, Attempt: attempt, MaxAttempts: scanAttempts}, func(int, int) {})
}

// scanned has files scanned to the end.
func (f *fixture) scanned(files map[string]string) (wire.Scan, []wire.Candidate) {
	f.t.Helper()
	s := f.started(files)
	if err := f.handle(f.ctx, s, 1); err != nil {
		f.t.Fatal(err)
	}
	s, err := f.GetScan(f.ctx, rule.DefaultProject, s.ID)
	if err != nil || s.Status != wire.Completed {
		f.t.Fatalf("scan: %+v, %v", s, err)
	}
	list, _, err := f.Candidates(f.ctx, rule.DefaultProject, s.ID, Filter{Limit: 1000})
	if err != nil {
		f.t.Fatal(err)
	}
	return s, list
}

func statements(list []wire.Candidate) []string {
	var out []string
	for _, c := range list {
		out = append(out, c.Statement)
	}
	return out
}

func TestOneFileThatPanicsLosesNoOther(t *testing.T) {
	f := newFixture(t)
	s, list := f.scanned(map[string]string{"a.md": "Keep receipts.", "panic.md": "x", "z.md": "Pay on time."})
	if diff := cmp.Diff([]string{"Keep receipts.", "Pay on time."}, statements(list)); diff != "" {
		t.Errorf("candidates (-want +got):\n%s", diff)
	}
	if len(s.Problems) != 1 || s.Problems[0].File != "panic.md" {
		t.Errorf("problems: %+v", s.Problems)
	}
}

func TestInterruptedScansBeginAnew(t *testing.T) {
	broken := errors.New("the database has gone")
	fail := true
	told := 0
	f := newFixture(t, func(c *Config) {
		c.Publish = func(context.Context, store.Tx, rule.Event) error {
			if fail {
				return broken
			}
			told++
			return nil
		}
	})
	s := f.started(map[string]string{"a.md": "Keep receipts.\nPay on time."})
	if err := f.handle(f.ctx, s, 1); !errors.Is(err, broken) {
		t.Fatalf("error %v", err)
	}
	if _, total, err := f.Candidates(f.ctx, rule.DefaultProject, s.ID, Filter{Limit: 10}); total != 0 || err != nil {
		t.Errorf("a scan that failed halfway has left %d candidates, %v", total, err)
	}
	fail = false
	for range 2 { // the second is one of a node that came too late
		if err := f.handle(f.ctx, s, 2); err != nil {
			t.Fatal(err)
		}
	}
	if _, total, err := f.Candidates(f.ctx, rule.DefaultProject, s.ID, Filter{Limit: 10}); total != 2 || err != nil || told != 3 {
		t.Errorf("%d candidates and %d events, %v; want 2, and an event of each and of the scan", total, told, err)
	}

	// The last attempt says why, and frees what was kept.
	fail = true
	s = f.started(map[string]string{"a.md": "Another line."})
	if err := f.handle(f.ctx, s, scanAttempts); !errors.Is(err, broken) {
		t.Fatalf("error %v", err)
	}
	got, err := f.GetScan(f.ctx, rule.DefaultProject, s.ID)
	if err != nil || got.Status != wire.Failed || got.Reason == "" || strings.Contains(got.Reason, "database") || got.CandidatesCount != nil {
		t.Errorf("scan: %+v, %v", got, err)
	}
	if err := f.store.Scans.Files(f.ctx, rule.DefaultProject, s.ID, func([]byte) error { return errors.New("a file is left") }); err != nil {
		t.Error(err)
	}
	// An interruption is no failure: the next attempt goes on.
	s = f.started(map[string]string{"a.md": "Another line."})
	ctx, cancel := context.WithCancel(f.ctx)
	cancel()
	if err := f.handle(ctx, s, scanAttempts); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if got, err := f.GetScan(f.ctx, rule.DefaultProject, s.ID); err != nil || got.Status != wire.Pending {
		t.Errorf("interrupted: %+v, %v", got, err)
	}
}

func TestCancelledScansAreSweptUp(t *testing.T) {
	now := time.Now()
	f := newFixture(t, func(c *Config) { c.Now = func() time.Time { return now } })
	s := f.started(map[string]string{"a.md": "x"})
	if _, err := job.NewJobs(f.store, f.store.Jobs, time.Now).Cancel(f.ctx, rule.DefaultProject, s.JobID); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		got, err := f.GetScan(f.ctx, rule.DefaultProject, s.ID)
		if err != nil || got.Status != wire.Failed || got.Reason != "it was cancelled" {
			t.Errorf("scan: %+v, %v", got, err)
		}
		now = now.Add(2 * pruneAfter)
		if err := f.Prune(f.ctx, wire.Job{}, func(int, int) {}); err != nil {
			t.Fatal(err)
		}
	}
	if open, err := f.store.Scans.ListOpen(f.ctx, now, 10); err != nil || len(open) != 0 {
		t.Errorf("open: %v, %v", open, err)
	}
}

func TestEventsAreBounded(t *testing.T) {
	var told []rule.Event
	f := newFixture(t, func(c *Config) {
		c.Publish = func(_ context.Context, _ store.Tx, e rule.Event) error { told = append(told, e); return nil }
	})
	var text strings.Builder
	for i := range maxEvents + 20 {
		fmt.Fprintf(&text, "Form %d is kept.\n", i)
	}
	s, list := f.scanned(map[string]string{"a.md": text.String()})
	if len(list) != maxEvents+20 || len(told) != maxEvents+1 {
		t.Fatalf("%d candidates and %d events", len(list), len(told))
	}
	var c wire.Candidate
	if err := json.Unmarshal(told[1].Data, &c); err != nil || told[1].Type != rule.CandidateCreated || told[1].ProjectID != rule.DefaultProject {
		t.Errorf("event: %+v, %v", told[1], err)
	}
	if diff := cmp.Diff(list[0], c); diff != "" || c.ScanID != s.ID {
		t.Errorf("its data (-want +got):\n%s", diff)
	}
}

func TestSimilarRules(t *testing.T) {
	embedder := new(llmtest.Embedder)
	secret := "AK" + "IA" + "QYLPMN5HHHFPZAM2"
	f := newFixture(t, func(c *Config) { c.Embedder = embedder })
	for _, statement := range []string{"Receipts must be kept for ten years.", "Nobody may smoke."} {
		r, err := f.rules.Create(f.ctx, rule.DefaultProject, wire.RuleInput{Statement: statement})
		if err != nil {
			t.Fatal(err)
		}
		vectors, err := new(llmtest.Embedder).Embed(f.ctx, []string{statement})
		if err != nil {
			t.Fatal(err)
		}
		err = f.store.Update(f.ctx, func(tx store.Tx) error {
			version, err := tx.Projects.RaiseCorpus(f.ctx, rule.DefaultProject)
			if err != nil {
				return err
			}
			return tx.Embeddings.Put(f.ctx, rule.DefaultProject, version, []store.Embedding{{Model: embedder.ID(), TextHash: corpus.TextHash(&r), Vector: vectors[0]}})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	_, list := f.scanned(map[string]string{"a.md": `receipts must be kept for ten years
Receipts must be kept for "six" years.
Doors must be shut.
The key ` + secret + ` must be rotated.`})
	if shown := fmt.Sprint(embedder.Calls()); strings.Contains(shown, secret) || !strings.Contains(shown, "[redacted:") {
		t.Errorf("the embedding service is shown %s", shown)
	}
	want := map[string]float64{"receipts must be kept for ten years": 1, `Receipts must be kept for "six" years.`: 0.6}
	for _, c := range list {
		least, similar := want[c.Statement]
		switch {
		case similar != (len(c.SimilarRules) == 1):
			t.Errorf("%q is like %+v", c.Statement, c.SimilarRules)
		case similar && (c.SimilarRules[0].Similarity < least || (least < 1 && c.SimilarRules[0].Similarity == 1) || c.SimilarRules[0].Contradicts):
			t.Errorf("%q is like %+v, want %g", c.Statement, c.SimilarRules, least)
		}
	}
}

func TestPathsAndFilesSurvivePacking(t *testing.T) {
	files := map[string]string{"b": strings.Repeat("x", partSize), "a": "\u2028<>&\x00", "c": "", "d": strings.Repeat("y", 10)}
	parts, err := pack(files)
	if err != nil || len(parts) < 2 {
		t.Fatalf("%d parts, %v", len(parts), err)
	}
	got := map[string]string{}
	for _, part := range parts {
		some, err := unpack(part)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range some {
			got[f.Path] = string(f.Content)
		}
	}
	if diff := cmp.Diff(files, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := unpack([]byte("no")); err == nil {
		t.Error("a damaged part is read")
	}
}

// A scan leaves out what the default excludes name, says so, and reads it when asked.
func TestScanSaysWhatItLeavesOut(t *testing.T) {
	f := newFixture(t)
	files := map[string]string{"a.md": "Keep receipts.", "testdata/b.md": "Use tabs.", "vendor/x/y/c.md": "Use spaces.", "old/d.md": "Use ink."}
	scan := func(r wire.ScanRequest) (wire.Scan, []string) {
		t.Helper()
		r.Sources, r.Files = []wire.SourceKind{wire.PolicyDocument}, files
		s, err := f.Start(f.ctx, rule.DefaultProject, r)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.handle(f.ctx, s, 1); err != nil {
			t.Fatal(err)
		}
		if s, err = f.GetScan(f.ctx, rule.DefaultProject, s.ID); err != nil {
			t.Fatal(err)
		}
		list, _, err := f.Candidates(f.ctx, rule.DefaultProject, s.ID, Filter{Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		out := statements(list)
		slices.Sort(out)
		return s, out
	}
	before := wire.Excluded{Reason: exclude.TestData, Files: 7, Examples: []string{"x/testdata/y.md"}}
	s, found := scan(wire.ScanRequest{Exclude: []string{"old/**"}, Excluded: []wire.Excluded{before}})
	want := []wire.Excluded{
		{Reason: exclude.TestData, Files: 8, Examples: []string{"x/testdata/y.md", "testdata/b.md"}},
		{Reason: exclude.Asked, Files: 1, Examples: []string{"old/d.md"}},
		{Reason: exclude.Vendored, Files: 1, Examples: []string{"vendor/x/y/c.md"}},
	}
	if diff := cmp.Diff(want, s.Excluded); diff != "" || s.Files != 4 || s.FilesRead != 1 || !slices.Equal(found, []string{"Keep receipts."}) {
		t.Errorf("%d of %d files, found %q; excluded (-want +got):\n%s", s.FilesRead, s.Files, found, diff)
	}
	if _, found := scan(wire.ScanRequest{Include: []string{"testdata/**"}}); !slices.Equal(found, []string{"Keep receipts.", "Use ink.", "Use tabs."}) {
		t.Errorf("with test data included: %q", found)
	}
	if s, found := scan(wire.ScanRequest{NoDefaultExcludes: true}); len(found) != 4 || len(s.Excluded) != 0 {
		t.Errorf("without default excludes: %q, %+v", found, s.Excluded)
	}
	for name, bad := range map[string]wire.ScanRequest{
		"glob":   {Exclude: []string{"["}},
		"reason": {Excluded: []wire.Excluded{{Files: 1}}},
		"path":   {Excluded: []wire.Excluded{{Reason: "x", Files: 1, Examples: []string{"a\x00"}}}},
	} {
		bad.Sources, bad.Files = []wire.SourceKind{wire.PolicyDocument}, files
		if _, err := f.Start(f.ctx, rule.DefaultProject, bad); rule.CodeOf(err) != rule.CodeInvalid {
			t.Errorf("a bad %s: %v", name, err)
		}
	}
}
