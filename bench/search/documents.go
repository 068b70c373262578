package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"tenet/internal/auth"
	"tenet/internal/corpus"
	"tenet/internal/document"
	"tenet/internal/rule"
	"tenet/internal/search"
	"tenet/internal/store"
	"tenet/internal/store/sqlstore"
	"tenet/internal/wire"
)

// documents prints how well and how fast the texts of a collection are found as documents, each uploaded as a text file: by the index in
// memory, and by that of the database, which searches projects with more text than memory may hold.
func documents(data, name string) error {
	c, err := read(data, name)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "tenet-bench")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	ctx := auth.WithActor(context.Background(), auth.Local("bench"))
	db, err := sqlstore.OpenSQLite(ctx, dir, sqlstore.Options{})
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	if err := db.Update(ctx, func(tx store.Tx) error { return tx.Projects.Create(ctx, rule.Project{ID: "p"}) }); err != nil {
		return err
	}
	live := corpus.NewLive(corpus.Config{Store: corpus.Store{Projects: db.Projects, Federation: db.Federation, Embeddings: db.Embeddings, Waivers: db.Waivers}})
	d := document.New(document.Config{Store: document.Store{Updater: db, Documents: db.Documents, Projects: db.Projects, Vectors: db.Vectors}, Views: live})
	byDocument := map[string]string{}
	for i := range c.rules {
		r := &c.rules[i].Rule
		made, err := d.Upload(ctx, "p", wire.Upload{Filename: fmt.Sprintf("%05d.txt", i), Title: r.Statement, Content: []byte(cmp.Or(r.Rationale, r.Statement))})
		if rule.CodeOf(err) == rule.CodeConflict || rule.CodeOf(err) == rule.CodeInvalid {
			continue // an equal text, or none
		}
		if err != nil {
			return err
		}
		byDocument[made.ID] = r.ID
	}
	fmt.Printf("## Documents\n\n%d of %s\n\n| index | R@10 | MAP@10 | nDCG@10 | first search, ms | p50 ms | p95 ms |\n|---|---|---|---|---|---|---|\n", len(byDocument), name)
	for _, kind := range []struct {
		name   string
		memory int64
	}{{"in memory", 0}, {"of the database", 1}} {
		s := search.NewDocuments(search.DocumentConfig{
			Store: search.DocumentStore{Documents: db.Documents, Projects: db.Projects, Vectors: db.Vectors}, Sources: d.Sources, TextMemory: kind.memory,
		})
		var took []time.Duration
		failed := error(nil)
		found := c.measure(func(i int) []string {
			begin := time.Now()
			r, err := s.Fulltext(ctx, search.DocumentQuery{ProjectID: "p", Text: c.queries[i].text, Page: search.Page{Number: 1, Size: top}})
			took = append(took, time.Since(begin))
			failed = cmp.Or(failed, err)
			ids := make([]string, len(r.Items))
			for k, item := range r.Items {
				ids[k] = byDocument[item.DocumentID]
			}
			return ids
		}, 0, 1)
		if failed != nil {
			return failed
		}
		first := took[0]
		slices.Sort(took)
		ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
		fmt.Printf("| %s | %.3f | %.3f | %.3f | %.1f | %.1f | %.1f |\n", kind.name, found.recall, found.precision, found.gain, ms(first), ms(took[len(took)/2]), ms(took[len(took)*95/100]))
	}
	fmt.Println()
	return nil
}
