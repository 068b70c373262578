package rest

import (
	"context"
	"sync"
	"time"

	"tenet/internal/store"
)

// writers remembers who has changed something, and when, so that callers see their own changes although replicas answer reads. It is safe for concurrent
// use.
type writers struct {
	now func() time.Time

	mu   sync.Mutex
	last map[string]*lastWrite // by caller
}

type lastWrite struct {
	running int
	ended   time.Time
}

// Bounds of what writers remembers.
const (
	maxWriters  = 10_000
	writersLast = 10 * time.Minute // no replica that answers is behind by more
)

func newWriters(now func() time.Time) *writers {
	return &writers{now: now, last: map[string]*lastWrite{}}
}

// begin notes that a request of a caller may write from now on. The caller of begin calls the returned function at the end of the request.
func (w *writers) begin(caller string) (end func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.last) >= maxWriters {
		for name, l := range w.last {
			if l.running == 0 && w.now().Sub(l.ended) > writersLast {
				delete(w.last, name)
			}
		}
	}
	l := w.last[caller]
	if l == nil {
		l = &lastWrite{}
		w.last[caller] = l
	}
	l.running++
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		l.running--
		l.ended = w.now()
	}
}

// since returns the end of a caller's last write. ok is false while one runs.
func (w *writers) since(caller string) (at time.Time, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.last[caller]
	if l == nil {
		return time.Time{}, true
	}
	return l.ended, l.running == 0
}

// follow lets a list be read at a replica, and notes requests that may write.
func (s *Server) follow(ctx context.Context, e *Endpoint, x *exchange) context.Context {
	if s.writers == nil || e.inner {
		return ctx
	}
	caller := x.who.Name + " " + x.who.KeyID
	if !e.reads {
		x.wrote = s.writers.begin(caller)
		return ctx
	}
	if since, ok := s.writers.since(caller); ok && e.lags {
		return store.MayLag(ctx, since)
	}
	return ctx
}
