// Package worker runs functions on goroutines that have run others before. The stack of a new goroutine is small and is copied each time that it
// grows, which for an evaluation, or a transaction of SQLite, happens several times and takes longer than all else that a goroutine costs.
package worker

import "time"

// idleTime is how long a goroutine waits for its next function before it ends.
const idleTime = 10 * time.Second

// Pool has goroutines that wait for functions. Their number is not bounded: a function never waits for a goroutine.
type Pool struct {
	next  chan func()
	ended chan struct{}
}

// NewPool returns a pool without goroutines.
func NewPool() *Pool { return &Pool{next: make(chan func()), ended: make(chan struct{})} }

// Go runs a function on a goroutine that waits, or else on a new one.
func (p *Pool) Go(f func()) {
	select {
	case p.next <- f:
	default:
		go p.work(f)
	}
}

// Close ends the goroutines that wait, and each other one after its function. No function may follow; call it once.
func (p *Pool) Close() { close(p.ended) }

// work runs functions until none has come for a while.
func (p *Pool) work(f func()) {
	idle := time.NewTimer(idleTime)
	defer idle.Stop()
	for {
		f()
		idle.Reset(idleTime)
		select {
		case f = <-p.next:
		case <-idle.C:
			return
		case <-p.ended:
			return
		}
	}
}
