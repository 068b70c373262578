// Package llm declares what Tenet asks of language models, and a scripted fake for tests. Vendor clients live in
// llm/provider.
package llm

import (
	"context"
	"encoding/json"
)

// Model completes prompts. Implementations are safe for concurrent use, honour the context's deadline, bound the size of
// what they read, and never retry longer than the context lives.
type Model interface {
	// ID names the model as provider:model, such as openai:gpt-5-mini.
	ID() string
	// Complete asks for one answer. It fails with an error of code unavailable when the model cannot be reached, is
	// overloaded or refuses, and of code invalid when its answer is unusable as transport (too large, truncated).
	Complete(ctx context.Context, req Request) (Response, error)
}

// Request is one prompt. The stable parts come first so that providers can cache them.
type Request struct {
	// System is the stable instruction text.
	System string
	// Prefix begins the user turn with what stays the same from call to call, the rules; providers that can, cache it.
	Prefix string
	// Prompt is the rest of the user turn: the subject.
	Prompt string
	// Schema is the JSON Schema that the answer must satisfy; SchemaName labels it.
	Schema     json.RawMessage
	SchemaName string
	// MaxOutputTokens bounds the answer.
	MaxOutputTokens int
}

// Response is a model's answer. Text is untrusted.
type Response struct {
	Text         string
	InputTokens  int
	OutputTokens int
	// CachedTokens is the part of InputTokens that the provider had in its prompt cache.
	CachedTokens int
}
