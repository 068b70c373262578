package document

import (
	"context"
	"crypto/sha512"
	"encoding/base64"
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
	"tenet/internal/llm/llmtest"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/store/litetest"
	"tenet/internal/store/pgtest"
	"tenet/internal/store/sqlstore"
	"tenet/internal/wire"
)

// shelf is documents on a fresh database with the project p.
type shelf struct {
	*Documents
	t        *testing.T
	ctx      context.Context //nolint:containedctx // the test's own
	store    store.Store
	live     *corpus.Live
	embedder *llmtest.Embedder
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
	s := &shelf{t: t, store: db, embedder: &llmtest.Embedder{}, ctx: auth.WithActor(t.Context(), auth.Actor{Name: "ann"})}
	s.live = corpus.NewLive(corpus.Config{Store: corpus.Store{Projects: db.Projects, Federation: db.Federation, Embeddings: db.Embeddings, Waivers: db.Waivers}})
	err := db.Update(t.Context(), func(tx store.Tx) error {
		return tx.Projects.Create(t.Context(), rule.Project{ID: "p", CreatedAt: noon, UpdatedAt: noon})
	})
	if err != nil {
		t.Fatal(err)
	}
	now := noon
	s.Documents = New(Config{
		Store: Store{Updater: db, Documents: db.Documents, Projects: db.Projects, Vectors: db.Vectors}, Views: s.live, Embedder: s.embedder, Queue: job.NewQueue(time.Now),
		Now: func() time.Time { now = now.Add(time.Second); return now },
	})
	return s
}

// upload keeps a text file of a name.
func (s *shelf) upload(name, text string) wire.Document {
	s.t.Helper()
	d, err := s.Upload(s.ctx, "p", wire.Upload{Filename: name, Content: []byte(text)})
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
	t.Parallel()
	onBoth(t, func(t *testing.T, s *shelf) {
		got := s.upload(`C:\docs\policy.md`, "# Key policy\n\nRotate keys.\n\n## Doors\n\nLock doors.\n")
		want := wire.Document{
			ID: got.ID, ProjectID: "p", Filename: "policy.md", MIMEType: "text/markdown", SizeBytes: 50, Title: "Key policy", SHA256: got.SHA256,
			UploadedBy: "ann", UploadedAt: got.UploadedAt, Chunks: 2, Characters: 46,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		if again, err := s.Get(s.ctx, "p", got.ID); err != nil || again != got {
			t.Errorf("%+v, error %v", again, err)
		}
		if title, text, unread, err := s.Text(s.ctx, "p", got.ID); err != nil || unread != "" || title != "Key policy" || text != "Key policy\n\nRotate keys.\n\nDoors\n\nLock doors." {
			t.Errorf("%q, %q, error %v", title, text, err)
		}
		if _, content, err := s.Content(s.ctx, "p", got.ID); err != nil || !strings.HasPrefix(string(content), "# Key") {
			t.Errorf("%q, error %v", content, err)
		}
		pdf, err := s.Upload(s.ctx, "p", wire.Upload{
			Filename: "a.pdf", Content: documenttest.PDF([]documenttest.Line{{Text: "Pay late.", Size: 11}}), Title: "Terms", DocumentType: "contract",
		})
		if err != nil || pdf.Pages != 1 || pdf.Title != "Terms" || pdf.DocumentType != "contract" || pdf.MIMEType != "application/pdf" {
			t.Errorf("%+v, error %v", pdf, err)
		}
		_, err = s.Upload(s.ctx, "p", wire.Upload{Filename: "other.md", Content: []byte("# Key policy\n\nRotate keys.\n\n## Doors\n\nLock doors.\n")})
		wantCode(t, "the same content", err, rule.CodeConflict, got.ID)

		list, total, err := s.List(s.ctx, "p", rule.Page{Number: 1, Size: 1})
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

		entries, _, err := s.store.Audit.Find(t.Context(), store.AuditFilter{ProjectID: "p", Kind: "document", Limit: 10})
		if err != nil || len(entries) != 4 || entries[0].Actor != "ann" {
			t.Errorf("%d records, error %v", len(entries), err)
		}
	})
}

func TestRefusedUploadsLeaveNothing(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *shelf) {
		for about, tt := range map[string]struct {
			u     wire.Upload
			words string
		}{
			"no name":         {wire.Upload{Filename: "../..", Content: []byte("x")}, "upload"},
			"empty":           {wire.Upload{Filename: "a.txt"}, "empty"},
			"binary":          {wire.Upload{Filename: "a.txt", Content: []byte("\x00\x01")}, "binary"},
			"wrong ending":    {wire.Upload{Filename: "a.pdf", Content: []byte("text")}, "holds text"},
			"damaged":         {wire.Upload{Filename: "a.pdf", Content: []byte("%PDF-1.4\n%%EOF")}, "damaged"},
			"no text":         {wire.Upload{Filename: "a.html", Content: []byte("<html><script>x</script>")}, "no text"},
			"title too long":  {wire.Upload{Filename: "a.txt", Content: []byte("x"), Title: strings.Repeat("x", 301)}, "upload"},
			"type with lines": {wire.Upload{Filename: "a.txt", Content: []byte("x"), DocumentType: "a\nb"}, "upload"},
		} {
			_, err := s.Upload(s.ctx, "p", tt.u)
			wantCode(t, about, err, rule.CodeInvalid, tt.words)
		}
		_, err := s.Upload(s.ctx, "none", wire.Upload{Filename: "a.txt", Content: []byte("x")})
		wantCode(t, "no project", err, rule.CodeNotFound, "project")
		s.cfg.Limits = extract.Limits{Characters: 10}
		_, err = s.Upload(s.ctx, "p", wire.Upload{Filename: "a.txt", Content: []byte("more than ten characters")})
		wantCode(t, "too much text", err, rule.CodeTooLarge, "characters")
		if _, total, err := s.store.Documents.List(s.ctx, "p", 0, 1); err != nil || total != 0 {
			t.Errorf("%d documents are left, error %v", total, err)
		}
	})
}

// embed does what the jobs of uploads would.
func (s *shelf) embed(documents ...wire.Document) {
	s.t.Helper()
	for _, d := range documents {
		if err := s.EmbedDocument(s.ctx, "p", d.ID, func(int, int) {}); err != nil {
			s.t.Fatal(err)
		}
	}
}

// addRules stores rules that refer to documents.
func (s *shelf) addRules(rules ...rule.Rule) {
	s.t.Helper()
	for i := range rules {
		rules[i].ProjectID, rules[i].Version, rules[i].Statement = "p", 1, "Statement."
		rules[i].Normalize()
	}
	err := s.store.Update(s.ctx, func(tx store.Tx) error {
		cv, err := tx.Projects.RaiseCorpus(s.ctx, "p")
		if err != nil {
			return err
		}
		return tx.Rules.Insert(s.ctx, cv, rules)
	})
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.live.Refresh(s.ctx, "p"); err != nil {
		s.t.Fatal(err)
	}
}

func TestEmbedding(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *shelf) {
		long := s.upload("long.md", strings.Repeat("# Part\n\nSome text.\n\n", 150))
		queued := func() []store.Job {
			t.Helper()
			jobs, _, err := s.store.Jobs.Find(t.Context(), store.JobFilter{ProjectID: "p", Kind: EmbedKind, Limit: 10})
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
		work := wire.Job{ProjectID: "p", Args: queued()[0].Args}
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

		s.embedder = &llmtest.Embedder{Name: "fake:other"}
		s.cfg.Embedder = s.embedder
		if err := s.EnqueueMissing(s.ctx); err != nil {
			t.Fatal(err)
		}
		s.embed(long)
		if keys, err := s.store.Vectors.Keys(t.Context(), "p", "fake:words"); err != nil || len(keys) != 0 {
			t.Errorf("vectors of the old model are left: %v, error %v", keys, err)
		}
		if lacking, err := s.store.Vectors.Unembedded(t.Context(), "p", "fake:other"); err != nil || len(lacking) != 0 {
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

// The service that embeds is not shown the secrets of documents.
func TestSecretsAreNotEmbedded(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *shelf) {
		text := "aws_access_key_id = " + "AKIA" + "IOSFODNN7" + "ABCDEFG"
		s.embed(s.upload("a.txt", "Set "+text+" and go on."))
		if calls := fmt.Sprint(s.embedder.Calls()); strings.Contains(calls, "ABCDEFG") || strings.Count(calls, "[redacted:") != 1 {
			t.Errorf("the service was shown %s", calls)
		}
	})
}

// A private key may begin in one chunk and end in another.
func TestKeysOverChunksAreNotEmbedded(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *shelf) {
		var key strings.Builder
		for i := range 70 {
			sum := sha512.Sum512([]byte{byte(i)})
			key.WriteString(base64.StdEncoding.EncodeToString(sum[:48]) + "\n")
		}
		body := key.String()
		s.embed(s.upload("a.txt", "The key of the server:\n\n-----BEGIN RSA "+"PRIVATE KEY-----\n"+body+"-----END RSA "+"PRIVATE KEY-----\n\nKeep it."))
		calls := fmt.Sprint(s.embedder.Calls())
		for line := range strings.Lines(body) {
			if strings.Contains(calls, strings.TrimSpace(line)) {
				t.Fatalf("the service was shown %s", line)
			}
		}
		if !strings.Contains(calls, "Keep it.") || !strings.Contains(calls, "[redacted:private-key]") {
			t.Errorf("the service was shown %s", calls)
		}
	})
}

func TestSources(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *shelf) {
		one := s.upload("one.txt", "Rotate KEYS. 100% sure.")
		ref := rule.SourceRef{Kind: "document", DocumentID: strings.ToUpper(one.ID), Section: "1"}
		s.addRules(
			rule.Rule{ID: "00000000-0000-7000-8000-000000000001", SourceRefs: []rule.SourceRef{ref, ref}},
			rule.Rule{ID: "00000000-0000-7000-8000-000000000002", SourceRefs: []rule.SourceRef{ref}, Status: rule.Retired},
			rule.Rule{ID: "00000000-0000-7000-8000-000000000003", SourceRefs: []rule.SourceRef{{Kind: "document", DocumentID: "other"}}},
		)
		sourced, err := s.BySource(s.ctx, "p", one.ID, rule.Page{Number: 1, Size: 10})
		if err != nil || sourced.Total != 1 || sourced.Rules[0].ID[35:] != "1" || sourced.Document.RulesExtracted != 1 {
			t.Errorf("%+v, error %v", sourced, err)
		}
		if sourced, err = s.BySource(s.ctx, "p", one.ID, rule.Page{Number: 2, Size: 10}); err != nil || sourced.Total != 1 || len(sourced.Rules) != 0 {
			t.Errorf("beyond the end: %+v, error %v", sourced, err)
		}
		_, err = s.BySource(s.ctx, "p", "none", rule.Page{Number: 1, Size: 10})
		wantCode(t, "no document", err, rule.CodeNotFound, "document")
		s.addRules(rule.Rule{ID: "00000000-0000-7000-8000-000000000004", SourceRefs: []rule.SourceRef{ref}})
		if got, err := s.Get(s.ctx, "p", one.ID); err != nil || got.RulesExtracted != 2 {
			t.Errorf("after another rule: %+v, error %v", got, err)
		}
	})
}
