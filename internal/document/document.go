// Package document stores uploaded documents: their files, their text in chunks, and the vectors of those.
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
	"tenet/internal/wire"
)

// Embedder makes vectors of texts; every llm.Embedder is one.
type Embedder interface {
	// ID names the model. Vectors of different models cannot be compared.
	ID() string
	// Embed returns a vector of [store.Dimensions] numbers and length 1 for each text.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// Store is the part of the database that this package uses.
type Store struct {
	store.Updater
	Documents store.DocumentReader
	Projects  store.ProjectReader
	Vectors   store.VectorReader
}

// Config sets up [New]. Store and Views are required.
type Config struct {
	Store Store
	Views corpus.Views
	// Embedder makes the vectors of chunks, and Queue takes the jobs that embed them; nil without an embedding service.
	Embedder Embedder
	Queue    job.Queue
	// Limits bound the extraction of one document.
	Limits extract.Limits
	Logger *slog.Logger // nil logs nothing
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// Documents stores documents. It is safe for concurrent use.
type Documents struct {
	cfg      Config
	store    Store
	redactor *redact.Redactor
	sources  *sources
}

// New makes Documents.
func New(cfg Config) *Documents {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Documents{
		cfg: cfg, store: cfg.Store, redactor: redact.New(), sources: newSources(cfg.Views),
	}
}

// documentOf is a stored document as callers see it.
func documentOf(d store.Document, rules int) wire.Document {
	return wire.Document{
		ID: d.ID, ProjectID: d.ProjectID, Filename: d.Filename, MIMEType: d.MIMEType, SizeBytes: d.SizeBytes, Title: d.Title,
		DocumentType: d.DocumentType, SHA256: d.SHA256, UploadedBy: d.UploadedBy, UploadedAt: d.UploadedAt, Chunks: d.Chunks, Pages: d.Pages,
		Characters: d.Characters, Unread: d.Unread, RulesExtracted: rules, EmbeddingModel: d.EmbeddingModel,
	}
}

// List returns a page of a project's documents, newest first, and their number.
func (d *Documents) List(ctx context.Context, projectID string, p rule.Page) ([]wire.Document, int, error) {
	rules, err := d.sources.of(ctx, projectID)
	if err != nil {
		return nil, 0, err
	}
	stored, total, err := d.store.Documents.List(ctx, projectID, p.Offset(), p.Size)
	list := make([]wire.Document, len(stored))
	for i, s := range stored {
		list[i] = documentOf(s, len(rules[s.ID]))
	}
	return list, total, err
}

// Get returns a document, or not_found.
func (d *Documents) Get(ctx context.Context, projectID, id string) (wire.Document, error) {
	rules, err := d.sources.of(ctx, projectID)
	if err != nil {
		return wire.Document{}, err
	}
	stored, err := d.store.Documents.Get(ctx, projectID, id)
	return documentOf(stored, len(rules[stored.ID])), err
}

// Content returns a document with the bytes that were uploaded, or not_found.
func (d *Documents) Content(ctx context.Context, projectID, id string) (wire.Document, []byte, error) {
	document, err := d.Get(ctx, projectID, id)
	if err != nil {
		return wire.Document{}, nil, err
	}
	content, err := d.store.Documents.Content(ctx, projectID, id)
	return document, content, err
}

// File returns the name of a document, with the ending of its format, and the uploaded bytes; or not_found.
func (d *Documents) File(ctx context.Context, projectID, id string) (filename string, content []byte, err error) {
	document, err := d.store.Documents.Get(ctx, projectID, id)
	if err != nil {
		return "", nil, err
	}
	if content, err = d.store.Documents.Content(ctx, projectID, id); err != nil {
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

// Text returns the title of a document, its text, and what that leaves out, or not_found. Paragraphs are parted by an empty line.
func (d *Documents) Text(ctx context.Context, projectID, id string) (title, text, unread string, err error) {
	document, err := d.store.Documents.Get(ctx, projectID, id)
	if err != nil {
		return "", "", "", err
	}
	var b strings.Builder
	for after := 0; ; {
		chunks, err := d.store.Documents.Chunks(ctx, projectID, id, after, textBatch)
		if err != nil {
			return "", "", "", err
		}
		for _, c := range chunks {
			b.WriteString(c.Text)
		}
		if len(chunks) < textBatch {
			return document.Title, strings.TrimSpace(b.String()), document.Unread, nil
		}
		after = chunks[len(chunks)-1].N
	}
}

// Delete removes a document with its file, text, index and vectors, or fails with not_found. Rules that were made from it
// keep their source_refs, with section and quote.
func (d *Documents) Delete(ctx context.Context, projectID, id string) error {
	return d.store.Update(ctx, func(tx store.Tx) error {
		document, err := tx.Documents.Get(ctx, projectID, id)
		if err != nil {
			return err
		}
		if err := tx.Documents.Delete(ctx, projectID, id); err != nil {
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
