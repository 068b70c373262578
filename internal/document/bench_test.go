package document

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"tenet/internal/auth"
	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/store/sqlstore"
	"tenet/internal/wire"
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
		return tx.Projects.Create(b.Context(), rule.Project{ID: "p", CreatedAt: noon, UpdatedAt: noon})
	})
	if err != nil {
		b.Fatal(err)
	}
	return New(Config{Store: Store{Updater: db, Documents: db.Documents, Projects: db.Projects, Vectors: db.Vectors}, Views: corpus.NewLive(corpus.Config{Store: corpus.Store{Projects: db.Projects, Federation: db.Federation, Embeddings: db.Embeddings, Waivers: db.Waivers}})})
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
		if _, err := d.Upload(ctx, "p", wire.Upload{Filename: "a.txt", Content: []byte(text)}); err != nil {
			b.Fatal(err)
		}
	}
}
