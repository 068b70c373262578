package llm

import (
	"context"
	"slices"
	"sync"
	"time"

	"tenet/internal/telemetry"
)

// meteredCalls is how many calls a [Meter] remembers the times of.
const meteredCalls = 100

// Meter counts the calls to a model. It is safe for concurrent use.
type Meter struct {
	// Observe is called with each call; nil does nothing. Set it before the first call.
	Observe func(took time.Duration, failed bool)
	// Tokens is called with each answer, for its tokens; nil does nothing. Set it before the first call.
	Tokens func(answer Response)

	mu    sync.Mutex
	stats CallStats
	times []time.Duration // of the last calls that were answered, a ring
	next  int
}

// CallStats are the figures of a [Meter]. The times are zero before they happen.
type CallStats struct {
	Calls, Failed int64
	Median, P95   time.Duration // of the last 100 calls that were answered; 0 without any
	LastCallAt    time.Time
	LastError     string
	LastErrorAt   time.Time
}

// note counts a call that began at a time. A call that its caller gave up says nothing about the model.
func (m *Meter) note(ctx context.Context, began time.Time, err error) {
	now := time.Now()
	if err != nil && ctx.Err() == context.Canceled {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stats.Calls++
	m.stats.LastCallAt = now
	took := now.Sub(began)
	if m.Observe != nil {
		m.Observe(took, err != nil)
	}
	if err != nil {
		m.stats.Failed++
		m.stats.LastError, m.stats.LastErrorAt = err.Error(), now
		return
	}
	if len(m.times) < meteredCalls {
		m.times = append(m.times, took)
		return
	}
	m.times[m.next] = took
	m.next = (m.next + 1) % meteredCalls
}

// Stats returns the figures so far.
func (m *Meter) Stats() CallStats {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.stats
	if n := len(m.times); n > 0 {
		sorted := slices.Sorted(slices.Values(m.times))
		s.Median, s.P95 = sorted[n/2], sorted[min(n-1, n*95/100)]
	}
	return s
}

// Model returns a model whose calls the meter counts; nil for nil.
func (m *Meter) Model(inner Model) Model {
	if inner == nil {
		return nil
	}
	return &meteredModel{inner, m}
}

// Embedder returns an embedder whose calls the meter counts; nil for nil.
func (m *Meter) Embedder(inner Embedder) Embedder {
	if inner == nil {
		return nil
	}
	return &meteredEmbedder{inner, m}
}

type meteredModel struct {
	Model

	meter *Meter
}

// Complete implements [Model].
func (m *meteredModel) Complete(ctx context.Context, req Request) (Response, error) {
	began := time.Now()
	ctx, span := telemetry.Start(ctx, "model call", "gen_ai.request.model", m.ID(), "gen_ai.operation.name", "chat")
	resp, err := m.Model.Complete(ctx, req)
	span.Set("gen_ai.response.model", resp.Model)
	span.Count("gen_ai.usage.input_tokens", resp.InputTokens)
	span.Count("gen_ai.usage.output_tokens", resp.OutputTokens)
	span.End(err)
	m.meter.note(ctx, began, err)
	if err == nil && m.meter.Tokens != nil {
		m.meter.Tokens(resp)
	}
	return resp, err
}

// Server returns the address of the model's server; see [ServerOf].
func (m *meteredModel) Server() string { return ServerOf(m.Model) }

type meteredEmbedder struct {
	Embedder

	meter *Meter
}

// Embed implements [Embedder].
func (m *meteredEmbedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	began := time.Now()
	ctx, span := telemetry.Start(ctx, "model call", "gen_ai.request.model", m.ID(), "gen_ai.operation.name", "embeddings")
	vectors, err := m.Embedder.Embed(ctx, texts)
	span.Count("tenet.texts", len(texts))
	span.End(err)
	m.meter.note(ctx, began, err)
	return vectors, err
}
