package relay

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"sync"
	"unicode"

	"tenet/internal/client"
	"tenet/internal/gateway"
	"tenet/internal/text"
	"tenet/internal/wire"
)

// maxAsked bounds the requests of a client that wait for an answer.
const maxAsked = 10_000

// Session is the state of one client's connection.
type Session struct {
	g *Gateway

	mu     sync.Mutex
	asked  map[string]*asked // requests that the client waits for, by the key of their id
	tokens map[string]string // ids of those requests by the keys of their progress tokens
	agent  string            // name that the client gives itself
	// Name is the id of the session.
	name string
}

// asked is a request of the client that is not answered yet.
type asked struct {
	id     json.RawMessage
	method string
	params json.RawMessage
	call   *gateway.Call // nil for requests that are not evaluated
	token  string        // key of its progress token
	sent   bool          // the server has it
	cancel context.CancelFunc
}

// session starts a session under a name.
func (g *Gateway) session(name string) *Session {
	return &Session{g: g, name: name, asked: map[string]*asked{}, tokens: map[string]string{}}
}

// identify adds who acts to a request for an evaluation.
func (s *Session) identify(q *client.Submit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q.Acting = wire.Acting{OnBehalfOf: s.g.cfg.Person, Agent: label(cmp.Or(s.g.cfg.Agent, s.agent)), Session: label(s.name)}
}

// label makes a name that a client chose one that a record may have.
func label(s string) string {
	return text.Fit(strings.TrimSpace(strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) {
			return -1
		}
		return r
	}, s)), gateway.MaxName, "")
}

// step is the consequence of a message. Ready is closed once the decision is known: then answer goes back to the client, or
// forward to the server, or neither.
type step struct {
	ready   chan struct{}
	forward []byte
	answer  []byte
	about   string // key of the request that the message belongs to; empty for none
	// settle is called before forward is sent, and reports whether it still is to be.
	settle func() bool
	// repeatable is whether forward may reach the server twice.
	repeatable bool
}

var done = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// fromClient reads a message of the client. An evaluation continues in the background until ctx ends.
func (s *Session) fromClient(ctx context.Context, raw []byte) *step {
	m, err := parse(raw)
	if err != nil {
		return &step{ready: done, about: m.id, answer: failure(m.idJSON, codeInvalid, "Tenet: the message was not passed on: "+err.Error(), nil)}
	}
	st := s.consider(ctx, &m)
	st.repeatable = repeatable(&m)
	return st
}

// consider decides about a message of the client.
func (s *Session) consider(ctx context.Context, m *message) *step {
	switch {
	case m.response():
		return &step{ready: done, forward: m.raw}
	case m.method == "notifications/cancelled" && m.id == "":
		return s.cancelled(m)
	case m.method == "initialize":
		s.hello(m.params)
	case !m.request() && gateway.Evaluated(m.method):
		// A notification by this name asks for no answer, and some servers would carry it out.
		s.g.cfg.Note("%s: a notification %s was dropped", s.g.cfg.Server, m.method)
		return &step{ready: done}
	}
	if !m.request() {
		return &step{ready: done, forward: m.raw}
	}
	return s.request(ctx, m)
}

// request notes a request and has it evaluated if it is of a kind that is.
func (s *Session) request(ctx context.Context, m *message) *step {
	a := &asked{id: m.idJSON, method: m.method, params: m.params, token: tokenKey(metaRaw(m.params, "progressToken"))}
	if gateway.Evaluated(m.method) {
		if who := metaRaw(m.params, metaClient); who != nil { // where there is no handshake
			s.hello(encode(map[string]json.RawMessage{"clientInfo": who}))
		}
		c, err := gateway.Parse(s.g.cfg.Server, m.method, m.params)
		if err != nil {
			return &step{ready: done, about: m.id, answer: (&refusal{text: gateway.Failure(&c, err.Error())}).reply(m, m.method)}
		}
		a.call = &c
	}
	ctx, a.cancel = context.WithCancel(ctx)
	if problem := s.add(m.id, a); problem != "" {
		a.cancel()
		return &step{ready: done, about: m.id, answer: failure(m.idJSON, codeInvalid, "Tenet: the request was not passed on: "+problem, nil)}
	}
	st := &step{about: m.id, settle: func() bool { return s.settle(m.id, a) }}
	if a.call == nil {
		st.ready, st.forward = done, m.raw
		return st
	}
	st.ready = make(chan struct{})
	s.g.judges.Go(func() {
		defer close(st.ready)
		no := s.g.held(a.call)
		if no == nil {
			no = s.g.judge(ctx, s, a.call)
		}
		if no == nil {
			st.forward = m.raw
			return
		}
		if s.take(m.id, a) { // else it was cancelled, and nobody waits for an answer
			st.answer = no.reply(m, m.method)
		}
	})
	return st
}

// add notes a request; it returns what is wrong with its id.
func (s *Session) add(id string, a *asked) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.asked[id] != nil:
		return "its id is that of a request that waits for an answer"
	case len(s.asked) >= maxAsked:
		return "too many requests wait for an answer"
	}
	s.asked[id] = a
	if a.token != "" {
		s.tokens[a.token] = id
	}
	return ""
}

// settle notes that a request goes to the server; false if it was cancelled before.
func (s *Session) settle(id string, a *asked) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked[id] != a {
		return false
	}
	a.sent = true
	return true
}

// take forgets a request; false if it is not waited for any more.
func (s *Session) take(id string, a *asked) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked[id] != a {
		return false
	}
	s.forget(id, a)
	return true
}

func (s *Session) forget(id string, a *asked) {
	delete(s.asked, id)
	if a.token != "" {
		delete(s.tokens, a.token)
	}
	a.cancel()
}

// cancelled passes the cancellation of a request on if the server has the request. An evaluation of it ends.
func (s *Session) cancelled(m *message) *step {
	var p struct {
		ID json.RawMessage `json:"requestId"`
	}
	st := &step{ready: done, forward: m.raw}
	if json.Unmarshal(m.params, &p) != nil {
		return st
	}
	id, err := key(p.ID)
	if err != nil {
		return st
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.asked[id]
	if a == nil {
		return st
	}
	s.forget(id, a)
	if !a.sent {
		st.forward = nil
	}
	return st
}

// hello reads the name of the client.
func (s *Session) hello(params []byte) {
	var p struct {
		Client struct {
			Name string `json:"name"`
		} `json:"clientInfo"`
	}
	if json.Unmarshal(params, &p) == nil {
		s.mu.Lock()
		s.agent = p.Client.Name
		s.mu.Unlock()
	}
}

// fromServer reads a message of the server.
func (s *Session) fromServer(ctx context.Context, raw []byte) *step {
	m, err := parse(raw)
	if err != nil {
		s.g.cfg.Note("%s: a message of the server was dropped: %v", s.g.cfg.Server, err)
		if a := s.answered(m.id); a != nil {
			return &step{ready: done, about: m.id, answer: failure(m.idJSON, codeInvalid, "Tenet: the server's answer cannot be read: "+err.Error(), nil)}
		}
		return &step{ready: done}
	}
	if !m.response() {
		return &step{ready: done, answer: m.raw, about: s.concerns(&m)}
	}
	a := s.answered(m.id)
	if a == nil {
		if m.id != "" {
			return &step{ready: done} // of a request that was cancelled, or of none
		}
		return &step{ready: done, answer: m.raw}
	}
	st := &step{ready: done, about: m.id, answer: m.raw}
	switch {
	case a.method == "initialize":
		st.answer = s.g.declare(&m)
	case a.method == "tools/list":
		st.answer = s.g.list(&m)
	case a.call != nil && s.g.cfg.Results && m.result != nil:
		st.ready = make(chan struct{})
		go func() {
			defer close(st.ready)
			st.answer = s.g.result(ctx, s, a, &m)
		}()
	}
	return st
}

// answered forgets the request of an id and returns it; nil if the client waits for none, or the server does not have it.
func (s *Session) answered(id string) *asked {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.asked[id]
	if a == nil || !a.sent {
		return nil
	}
	s.forget(id, a)
	return a
}

// waiting counts the requests that are not answered.
func (s *Session) waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.asked)
}

// concerns returns the request that a notification of the server belongs to, as far as its progress token says.
func (s *Session) concerns(m *message) string {
	if !strings.HasPrefix(m.method, "notifications/progress") {
		return ""
	}
	var p struct {
		Token json.RawMessage `json:"progressToken"`
	}
	if json.Unmarshal(m.params, &p) != nil {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tokens[tokenKey(p.Token)]
}

// tokenKey returns the key of a progress token; empty without one.
func tokenKey(raw json.RawMessage) string {
	k, err := key(raw)
	if err != nil {
		return ""
	}
	return k
}
