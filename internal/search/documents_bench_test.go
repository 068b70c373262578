package search

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"tenet/internal/auth"
	"tenet/internal/corpus"
	"tenet/internal/document"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/store/sqlstore"
	"tenet/internal/wire"
)

// chunkBatch is how many chunks of a document share a block of vectors.
const chunkBatch = 64

// words are drawn with the frequencies of language: the second half as often as the first, and so on.
func drawWords(r *rand.Rand, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "w%d ", int(50_000*r.Float64()*r.Float64()*r.Float64()))
		if i%12 == 11 {
			b.WriteString(". ")
		}
	}
	return b.String()
}

// Keyword search of a few words in 200 documents of 50 pages.
func BenchmarkFulltextOfDocuments(b *testing.B) {
	db, err := sqlstore.OpenSQLite(b.Context(), b.TempDir(), sqlstore.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	err = db.Update(b.Context(), func(tx store.Tx) error { return tx.Projects.Create(b.Context(), rule.Project{ID: "p"}) })
	if err != nil {
		b.Fatal(err)
	}
	live := corpus.NewLive(corpus.Config{Store: corpus.Store{Projects: db.Projects, Federation: db.Federation, Embeddings: db.Embeddings, Waivers: db.Waivers}})
	d := document.New(document.Config{
		Store: document.Store{Updater: db, Documents: db.Documents, Projects: db.Projects, Vectors: db.Vectors}, Views: live,
	})
	s := NewDocuments(DocumentConfig{Store: DocumentStore{Documents: db.Documents, Projects: db.Projects, Vectors: db.Vectors}, Sources: d.Sources})
	r := rand.New(rand.NewPCG(1, 2))
	ctx := auth.WithActor(b.Context(), auth.Local("bench"))
	chunks := 0
	for i := range 200 {
		made, err := d.Upload(ctx, "p", wire.Upload{Filename: fmt.Sprintf("%d.txt", i), Content: []byte(drawWords(r, 20_000))})
		if err != nil {
			b.Fatal(err)
		}
		chunks += made.Chunks
	}
	defer func() { b.ReportMetric(float64(chunks), "chunks") }()
	for b.Loop() {
		if _, err := s.Fulltext(ctx, DocumentQuery{ProjectID: "p", Text: drawWords(r, 4), Page: Page{Number: 1, Size: 20}}); err != nil {
			b.Fatal(err)
		}
	}
}

// Comparing a query with the vectors of 20,000 chunks in memory.
func BenchmarkNearestDocuments(b *testing.B) {
	const documents, blocks = 100, 200 / chunkBatch
	r := rand.New(rand.NewPCG(1, 3))
	v := newDocumentVectors(manyVectors{}, 1<<30)
	keys := []store.DocumentVectors{}
	for doc := range documents {
		for n := range blocks + 1 {
			keys = append(keys, store.DocumentVectors{DocumentID: fmt.Sprint(doc), N: n*chunkBatch + 1})
		}
	}
	v.cached("p", "m", keys)
	chunks := 0
	for _, k := range keys {
		size := min(chunkBatch, 200-k.N+1)
		block := make([]float32, size*store.Dimensions)
		for i := range block {
			block[i] = r.Float32() - 0.5
		}
		v.keep("p", "m", blockKey{k.DocumentID, k.N}, block)
		chunks += size
	}
	v.store = manyVectors{keys: keys}
	query := make([]float32, store.Dimensions)
	query[1] = 1
	defer func() { b.ReportMetric(float64(chunks), "chunks") }()
	for b.Loop() {
		list, err := v.nearest(b.Context(), "p", "m", query)
		if err != nil || len(list) != documents {
			b.Fatal(len(list), err)
		}
	}
}

// manyVectors is a store that knows which vectors there are; they are all in memory.
type manyVectors struct {
	store.VectorReader

	keys []store.DocumentVectors
}

func (m manyVectors) Keys(context.Context, string, string) ([]store.DocumentVectors, error) {
	return m.keys, nil
}

func (manyVectors) Each(context.Context, string, string, []string, func(store.DocumentVectors) error) error {
	return nil
}
