package store

import (
	"context"
	"time"
)

// Document is an uploaded file, without its content.
type Document struct {
	ProjectID    string
	ID           string
	Filename     string
	MIMEType     string
	Title        string
	DocumentType string // what the uploader calls its kind, such as policy; may be empty
	SHA256       string // of the content, hex
	SizeBytes    int64
	UploadedBy   string
	UploadedAt   time.Time
	Pages        int // 0 where the format has none
	Characters   int // of the extracted text
	Chunks       int
	// EmbeddingModel is the model of which every chunk has a vector; empty while there is none.
	EmbeddingModel string
}

// DocumentChunk is a piece of a document's text, as search finds it. All pieces after one another are the text.
type DocumentChunk struct {
	// N counts from 1. The piece 0 holds the document's names, is found as the others are, and is no part of its text.
	N       int
	Section string // headings above it, joined by " > "
	Page    int    // from 1; 0 where the format has none
	Line    int    // of the source, from 1; 0 where the format has none
	Text    string
	// Words are what full-text search compares, in the order of the text, and Wholes what it compares without order. They
	// are written, never read.
	Words, Wholes []string
}

// DocumentQuery asks for documents by the words of their chunks.
type DocumentQuery struct {
	ProjectID string
	// Phrases are words that must all stand in a chunk, one after another.
	Phrases [][]string
	// Any are words of which one must stand in a chunk, unless there are phrases. More and rarer ones count more.
	Any           []string
	Offset, Limit int
}

// DocumentMatch is a document that was found.
type DocumentMatch struct {
	DocumentID string
	// N is its best chunk; 0 if only its names match.
	N     int
	Score float64 // higher is better; comparable within one answer only
}

// DocumentVectors are the vectors of a document's chunks N, N+1 and so on, after one another.
type DocumentVectors struct {
	DocumentID string
	N          int
	Vectors    []float32
}

// DocumentReader reads documents.
type DocumentReader interface {
	// Document returns a document, or not_found.
	Document(ctx context.Context, projectID, id string) (Document, error)
	// DocumentsByID returns those documents among ids that exist, by id.
	DocumentsByID(ctx context.Context, projectID string, ids []string) (map[string]Document, error)
	// DocumentBySum returns the document whose content has a hash, or not_found.
	DocumentBySum(ctx context.Context, projectID, sha256 string) (Document, error)
	// Documents returns a page of a project's documents, newest first, and how many there are.
	Documents(ctx context.Context, projectID string, offset, limit int) ([]Document, int, error)
	// DocumentContent returns the uploaded bytes, or not_found.
	DocumentContent(ctx context.Context, projectID, id string) ([]byte, error)
	// DocumentChunks returns up to limit chunks of a document's text with N > after, in order.
	DocumentChunks(ctx context.Context, projectID, id string, after, limit int) ([]DocumentChunk, error)
	// DocumentChunk returns one chunk of a document, or not_found.
	DocumentChunk(ctx context.Context, projectID, id string, n int) (DocumentChunk, error)

	// FindDocuments returns a page of the documents that match q, best first, and how many match. A document scores as its
	// best chunk and its names do together. Without words nothing matches.
	FindDocuments(ctx context.Context, q DocumentQuery) ([]DocumentMatch, int, error)
	// ScanDocuments is FindDocuments without the full-text index: words are found anywhere in the text and names, also inside
	// other words, whatever the case of their letters, and each word found counts 1 in the chunk and 1 in the names. Any is
	// all it looks at.
	ScanDocuments(ctx context.Context, q DocumentQuery) ([]DocumentMatch, int, error)

	// DocumentVectorKeys lists the vectors of a model in a project, without the vectors, by document and N.
	DocumentVectorKeys(ctx context.Context, projectID, model string) ([]DocumentVectors, error)
	// EachDocumentVectors calls fn for the vectors that some documents of a project have of a model, in no order. An error
	// of fn ends the walk and is returned.
	EachDocumentVectors(ctx context.Context, projectID, model string, documentIDs []string, fn func(DocumentVectors) error) error
	// UnembeddedDocuments lists the documents of a project that lack vectors of a model, oldest first.
	UnembeddedDocuments(ctx context.Context, projectID, model string) ([]string, error)
}

// DocumentTx writes documents.
type DocumentTx interface {
	// InsertDocument stores a document with its content and chunks; conflict if the project has the content or the id
	// already; not_found without the project.
	InsertDocument(ctx context.Context, d Document, content []byte, chunks []DocumentChunk) error
	// DeleteDocument removes a document with all that belongs to it; not_found without it.
	DeleteDocument(ctx context.Context, projectID, id string) error
	// PutDocumentVectors stores vectors of a document's chunks, in place of those that begin at the same N; not_found
	// without the document.
	PutDocumentVectors(ctx context.Context, projectID, model string, v DocumentVectors) error
	// MarkEmbedded notes that all chunks of a document have vectors of a model, and removes its vectors of other models;
	// not_found without the document.
	MarkEmbedded(ctx context.Context, projectID, id, model string) error
}
