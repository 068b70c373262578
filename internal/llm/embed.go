package llm

import "context"

// Dimensions is the length of every vector. Vectors of one length can be kept and compared without knowing their model.
const Dimensions = 768

// MaxEmbedBytes is how much of a text an [Embedder] reads; what lies beyond does not change the vector. It is less than any
// served model takes, because no token is shorter than a byte. Longer texts are for the caller to divide.
const MaxEmbedBytes = 8000

// Embedder turns texts into vectors, so that texts of like meaning get like vectors. Implementations are safe for
// concurrent use, honour the context's deadline and bound the size of what they read.
type Embedder interface {
	// ID names the model as provider:model, such as openai:text-embedding-3-small. Vectors of different ids cannot be compared.
	ID() string
	// Embed returns one vector of Dimensions finite numbers and of length 1 per text, in the order of texts; no texts give
	// no vectors. It fails with an error of code unavailable when the model cannot be reached, is overloaded or refuses, and
	// of code invalid for a text that is blank and for an answer that is not what was asked for. It never gives a part.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}
