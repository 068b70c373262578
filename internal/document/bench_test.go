package document

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"tenet/internal/auth"
	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/store/sqlstore"
)

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

func benchShelf(b *testing.B) *Documents {
	b.Helper()
	db, err := sqlstore.OpenSQLite(b.Context(), b.TempDir(), sqlstore.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	err = db.Update(b.Context(), func(tx store.Tx) error {
		return tx.CreateProject(b.Context(), rule.Project{ID: "p", CreatedAt: noon, UpdatedAt: noon})
	})
	if err != nil {
		b.Fatal(err)
	}
	return New(Config{Store: db, Views: corpus.NewLive(corpus.Config{Store: db})})
}

// A text file of 1 MiB, some 350 pages, with the reading process and the index.
func BenchmarkUpload(b *testing.B) {
	d, r := benchShelf(b), rand.New(rand.NewPCG(1, 1))
	ctx := auth.WithActor(b.Context(), auth.Local("bench"))
	b.SetBytes(1 << 20)
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		text := fmt.Sprint(i, " ", drawWords(r, 1<<20/4))[:1<<20]
		b.StartTimer()
		if _, err := d.Upload(ctx, "p", Upload{Filename: "a.txt", Content: []byte(text)}); err != nil {
			b.Fatal(err)
		}
	}
}

// Keyword search of a few words in 200 documents of 50 pages.
func BenchmarkFulltext(b *testing.B) {
	d, r := benchShelf(b), rand.New(rand.NewPCG(1, 2))
	ctx := auth.WithActor(b.Context(), auth.Local("bench"))
	chunks := 0
	for i := range 200 {
		made, err := d.Upload(ctx, "p", Upload{Filename: fmt.Sprintf("%d.txt", i), Content: []byte(drawWords(r, 20_000))})
		if err != nil {
			b.Fatal(err)
		}
		chunks += made.Chunks
	}
	defer func() { b.ReportMetric(float64(chunks), "chunks") }()
	for b.Loop() {
		if _, err := d.Fulltext(ctx, Query{ProjectID: "p", Text: drawWords(r, 4), Page: Page{1, 20}}); err != nil {
			b.Fatal(err)
		}
	}
}

// Comparing a query with the vectors of 20,000 chunks in memory.
func BenchmarkNearest(b *testing.B) {
	const documents, blocks = 100, 200 / embedBatch
	r := rand.New(rand.NewPCG(1, 3))
	v := newVectors(manyVectors{}, 1<<30)
	keys := []store.DocumentVectors{}
	for doc := range documents {
		for n := range blocks + 1 {
			keys = append(keys, store.DocumentVectors{DocumentID: fmt.Sprint(doc), N: n*embedBatch + 1})
		}
	}
	v.known("p", "m", keys)
	chunks := 0
	for _, k := range keys {
		size := min(embedBatch, 200-k.N+1)
		block := make([]float32, size*store.Dimensions)
		for i := range block {
			block[i] = r.Float32() - 0.5
		}
		v.hold("p", "m", blockKey{k.DocumentID, k.N}, block)
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
	store.Reader

	keys []store.DocumentVectors
}

func (m manyVectors) DocumentVectorKeys(context.Context, string, string) ([]store.DocumentVectors, error) {
	return m.keys, nil
}

func (manyVectors) EachDocumentVectors(context.Context, string, string, []string, func(store.DocumentVectors) error) error {
	return nil
}
