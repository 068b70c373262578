package document

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/auth"
	"tenet/internal/corpus"
	"tenet/internal/document/documenttest"
	"tenet/internal/document/extract"
	"tenet/internal/job"
	"tenet/internal/llm"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/store/litetest"
	"tenet/internal/store/pgtest"
	"tenet/internal/store/sqlstore"
)

// shelf is documents on a fresh database with the project p.
type shelf struct {
	*Documents
	t        *testing.T
	ctx      context.Context //nolint:containedctx // the test's own
	store    store.Store
	live     *corpus.Live
	embedder *llm.FakeEmbedder
}

var noon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// onBoth runs a test on both databases, with an embedding service whose jobs nobody carries out.
func onBoth(t *testing.T, test func(t *testing.T, s *shelf)) {
	t.Run("sqlite", func(t *testing.T) {
		db, err := sqlstore.OpenSQLite(t.Context(), litetest.Dir(t), sqlstore.Options{})
		if err != nil {
			t.Fatal(err)
		}
		test(t, newShelf(t, db))
	})
	t.Run("postgres", func(t *testing.T) {
		db, err := sqlstore.OpenPostgres(t.Context(), pgtest.DSN(t), sqlstore.Options{})
		if err != nil {
			t.Fatal(err)
		}
		test(t, newShelf(t, db))
	})
}

func newShelf(t *testing.T, db store.Store) *shelf {
	t.Helper()
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	s := &shelf{t: t, store: db, embedder: &llm.FakeEmbedder{}, ctx: auth.WithActor(t.Context(), auth.Actor{Name: "ann"})}
	s.live = corpus.NewLive(corpus.Config{Store: db})
	err := db.Update(t.Context(), func(tx store.Tx) error {
		return tx.CreateProject(t.Context(), rule.Project{ID: "p", CreatedAt: noon, UpdatedAt: noon})
	})
	if err != nil {
		t.Fatal(err)
	}
	now := noon
	s.Documents = New(Config{
		Store: db, Views: s.live, Embedder: s.embedder, Queue: job.NewQueue(time.Now),
		Now: func() time.Time { now = now.Add(time.Second); return now },
	})
	return s
}

// upload keeps a text file of a name.
func (s *shelf) upload(name, text string) Document {
	s.t.Helper()
	d, err := s.Upload(s.ctx, "p", Upload{Filename: name, Content: []byte(text)})
	if err != nil {
		s.t.Fatal(err)
	}
	return d
}

func wantCode(t *testing.T, about string, err error, want rule.Code, words string) {
	t.Helper()
	if got := rule.CodeOf(err); err == nil || got != want || !strings.Contains(err.Error(), words) {
		t.Errorf("%s: error %v of code %q, want %s with %q", about, err, got, want, words)
	}
}

func TestUploads(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shelf) {
		got := s.upload(`C:\docs\policy.md`, "# Key policy\n\nRotate keys.\n\n## Doors\n\nLock doors.\n")
		want := Document{
			ID: got.ID, ProjectID: "p", Filename: "policy.md", MIMEType: "text/markdown", SizeBytes: 50, Title: "Key policy", SHA256: got.SHA256,
			UploadedBy: "ann", UploadedAt: got.UploadedAt, Chunks: 2, Characters: 46,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		if again, err := s.Get(s.ctx, "p", got.ID); err != nil || again != got {
			t.Errorf("%+v, error %v", again, err)
		}
		if title, text, err := s.Text(s.ctx, "p", got.ID); err != nil || title != "Key policy" || text != "Key policy\n\nRotate keys.\n\nDoors\n\nLock doors." {
			t.Errorf("%q, %q, error %v", title, text, err)
		}
		if _, content, err := s.Content(s.ctx, "p", got.ID); err != nil || !strings.HasPrefix(string(content), "# Key") {
			t.Errorf("%q, error %v", content, err)
		}
		pdf, err := s.Upload(s.ctx, "p", Upload{
			Filename: "a.pdf", Content: documenttest.PDF([]documenttest.Line{{Text: "Pay late.", Size: 11}}), Title: "Terms", DocumentType: "contract",
		})
		if err != nil || pdf.Pages != 1 || pdf.Title != "Terms" || pdf.DocumentType != "contract" || pdf.MIMEType != "application/pdf" {
			t.Errorf("%+v, error %v", pdf, err)
		}
		_, err = s.Upload(s.ctx, "p", Upload{Filename: "other.md", Content: []byte("# Key policy\n\nRotate keys.\n\n## Doors\n\nLock doors.\n")})
		wantCode(t, "the same content", err, rule.CodeConflict, got.ID)

		list, total, err := s.List(s.ctx, "p", Page{1, 1})
		if err != nil || total != 2 || len(list) != 1 || list[0].ID != pdf.ID {
			t.Errorf("%+v of %d, error %v", list, total, err)
		}
		if err := s.Delete(s.ctx, "p", got.ID); err != nil {
			t.Fatal(err)
		}
		_, err = s.Get(s.ctx, "p", got.ID)
		wantCode(t, "after its deletion", err, rule.CodeNotFound, "document")
		wantCode(t, "deleting again", s.Delete(s.ctx, "p", got.ID), rule.CodeNotFound, "document")
		s.upload("policy.md", "# Key policy\n\nRotate keys.\n\n## Doors\n\nLock doors.\n") // it may come back

		entries, _, err := s.store.FindAudit(t.Context(), store.AuditFilter{ProjectID: "p", Kind: "document", Limit: 10})
		if err != nil || len(entries) != 4 || entries[0].Actor != "ann" {
			t.Errorf("%d records, error %v", len(entries), err)
		}
	})
}

func TestRefusedUploadsLeaveNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shelf) {
		for about, tt := range map[string]struct {
			u     Upload
			words string
		}{
			"no name":         {Upload{Filename: "../..", Content: []byte("x")}, "upload"},
			"empty":           {Upload{Filename: "a.txt"}, "empty"},
			"binary":          {Upload{Filename: "a.txt", Content: []byte("\x00\x01")}, "binary"},
			"wrong ending":    {Upload{Filename: "a.pdf", Content: []byte("text")}, "holds text"},
			"damaged":         {Upload{Filename: "a.pdf", Content: []byte("%PDF-1.4\n%%EOF")}, "damaged"},
			"no text":         {Upload{Filename: "a.html", Content: []byte("<html><script>x</script>")}, "no text"},
			"title too long":  {Upload{Filename: "a.txt", Content: []byte("x"), Title: strings.Repeat("x", 301)}, "upload"},
			"type with lines": {Upload{Filename: "a.txt", Content: []byte("x"), DocumentType: "a\nb"}, "upload"},
		} {
			_, err := s.Upload(s.ctx, "p", tt.u)
			wantCode(t, about, err, rule.CodeInvalid, tt.words)
		}
		_, err := s.Upload(s.ctx, "none", Upload{Filename: "a.txt", Content: []byte("x")})
		wantCode(t, "no project", err, rule.CodeNotFound, "project")
		s.cfg.Limits = extract.Limits{Characters: 10}
		_, err = s.Upload(s.ctx, "p", Upload{Filename: "a.txt", Content: []byte("more than ten characters")})
		wantCode(t, "too much text", err, rule.CodeTooLarge, "characters")
		if _, total, err := s.store.Documents(s.ctx, "p", 0, 1); err != nil || total != 0 {
			t.Errorf("%d documents are left, error %v", total, err)
		}
	})
}

// found are the file names of a result.
func found(items []Item) []string {
	var names []string
	for _, it := range items {
		names = append(names, it.Filename)
	}
	return names
}

func (s *shelf) query(text string) Query {
	return Query{ProjectID: "p", Text: text, Page: Page{Number: 1, Size: 10}}
}

func TestFulltext(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shelf) {
		s.upload("keys.md", "# Keys\n\nSecrets are rotated every year. Ask first.\n\n# Other\n\nNothing.\n")
		s.upload("cash.txt", "Cash payments are refused. Every year.")
		s.upload("日本.txt", "安全規則を守る。Überweisung. os.environ is read.")
		for query, want := range map[string][]string{
			"rotating secrets":         {"keys.md"},
			`"refused every year"`:     {"cash.txt"},
			`"year every"`:             nil,
			"cash":                     {"cash.txt"},
			"cash.txt":                 {"cash.txt"},
			"規則":                       {"日本.txt"},
			"uberweisung":              {"日本.txt"},
			"os.environ":               {"日本.txt"},
			"😀":                        nil,
			"\" ( AND * NEAR":          nil,
			strings.Repeat("zz ", 999): nil,
		} {
			r, err := s.Fulltext(s.ctx, s.query(query))
			if err != nil {
				t.Fatal(err)
			}
			got := found(r.Items)
			if query == "cash.txt" && len(got) > 0 { // the name in two words finds others too
				got = got[:1]
				r.Total = 1
			}
			if diff := cmp.Diff(want, got); diff != "" || r.Total != len(want) || r.Mode != Keyword || r.Degraded != nil {
				t.Errorf("%q finds %d (-want +got)\n%s", query, r.Total, diff)
			}
		}
		r, err := s.Fulltext(s.ctx, s.query("rotating secrets"))
		if err != nil {
			t.Fatal(err)
		}
		it := r.Items[0]
		if it.Snippet != "Keys Secrets are rotated every year. Ask first." || it.Section != "Keys" || it.Score <= 0 || it.SizeBytes == 0 ||
			it.UploadedBy != "ann" || it.MIMEType != "text/markdown" || it.RulesExtracted != nil {
			t.Errorf("%+v", it)
		}
		if diff := cmp.Diff([]Highlight{{5, 12}, {17, 24}}, it.Highlights); diff != "" {
			t.Errorf("highlights (-want +got)\n%s", diff)
		}
		r, err = s.Fulltext(s.ctx, Query{ProjectID: "p", Text: "year", Page: Page{9, 10}})
		if err != nil || len(r.Items) != 0 || r.Total != 2 {
			t.Errorf("beyond the end: %+v, error %v", r, err)
		}
		for about, q := range map[string]string{"empty": " ", "too long": strings.Repeat("x", MaxQuery+1)} {
			_, err = s.Fulltext(s.ctx, s.query(q))
			wantCode(t, about, err, rule.CodeInvalid, "invalid")
		}
		_, err = s.Fulltext(s.ctx, Query{ProjectID: "none", Text: "x", Page: Page{1, 1}})
		wantCode(t, "no project", err, rule.CodeNotFound, "project")
	})
}

// embed does what the jobs of uploads would.
func (s *shelf) embed(documents ...Document) {
	s.t.Helper()
	for _, d := range documents {
		if err := s.EmbedDocument(s.ctx, "p", d.ID, func(int, int) {}); err != nil {
			s.t.Fatal(err)
		}
	}
}

func TestVectorSearch(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shelf) {
		keys, cash := s.upload("keys.md", "# Doors\n\nLock all doors.\n\n# Keys\n\nrotate keys yearly\n"), s.upload("cash.txt", "no cash payments")
		r, err := s.Vector(s.ctx, s.query("rotate keys yearly"))
		if err != nil || r.Total != 0 || r.Degraded == nil || !strings.Contains(r.Degraded.Reason, "2 of 2") {
			t.Errorf("without vectors: %+v, error %v", r, err)
		}
		s.embed(keys)
		for range 2 { // read, then kept
			r, err = s.Vector(s.ctx, s.query("rotate keys yearly"))
			if err != nil || r.Total != 1 || r.Mode != Vector || r.Degraded == nil || r.Items[0].Section != "Keys" || r.Items[0].Score < 0.8 {
				t.Errorf("%+v, error %v", r, err)
			}
		}
		s.embed(cash)
		r, err = s.Vector(s.ctx, s.query("cash payments"))
		if diff := cmp.Diff([]string{"cash.txt", "keys.md"}, found(r.Items)); diff != "" || err != nil || r.Degraded != nil {
			t.Errorf("(-want +got)\n%s%+v, error %v", diff, r.Degraded, err)
		}
		if got, err := s.Get(s.ctx, "p", cash.ID); err != nil || got.EmbeddingModel != s.embedder.ID() {
			t.Errorf("%+v, error %v", got, err)
		}
		if err := s.Delete(s.ctx, "p", cash.ID); err != nil {
			t.Fatal(err)
		}
		if r, err = s.Vector(s.ctx, s.query("cash payments")); err != nil || r.Total != 1 {
			t.Errorf("a deleted document: %+v, error %v", r, err)
		}

		s.embedder.Respond = func(context.Context, []string) error { return rule.Errorf(rule.CodeUnavailable, "down") }
		_, err = s.Vector(s.ctx, s.query("cash"))
		wantCode(t, "the service is down", err, rule.CodeUnavailable, "down")
		s.cfg.Embedder = nil
		_, err = s.Vector(s.ctx, s.query("cash"))
		wantCode(t, "no service", err, rule.CodeUnavailable, "TENET_EMBEDDING_MODEL")
	})
}

func TestHybrid(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shelf) {
		s.embed(s.upload("a.txt", "rotate keys"), s.upload("b.txt", "rotate tyres and rotate crops"), s.upload("c.txt", "cash"))
		r, err := s.Hybrid(s.ctx, s.query("rotate keys"))
		if diff := cmp.Diff([]string{"a.txt", "b.txt", "c.txt"}, found(r.Items)); diff != "" || err != nil || r.Mode != Hybrid || r.Degraded != nil {
			t.Errorf("(-want +got)\n%s%+v, error %v", diff, r, err)
		}
		s.embedder.Respond = func(context.Context, []string) error { return errors.New("connection refused to 10.0.0.1") }
		r, err = s.Hybrid(s.ctx, s.query("rotate keys"))
		if err != nil || r.Mode != Keyword || r.Total != 2 || r.Degraded == nil || strings.Contains(r.Degraded.Reason, "10.0.0.1") {
			t.Errorf("the service is down: %+v, error %v", r, err)
		}
		s.cfg.Embedder = nil
		r, err = s.Hybrid(s.ctx, s.query("rotate keys"))
		if err != nil || r.Mode != Keyword || r.Total != 2 || r.Degraded == nil || !strings.Contains(r.Degraded.Reason, "no embedding service") {
			t.Errorf("no service: %+v, error %v", r, err)
		}
	})
}

// An embedding service is shown neither the secrets of documents nor those of queries.
func TestSecretsAreNotEmbedded(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shelf) {
		text := "aws_access_key_id = " + "AKIA" + "IOSFODNN7" + "ABCDEFG"
		s.embed(s.upload("a.txt", "Set "+text+" and go on."))
		if _, err := s.Hybrid(s.ctx, s.query("What is "+text)); err != nil {
			t.Fatal(err)
		}
		if calls := fmt.Sprint(s.embedder.Calls()); strings.Contains(calls, "ABCDEFG") || strings.Count(calls, "[redacted:") != 2 {
			t.Errorf("the service was shown %s", calls)
		}
		if r, err := s.Fulltext(s.ctx, s.query(text)); err != nil || r.Total != 1 {
			t.Errorf("by its words: %+v, error %v", r, err)
		}
	})
}

// addRules stores rules that refer to documents.
func (s *shelf) addRules(rules ...rule.Rule) {
	s.t.Helper()
	for i := range rules {
		rules[i].ProjectID, rules[i].Version, rules[i].Statement = "p", 1, "Statement."
		rules[i].Normalize()
	}
	err := s.store.Update(s.ctx, func(tx store.Tx) error {
		cv, err := tx.RaiseCorpus(s.ctx, "p")
		if err != nil {
			return err
		}
		return tx.InsertRules(s.ctx, cv, rules)
	})
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.live.Refresh(s.ctx, "p"); err != nil {
		s.t.Fatal(err)
	}
}

func TestRelationalAndSources(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shelf) {
		one, two := s.upload("one.txt", "Rotate KEYS. 100% sure."), s.upload("two.txt", "keys")
		ref := rule.SourceRef{Kind: "document", DocumentID: strings.ToUpper(one.ID), Section: "1"}
		s.addRules(
			rule.Rule{ID: "00000000-0000-7000-8000-000000000001", SourceRefs: []rule.SourceRef{ref, ref}},
			rule.Rule{ID: "00000000-0000-7000-8000-000000000002", SourceRefs: []rule.SourceRef{ref}, Status: rule.Retired},
			rule.Rule{ID: "00000000-0000-7000-8000-000000000003", SourceRefs: []rule.SourceRef{{Kind: "document", DocumentID: "other"}}},
		)
		r, err := s.Relational(s.ctx, s.query("rotating keys"))
		if err != nil || r.Total != 2 || r.Mode != "" {
			t.Fatalf("%+v, error %v", r, err)
		}
		r, err = s.Relational(s.ctx, s.query("rotate keys"))
		if diff := cmp.Diff([]string{"one.txt", "two.txt"}, found(r.Items)); diff != "" || err != nil {
			t.Fatalf("(-want +got)\n%serror %v", diff, err)
		}
		if it := r.Items[0]; *it.RulesExtracted != 1 || *r.Items[1].RulesExtracted != 0 || it.Score != 1 || r.Items[1].Score != 0.5 {
			t.Errorf("%+v", r.Items)
		}
		if r, err = s.Relational(s.ctx, s.query(" ")); err != nil || r.Total != 2 || r.Items[0].DocumentID != two.ID {
			t.Errorf("all: %+v, error %v", r, err)
		}
		if r, err = s.Relational(s.ctx, s.query("%")); err != nil || r.Total != 0 {
			t.Errorf("no word: %+v, error %v", r, err)
		}

		sourced, err := s.BySource(s.ctx, "p", one.ID, Page{1, 10})
		if err != nil || sourced.Total != 1 || sourced.Rules[0].ID[35:] != "1" || sourced.Document.RulesExtracted != 1 {
			t.Errorf("%+v, error %v", sourced, err)
		}
		if sourced, err = s.BySource(s.ctx, "p", one.ID, Page{2, 10}); err != nil || sourced.Total != 1 || len(sourced.Rules) != 0 {
			t.Errorf("beyond the end: %+v, error %v", sourced, err)
		}
		_, err = s.BySource(s.ctx, "p", "none", Page{1, 10})
		wantCode(t, "no document", err, rule.CodeNotFound, "document")
		s.addRules(rule.Rule{ID: "00000000-0000-7000-8000-000000000004", SourceRefs: []rule.SourceRef{ref}})
		if got, err := s.Get(s.ctx, "p", one.ID); err != nil || got.RulesExtracted != 2 {
			t.Errorf("after another rule: %+v, error %v", got, err)
		}
	})
}

func TestEmbedding(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shelf) {
		long := s.upload("long.md", strings.Repeat("# Part\n\nSome text.\n\n", 150))
		queued := func() []store.Job {
			t.Helper()
			jobs, _, err := s.store.FindJobs(t.Context(), store.JobFilter{ProjectID: "p", Kind: EmbedKind, Limit: 10})
			if err != nil {
				t.Fatal(err)
			}
			return jobs
		}
		if jobs := queued(); len(jobs) != 1 || !strings.Contains(string(jobs[0].Args), long.ID) {
			t.Fatalf("jobs of the upload: %+v", jobs)
		}
		if err := s.EnqueueMissing(s.ctx); err != nil || len(queued()) != 1 {
			t.Errorf("%d jobs after asking again, error %v", len(queued()), err)
		}

		fail := errors.New("down")
		s.embedder.Respond = func(_ context.Context, texts []string) error {
			if len(s.embedder.Calls()) == 2 {
				return fail
			}
			return nil
		}
		var steps []int
		progress := func(done, total int) {
			if total != 150 {
				t.Errorf("total %d", total)
			}
			steps = append(steps, done)
		}
		work := job.Job{ProjectID: "p", Args: queued()[0].Args}
		if err := s.EmbedJob(s.ctx, work, progress); !errors.Is(err, fail) {
			t.Fatalf("error %v", err)
		}
		if err := s.EmbedJob(s.ctx, work, progress); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]int{0, 64, 0, 64, 128, 150}, steps); diff != "" {
			t.Errorf("progress (-want +got)\n%s", diff)
		}
		if calls := s.embedder.Calls(); len(calls) != 4 || calls[0][0] != "Part\nPart\n\nSome text." || len(calls[3]) != 22 {
			t.Errorf("%d calls; what was stored must not be embedded again", len(calls))
		}

		s.embedder = &llm.FakeEmbedder{Name: "fake:other"}
		s.cfg.Embedder = s.embedder
		if err := s.EnqueueMissing(s.ctx); err != nil {
			t.Fatal(err)
		}
		s.embed(long)
		if keys, err := s.store.DocumentVectorKeys(t.Context(), "p", "fake:words"); err != nil || len(keys) != 0 {
			t.Errorf("vectors of the old model are left: %v, error %v", keys, err)
		}
		if lacking, err := s.store.UnembeddedDocuments(t.Context(), "p", "fake:other"); err != nil || len(lacking) != 0 {
			t.Errorf("%v, error %v", lacking, err)
		}
		if err := s.Delete(s.ctx, "p", long.ID); err != nil {
			t.Fatal(err)
		}
		if err := s.EmbedJob(s.ctx, work, progress); rule.CodeOf(err) != rule.CodeUnavailable {
			t.Errorf("a job for another model: %v", err)
		}
		work.Args = []byte(strings.ReplaceAll(string(work.Args), "fake:words", "fake:other"))
		if err := s.EmbedJob(s.ctx, work, progress); err != nil {
			t.Errorf("a document that is gone: %v", err)
		}
	})
}

// Vectors that do not fit into memory are read for each search, and the answer is the same.
func TestVectorsBeyondTheLimit(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shelf) {
		s.embed(s.upload("a.txt", "alpha beta"), s.upload("b.txt", "beta gamma"), s.upload("c.txt", "delta"))
		all, err := s.Vector(s.ctx, s.query("beta gamma"))
		if err != nil {
			t.Fatal(err)
		}
		s.vectors = newVectors(s.store, size(make([]float32, store.Dimensions)))
		for range 2 {
			r, err := s.Vector(s.ctx, s.query("beta gamma"))
			if diff := cmp.Diff(all, r); diff != "" || err != nil {
				t.Errorf("(-all +with little memory)\n%s, error %v", diff, err)
			}
			if s.vectors.held > s.vectors.limit {
				t.Errorf("%d bytes are held", s.vectors.held)
			}
		}
	})
}
