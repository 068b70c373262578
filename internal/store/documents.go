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
	DocumentType string // the uploader's name of its kind, such as policy; may be empty
	SHA256       string // of the content, hex
	SizeBytes    int64
	UploadedBy   string
	UploadedAt   time.Time
	Pages        int // 0 where the format has none
	Characters   int // of the extracted text
	Chunks       int
	Unread       string // what the text leaves out, such as "page 3 shows no text and may be a picture of it"; empty if nothing
	// EmbeddingModel is the model of which every chunk has a vector; empty without one.
	EmbeddingModel string
}

// DocumentChunk is a piece of a document's text, as search finds it. The pieces in order are the text.
type DocumentChunk struct {
	// N counts from 1. The piece 0 holds the document's names; search finds it too, and it is no part of the text.
	N       int
	Section string // headings above it, joined by " > "
	Page    int    // from 1; 0 where the format has none
	Line    int    // of the source, from 1; 0 where the format has none
	Text    string
	// Full-text search compares Words in the order of the text, and Wholes without order. Readers leave both empty.
	Words, Wholes []string
}

// DocumentQuery asks for documents by the words of their chunks.
type DocumentQuery struct {
	ProjectID string
	// Phrases are sequences of words; a chunk must contain each of them.
	Phrases [][]string
	// A chunk must contain one of Any, unless Phrases has any. More and rarer words raise its score.
	Any           []string
	Offset, Limit int
}

// DocumentMatch is a document that matches a query.
type DocumentMatch struct {
	DocumentID string
	// N is its best chunk; 0 if only its names match.
	N     int
	Score float64 // higher is better; comparable within one answer only
}

// DocumentVectors are the concatenated vectors of a document's chunks N, N+1 and so on.
type DocumentVectors struct {
	DocumentID string
	N          int
	Vectors    []float32
}

// DocumentState sums up the documents of a project. It differs after any document has come or gone.
type DocumentState struct {
	Documents  int64
	Newest     string // the largest id
	SizeBytes  int64
	Characters int64
}

// DocumentReader reads documents.
type DocumentReader interface {
	// State sums up the documents of a project.
	State(ctx context.Context, projectID string) (DocumentState, error)
	// Get returns a document, or not_found.
	Get(ctx context.Context, projectID, id string) (Document, error)
	// GetMany returns the documents among ids that exist, by id.
	GetMany(ctx context.Context, projectID string, ids []string) (map[string]Document, error)
	// GetBySum returns the document whose content has a hash, or not_found.
	GetBySum(ctx context.Context, projectID, sha256 string) (Document, error)
	// List returns a page of a project's documents, newest first, and their total.
	List(ctx context.Context, projectID string, offset, limit int) ([]Document, int, error)
	// Content returns the uploaded bytes, or not_found.
	Content(ctx context.Context, projectID, id string) ([]byte, error)
	// Chunks returns up to limit chunks of a document's text with N > after, in order.
	Chunks(ctx context.Context, projectID, id string, after, limit int) ([]DocumentChunk, error)
	// Chunk returns one chunk of a document, or not_found.
	Chunk(ctx context.Context, projectID, id string, n int) (DocumentChunk, error)
	// Find returns a page of the documents that match q, best first, and the total. The score of a
	// document is that of its best chunk plus that of its names. Without words nothing matches.
	Find(ctx context.Context, q DocumentQuery) ([]DocumentMatch, int, error)
	// Scan is Find without the full-text index: it finds words anywhere in the text and names, also inside other words,
	// ignoring case, and each word counts 1 in the chunk and 1 in the names. It uses only Any.
	Scan(ctx context.Context, q DocumentQuery) ([]DocumentMatch, int, error)
}

// DocumentTx writes documents.
type DocumentTx interface {
	DocumentReader

	// Insert stores a document with its content and chunks; conflict if the project has the content or the id
	// already; not_found without the project.
	Insert(ctx context.Context, d Document, content []byte, chunks []DocumentChunk) error
	// Delete removes a document with its content, chunks and vectors; not_found without it.
	Delete(ctx context.Context, projectID, id string) error
}

// VectorReader reads the vectors of documents.
type VectorReader interface {
	// Keys lists the vectors of a model in a project by document and N, with nil Vectors.
	Keys(ctx context.Context, projectID, model string) ([]DocumentVectors, error)
	// Each calls fn for the vectors that some documents of a project have of a model, in any order. An error
	// of fn ends the walk and is returned.
	Each(ctx context.Context, projectID, model string, documentIDs []string, fn func(DocumentVectors) error) error
	// Unembedded lists the documents of a project without vectors of a model, oldest first.
	Unembedded(ctx context.Context, projectID, model string) ([]string, error)
}

// VectorTx writes the vectors of documents.
type VectorTx interface {
	VectorReader

	// Put stores vectors of a document's chunks, replacing those that begin at the same N; not_found
	// without the document.
	Put(ctx context.Context, projectID, model string, v DocumentVectors) error
	// MarkEmbedded records that all chunks of a document have vectors of a model, and removes its vectors of other models;
	// not_found without the document.
	MarkEmbedded(ctx context.Context, projectID, id, model string) error
}
