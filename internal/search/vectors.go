package search

import (
	"context"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"tenet/internal/llm"
	"tenet/internal/redact"
	"tenet/internal/rule"
)

// Bounds on the embedding of queries.
const (
	maxCachedVectors = 2000             // 768 float32 each: 6 MB
	maxEmbedding     = 32               // calls for queries that may be under way
	embedTimeout     = 10 * time.Second // of such a call
	// embedPatience is how long a search waits that has words to fall back to. The call goes on without it, so that the
	// same query finds its vector the next time, and such searches do not wait at all for slowFor.
	embedPatience = 1500 * time.Millisecond
	slowFor       = 15 * time.Second
	// patient is how long a search waits that has nothing else: longer than a call may take.
	patient = embedTimeout + time.Second
)

// queryVectors embeds the texts of queries: each once for all that ask for it at the same time, with a cache of the last ones.
// Searches that can do without a vector do not wait for a slow service.
type queryVectors struct {
	embedder llm.Embedder
	redactor *redact.Redactor
	now      func() time.Time
	known    *cache[string, []float32]
	flights  singleflight.Group
	slots    chan struct{}

	failing atomic.Bool // the last search by words and meaning got no vector

	mu   sync.Mutex
	slow time.Time // until then only searches by meaning alone wait
}

func newQueryVectors(e llm.Embedder, r *redact.Redactor, now func() time.Time) *queryVectors {
	return &queryVectors{embedder: e, redactor: r, now: now, known: newCache[string, []float32](maxCachedVectors), slots: make(chan struct{}, maxEmbedding)}
}

// get returns the vector of a text and waits for it as long as patience allows. A caller that does not wait for a whole call gets
// an error at once while the service is slow. Errors are unavailable, or the context's.
func (q *queryVectors) get(ctx context.Context, text string, patience time.Duration) ([]float32, error) {
	if v, ok := q.known.get(text); ok {
		return v, nil
	}
	result := q.flights.DoChan(text, func() (any, error) {
		// Others wait for this call too, so it does not end with the first of them.
		return q.call(context.WithoutCancel(ctx), text)
	})
	if patience < embedTimeout && q.isSlow() {
		return nil, rule.Errorf(rule.CodeUnavailable, "the embedding service is slow; search again in a few seconds")
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case r := <-result:
		v, _ := r.Val.([]float32)
		return v, r.Err
	case <-timer.C:
		q.noteSlow()
		return nil, rule.Errorf(rule.CodeUnavailable, "the embedding service has not answered within %s", patience)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// call embeds one text and remembers its vector.
func (q *queryVectors) call(ctx context.Context, text string) ([]float32, error) {
	select {
	case q.slots <- struct{}{}:
		defer func() { <-q.slots }()
	default:
		return nil, rule.Errorf(rule.CodeUnavailable, "too many queries wait for the embedding service")
	}
	ctx, cancel := context.WithTimeout(ctx, embedTimeout)
	defer cancel()
	vectors, err := vectorsFrom(ctx, q.embedder, q.redactor, []string{text})
	if err != nil {
		return nil, rule.Errorf(rule.CodeUnavailable, "the embedding service has failed: %w", err)
	}
	q.known.put(text, vectors[0])
	return vectors[0], nil
}

func (q *queryVectors) isSlow() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.now().Before(q.slow)
}

func (q *queryVectors) noteSlow() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.slow = q.now().Add(slowFor)
}

// vectorsFrom calls an embedder, which is not shown secrets, and checks what comes back.
func vectorsFrom(ctx context.Context, e llm.Embedder, r *redact.Redactor, texts []string) ([][]float32, error) {
	clean := make([]string, len(texts))
	for i, text := range texts {
		clean[i], _ = r.Text(text)
	}
	vectors, err := e.Embed(ctx, clean)
	if err != nil {
		return nil, err
	}
	if len(vectors) != len(texts) {
		return nil, fmt.Errorf("%s gave %d vectors for %d texts", e.ID(), len(vectors), len(texts))
	}
	for _, v := range vectors {
		if err := checkVector(v); err != nil {
			return nil, fmt.Errorf("%s gave a vector that %w", e.ID(), err)
		}
	}
	return vectors, nil
}

// checkVector returns an error that says what is wrong with a vector.
func checkVector(v []float32) error {
	if len(v) != llm.Dimensions {
		return fmt.Errorf("has %d numbers; vectors have %d", len(v), llm.Dimensions)
	}
	length := 0.0
	for _, x := range v {
		length += float64(x) * float64(x)
	}
	if length == 0 || math.IsNaN(length) || math.IsInf(length, 0) {
		return fmt.Errorf("has no direction: all its numbers are 0, or one is not finite")
	}
	return nil
}
