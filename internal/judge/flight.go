package judge

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
)

// flights lets equal requests that run at the same time share one hearing. The zero value is ready to use.
type flights struct {
	mu      sync.Mutex
	current map[string]*flight
}

// flight is a hearing under way and those who wait for it.
type flight struct {
	h       *hearing
	cancel  context.CancelFunc
	waiting int
	done    chan struct{}
	result  Result // once done is closed
}

// join holds h, or waits for an equal hearing under way. When the context ends before, it returns what is known by then.
// A hearing goes on as long as anybody waits for it.
func (f *flights) join(ctx context.Context, h *hearing) Result {
	fl := f.board(ctx, h)
	defer f.leave(fl)
	select {
	case <-fl.done:
		return fl.result.clone()
	case <-ctx.Done():
	}
	select {
	case <-fl.done:
		return fl.result.clone()
	default:
		return fl.h.conclude().clone()
	}
}

// board joins the flight of an equal request, or starts one.
func (f *flights) board(ctx context.Context, h *hearing) *flight {
	key := h.key()
	f.mu.Lock()
	defer f.mu.Unlock()
	if fl := f.current[key]; fl != nil {
		fl.waiting++
		return fl
	}
	fl := &flight{h: h, waiting: 1, done: make(chan struct{})}
	ctx, fl.cancel = context.WithTimeout(context.WithoutCancel(ctx), h.j.cfg.TotalTimeout)
	if f.current == nil {
		f.current = map[string]*flight{}
	}
	f.current[key] = fl
	go func() {
		defer fl.cancel()
		fl.result = h.result(ctx)
		f.land(key, fl)
		close(fl.done)
	}()
	return fl
}

// result holds the hearing. A fault of our own must not end the program, nor leave a rule without a verdict.
func (h *hearing) result(ctx context.Context) (r Result) {
	defer func() {
		if p := recover(); p != nil {
			h.j.cfg.Logger.ErrorContext(ctx, "judging broke off", "panic", p, "stack", string(debug.Stack()))
			r = undecided(h.rules, reasonFault)
		}
	}()
	h.hear(ctx)
	return h.conclude()
}

// leave ends the waiting of one. Nobody left means that nobody wants the answer.
func (f *flights) leave(fl *flight) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if fl.waiting--; fl.waiting > 0 {
		return
	}
	if key := fl.h.key(); f.current[key] == fl {
		delete(f.current, key)
	}
	fl.cancel()
}

// land makes room for a new flight of the same request.
func (f *flights) land(key string, fl *flight) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.current[key] == fl {
		delete(f.current, key)
	}
}

// key is what requests must have in common to get one answer: all that is shown, and the rules by name and in their order.
func (h *hearing) key() string {
	parts := []string{string(h.seed[:]), fmt.Sprint(h.redacted)}
	for i, r := range h.rules {
		parts = append(parts, r.ProjectID, r.ID, r.Slug, fmt.Sprint(r.Version), h.contents[i])
	}
	for _, u := range h.docket.blind {
		parts = append(parts, u.Part, u.Reason)
	}
	return hashed(parts...)
}
