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

// ServerOf returns the address of the server on which a model runs; empty for a model on its vendor's own, and for one that has no
// method Server to return it. Two models with equal ids on different servers are not the same model.
func ServerOf(m Model) string {
	if on, ok := m.(interface{ Server() string }); ok {
		return on.Server()
	}
	return ""
}

// Request is one prompt. The stable parts come first so that providers can cache them.
type Request struct {
	// System is the stable instruction text.
	System string
	// Prefix is the stable beginning of the user turn: what many requests have in common, such as the rules. Clients of
	// providers with explicit caching mark its end. It may be empty.
	Prefix string
	// Prompt is the user turn, or what follows Prefix in it: rules first, subject last.
	Prompt string
	// Schema is the JSON Schema that the answer must satisfy; SchemaName labels it.
	Schema     json.RawMessage
	SchemaName string
	// MaxOutputTokens bounds the answer. Thoughts that a model has before it may come on top.
	MaxOutputTokens int
}

// Response is a model's answer. Text is untrusted.
type Response struct {
	// Model is the id of the model that answered where several could; empty means the one that was asked.
	Model        string
	Text         string
	InputTokens  int
	OutputTokens int
	// CachedTokens is the part of InputTokens that the provider had in its prompt cache.
	CachedTokens int
}
