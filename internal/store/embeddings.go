package store

import "context"

// Dimensions is the length of every vector.
const Dimensions = 768

// Embedding is the vector of a text, as an embedding model gives it. It belongs to the text and not to a rule: rules with
// equal texts share one, and an edit that leaves the text alone keeps it.
type Embedding struct {
	Model    string    // the model as it is configured, such as openai:text-embedding-3-small
	TextHash string    // names the text; how it is made is the business of package corpus
	Vector   []float32 // of length Dimensions
}

// EmbeddingReader reads embeddings.
type EmbeddingReader interface {
	// EmbeddingsOf returns the embeddings that exist under some hashes, in no certain order.
	EmbeddingsOf(ctx context.Context, projectID, model string, hashes []string) ([]Embedding, error)
	// EmbeddingChanges calls fn, in order of the hash, for every embedding of a model that was stored after the corpus version
	// `after`; with 0 for all. An error of fn ends the walk and is returned.
	EmbeddingChanges(ctx context.Context, projectID, model string, after int64, fn func(Embedding) error) error
	// EmbeddingHashes returns the hashes of all embeddings of a model, in order.
	EmbeddingHashes(ctx context.Context, projectID, model string) ([]string, error)
}

// EmbeddingWriter writes embeddings.
type EmbeddingWriter interface {
	// PutEmbeddings stores embeddings at corpus version cv. What exists under a hash stays: a model gives one vector for one
	// text. Invalid, and nothing is stored, if a vector has another length than Dimensions or a number that is not finite;
	// not_found without the project.
	PutEmbeddings(ctx context.Context, projectID string, cv int64, embeddings []Embedding) error
	// DeleteEmbeddings removes the embeddings of a model under some hashes and returns how many there were. Views need not
	// follow it: it is meant for texts that no rule has any more.
	DeleteEmbeddings(ctx context.Context, projectID, model string, hashes []string) (int, error)
	// DeleteOtherEmbeddings removes the embeddings of all models but one and returns how many there were.
	DeleteOtherEmbeddings(ctx context.Context, projectID, model string) (int, error)
}
