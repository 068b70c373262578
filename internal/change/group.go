package change

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"

	"tenet/internal/store"
)

// maxGroup bounds the changes of one transaction.
const maxGroup = 32

// groups puts the changes of a project that come while another one is being stored into one transaction: changes of a project exclude each other anyway, and
// most of the time of a small one is the wait for the disk. It is safe for concurrent use.
type groups struct {
	logger *slog.Logger

	mu    sync.Mutex
	lanes map[string]*lane // of the projects that are being changed
}

// lane has the changes that wait while another one, or a group, is being stored.
type lane struct{ waiting []*member }

// member is a change that may be stored with others.
type member struct {
	ctx   context.Context
	join  func(store.Tx) error // it may run again
	apart bool                 // it shares no transaction
	turn  chan turn            // of one
}

// turn says how a change that waits goes on. It may be over, with an error or without.
type turn struct {
	next step
	err  error
}

type step int

const (
	over     step = iota
	runAlone      // in a transaction of its own
	lead          // store itself with those that wait
)

// run stores a change in a transaction of s, with others of the project or alone. An error of a change undoes no other.
func (g *groups) run(s store.Updater, projectID string, m *member) error {
	m.turn = make(chan turn, 1)
	if !g.enter(projectID, m) {
		switch t := g.wait(projectID, m); t.next {
		case over:
			return t.err
		case runAlone:
			return s.Update(m.ctx, m.join)
		case lead:
		}
	}
	t := g.lead(s, projectID, m)
	if t.next == over {
		return t.err
	}
	return s.Update(m.ctx, m.join)
}

// lead stores a change with those that wait, or alone if there are none, and lets the next one lead.
func (g *groups) lead(s store.Updater, projectID string, m *member) (t turn) {
	defer g.leave(projectID) // also if the change panics
	others := g.take(projectID, m)
	if len(others) == 0 {
		return turn{err: s.Update(m.ctx, m.join)}
	}
	t = turn{next: runAlone}
	defer func() {
		for _, other := range others {
			other.turn <- t
		}
	}()
	return g.together(s, append([]*member{m}, others...))
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

// wait returns the turn of a change. One whose context ends goes away; not after it was taken, since it works with variables of its caller.
func (g *groups) wait(projectID string, m *member) turn {
	select {
	case t := <-m.turn:
		return t
	case <-m.ctx.Done():
	}
	if g.withdraw(projectID, m) {
		return turn{err: fmt.Errorf("change: waiting for other changes of the project: %w", m.ctx.Err())}
	}
	return <-m.turn
}

// withdraw takes a change from those that wait, and reports whether it was among them.
func (g *groups) withdraw(projectID string, m *member) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	l := g.lanes[projectID]
	if l == nil {
		return false
	}
	i := slices.Index(l.waiting, m)
	if i >= 0 {
		l.waiting = slices.Delete(l.waiting, i, i+1)
	}
	return i >= 0
}

// take returns the changes that wait and may be stored with one, in order, up to the first that shares no transaction.
func (g *groups) take(projectID string, m *member) []*member {
	if m.apart || m.ctx.Err() != nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	l := g.lanes[projectID]
	n := 0
	for n < len(l.waiting) && n < maxGroup-1 && !l.waiting[n].apart {
		n++
	}
	taken := make([]*member, 0, n)
	for _, other := range l.waiting[:n] {
		if other.ctx.Err() != nil {
			other.turn <- turn{next: runAlone} // and so gets its error, without those of the group
			continue
		}
		taken = append(taken, other)
	}
	l.waiting = slices.Delete(l.waiting, 0, n)
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
	l.waiting = slices.Delete(l.waiting, 0, 1)
	next.turn <- turn{next: lead}
}

// together stores changes in one transaction, all or none. If one of them has an error, each continues alone. The end of a member's context ends its own part only.
func (g *groups) together(s store.Updater, members []*member) (t turn) {
	ctx := context.WithoutCancel(members[0].ctx)
	begun, joined := false, false
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		g.logger.ErrorContext(ctx, "a change that shares its transaction panicked", "panic", p, "stack", string(debug.Stack()))
		t = turn{next: runAlone} // where it panics again, at the caller who has brought it
		if joined {
			t = turn{err: fmt.Errorf("change: storing changes together panicked: %v", p)}
		}
	}()
	err := s.Update(ctx, func(tx store.Tx) error {
		begun, joined = true, false
		for _, m := range members {
			if err := m.join(tx); err != nil {
				return err
			}
		}
		joined = true
		return nil
	})
	if err != nil && begun && (!joined || errors.Is(err, store.ErrDamaged)) {
		return turn{next: runAlone}
	}
	return turn{err: err} // no transaction began, or the commit failed and nobody knows whether the changes are stored: they do not run again
}
