// Package llmtest has a scripted model and an embedder for tests.
package llmtest

import (
	"context"
	"slices"
	"sync"
	"time"

	"tenet/internal/llm"
	"tenet/internal/rule"
)

// Fake is a scripted [llm.Model] for tests. Calls take the pushed answers in order; when none is left, Respond answers. The
// zero value is ready to use and safe for concurrent use; set its fields before the first call.
type Fake struct {
	// Name is the ID; empty means fake:model.
	Name string
	// Delay is how long every call takes. A call whose context ends first fails with the context's error as its cause.
	Delay time.Duration
	// Respond answers the calls that no pushed answer is left for. Nil fails them with an unavailable error.
	Respond func(ctx context.Context, req llm.Request) (llm.Response, error)

	mu       sync.Mutex
	pushed   []scripted
	requests []llm.Request
	inFlight int
	peak     int
}

type scripted struct {
	response llm.Response
	err      error
}

// ID returns the fake's name.
func (f *Fake) ID() string {
	if f.Name == "" {
		return "fake:model"
	}
	return f.Name
}

// Push queues answers with the given texts, one per call.
func (f *Fake) Push(texts ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, text := range texts {
		f.pushed = append(f.pushed, scripted{response: llm.Response{Text: text}})
	}
}

// PushResponse queues one answer with its token counts.
func (f *Fake) PushResponse(resp llm.Response) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pushed = append(f.pushed, scripted{response: resp})
}

// PushError queues one call that fails with err.
func (f *Fake) PushError(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pushed = append(f.pushed, scripted{err: err})
}

// Complete records req and gives the next scripted answer.
func (f *Fake) Complete(ctx context.Context, req llm.Request) (llm.Response, error) {
	next, ok := f.begin(req)
	defer f.end()
	if f.Delay > 0 {
		timer := time.NewTimer(f.Delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return llm.Response{}, rule.Errorf(rule.CodeUnavailable, "the fake model was not waited for: %w", ctx.Err())
		}
	}
	switch {
	case ok:
		return next.response, next.err
	case f.Respond != nil:
		return f.Respond(ctx, req)
	}
	return llm.Response{}, rule.Errorf(rule.CodeUnavailable, "the fake model has no answer left; push one or set Respond")
}

// Requests returns the requests so far in the order in which their calls began.
func (f *Fake) Requests() []llm.Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.requests)
}

// Calls returns how many calls have begun.
func (f *Fake) Calls() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.requests)
}

// Peak returns the largest number of calls that ran at the same time.
func (f *Fake) Peak() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.peak
}

func (f *Fake) begin(req llm.Request) (scripted, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests = append(f.requests, req)
	f.inFlight++
	f.peak = max(f.peak, f.inFlight)
	if len(f.pushed) == 0 {
		return scripted{}, false
	}
	next := f.pushed[0]
	f.pushed = f.pushed[1:]
	return next, true
}

func (f *Fake) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.inFlight--
}

// Reset forgets the requests made so far.
func (f *Fake) Reset() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests = nil
}
