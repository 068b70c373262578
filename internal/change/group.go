package change

import (
	"context"
	"errors"
	"sync"
	"time"

	"tenet/internal/store"
)

// maxGroup bounds the changes of one transaction.
const maxGroup = 32

// groups puts the changes of a project that come while another one is being stored into one transaction: changes of a project exclude each other anyway, and
// most of the time of a small one is the wait for the disk. It is safe for concurrent use.
type groups struct {
	mu    sync.Mutex
	lanes map[string]*lane // of the projects that are being changed
}

// lane has the changes that wait while another one, or a group, is being stored.
type lane struct{ waiting []*member }

// member is a change that may be stored with others.
type member struct {
	ctx  context.Context
	join func(store.Tx) error // it may run again
	turn chan turn            // of one
}

// turn is what a change that waits does next: it is done, with an error or without, or continues.
type turn struct {
	next step
	err  error
}

type step int

const (
	done  step = iota
	alone      // it runs in a transaction of its own
	leads      // it stores itself with those that wait
)

// run stores a change in a transaction of s, with others of the project or alone. An error of a change undoes no other.
func (g *groups) run(s store.Updater, projectID string, m *member) error {
	m.turn = make(chan turn, 1)
	if !g.enter(projectID, m) {
		// The change works with variables of the caller, who therefore waits also if nobody waits for the answer.
		switch t := <-m.turn; t.next {
		case done:
			return t.err
		case alone:
			return s.Update(m.ctx, m.join)
		case leads:
		}
	}
	left := false
	leave := func() {
		if !left {
			left = true
			g.leave(projectID)
		}
	}
	defer leave() // also if the change panics
	others := g.take(projectID, m)
	if len(others) == 0 {
		return s.Update(m.ctx, m.join)
	}
	t := together(s, append([]*member{m}, others...))
	for _, other := range others {
		other.turn <- t
	}
	leave()
	if t.next == done {
		return t.err
	}
	return s.Update(m.ctx, m.join)
}

// enter reports whether a change leads; otherwise it waits for its turn.
func (g *groups) enter(projectID string, m *member) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	l := g.lanes[projectID]
	if l == nil {
		g.lanes[projectID] = &lane{}
		return true
	}
	l.waiting = append(l.waiting, m)
	return false
}

// take returns the changes that wait and may be stored with one.
func (g *groups) take(projectID string, m *member) []*member {
	if m.ctx.Err() != nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	l := g.lanes[projectID]
	n := min(len(l.waiting), maxGroup-1)
	taken := l.waiting[:n:n]
	l.waiting = l.waiting[n:]
	return taken
}

// leave lets the next change lead.
func (g *groups) leave(projectID string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	l := g.lanes[projectID]
	if len(l.waiting) == 0 {
		delete(g.lanes, projectID)
		return
	}
	next := l.waiting[0]
	l.waiting = l.waiting[1:]
	next.turn <- turn{next: leads}
}

// together stores changes in one transaction, all or none. If one of them has an error, each continues alone.
func together(s store.Updater, members []*member) (t turn) {
	// Nobody who leaves ends the work for the others, and nobody waits longer than he would alone.
	ctx := context.WithoutCancel(members[0].ctx)
	var until time.Time
	for _, m := range members {
		if d, ok := m.ctx.Deadline(); ok && (until.IsZero() || d.Before(until)) {
			until = d
		}
	}
	if !until.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, until)
		defer cancel()
	}
	defer func() {
		if recover() != nil { // it panics again where it runs alone, at the caller who has brought it
			t = turn{next: alone}
		}
	}()
	joined := false
	err := s.Update(ctx, func(tx store.Tx) error {
		joined = false
		for _, m := range members {
			if err := m.join(tx); err != nil {
				return err
			}
		}
		joined = true
		return nil
	})
	if err != nil && (!joined || errors.Is(err, store.ErrDamaged)) {
		return turn{next: alone}
	}
	return turn{err: err} // if the commit failed, nobody knows whether the changes are stored: they do not run again
}
