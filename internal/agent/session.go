package agent

import (
	"container/list"
	"context"
	"sync"
	"time"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/wire"
)

// Limits bound what sessions remember. Zero fields take the defaults.
type Limits struct {
	Count    int           // sessions of all callers; default 2,000
	PerActor int           // sessions of one caller in one project; default 50
	Turns    int           // exchanges of one session; the oldest go first; default 20
	Bytes    int           // text of one session; the oldest exchanges go first; default 32 KiB
	Age      time.Duration // since the last exchange; default one hour
}

func (l *Limits) setDefaults() {
	for _, d := range []struct {
		field *int
		value int
	}{{&l.Count, 2000}, {&l.PerActor, 50}, {&l.Turns, 20}, {&l.Bytes, 32 << 10}} {
		if *d.field <= 0 {
			*d.field = d.value
		}
	}
	if l.Age <= 0 {
		l.Age = time.Hour
	}
}

// turn is one exchange, without secrets.
type turn struct {
	intent, answer string
	status         wire.AgentStatus
}

func (t *turn) size() int { return len(t.intent) + len(t.answer) }

// owner is the caller of a session. No other caller finds it by guessing ids.
type owner struct{ project, actor string }

// session remembers a conversation of one caller with one agent. All its fields except id are guarded by the mutex of
// the sessions.
type session struct {
	id    string
	owner owner
	agent string
	turns []turn
	used  time.Time
	place *list.Element // nil until it is kept
}

// sessions keeps the conversations of this node in memory. It is safe for concurrent use.
type sessions struct {
	limits Limits
	now    func() time.Time

	mu      sync.Mutex
	byID    map[string]*session
	order   *list.List // of *session, the one used last in front
	byOwner map[owner]int
}

func newSessions(l Limits, now func() time.Time) *sessions {
	l.setDefaults()
	return &sessions{limits: l, now: now, byID: map[string]*session{}, order: list.New(), byOwner: map[owner]int{}}
}

// ownerOf identifies a caller by key, or by name without one.
func ownerOf(ctx context.Context) string {
	who := auth.ActorFrom(ctx)
	if who.Grants != nil {
		return "person:" + who.Name
	}
	if who.KeyID != "" {
		return "key:" + who.KeyID
	}
	return "name:" + who.Name
}

// open finds a session of the caller with an agent, or begins one; known is false if one was named and is not there. A new
// session is kept once something is added to it.
func (s *sessions) open(actor, project, agent, id string) (found *session, past []turn, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	who := owner{project, actor}
	if have, ok := s.byID[id]; ok && have.owner == who && have.agent == agent {
		return have, append([]turn(nil), have.turns...), true
	}
	return &session{id: audit.NewID(), owner: who, agent: agent}, nil, id == ""
}

// add remembers an exchange, and forgets what goes beyond the limits.
func (s *sessions) add(to *session, t turn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	to.turns, to.used = append(to.turns, t), s.now()
	size := 0
	for i := range to.turns {
		size += to.turns[i].size()
	}
	for len(to.turns) > s.limits.Turns || size > s.limits.Bytes && len(to.turns) > 0 {
		size -= to.turns[0].size()
		to.turns = to.turns[1:]
	}
	if to.place == nil {
		to.place = s.order.PushFront(to)
		s.byID[to.id] = to
		s.byOwner[to.owner]++
	} else {
		s.order.MoveToFront(to.place)
	}
	if s.byOwner[to.owner] > s.limits.PerActor {
		s.dropOldest(func(x *session) bool { return x.owner == to.owner })
	}
	if len(s.byID) > s.limits.Count {
		s.dropOldest(func(*session) bool { return true })
	}
}

func (s *sessions) expire() {
	for e := s.order.Back(); e != nil; e = s.order.Back() {
		x := e.Value.(*session)
		if s.now().Sub(x.used) <= s.limits.Age {
			return
		}
		s.drop(x)
	}
}

func (s *sessions) dropOldest(of func(*session) bool) {
	for e := s.order.Back(); e != nil; e = e.Prev() {
		if x := e.Value.(*session); of(x) {
			s.drop(x)
			return
		}
	}
}

func (s *sessions) drop(x *session) {
	s.order.Remove(x.place)
	x.place = nil
	delete(s.byID, x.id)
	if s.byOwner[x.owner]--; s.byOwner[x.owner] == 0 {
		delete(s.byOwner, x.owner)
	}
}
