package search

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"tenet/internal/corpus"
	"tenet/internal/llm"
	"tenet/internal/redact"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// DocumentStore is the part of the database that [DocumentSearcher] uses.
type DocumentStore struct {
	Documents store.DocumentReader
	Projects  store.ProjectReader
	Vectors   store.VectorReader
}

// DocumentConfig sets up [NewDocuments]. Store and Sources are required.
type DocumentConfig struct {
	Store DocumentStore
	// Sources returns the current rules of a project by the documents that they refer to.
	Sources func(ctx context.Context, projectID string) (map[string][]*rule.Rule, error)
	// Embedder makes the vectors of queries; nil without an embedding service.
	Embedder llm.Embedder
	// VectorMemory bounds the vectors in memory, of all projects, in bytes; 0 is 512 MiB. Searches read the others from the
	// database.
	VectorMemory int64
	// TextMemory bounds the text that is indexed in memory, of all projects, in characters; 0 is 32 Mi, which take about four times as
	// many bytes. Projects with more are searched by the index of the database, which ranks by words alone.
	TextMemory int64
	Logger     *slog.Logger     // nil logs nothing
	Now        func() time.Time // nil is time.Now
}

// DocumentSearcher finds documents. It is safe for concurrent use.
type DocumentSearcher struct {
	cfg     DocumentConfig
	queries *queryVectors // nil without an embedding service
	vectors *documentVectors
	words   *documentWords
}

// NewDocuments returns a DocumentSearcher.
func NewDocuments(cfg DocumentConfig) *DocumentSearcher {
	if cfg.VectorMemory <= 0 {
		cfg.VectorMemory = 512 << 20
	}
	if cfg.TextMemory <= 0 {
		cfg.TextMemory = defaultDocumentText
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	d := &DocumentSearcher{cfg: cfg, vectors: newDocumentVectors(cfg.Store.Vectors, cfg.VectorMemory), words: newDocumentWords(cfg.Store.Documents, cfg.TextMemory)}
	if cfg.Embedder != nil {
		d.queries = newQueryVectors(cfg.Embedder, redact.New(), cfg.Now)
	}
	return d
}

// DocumentQuery asks for a page of a project's documents.
type DocumentQuery struct {
	ProjectID string
	Text      string
	Page      Page
}

// DocumentResult is a page of the documents found.
type DocumentResult struct {
	Items    []wire.DocumentSearchItem
	Total    int                    // on all pages
	Mode     wire.SearchMode        // empty for the relational search
	Degraded *wire.DocumentDegraded // nil if the search was complete
}

// find returns the query for the store.
func (q DocumentQuery) find(words corpus.QueryWords, p Page) store.DocumentQuery {
	return store.DocumentQuery{ProjectID: q.ProjectID, Phrases: words.Phrases, Any: words.Terms, Offset: p.Offset(), Limit: p.Size}
}

func (q DocumentQuery) check() error {
	return checkText("query", q.Text, "list all documents with GET /api/v1/documents")
}

// Fulltext finds the documents whose text and names contain the words of the query, best first. Words between quotation marks
// must occur together. No text is malformed: text without words finds nothing.
func (d *DocumentSearcher) Fulltext(ctx context.Context, q DocumentQuery) (DocumentResult, error) {
	if err := d.ready(ctx, q); err != nil {
		return DocumentResult{}, err
	}
	words := corpus.ParseQuery(q.Text)
	matches, total, err := d.byWords(ctx, q, words, q.Page)
	if err != nil {
		return DocumentResult{}, err
	}
	items, err := d.items(ctx, q.ProjectID, matches, words)
	return DocumentResult{Items: items, Total: total, Mode: wire.Keyword}, err
}

// byWords ranks documents by their words.
func (d *DocumentSearcher) byWords(ctx context.Context, q DocumentQuery, words corpus.QueryWords, p Page) ([]store.DocumentMatch, int, error) {
	index, err := d.words.index(ctx, q.ProjectID)
	if err != nil {
		return nil, 0, err
	}
	if index == nil {
		return d.cfg.Store.Documents.Find(ctx, q.find(words, p))
	}
	matches, total := index.Find(q.Text, p.Offset(), p.Size)
	return matches, total, nil
}

// ready checks a query and that its project exists.
func (d *DocumentSearcher) ready(ctx context.Context, q DocumentQuery) error {
	if err := q.check(); err != nil {
		return err
	}
	_, err := d.cfg.Store.Projects.Get(ctx, q.ProjectID)
	return err
}

// Vector finds the documents that have a chunk whose meaning is near to the query's, best first, by the cosine of their
// vectors. Every document with vectors is on some page. The error is unavailable without an embedding service, and while it
// fails.
func (d *DocumentSearcher) Vector(ctx context.Context, q DocumentQuery) (DocumentResult, error) {
	if err := d.ready(ctx, q); err != nil {
		return DocumentResult{}, err
	}
	if d.queries == nil {
		return DocumentResult{}, errNoEmbedder()
	}
	vector, err := d.queries.get(ctx, strings.TrimSpace(q.Text), patient)
	if err != nil {
		return DocumentResult{}, err
	}
	// Counted first: a document that gets its vectors meanwhile must not be absent from a result that claims to be whole.
	missing, err := d.unembedded(ctx, q.ProjectID)
	if err != nil {
		return DocumentResult{}, err
	}
	matches, err := d.vectors.nearest(ctx, q.ProjectID, d.cfg.Embedder.ID(), vector)
	if err != nil {
		return DocumentResult{}, err
	}
	items, err := d.items(ctx, q.ProjectID, slice(matches, q.Page), corpus.ParseQuery(q.Text))
	return DocumentResult{Items: items, Total: len(matches), Mode: wire.Vector, Degraded: missing}, err
}

// unembedded reports how many documents a search by meaning does not see whole; nil if none.
func (d *DocumentSearcher) unembedded(ctx context.Context, projectID string) (*wire.DocumentDegraded, error) {
	ids, err := d.cfg.Store.Vectors.Unembedded(ctx, projectID, d.cfg.Embedder.ID())
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	_, total, err := d.cfg.Store.Documents.List(ctx, projectID, 0, 0)
	return &wire.DocumentDegraded{Reason: fmt.Sprintf("%d of %d documents lack vectors yet", len(ids), total)}, err
}

const (
	fusedWords   = 1000 // documents of the ranking by words
	fusedMeaning = 100  // documents of the ranking by meaning, which has no end

	// documentPatience is how long a search for documents by words and meaning waits for the embedding service.
	documentPatience = 5 * time.Second
)

// Hybrid finds documents by words and by meaning together. Without an embedding service, or while it fails or takes too long, it
// finds them by words alone and reports that.
func (d *DocumentSearcher) Hybrid(ctx context.Context, q DocumentQuery) (DocumentResult, error) {
	if err := d.ready(ctx, q); err != nil {
		return DocumentResult{}, err
	}
	if d.queries == nil {
		return d.byWordsAlone(ctx, q, "there is no embedding service")
	}
	vector, err := d.queries.get(ctx, strings.TrimSpace(q.Text), documentPatience)
	if err != nil {
		if ctx.Err() != nil {
			return DocumentResult{}, ctx.Err()
		}
		d.cfg.Logger.WarnContext(ctx, "searching documents without a vector", slog.Any("error", err))
		return d.byWordsAlone(ctx, q, "the embedding service does not answer")
	}
	missing, err := d.unembedded(ctx, q.ProjectID) // first, as in Vector
	if err != nil {
		return DocumentResult{}, err
	}
	near, err := d.vectors.nearest(ctx, q.ProjectID, d.cfg.Embedder.ID(), vector)
	if err != nil {
		return DocumentResult{}, err
	}
	words := corpus.ParseQuery(q.Text)
	byWords, _, err := d.byWords(ctx, q, words, Page{Number: 1, Size: fusedWords})
	if err != nil {
		return DocumentResult{}, err
	}
	fused := fuse(byWords, near[:min(len(near), fusedMeaning)])
	items, err := d.items(ctx, q.ProjectID, slice(fused, q.Page), words)
	return DocumentResult{Items: items, Total: len(fused), Mode: wire.Hybrid, Degraded: missing}, err
}

func (d *DocumentSearcher) byWordsAlone(ctx context.Context, q DocumentQuery, why string) (DocumentResult, error) {
	r, err := d.Fulltext(ctx, q)
	r.Degraded = &wire.DocumentDegraded{Reason: why + ", so documents were found by their words alone"}
	return r, err
}

// fuse joins rankings of documents. Each document has the chunk of the first ranking that found it.
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
			have.Score += reciprocal(i)
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

// Relational finds documents without the full-text index. The share of the query's words that occur in their best place and in
// their names, also inside other words, ranks them. Without a query it lists all documents, newest first. Every item has the
// number of rules that refer to the document.
func (d *DocumentSearcher) Relational(ctx context.Context, q DocumentQuery) (DocumentResult, error) {
	rules, err := d.cfg.Sources(ctx, q.ProjectID)
	if err != nil {
		return DocumentResult{}, err
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
		return DocumentResult{}, err
	}
	items, err := d.items(ctx, q.ProjectID, matches, words)
	for i := range items {
		n := len(rules[items[i].DocumentID])
		items[i].RulesExtracted = &n
	}
	return DocumentResult{Items: items, Total: total}, err
}

func (d *DocumentSearcher) all(ctx context.Context, q DocumentQuery) ([]store.DocumentMatch, int, error) {
	list, total, err := d.cfg.Store.Documents.List(ctx, q.ProjectID, q.Page.Offset(), q.Page.Size)
	matches := make([]store.DocumentMatch, len(list))
	for i, doc := range list {
		matches[i].DocumentID = doc.ID
	}
	return matches, total, err
}

func (d *DocumentSearcher) scan(ctx context.Context, q DocumentQuery) ([]store.DocumentMatch, int, error) {
	var words []string
	terms := map[string]bool{}
	for _, term := range corpus.ParseQuery(q.Text).Terms {
		terms[term] = true
	}
	corpus.EachWord(q.Text, func(w corpus.Word) bool {
		word := strings.ToLower(q.Text[w.Start:w.End])
		if terms[w.Term] && !slices.Contains(words, word) {
			words = append(words, word)
		}
		return len(words) < maxScanned
	})
	if len(words) == 0 {
		return nil, 0, nil
	}
	matches, total, err := d.cfg.Store.Documents.Scan(ctx, store.DocumentQuery{
		ProjectID: q.ProjectID, Any: words, Offset: q.Page.Offset(), Limit: q.Page.Size,
	})
	for i := range matches {
		matches[i].Score /= float64(len(words))
	}
	return matches, total, err
}

// items returns the documents of matches, without those that were deleted meanwhile.
func (d *DocumentSearcher) items(ctx context.Context, projectID string, matches []store.DocumentMatch, words corpus.QueryWords) ([]wire.DocumentSearchItem, error) {
	ids := make([]string, len(matches))
	for i, m := range matches {
		ids[i] = m.DocumentID
	}
	found, err := d.cfg.Store.Documents.GetMany(ctx, projectID, ids)
	if err != nil {
		return nil, err
	}
	items := make([]wire.DocumentSearchItem, 0, len(matches))
	for _, m := range matches {
		s, ok := found[m.DocumentID]
		if !ok {
			continue
		}
		chunk, err := d.cfg.Store.Documents.Chunk(ctx, projectID, m.DocumentID, max(m.N, 1))
		if err != nil {
			if rule.CodeOf(err) == rule.CodeNotFound {
				continue
			}
			return nil, err
		}
		it := wire.DocumentSearchItem{
			DocumentID: s.ID, Filename: s.Filename, MIMEType: s.MIMEType, SizeBytes: s.SizeBytes, UploadedBy: s.UploadedBy,
			UploadedAt: s.UploadedAt, Title: s.Title, DocumentType: s.DocumentType, Section: chunk.Section, PageNumber: chunk.Page,
			Score: m.Score,
		}
		it.Snippet, it.Highlights = snippet(chunk.Text, words.Terms)
		items = append(items, it)
	}
	return items, nil
}
