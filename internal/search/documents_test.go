package search

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
	"tenet/internal/document"
	"tenet/internal/job"
	"tenet/internal/llm/llmtest"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/store/litetest"
	"tenet/internal/store/pgtest"
	"tenet/internal/store/sqlstore"
	"tenet/internal/wire"
)

// docShelf is documents on a fresh database with the project p, and the searches over them.
type docShelf struct {
	*document.Documents
	search   *DocumentSearcher
	t        *testing.T
	ctx      context.Context //nolint:containedctx // the test's own
	store    store.Store
	live     *corpus.Live
	embedder *llmtest.Embedder
}

// onShelves runs a test on both databases, with an embedding service whose jobs nobody carries out.
func onShelves(t *testing.T, test func(t *testing.T, s *docShelf)) {
	for name, open := range map[string]func(t *testing.T) (store.Store, error){
		"sqlite": func(t *testing.T) (store.Store, error) {
			return sqlstore.OpenSQLite(t.Context(), litetest.Dir(t), sqlstore.Options{})
		},
		"postgres": func(t *testing.T) (store.Store, error) {
			return sqlstore.OpenPostgres(t.Context(), pgtest.DSN(t), sqlstore.Options{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			db, err := open(t)
			if err != nil {
				t.Fatal(err)
			}
			test(t, newDocShelf(t, db))
		})
	}
}

func newDocShelf(t *testing.T, db store.Store) *docShelf {
	l := newLibrary(t, db)
	s := &docShelf{t: t, store: l.store, embedder: &llmtest.Embedder{}, ctx: auth.WithActor(t.Context(), auth.Actor{Name: "ann"})}
	s.live = corpus.NewLive(corpus.Config{Store: corpus.Store{Projects: db.Projects, Federation: db.Federation, Embeddings: db.Embeddings, Waivers: db.Waivers}})
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	s.Documents = document.New(document.Config{
		Store: document.Store{Updater: db, Documents: db.Documents, Projects: db.Projects, Vectors: db.Vectors}, Views: s.live, Embedder: s.embedder,
		Queue: job.NewQueue(time.Now), Now: func() time.Time { now = now.Add(time.Second); return now },
	})
	s.search = NewDocuments(DocumentConfig{
		Store: DocumentStore{Documents: db.Documents, Projects: db.Projects, Vectors: db.Vectors}, Sources: s.Sources, Embedder: s.embedder,
	})
	return s
}

// upload stores a text file of a name.
func (s *docShelf) upload(name, text string) wire.Document {
	s.t.Helper()
	d, err := s.Upload(s.ctx, "p", wire.Upload{Filename: name, Content: []byte(text)})
	if err != nil {
		s.t.Fatal(err)
	}
	return d
}

// embed does what the jobs of uploads would.
func (s *docShelf) embed(documents ...wire.Document) {
	s.t.Helper()
	for _, d := range documents {
		if err := s.EmbedDocument(s.ctx, "p", d.ID, func(int, int) {}); err != nil {
			s.t.Fatal(err)
		}
	}
}

func wantCode(t *testing.T, about string, err error, want rule.Code, words string) {
	t.Helper()
	if got := rule.CodeOf(err); err == nil || got != want || !strings.Contains(err.Error(), words) {
		t.Errorf("%s: error %v of code %q, want %s with %q", about, err, got, want, words)
	}
}

// addRules stores rules that refer to documents.
func (s *docShelf) addRules(rules ...rule.Rule) {
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

func TestFulltextOfDocuments(t *testing.T) {
	t.Parallel()
	onShelves(t, func(t *testing.T, s *docShelf) {
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
			r, err := s.search.Fulltext(s.ctx, s.query(query))
			if err != nil {
				t.Fatal(err)
			}
			got := filenames(r.Items)
			if query == "cash.txt" && len(got) > 0 { // the name in two words finds others too
				got = got[:1]
				r.Total = 1
			}
			if diff := cmp.Diff(want, got); diff != "" || r.Total != len(want) || r.Mode != wire.Keyword || r.Degraded != nil {
				t.Errorf("%q finds %d (-want +got)\n%s", query, r.Total, diff)
			}
		}
		r, err := s.search.Fulltext(s.ctx, s.query("rotating secrets"))
		if err != nil {
			t.Fatal(err)
		}
		it := r.Items[0]
		if it.Snippet != "Keys Secrets are rotated every year. Ask first." || it.Section != "Keys" || it.Score <= 0 || it.SizeBytes == 0 ||
			it.UploadedBy != "ann" || it.MIMEType != "text/markdown" || it.RulesExtracted != nil {
			t.Errorf("%+v", it)
		}
		if diff := cmp.Diff([]wire.DocumentHighlight{{Start: 5, End: 12}, {Start: 17, End: 24}}, it.Highlights); diff != "" {
			t.Errorf("highlights (-want +got)\n%s", diff)
		}
		r, err = s.search.Fulltext(s.ctx, DocumentQuery{ProjectID: "p", Text: "year", Page: Page{Number: 9, Size: 10}})
		if err != nil || len(r.Items) != 0 || r.Total != 2 {
			t.Errorf("beyond the end: %+v, error %v", r, err)
		}
		for about, q := range map[string]string{"empty": " ", "too long": strings.Repeat("x", MaxText+1)} {
			_, err = s.search.Fulltext(s.ctx, s.query(q))
			wantCode(t, about, err, rule.CodeInvalid, "invalid")
		}
		_, err = s.search.Fulltext(s.ctx, DocumentQuery{ProjectID: "none", Text: "x", Page: Page{Number: 1, Size: 1}})
		wantCode(t, "no project", err, rule.CodeNotFound, "project")
	})
}

func TestVectorSearchOfDocuments(t *testing.T) {
	t.Parallel()
	onShelves(t, func(t *testing.T, s *docShelf) {
		keys, cash := s.upload("keys.md", "# Doors\n\nLock all doors.\n\n# Keys\n\nrotate keys yearly\n"), s.upload("cash.txt", "no cash payments")
		r, err := s.search.Vector(s.ctx, s.query("rotate keys yearly"))
		if err != nil || r.Total != 0 || r.Degraded == nil || !strings.Contains(r.Degraded.Reason, "2 of 2") {
			t.Errorf("without vectors: %+v, error %v", r, err)
		}
		s.embed(keys)
		for range 2 { // read, then kept
			r, err = s.search.Vector(s.ctx, s.query("rotate keys yearly"))
			if err != nil || r.Total != 1 || r.Mode != wire.Vector || r.Degraded == nil || r.Items[0].Section != "Keys" || r.Items[0].Score < 0.8 {
				t.Errorf("%+v, error %v", r, err)
			}
		}
		s.embed(cash)
		r, err = s.search.Vector(s.ctx, s.query("cash payments"))
		if diff := cmp.Diff([]string{"cash.txt", "keys.md"}, filenames(r.Items)); diff != "" || err != nil || r.Degraded != nil {
			t.Errorf("(-want +got)\n%s%+v, error %v", diff, r.Degraded, err)
		}
		if got, err := s.Get(s.ctx, "p", cash.ID); err != nil || got.EmbeddingModel != s.embedder.ID() {
			t.Errorf("%+v, error %v", got, err)
		}
		if err := s.Delete(s.ctx, "p", cash.ID); err != nil {
			t.Fatal(err)
		}
		if r, err = s.search.Vector(s.ctx, s.query("cash payments")); err != nil || r.Total != 1 {
			t.Errorf("a deleted document: %+v, error %v", r, err)
		}

		s.embedder.Respond = func(context.Context, []string) error { return rule.Errorf(rule.CodeUnavailable, "down") }
		_, err = s.search.Vector(s.ctx, s.query("cash"))
		wantCode(t, "the service is down", err, rule.CodeUnavailable, "down")
		s.search = NewDocuments(DocumentConfig{Store: s.search.cfg.Store, Sources: s.Sources})
		_, err = s.search.Vector(s.ctx, s.query("cash"))
		wantCode(t, "no service", err, rule.CodeUnavailable, "TENET_EMBEDDING_MODEL")
	})
}

func TestHybridSearchOfDocuments(t *testing.T) {
	t.Parallel()
	onShelves(t, func(t *testing.T, s *docShelf) {
		s.embed(s.upload("a.txt", "rotate keys"), s.upload("b.txt", "rotate tyres and rotate crops"), s.upload("c.txt", "cash"))
		r, err := s.search.Hybrid(s.ctx, s.query("rotate keys"))
		if diff := cmp.Diff([]string{"a.txt", "b.txt", "c.txt"}, filenames(r.Items)); diff != "" || err != nil || r.Mode != wire.Hybrid || r.Degraded != nil {
			t.Errorf("(-want +got)\n%s%+v, error %v", diff, r, err)
		}
		s.embedder.Respond = func(context.Context, []string) error { return errors.New("connection refused to 10.0.0.1") }
		r, err = s.search.Hybrid(s.ctx, s.query("rotate keys!"))
		if err != nil || r.Mode != wire.Keyword || r.Total != 2 || r.Degraded == nil || strings.Contains(r.Degraded.Reason, "10.0.0.1") {
			t.Errorf("the service is down: %+v, error %v", r, err)
		}
		s.search = NewDocuments(DocumentConfig{Store: s.search.cfg.Store, Sources: s.Sources})
		r, err = s.search.Hybrid(s.ctx, s.query("rotate keys"))
		if err != nil || r.Mode != wire.Keyword || r.Total != 2 || r.Degraded == nil || !strings.Contains(r.Degraded.Reason, "no embedding service") {
			t.Errorf("no service: %+v, error %v", r, err)
		}
	})
}

// Vectors that do not fit into memory are read for each search, and the answer is the same.
func TestDocumentVectorsBeyondTheLimit(t *testing.T) {
	t.Parallel()
	onShelves(t, func(t *testing.T, s *docShelf) {
		s.embed(s.upload("a.txt", "alpha beta"), s.upload("b.txt", "beta gamma"), s.upload("c.txt", "delta"))
		all, err := s.search.Vector(s.ctx, s.query("beta gamma"))
		if err != nil {
			t.Fatal(err)
		}
		s.search.vectors = newDocumentVectors(s.store.Vectors, size(make([]float32, store.Dimensions)))
		for range 2 {
			r, err := s.search.Vector(s.ctx, s.query("beta gamma"))
			if diff := cmp.Diff(all, r); diff != "" || err != nil {
				t.Errorf("(-all +with little memory)\n%s, error %v", diff, err)
			}
			if s.search.vectors.bytes > s.search.vectors.limit {
				t.Errorf("%d bytes are held", s.search.vectors.bytes)
			}
		}
	})
}

// found are the file names of a result.
func filenames(items []wire.DocumentSearchItem) []string {
	var names []string
	for _, it := range items {
		names = append(names, it.Filename)
	}
	return names
}

func (s *docShelf) query(text string) DocumentQuery {
	return DocumentQuery{ProjectID: "p", Text: text, Page: Page{Number: 1, Size: 10}}
}

// An embedding service is shown neither the secrets of documents nor those of queries.
func TestSecretsOfDocumentsAndQueriesAreNotEmbedded(t *testing.T) {
	t.Parallel()
	onShelves(t, func(t *testing.T, s *docShelf) {
		text := "aws_access_key_id = " + "AKIA" + "IOSFODNN7" + "ABCDEFG"
		s.embed(s.upload("a.txt", "Set "+text+" and go on."))
		if _, err := s.search.Hybrid(s.ctx, s.query("What is "+text)); err != nil {
			t.Fatal(err)
		}
		if calls := fmt.Sprint(s.embedder.Calls()); strings.Contains(calls, "ABCDEFG") || strings.Count(calls, "[redacted:") != 2 {
			t.Errorf("the service was shown %s", calls)
		}
		if r, err := s.search.Fulltext(s.ctx, s.query(text)); err != nil || r.Total != 1 {
			t.Errorf("by its words: %+v, error %v", r, err)
		}
	})
}

func TestRelationalSearchOfDocuments(t *testing.T) {
	t.Parallel()
	onShelves(t, func(t *testing.T, s *docShelf) {
		one, two := s.upload("one.txt", "Rotate KEYS. 100% sure."), s.upload("two.txt", "keys")
		ref := rule.SourceRef{Kind: "document", DocumentID: strings.ToUpper(one.ID), Section: "1"}
		s.addRules(
			rule.Rule{ID: "00000000-0000-7000-8000-000000000001", SourceRefs: []rule.SourceRef{ref, ref}},
			rule.Rule{ID: "00000000-0000-7000-8000-000000000002", SourceRefs: []rule.SourceRef{ref}, Status: rule.Retired},
			rule.Rule{ID: "00000000-0000-7000-8000-000000000003", SourceRefs: []rule.SourceRef{{Kind: "document", DocumentID: "other"}}},
		)
		r, err := s.search.Relational(s.ctx, s.query("rotating keys"))
		if err != nil || r.Total != 2 || r.Mode != "" {
			t.Fatalf("%+v, error %v", r, err)
		}
		r, err = s.search.Relational(s.ctx, s.query("rotate keys"))
		if diff := cmp.Diff([]string{"one.txt", "two.txt"}, filenames(r.Items)); diff != "" || err != nil {
			t.Fatalf("(-want +got)\n%serror %v", diff, err)
		}
		if it := r.Items[0]; *it.RulesExtracted != 1 || *r.Items[1].RulesExtracted != 0 || it.Score != 1 || r.Items[1].Score != 0.5 {
			t.Errorf("%+v", r.Items)
		}
		if r, err = s.search.Relational(s.ctx, s.query(" ")); err != nil || r.Total != 2 || r.Items[0].DocumentID != two.ID {
			t.Errorf("all: %+v, error %v", r, err)
		}
		if r, err = s.search.Relational(s.ctx, s.query("%")); err != nil || r.Total != 0 {
			t.Errorf("no word: %+v, error %v", r, err)
		}
	})
}
