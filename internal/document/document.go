// Package document keeps uploaded documents: their files, their text in chunks, and the searches over them.
package document

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/corpus"
	"tenet/internal/document/extract"
	"tenet/internal/job"
	"tenet/internal/redact"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// Views gives the corpus views of projects; corpus.Live is one.
type Views interface {
	View(ctx context.Context, projectID string) (*corpus.View, error)
}

// Embedder makes vectors of texts; every llm.Embedder is one.
type Embedder interface {
	// ID names the model. Vectors of different models cannot be compared.
	ID() string
	// Embed returns a vector of [store.Dimensions] numbers and length 1 for each text.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// Config sets up [New]. Store and Views are required.
type Config struct {
	Store store.Store
	Views Views
	// Embedder makes the vectors for search by meaning, and Queue takes the jobs that have chunks embedded; nil means that
	// there is no embedding service.
	Embedder Embedder
	Queue    job.Queue
	// Limits bound the extraction of one document.
	Limits extract.Limits
	// VectorMemory is how many bytes of vectors are kept in memory, of all projects; 0 is 512 MiB. What does not fit is read
	// from the database for each search.
	VectorMemory int64
	// Logger is told why a search had to do without a service; nil drops it.
	Logger *slog.Logger
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// Documents keeps and searches documents. It is safe for concurrent use.
type Documents struct {
	cfg      Config
	store    store.Store
	redactor *redact.Redactor
	vectors  *vectors
	sources  *sources
}

// New makes Documents.
func New(cfg Config) *Documents {
	if cfg.VectorMemory <= 0 {
		cfg.VectorMemory = 512 << 20
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Documents{
		cfg: cfg, store: cfg.Store, redactor: redact.New(), vectors: newVectors(cfg.Store, cfg.VectorMemory), sources: newSources(cfg.Views),
	}
}

// Document is an uploaded file.
type Document struct {
	ID             string    `json:"document_id" format:"uuid" doc:"Document identifier."`
	ProjectID      string    `json:"project_id" doc:"Project the document belongs to."`
	Filename       string    `json:"filename" doc:"Name of the file, without folders."`
	MIMEType       string    `json:"mime_type" doc:"Media type, as its content shows."`
	SizeBytes      int64     `json:"size_bytes" doc:"Size of the file."`
	Title          string    `json:"title" doc:"Title: as given, else the file's own, else its name."`
	DocumentType   string    `json:"document_type" doc:"What the uploader calls its kind; may be empty." example:"policy"`
	SHA256         string    `json:"sha256" doc:"Hash of the file, in hex."`
	UploadedBy     string    `json:"uploaded_by" doc:"Actor that uploaded it."`
	UploadedAt     time.Time `json:"uploaded_at" doc:"When it was uploaded."`
	Chunks         int       `json:"chunks" doc:"Pieces that its text was divided into for search."`
	Pages          int       `json:"pages" doc:"Pages; 0 where the format has none."`
	Characters     int       `json:"characters" doc:"Characters of its text."`
	RulesExtracted int       `json:"rules_extracted" doc:"Rules whose source_refs name the document, superseded and retired ones aside."`
	EmbeddingModel string    `json:"embedding_model" doc:"Model that has made vectors of all its chunks; empty while there is none."`
}

// documentOf is a stored document as callers see it.
func documentOf(d store.Document, rules int) Document {
	return Document{
		ID: d.ID, ProjectID: d.ProjectID, Filename: d.Filename, MIMEType: d.MIMEType, SizeBytes: d.SizeBytes, Title: d.Title,
		DocumentType: d.DocumentType, SHA256: d.SHA256, UploadedBy: d.UploadedBy, UploadedAt: d.UploadedAt, Chunks: d.Chunks, Pages: d.Pages,
		Characters: d.Characters, RulesExtracted: rules, EmbeddingModel: d.EmbeddingModel,
	}
}

// Page is a part of a list. Number counts from 1.
type Page struct{ Number, Size int }

func (p Page) offset() int { return (p.Number - 1) * p.Size }

// List returns a page of a project's documents, newest first, and how many there are.
func (d *Documents) List(ctx context.Context, projectID string, p Page) ([]Document, int, error) {
	rules, err := d.sources.of(ctx, projectID)
	if err != nil {
		return nil, 0, err
	}
	stored, total, err := d.store.Documents(ctx, projectID, p.offset(), p.Size)
	list := make([]Document, len(stored))
	for i, s := range stored {
		list[i] = documentOf(s, len(rules[s.ID]))
	}
	return list, total, err
}

// Get returns a document, or not_found.
func (d *Documents) Get(ctx context.Context, projectID, id string) (Document, error) {
	rules, err := d.sources.of(ctx, projectID)
	if err != nil {
		return Document{}, err
	}
	stored, err := d.store.Document(ctx, projectID, id)
	return documentOf(stored, len(rules[stored.ID])), err
}

// Content returns a document with the bytes that were uploaded, or not_found.
func (d *Documents) Content(ctx context.Context, projectID, id string) (Document, []byte, error) {
	document, err := d.Get(ctx, projectID, id)
	if err != nil {
		return Document{}, nil, err
	}
	content, err := d.store.DocumentContent(ctx, projectID, id)
	return document, content, err
}

// File returns the name of a document, with an ending that tells its format, and the bytes that were uploaded; or not_found.
func (d *Documents) File(ctx context.Context, projectID, id string) (filename string, content []byte, err error) {
	document, err := d.store.Document(ctx, projectID, id)
	if err != nil {
		return "", nil, err
	}
	if content, err = d.store.DocumentContent(ctx, projectID, id); err != nil {
		return "", nil, err
	}
	filename = document.Filename
	if format, err := extract.Sniff(filename, content); err == nil && !extract.KnownEnding(filename) {
		filename += "." + string(format)
	}
	return filename, content, nil
}

// textBatch is how many chunks are read at once.
const textBatch = 500

// Text returns the title of a document and its text, or not_found. Paragraphs are parted by an empty line.
func (d *Documents) Text(ctx context.Context, projectID, id string) (title, text string, err error) {
	document, err := d.store.Document(ctx, projectID, id)
	if err != nil {
		return "", "", err
	}
	var b strings.Builder
	for after := 0; ; {
		chunks, err := d.store.DocumentChunks(ctx, projectID, id, after, textBatch)
		if err != nil {
			return "", "", err
		}
		for _, c := range chunks {
			b.WriteString(c.Text)
		}
		if len(chunks) < textBatch {
			return document.Title, strings.TrimSpace(b.String()), nil
		}
		after = chunks[len(chunks)-1].N
	}
}

// Delete removes a document with its file, text, index and vectors, or fails with not_found. Rules that were made from it
// keep their source_refs, with section and quote.
func (d *Documents) Delete(ctx context.Context, projectID, id string) error {
	return d.store.Update(ctx, func(tx store.Tx) error {
		document, err := tx.Document(ctx, projectID, id)
		if err != nil {
			return err
		}
		if err := tx.DeleteDocument(ctx, projectID, id); err != nil {
			return err
		}
		return d.note(ctx, tx, "deleted", document)
	})
}

// note records what was done with a document.
func (d *Documents) note(ctx context.Context, tx store.Tx, action string, s store.Document) error {
	return audit.Append(ctx, tx, s.ProjectID, audit.Record{
		Kind: audit.KindDocument, At: d.cfg.Now(), Actor: auth.ActorFrom(ctx).Name,
		Body: audit.JSON(map[string]any{"action": action, "document": documentOf(s, 0)}),
	})
}

// invalid makes the error for one field of a request.
func invalid(field, format string, args ...any) error {
	var p rule.Problems
	p.Add(field, format, args...)
	return p.Err("the request is invalid")
}
