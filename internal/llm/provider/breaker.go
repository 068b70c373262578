package provider

import (
	"sync"
	"time"
)

const (
	// patience is how many attempts in a row may fail before a model is left alone.
	patience = 5
	// firstRest is how long it is left alone then; the time doubles with every probe that fails, up to longestRest.
	firstRest   = 5 * time.Second
	longestRest = time.Minute
	// realTime is how long a server must have had, where its caller's deadline passed, for that to be its failure.
	realTime = 5 * time.Second
)

// result is how an attempt went, as far as the server is concerned.
type result int

const (
	unknown  result = iota // the attempt was given up before it had a result
	answered               // the server answered, if only to refuse
	failed
)

// breaker keeps calls away from a model whose server fails again and again, so that callers learn of it at once, a
// fallback gets their time, and the server can recover. When its rest is over, one attempt goes through as a probe and
// decides for all. The zero value is closed; it is safe for concurrent use.
type breaker struct {
	mu       sync.Mutex
	failures int // in a row
	rest     time.Duration
	until    time.Time
	probing  bool
}

// pass is the leave to make one attempt.
type pass struct{ probe bool }

// enter gives a pass for one attempt, which must be handed back with leave. If it has none, it returns for how long.
func (b *breaker) enter(now time.Time) (p pass, rest time.Duration, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.failures < patience:
		return pass{}, 0, true
	case now.Before(b.until):
		return pass{}, b.until.Sub(now).Round(time.Millisecond), false
	case b.probing:
		return pass{}, b.rest, false
	}
	b.probing = true
	return pass{probe: true}, 0, true
}

// leave notes how an attempt went.
func (b *breaker) leave(now time.Time, p pass, r result) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p.probe {
		b.probing = false
	}
	switch r {
	case unknown:
	case answered:
		b.failures, b.rest = 0, 0
	case failed:
		b.failures++
		// Attempts that were under way when the breaker opened do not lengthen the rest; a probe does.
		if b.failures >= patience && (b.rest == 0 || p.probe) {
			b.rest = min(max(2*b.rest, firstRest), longestRest)
			b.until = now.Add(b.rest)
		}
	}
}
