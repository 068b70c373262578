// Package turn shares a bounded number of places among groups, such as the calls to a model among projects. Waiters of different groups
// get places by turns, so that a group with many of them delays the others by one place each at most.
package turn

import (
	"context"
	"sync"
)

// Places are a bounded number of places. They are safe for concurrent use.
type Places struct {
	mu   sync.Mutex
	free int
	// waiting holds the waiters of each group in order of their arrival, and next the groups that have any, in order of their turns.
	waiting map[string][]chan struct{}
	next    []string
}

// New returns n places, all free.
func New(n int) *Places {
	return &Places{free: n, waiting: map[string][]chan struct{}{}}
}

// Take waits for a place for the group of ctx, which the caller gives back with [Places.Give]. It returns the error of ctx if that ends first; the caller
// then has no place.
func (p *Places) Take(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	p.mu.Lock()
	if p.free > 0 {
		p.free--
		p.mu.Unlock()
		return nil
	}
	group, given := groupOf(ctx), make(chan struct{})
	if len(p.waiting[group]) == 0 {
		p.next = append(p.next, group)
	}
	p.waiting[group] = append(p.waiting[group], given)
	p.mu.Unlock()
	select {
	case <-given:
		return nil
	case <-ctx.Done():
	}
	if !p.leave(group, given) {
		p.Give() // the place came at the same time
	}
	return ctx.Err()
}

// leave removes a waiter. It returns false if the waiter has its place already.
func (p *Places) leave(group string, given chan struct{}) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, w := range p.waiting[group] {
		if w != given {
			continue
		}
		p.waiting[group] = append(p.waiting[group][:i:i], p.waiting[group][i+1:]...)
		if len(p.waiting[group]) == 0 {
			delete(p.waiting, group)
			for at, name := range p.next {
				if name == group {
					p.next = append(p.next[:at:at], p.next[at+1:]...)
					break
				}
			}
		}
		return true
	}
	return false
}

// Give gives a place back. The first waiter of the group whose turn it is gets it.
func (p *Places) Give() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.next) == 0 {
		p.free++
		return
	}
	group := p.next[0]
	p.next = p.next[1:]
	list := p.waiting[group]
	close(list[0])
	if len(list) == 1 {
		delete(p.waiting, group)
		return
	}
	p.waiting[group] = list[1:]
	p.next = append(p.next, group)
}

type groupKey struct{}

// With returns a context whose waiters are of a group. A context without one belongs to the group with the empty name.
func With(ctx context.Context, group string) context.Context {
	return context.WithValue(ctx, groupKey{}, group)
}

func groupOf(ctx context.Context) string {
	group, _ := ctx.Value(groupKey{}).(string)
	return group
}
