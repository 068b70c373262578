package document

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// MaxQuery is the most characters that a query may have.
const MaxQuery = 10_000

// Mode tells how documents were found.
type Mode string

// Modes. Keyword compares words, Vector meaning, Hybrid both.
const (
	Keyword Mode = "keyword"
	Vector  Mode = "vector"
	Hybrid  Mode = "hybrid"
)

// Degraded says why a search answers with less than was asked for.
type Degraded struct {
	Reason string `json:"reason" doc:"What was missing, and what was done instead."`
}

// Query is what is looked for in a project's documents.
type Query struct {
	ProjectID string
	Text      string
	Page      Page
}

// Result is a page of what was found.
type Result struct {
	Items []Item
	Total int  // on all pages
	Mode  Mode // empty for the relational search
	// Degraded says what the search had to do without; nil if nothing.
	Degraded *Degraded
}

// Item is a document that was found.
type Item struct {
	DocumentID     string      `json:"document_id" format:"uuid" doc:"Document identifier."`
	Filename       string      `json:"filename" doc:"Name of the file."`
	MIMEType       string      `json:"mime_type" doc:"Media type."`
	SizeBytes      int64       `json:"size_bytes" doc:"Size of the file."`
	UploadedBy     string      `json:"uploaded_by" doc:"Actor that uploaded it."`
	UploadedAt     time.Time   `json:"uploaded_at" doc:"When it was uploaded."`
	Title          string      `json:"title" doc:"Title."`
	DocumentType   string      `json:"document_type" doc:"What the uploader calls its kind; may be empty."`
	Snippet        string      `json:"snippet" doc:"The place that fits best, as plain text without marks; … stands for what was left out."`
	Highlights     []Highlight `json:"highlights" nullable:"false" doc:"Where words of the query stand in the snippet."`
	Section        string      `json:"section,omitempty" doc:"Headings above the snippet, joined by \" > \"."`
	PageNumber     int         `json:"page,omitempty" doc:"Page of the snippet, from 1; absent where the format has none."`
	Score          float64     `json:"score" doc:"Higher is better. Scores of different searches cannot be compared."`
	RulesExtracted *int        `json:"rules_extracted,omitempty" doc:"Rules whose source_refs name the document; in the relational search."`
}

// Highlight is a part of a snippet in which words of the query stand.
type Highlight struct {
	Start int `json:"start" minimum:"0" doc:"First character, counted in Unicode characters from 0."`
	End   int `json:"end" minimum:"0" doc:"Character behind the last."`
}

// find is a query for the store, and the words to mark.
func (q Query) find(words corpus.QueryWords, p Page) store.DocumentQuery {
	return store.DocumentQuery{ProjectID: q.ProjectID, Phrases: words.Phrases, Any: words.Terms, Offset: p.offset(), Limit: p.Size}
}

func (q Query) check() error {
	switch n := utf8.RuneCountInString(q.Text); {
	case strings.TrimSpace(q.Text) == "":
		return invalid("query", "is empty; list all documents with GET /api/v1/documents")
	case n > MaxQuery:
		return invalid("query", "has %d characters; at most %d are allowed", n, MaxQuery)
	}
	return nil
}

// Fulltext finds the documents in whose text and names the words of the query stand, best first. What stands between
// quotation marks must stand there as it is. No text is malformed: what is no word finds nothing.
func (d *Documents) Fulltext(ctx context.Context, q Query) (Result, error) {
	if err := d.ready(ctx, q); err != nil {
		return Result{}, err
	}
	words := corpus.ParseQuery(q.Text)
	matches, total, err := d.store.FindDocuments(ctx, q.find(words, q.Page))
	if err != nil {
		return Result{}, err
	}
	items, err := d.items(ctx, q.ProjectID, matches, words)
	return Result{Items: items, Total: total, Mode: Keyword}, err
}

// ready checks a query and that its project exists.
func (d *Documents) ready(ctx context.Context, q Query) error {
	if err := q.check(); err != nil {
		return err
	}
	_, err := d.store.Project(ctx, q.ProjectID)
	return err
}

// Vector finds the documents that have a chunk whose meaning is near to the query's, best first, by the cosine of their
// vectors. Every document with vectors is on some page. The error is unavailable without an embedding service, and while it
// fails.
func (d *Documents) Vector(ctx context.Context, q Query) (Result, error) {
	if err := d.ready(ctx, q); err != nil {
		return Result{}, err
	}
	if d.cfg.Embedder == nil {
		return Result{}, errNoEmbedder()
	}
	vector, err := d.meaning(ctx, q.Text)
	if err != nil {
		return Result{}, err
	}
	matches, err := d.vectors.nearest(ctx, q.ProjectID, d.cfg.Embedder.ID(), vector)
	if err != nil {
		return Result{}, err
	}
	lacking, err := d.lacking(ctx, q.ProjectID)
	if err != nil {
		return Result{}, err
	}
	items, err := d.items(ctx, q.ProjectID, part(matches, q.Page), corpus.ParseQuery(q.Text))
	return Result{Items: items, Total: len(matches), Mode: Vector, Degraded: lacking}, err
}

// meaning is the vector of a query.
func (d *Documents) meaning(ctx context.Context, text string) ([]float32, error) {
	made, err := d.vectorsOf(ctx, []string{strings.TrimSpace(text)})
	if err != nil {
		return nil, err
	}
	if len(made) != 1 || len(made[0]) != store.Dimensions {
		return nil, rule.Errorf(rule.CodeUnavailable, "the embedding service gave no vector of %d numbers", store.Dimensions)
	}
	return made[0], nil
}

// lacking says how many documents a search by meaning does not see whole; nil if none.
func (d *Documents) lacking(ctx context.Context, projectID string) (*Degraded, error) {
	ids, err := d.store.UnembeddedDocuments(ctx, projectID, d.cfg.Embedder.ID())
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	_, total, err := d.store.Documents(ctx, projectID, 0, 0)
	return &Degraded{fmt.Sprintf("%d of %d documents lack vectors yet", len(ids), total)}, err
}

// How hybrid search joins two rankings: by the reciprocal of the rank plus a constant (Cormack, Clarke and Büttcher, 2009).
const (
	fusedWords   = 1000 // documents of the ranking by words
	fusedMeaning = 100  // documents of the ranking by meaning, which knows no end
	fusion       = 60
)

// embedPatience is how long a search that can do without waits for the embedding service.
const embedPatience = 5 * time.Second

// Hybrid finds documents by words and by meaning together. Where there is no vector to compare with, because there is no
// embedding service, it fails or takes too long, it finds them by words alone and says so.
func (d *Documents) Hybrid(ctx context.Context, q Query) (Result, error) {
	if err := d.ready(ctx, q); err != nil {
		return Result{}, err
	}
	if d.cfg.Embedder == nil {
		return d.byWordsAlone(ctx, q, "there is no embedding service")
	}
	patient, cancel := context.WithTimeout(ctx, embedPatience)
	vector, err := d.meaning(patient, q.Text)
	cancel()
	if err != nil {
		if ctx.Err() != nil {
			return Result{}, ctx.Err()
		}
		d.cfg.Logger.WarnContext(ctx, "searching documents without a vector", slog.Any("error", err))
		return d.byWordsAlone(ctx, q, "the embedding service does not answer")
	}
	near, err := d.vectors.nearest(ctx, q.ProjectID, d.cfg.Embedder.ID(), vector)
	if err != nil {
		return Result{}, err
	}
	words := corpus.ParseQuery(q.Text)
	byWords, _, err := d.store.FindDocuments(ctx, q.find(words, Page{1, fusedWords}))
	if err != nil {
		return Result{}, err
	}
	lacking, err := d.lacking(ctx, q.ProjectID)
	if err != nil {
		return Result{}, err
	}
	fused := fuse(byWords, near[:min(len(near), fusedMeaning)])
	items, err := d.items(ctx, q.ProjectID, part(fused, q.Page), words)
	return Result{Items: items, Total: len(fused), Mode: Hybrid, Degraded: lacking}, err
}

func (d *Documents) byWordsAlone(ctx context.Context, q Query, why string) (Result, error) {
	r, err := d.Fulltext(ctx, q)
	r.Degraded = &Degraded{why + ", so documents were found by their words alone"}
	return r, err
}

// fuse joins rankings. Each document keeps the chunk that the first ranking has found.
func fuse(rankings ...[]store.DocumentMatch) []store.DocumentMatch {
	joined := map[string]*store.DocumentMatch{}
	for _, ranking := range rankings {
		for i, m := range ranking {
			have := joined[m.DocumentID]
			if have == nil {
				have = &store.DocumentMatch{DocumentID: m.DocumentID, N: m.N}
				joined[m.DocumentID] = have
			}
			if have.N == 0 {
				have.N = m.N
			}
			have.Score += 1 / float64(fusion+i+1)
		}
	}
	list := make([]store.DocumentMatch, 0, len(joined))
	for _, m := range joined {
		list = append(list, *m)
	}
	slices.SortFunc(list, func(a, b store.DocumentMatch) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(b.DocumentID, a.DocumentID))
	})
	return list
}

// maxScanned is how many words the relational search looks for.
const maxScanned = 32

// Relational finds documents without the full-text index, for when that is not to be had: the share of the query's words that
// stand in their best place and in their names, also inside other words, ranks them. Without a query it lists all
// documents, newest first. Every item tells how many rules refer to the document.
func (d *Documents) Relational(ctx context.Context, q Query) (Result, error) {
	rules, err := d.sources.of(ctx, q.ProjectID)
	if err != nil {
		return Result{}, err
	}
	var matches []store.DocumentMatch
	var total int
	words := corpus.QueryWords{}
	if strings.TrimSpace(q.Text) == "" {
		matches, total, err = d.all(ctx, q)
	} else if err = q.check(); err == nil {
		words = corpus.ParseQuery(q.Text)
		matches, total, err = d.scan(ctx, q)
	}
	if err != nil {
		return Result{}, err
	}
	items, err := d.items(ctx, q.ProjectID, matches, words)
	for i := range items {
		n := len(rules[items[i].DocumentID])
		items[i].RulesExtracted = &n
	}
	return Result{Items: items, Total: total}, err
}

func (d *Documents) all(ctx context.Context, q Query) ([]store.DocumentMatch, int, error) {
	list, total, err := d.store.Documents(ctx, q.ProjectID, q.Page.offset(), q.Page.Size)
	matches := make([]store.DocumentMatch, len(list))
	for i, doc := range list {
		matches[i].DocumentID = doc.ID
	}
	return matches, total, err
}

func (d *Documents) scan(ctx context.Context, q Query) ([]store.DocumentMatch, int, error) {
	var words []string
	kept := map[string]bool{}
	for _, term := range corpus.ParseQuery(q.Text).Terms {
		kept[term] = true
	}
	corpus.EachWord(q.Text, func(w corpus.Word) bool {
		word := strings.ToLower(q.Text[w.Start:w.End])
		if kept[w.Term] && !slices.Contains(words, word) {
			words = append(words, word)
		}
		return len(words) < maxScanned
	})
	if len(words) == 0 {
		return nil, 0, nil
	}
	matches, total, err := d.store.ScanDocuments(ctx, store.DocumentQuery{
		ProjectID: q.ProjectID, Any: words, Offset: q.Page.offset(), Limit: q.Page.Size,
	})
	for i := range matches {
		matches[i].Score /= float64(len(words))
	}
	return matches, total, err
}

// items shows documents that were found. One that was deleted meanwhile is left out.
func (d *Documents) items(ctx context.Context, projectID string, matches []store.DocumentMatch, words corpus.QueryWords) ([]Item, error) {
	ids := make([]string, len(matches))
	for i, m := range matches {
		ids[i] = m.DocumentID
	}
	found, err := d.store.DocumentsByID(ctx, projectID, ids)
	if err != nil {
		return nil, err
	}
	items := make([]Item, 0, len(matches))
	for _, m := range matches {
		s, ok := found[m.DocumentID]
		if !ok {
			continue
		}
		chunk, err := d.store.DocumentChunk(ctx, projectID, m.DocumentID, max(m.N, 1))
		if err != nil {
			if e, ok := errors.AsType[*rule.Error](err); ok && e.Code == rule.CodeNotFound {
				continue
			}
			return nil, err
		}
		it := Item{
			DocumentID: s.ID, Filename: s.Filename, MIMEType: s.MIMEType, SizeBytes: s.SizeBytes, UploadedBy: s.UploadedBy,
			UploadedAt: s.UploadedAt, Title: s.Title, DocumentType: s.DocumentType, Section: chunk.Section, PageNumber: chunk.Page,
			Score: m.Score,
		}
		it.Snippet, it.Highlights = snippet(chunk.Text, words.Terms)
		items = append(items, it)
	}
	return items, nil
}
