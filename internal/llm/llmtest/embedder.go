package llmtest

import (
	"context"
	"hash/fnv"
	"math"
	"strings"
	"sync"
	"unicode"

	"tenet/internal/llm"
	"tenet/internal/rule"
)

// Embedder is an [llm.Embedder] for tests that needs no model. It counts words, each in a place that its hash chooses, so
// texts with words in common are near each other, and equal texts equal. The zero value is ready to use and safe for
// concurrent use; set its fields before the first call.
type Embedder struct {
	// Name is the ID; empty means fake:words.
	Name string
	// Respond runs first on every call, which returns its error. Nil never fails.
	Respond func(ctx context.Context, texts []string) error

	mu    sync.Mutex
	calls [][]string
}

// ID returns the fake's name.
func (f *Embedder) ID() string {
	if f.Name == "" {
		return "fake:words"
	}
	return f.Name
}

// Calls returns the texts of each call so far, in the order in which the calls began.
func (f *Embedder) Calls() [][]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([][]string(nil), f.calls...)
}

// Embed returns the vectors of texts.
func (f *Embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	f.mu.Lock()
	f.calls = append(f.calls, append([]string(nil), texts...))
	f.mu.Unlock()
	if f.Respond != nil {
		if err := f.Respond(ctx, texts); err != nil {
			return nil, err
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, rule.Errorf(rule.CodeUnavailable, "the fake embedder was not waited for: %w", err)
	}
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		text = strings.TrimSpace(text)
		if text == "" {
			return nil, rule.Errorf(rule.CodeInvalid, "text %d is blank; there is nothing to make a vector of", i)
		}
		vectors[i] = wordVector(text[:min(len(text), llm.MaxEmbedBytes)])
	}
	return vectors, nil
}

// wordVector counts the words of text. The sign of a word follows from its hash too, so that words that share a place do
// not always add up. A text without words is one word.
func wordVector(text string) []float32 {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	if len(words) == 0 {
		words = []string{text}
	}
	v := make([]float32, llm.Dimensions)
	for _, word := range words {
		h := fnv.New64a()
		_, _ = h.Write([]byte(word)) // never fails
		sum := h.Sum64()
		if place := sum >> 1 % llm.Dimensions; sum&1 == 0 {
			v[place]++
		} else {
			v[place]--
		}
	}
	if !unit(v) {
		v[0] = 1 // words that cancel out
	}
	return v
}

// unit scales v to length 1 and reports whether it has a length at all.
func unit(v []float32) bool {
	var square float64
	for _, x := range v {
		square += float64(x) * float64(x)
	}
	if square == 0 {
		return false
	}
	length := math.Sqrt(square)
	for i := range v {
		v[i] = float32(float64(v[i]) / length)
	}
	return true
}
