package store

import "context"

// Dimensions is the length of every vector.
const Dimensions = 768

// Embedding is the vector of a text, as an embedding model returns it. It belongs to the text and not to a rule: rules with
// equal texts share one, and an edit that keeps the text keeps it.
type Embedding struct {
	Model    string    // the model as it is configured, such as openai:text-embedding-3-small
	TextHash string    // identifies the text; package corpus computes it
	Vector   []float32 // of length Dimensions
}

// EmbeddingReader reads embeddings.
type EmbeddingReader interface {
	// GetMany returns the embeddings that exist under some hashes, in any order.
	GetMany(ctx context.Context, projectID, model string, hashes []string) ([]Embedding, error)
	// Changes calls fn, in order of the hash, for every embedding of a model that was stored after the corpus version
	// `after`; with 0 for all. An error of fn ends the walk, and the method returns it.
	Changes(ctx context.Context, projectID, model string, after int64, fn func(Embedding) error) error
	// Hashes returns the hashes of all embeddings of a model, in order.
	Hashes(ctx context.Context, projectID, model string) ([]string, error)
}

// EmbeddingTx writes embeddings.
type EmbeddingTx interface {
	EmbeddingReader

	// Put stores embeddings at corpus version cv. An existing one under the same hash stays: a model returns one vector for one
	// text. Invalid, and nothing is stored, if a vector has another length than Dimensions or a number that is not finite;
	// not_found without the project.
	Put(ctx context.Context, projectID string, cv int64, embeddings []Embedding) error
	// Delete removes the embeddings of a model under some hashes and returns their number. Views need not
	// follow it: it is for texts that no rule has.
	Delete(ctx context.Context, projectID, model string, hashes []string) (int, error)
	// DeleteOther removes the embeddings of all models except one and returns their number.
	DeleteOther(ctx context.Context, projectID, model string) (int, error)
}
