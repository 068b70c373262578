package judge

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
)

// runningDecisions lets equal requests that run at the same time share one decision. The zero value is ready to use.
type runningDecisions struct {
	mu      sync.Mutex
	current map[string]*runningDecision
}

// runningDecision is a decision that is running and its callers.
type runningDecision struct {
	*decision
	key     string
	cancel  context.CancelFunc
	waiting int // callers
	done    chan struct{}
	result  Result // once done is closed
}

// join runs d, or waits for an equal decision that is running. If the context ends first, it returns what that has found so
// far. A decision runs on as long as any caller waits for it.
func (r *runningDecisions) join(ctx context.Context, d *decision) Result {
	running := r.start(ctx, d)
	defer r.leave(running)
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

// start starts a decision, or returns an equal one that is running.
func (r *runningDecisions) start(ctx context.Context, d *decision) *runningDecision {
	key := d.sharingKey()
	r.mu.Lock()
	defer r.mu.Unlock()
	if running := r.current[key]; running != nil {
		running.waiting++
		return running
	}
	running := &runningDecision{decision: d, key: key, waiting: 1, done: make(chan struct{})}
	ctx, running.cancel = context.WithTimeout(context.WithoutCancel(ctx), d.j.cfg.TotalTimeout)
	if r.current == nil {
		r.current = map[string]*runningDecision{}
	}
	r.current[key] = running
	go func() {
		defer running.cancel()
		running.result = d.finish(ctx)
		r.mu.Lock()
		r.remove(running)
		r.mu.Unlock()
		close(running.done)
	}()
	return running
}

// leave ends the waiting of one caller. Without callers the decision is cancelled.
func (r *runningDecisions) leave(running *runningDecision) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if running.waiting--; running.waiting == 0 {
		r.remove(running)
		running.cancel()
	}
}

// remove makes room for a new decision of the same request. The caller holds the mutex.
func (r *runningDecisions) remove(running *runningDecision) {
	if r.current[running.key] == running {
		delete(r.current, running.key)
	}
}

// finish runs a decision to its result. A fault of our own must not end the program, nor leave a rule without a verdict.
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

// sharingKey returns a key that is equal for requests that get one answer: those that show the same, and have the same rules by name and in the
// same order.
func (d *decision) sharingKey() string {
	parts := []string{string(d.seed[:]), fmt.Sprint(d.redacted)}
	for i, r := range d.rules {
		parts = append(parts, r.ProjectID, r.ID, r.Slug, fmt.Sprint(r.Version), d.contents[i])
	}
	for unit := range d.layout.subject.Len() {
		if u := d.layout.subject.At(unit); u.Unseen != "" || u.Media != "" {
			parts = append(parts, u.Path, u.Unseen, u.Media)
		}
	}
	return hashed(parts...)
}
