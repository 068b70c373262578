package judge

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"
)

// shared is work that equal requests share.
type shared[R any] interface {
	// sharingKey returns a key that is equal for requests that get one answer.
	sharingKey() string
	// timeout bounds the work.
	timeout() time.Duration
	// finish does the work. It must not panic.
	finish(ctx context.Context) R
	// conclude returns what the work has found so far. It may be called while finish runs.
	conclude() R
}

// cloner is a result of which each caller gets a copy.
type cloner[R any] interface{ clone() R }

// inFlight lets equal requests that run at the same time share one piece of work. The zero value is ready to use.
type inFlight[R cloner[R]] struct {
	mu      sync.Mutex
	current map[string]*running[R]
}

// running is work that runs, and its callers.
type running[R cloner[R]] struct {
	shared[R]

	key     string
	cancel  context.CancelFunc
	waiting int // callers
	done    chan struct{}
	result  R // once done is closed
}

// join does w, or waits for equal work that is running. If the context ends first, it returns what that has found so far. Work
// runs on as long as any caller waits for it.
func (f *inFlight[R]) join(ctx context.Context, w shared[R]) R {
	running := f.start(ctx, w)
	defer f.leave(running)
	select {
	case <-running.done:
		return running.result.clone()
	case <-ctx.Done():
	}
	select {
	case <-running.done:
		return running.result.clone()
	default:
		return running.conclude().clone()
	}
}

// start starts work, or returns equal work that is running.
func (f *inFlight[R]) start(ctx context.Context, w shared[R]) *running[R] {
	key := w.sharingKey()
	f.mu.Lock()
	defer f.mu.Unlock()
	if running := f.current[key]; running != nil {
		running.waiting++
		return running
	}
	r := &running[R]{shared: w, key: key, waiting: 1, done: make(chan struct{})}
	ctx, r.cancel = context.WithTimeout(context.WithoutCancel(ctx), w.timeout())
	if f.current == nil {
		f.current = map[string]*running[R]{}
	}
	f.current[key] = r
	go func() {
		defer r.cancel()
		r.result = w.finish(ctx)
		f.mu.Lock()
		f.remove(r)
		f.mu.Unlock()
		close(r.done)
	}()
	return r
}

// leave ends the waiting of one caller. Without callers the work is cancelled.
func (f *inFlight[R]) leave(r *running[R]) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.waiting--; r.waiting == 0 {
		f.remove(r)
		r.cancel()
	}
}

// remove makes room for new work of the same request. The caller holds the mutex.
func (f *inFlight[R]) remove(r *running[R]) {
	if f.current[r.key] == r {
		delete(f.current, r.key)
	}
}

// timeout implements shared.
func (d *decision) timeout() time.Duration { return d.j.cfg.TotalTimeout }

// finish implements shared. A fault of our own must not end the program, nor leave a rule without a verdict.
func (d *decision) finish(ctx context.Context) (r Result) {
	defer func() {
		if p := recover(); p != nil {
			d.j.cfg.Logger.ErrorContext(ctx, "judging broke off", "panic", p, "stack", string(debug.Stack()))
			r = allUndecided(d.rules, reasonFault)
		}
	}()
	d.run(ctx)
	return d.conclude()
}

// sharingKey implements shared: requests get one answer that show the same, and have the same rules by name and in the same order.
func (d *decision) sharingKey() string {
	parts := []string{string(d.seed[:]), fmt.Sprint(d.redacted), d.caller}
	for i, r := range d.rules {
		parts = append(parts, r.ProjectID, r.ID, r.Slug, fmt.Sprint(r.Version), d.contents[i])
	}
	return hashed(append(parts, d.layout.hidden()...)...)
}

// hidden lists what cannot be seen of the subject.
func (l *layout) hidden() (parts []string) {
	for unit := range l.subject.Len() {
		if u := l.subject.At(unit); u.Unseen != "" || u.Media != "" {
			parts = append(parts, u.Path, u.Unseen, u.Media)
		}
	}
	return parts
}
