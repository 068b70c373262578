package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/rule"
	"tenet/internal/store"
)

// newDocument returns a document of two chunks, whose words are those of their text.
func newDocument(n int, name string, texts ...string) (store.Document, []store.DocumentChunk) {
	d := store.Document{
		ProjectID: "p", ID: fmt.Sprintf("00000000-0000-7000-8000-%012d", n), Filename: name, MIMEType: "text/plain", Title: "Title of " + name,
		DocumentType: "policy", SHA256: fmt.Sprintf("%064d", n), SizeBytes: 3, UploadedBy: "ann", UploadedAt: at.Add(time.Duration(n) * time.Second),
		Pages: 2, Characters: 100, Chunks: len(texts), Unread: "page 2 shows no text and may be a picture of it",
	}
	chunks := []store.DocumentChunk{{Text: name, Words: strings.Fields(name)}}
	for i, text := range texts {
		chunks = append(chunks, store.DocumentChunk{
			N: i + 1, Section: "A > B", Page: i + 1, Line: 10 * i, Text: text + "\n\n", Words: strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return r == ' ' || r == '.' }),
		})
	}
	return d, chunks
}

func (f *fixture) insertDocument(n int, name string, texts ...string) store.Document {
	f.t.Helper()
	d, chunks := newDocument(n, name, texts...)
	f.update(func(tx store.Tx) error { return tx.Documents.Insert(f.ctx, d, []byte("\x00\xff"+name), chunks) })
	return d
}

func testDocuments(t *testing.T, f *fixture) {
	state := func(want store.DocumentState) {
		t.Helper()
		got, err := f.s.Documents.State(f.ctx, "p")
		if err != nil {
			t.Fatal(err)
		}
		same(t, "the state", want, got)
	}
	state(store.DocumentState{})
	one := f.insertDocument(1, "one", "Keys rotate.", "Keys expire.")
	state(store.DocumentState{Documents: 1, Newest: one.ID, SizeBytes: one.SizeBytes, Characters: int64(one.Characters)})
	two := f.insertDocument(2, "two", "Cash is refused.")
	state(store.DocumentState{Documents: 2, Newest: max(one.ID, two.ID), SizeBytes: one.SizeBytes + two.SizeBytes, Characters: int64(one.Characters + two.Characters)})
	got, err := f.s.Documents.Get(f.ctx, "p", strings.ToUpper(one.ID))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "the document", one, got)
	list, total, err := f.s.Documents.List(f.ctx, "p", 0, 1)
	if err != nil || total != 2 {
		t.Errorf("%d documents, error %v", total, err)
	}
	same(t, "the newest", []store.Document{two}, list)
	list, total, err = f.s.Documents.List(f.ctx, "p", 5, 1)
	if err != nil || total != 2 || len(list) != 0 {
		t.Errorf("beyond the end: %v of %d, error %v", list, total, err)
	}
	byID, err := f.s.Documents.GetMany(f.ctx, "p", []string{two.ID, "none\x00"})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "by id", map[string]store.Document{two.ID: two}, byID)
	if bySum, err := f.s.Documents.GetBySum(f.ctx, "p", two.SHA256); err != nil || bySum.ID != two.ID {
		t.Errorf("by hash: %v, error %v", bySum, err)
	}
	content, err := f.s.Documents.Content(f.ctx, "p", one.ID)
	if err != nil || string(content) != "\x00\xffone" {
		t.Errorf("content %q, error %v", content, err)
	}
	chunks, err := f.s.Documents.Chunks(f.ctx, "p", one.ID, 1, 10)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "chunks", []store.DocumentChunk{{N: 2, Section: "A > B", Page: 2, Line: 10, Text: "Keys expire.\n\n"}}, chunks)
	if c, err := f.s.Documents.Chunk(f.ctx, "p", one.ID, 0); err != nil || c.Text != "one" {
		t.Errorf("names %+v, error %v", c, err)
	}

	_, err = f.s.Documents.Get(f.ctx, "q", one.ID)
	code(t, "another project's", err, rule.CodeNotFound)
	_, err = f.s.Documents.Content(f.ctx, "p", "none")
	code(t, "no content", err, rule.CodeNotFound)
	_, err = f.s.Documents.Chunk(f.ctx, "p", one.ID, 9)
	code(t, "no chunk", err, rule.CodeNotFound)
	_, err = f.s.Documents.GetBySum(f.ctx, "p", "none")
	code(t, "no hash", err, rule.CodeNotFound)
	again, parts := newDocument(3, "three", "x")
	again.SHA256 = one.SHA256
	f.fails(rule.CodeConflict, func(tx store.Tx) error { return tx.Documents.Insert(f.ctx, again, nil, parts) })
	again.ProjectID = "none"
	f.fails(rule.CodeNotFound, func(tx store.Tx) error { return tx.Documents.Insert(f.ctx, again, nil, parts) })
	f.fails(rule.CodeNotFound, func(tx store.Tx) error { return tx.Documents.Delete(f.ctx, "p", again.ID) })
}

func testDeleteDocument(t *testing.T, f *fixture) {
	one := f.insertDocument(1, "one", "Keys rotate.")
	f.insertDocument(2, "two", "Keys stay.")
	f.update(func(tx store.Tx) error {
		return tx.Vectors.Put(f.ctx, "p", "m", store.DocumentVectors{DocumentID: one.ID, N: 1, Vectors: vectors(1)})
	})
	f.update(func(tx store.Tx) error { return tx.Documents.Delete(f.ctx, "p", one.ID) })
	_, err := f.s.Documents.Get(f.ctx, "p", one.ID)
	code(t, "the document", err, rule.CodeNotFound)
	_, err = f.s.Documents.Content(f.ctx, "p", one.ID)
	code(t, "its content", err, rule.CodeNotFound)
	if chunks, err := f.s.Documents.Chunks(f.ctx, "p", one.ID, 0, 9); err != nil || len(chunks) != 0 {
		t.Errorf("chunks are left: %v, error %v", chunks, err)
	}
	if keys, err := f.s.Vectors.Keys(f.ctx, "p", "m"); err != nil || len(keys) != 0 {
		t.Errorf("vectors are left: %v, error %v", keys, err)
	}
	findsDocuments(f, store.DocumentQuery{Any: []string{"keys"}}, 2)
	f.insertDocument(1, "one", "Something else.")
	findsDocuments(f, store.DocumentQuery{Any: []string{"keys"}}, 2)
	findsDocuments(f, store.DocumentQuery{Any: []string{"else"}}, 1)
}

// findsDocuments checks which documents a query finds, best first.
func findsDocuments(f *fixture, q store.DocumentQuery, want ...int) []store.DocumentMatch {
	f.t.Helper()
	return checkFound(f, f.s.Documents.Find, q, want...)
}

func checkFound(f *fixture, find func(context.Context, store.DocumentQuery) ([]store.DocumentMatch, int, error), q store.DocumentQuery,
	want ...int,
) []store.DocumentMatch {
	f.t.Helper()
	if q.ProjectID == "" {
		q.ProjectID = "p"
	}
	q.Limit = 10
	list, total, err := find(f.ctx, q)
	if err != nil {
		f.t.Fatal(err)
	}
	var ids []string
	for _, n := range want {
		ids = append(ids, fmt.Sprintf("00000000-0000-7000-8000-%012d", n))
	}
	var got []string
	for _, m := range list {
		got = append(got, m.DocumentID)
	}
	if diff := cmp.Diff(ids, got); diff != "" || total != len(want) {
		f.t.Errorf("%+v finds %d (-want +got)\n%s", q, total, diff)
	}
	return list
}

func testFindDocuments(t *testing.T, f *fixture) {
	f.insertDocument(1, "keys", "Other text entirely.", "Rotate keys every year and tell nobody.")
	f.insertDocument(2, "two", "The year has days and nothing about the thing.")
	f.insertDocument(3, "three", "Every key is a key year.", "every")
	f.update(func(tx store.Tx) error { return tx.Projects.Create(f.ctx, project("q")) })
	other, chunks := newDocument(4, "keys", "rotate keys every year")
	other.ProjectID = "q"
	chunks[1].Words, chunks[1].Wholes = append(chunks[1].Words, "schlüssel", "鍵"), []string{"os.environ"}
	f.update(func(tx store.Tx) error { return tx.Documents.Insert(f.ctx, other, nil, chunks) })

	if found := findsDocuments(f, store.DocumentQuery{Any: []string{"keys"}}, 1); found[0].N != 2 || found[0].Score <= 0 {
		t.Errorf("%+v, want chunk 2 with a score", found)
	}
	if found := findsDocuments(f, store.DocumentQuery{Any: []string{"two"}}, 2); found[0].N != 0 {
		t.Errorf("%+v, want the names", found)
	}
	findsDocuments(f, store.DocumentQuery{Any: []string{"rotate", "year"}}, 1, 3, 2) // a rare word counts more, and a short text
	findsDocuments(f, store.DocumentQuery{Phrases: [][]string{{"every", "year"}}}, 1)
	findsDocuments(f, store.DocumentQuery{Phrases: [][]string{{"every", "year"}, {"tell", "nobody"}}, Any: []string{"thing"}}, 1)
	findsDocuments(f, store.DocumentQuery{Phrases: [][]string{{"year", "every"}}})
	findsDocuments(f, store.DocumentQuery{Any: []string{"absent"}})
	findsDocuments(f, store.DocumentQuery{})
	findsDocuments(f, store.DocumentQuery{ProjectID: "q", Any: []string{"schlüssel"}}, 4)
	findsDocuments(f, store.DocumentQuery{ProjectID: "q", Any: []string{"鍵"}}, 4)
	findsDocuments(f, store.DocumentQuery{ProjectID: "q", Any: []string{"os.environ"}}, 4)
	findsDocuments(f, store.DocumentQuery{ProjectID: "none", Any: []string{"keys"}})
	for _, hostile := range []string{`"`, `' OR 1=1 --`, "a AND b", "project : x", "😀", "\x00", "\xff", "*", "a:*", "!", "<->", "NEAR(", strings.Repeat("x", 5000)} {
		findsDocuments(f, store.DocumentQuery{Any: []string{hostile}})
		findsDocuments(f, store.DocumentQuery{Phrases: [][]string{{hostile, "keys"}}})
		checkFound(f, f.s.Documents.Scan, store.DocumentQuery{Any: []string{"%" + hostile, "_" + hostile}})
	}

	page, total, err := f.s.Documents.Find(f.ctx, store.DocumentQuery{ProjectID: "p", Any: []string{"year"}, Offset: 1, Limit: 1})
	if err != nil || total != 3 || len(page) != 1 {
		t.Errorf("the second page: %v of %d, error %v", page, total, err)
	}
	page, total, err = f.s.Documents.Find(f.ctx, store.DocumentQuery{ProjectID: "p", Any: []string{"year"}, Offset: 9, Limit: 1})
	if err != nil || total != 3 || len(page) != 0 {
		t.Errorf("beyond the end: %v of %d, error %v", page, total, err)
	}
}

func testScanDocuments(t *testing.T, f *fixture) {
	f.insertDocument(1, "Keys", "Rotate KEYS. 100%_sure", "über \\ keys")
	f.insertDocument(2, "two", "monkeys")
	scan := func(want []int, words ...string) []store.DocumentMatch {
		t.Helper()
		return checkFound(f, f.s.Documents.Scan, store.DocumentQuery{Any: words}, want...)
	}
	if found := scan([]int{1, 2}, "keys", "rotate"); found[0].N != 1 || found[0].Score != 3 || found[1].Score != 1 {
		t.Errorf("%+v, want two words in chunk 1 and one in the names", found)
	}
	scan([]int{1}, "%_")
	scan([]int{1}, `\ k`)
	scan([]int{1}, "ÜBER")
	scan(nil, "absent")
	scan(nil)
}

// vectors returns n different vectors.
func vectors(n int) []float32 {
	v := make([]float32, n*store.Dimensions)
	for i := range n {
		v[i*store.Dimensions+i] = 1
	}
	return v
}

func testDocumentVectors(t *testing.T, f *fixture) {
	one, two := f.insertDocument(1, "one", "a", "b", "c"), f.insertDocument(2, "two", "d")
	put := func(model string, v store.DocumentVectors) {
		t.Helper()
		f.update(func(tx store.Tx) error { return tx.Vectors.Put(f.ctx, "p", model, v) })
	}
	put("m", store.DocumentVectors{DocumentID: one.ID, N: 1, Vectors: vectors(1)})
	put("m", store.DocumentVectors{DocumentID: one.ID, N: 1, Vectors: vectors(2)})
	put("m", store.DocumentVectors{DocumentID: one.ID, N: 3, Vectors: vectors(1)})
	put("old", store.DocumentVectors{DocumentID: one.ID, N: 1, Vectors: vectors(1)})
	put("old", store.DocumentVectors{DocumentID: two.ID, N: 1, Vectors: vectors(1)})
	keys, err := f.s.Vectors.Keys(f.ctx, "p", "m")
	if err != nil {
		t.Fatal(err)
	}
	same(t, "keys", []store.DocumentVectors{{DocumentID: one.ID, N: 1}, {DocumentID: one.ID, N: 3}}, keys)
	var got []store.DocumentVectors
	read := func(v store.DocumentVectors) error { got = append(got, v); return nil }
	if err := f.s.Vectors.Each(f.ctx, "p", "m", []string{one.ID, two.ID}, read); err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(got, func(a, b store.DocumentVectors) int { return a.N - b.N })
	same(t, "vectors", []store.DocumentVectors{{DocumentID: one.ID, N: 1, Vectors: vectors(2)}, {DocumentID: one.ID, N: 3, Vectors: vectors(1)}}, got)
	stop := errors.New("stop")
	if err := f.s.Vectors.Each(f.ctx, "p", "m", []string{one.ID}, func(store.DocumentVectors) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("error %v, want the caller's", err)
	}

	lacking := func(want ...string) {
		t.Helper()
		list, err := f.s.Vectors.Unembedded(f.ctx, "p", "m")
		if err != nil {
			t.Fatal(err)
		}
		same(t, "documents without vectors", append([]string{}, want...), list)
	}
	lacking(one.ID, two.ID)
	f.update(func(tx store.Tx) error { return tx.Vectors.MarkEmbedded(f.ctx, "p", one.ID, "m") })
	lacking(two.ID)
	keys, err = f.s.Vectors.Keys(f.ctx, "p", "old")
	if err != nil {
		t.Fatal(err)
	}
	same(t, "vectors of the old model", []store.DocumentVectors{{DocumentID: two.ID, N: 1}}, keys)

	f.fails(rule.CodeInvalid, func(tx store.Tx) error {
		return tx.Vectors.Put(f.ctx, "p", "m", store.DocumentVectors{DocumentID: one.ID, N: 1, Vectors: make([]float32, 5)})
	})
	f.fails(rule.CodeNotFound, func(tx store.Tx) error {
		return tx.Vectors.Put(f.ctx, "p", "m", store.DocumentVectors{DocumentID: "none", N: 1, Vectors: vectors(1)})
	})
	f.fails(rule.CodeNotFound, func(tx store.Tx) error { return tx.Vectors.MarkEmbedded(f.ctx, "p", "none", "m") })
}

// A failed transaction leaves no part of a document.
func testDocumentRollback(t *testing.T, f *fixture) {
	d, chunks := newDocument(1, "one", "keys rotate")
	failed := errors.New("failed")
	err := f.s.Update(f.ctx, func(tx store.Tx) error {
		if err := tx.Documents.Insert(f.ctx, d, []byte("x"), chunks); err != nil {
			return err
		}
		return failed
	})
	if !errors.Is(err, failed) {
		t.Fatal(err)
	}
	findsDocuments(f, store.DocumentQuery{Any: []string{"keys"}})
	_, err = f.s.Documents.Content(f.ctx, "p", d.ID)
	code(t, "content", err, rule.CodeNotFound)
	f.insertDocument(1, "one", "keys rotate")
	findsDocuments(f, store.DocumentQuery{Any: []string{"keys"}}, 1)
}

func same(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got)\n%s", what, diff)
	}
}
