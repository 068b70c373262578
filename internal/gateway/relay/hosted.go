package relay

import (
	"context"
	"crypto/rand"
	"io"
	"mime"
	"net/http"
	"strings"
	"sync"
	"time"
)

// host serves streamable HTTP before a server that is a program: each session has a process of its own.
type host struct {
	g   *Gateway
	p   Program
	ctx context.Context // of all sessions

	mu       sync.Mutex
	sessions map[string]*hosted
	wait     sync.WaitGroup
}

// Bounds of the sessions with programs.
const (
	maxPrograms = 100
	idleProgram = 30 * time.Minute
	maxBacklog  = 1000 // messages for a client that listens to no stream
)

// Host serves clients over streamable HTTP before a server that is a program. The returned function ends all programs.
func (g *Gateway) Host(ctx context.Context, p Program) (http.Handler, func()) {
	ctx, cancel := context.WithCancel(ctx)
	h := &host{g: g, p: p, ctx: ctx, sessions: map[string]*hosted{}}
	return h, func() { cancel(); h.wait.Wait() }
}

// hosted is a session: a stream to its client.
type hosted struct {
	in     chan []byte
	ctx    context.Context
	cancel context.CancelFunc

	mu      sync.Mutex
	posts   map[string]*listener // by the key of the request that each waits for
	get     *listener
	backlog [][]byte
	used    time.Time
}

// listener is an open response of HTTP.
type listener struct {
	out  chan []byte
	gone <-chan struct{}
}

// ServeHTTP implements [http.Handler].
func (h *host) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get(sessionHeader)
	if id == "" && r.Method == http.MethodPost {
		h.begin(w, r)
		return
	}
	h.mu.Lock()
	s := h.sessions[id]
	h.mu.Unlock()
	if s == nil {
		http.Error(w, "there is no such session; begin one with initialize", http.StatusNotFound)
		return
	}
	switch r.Method {
	case http.MethodPost:
		if body, ok := bodyOf(w, r); ok {
			s.post(w, r, body)
		}
	case http.MethodGet:
		s.listen(w, r)
	case http.MethodDelete:
		s.cancel()
		w.WriteHeader(http.StatusNoContent)
	default:
		w.Header().Set("Allow", "GET, POST, DELETE")
		http.Error(w, "use GET, POST or DELETE", http.StatusMethodNotAllowed)
	}
}

func bodyOf(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxMessage))
	if err != nil {
		http.Error(w, "the message cannot be read, or has more than 16 MiB", http.StatusRequestEntityTooLarge)
	}
	return body, err == nil
}

// begin starts a session. Only initialize does: a server on standard streams has one client.
func (h *host) begin(w http.ResponseWriter, r *http.Request) {
	body, ok := bodyOf(w, r)
	if !ok {
		return
	}
	m, err := parse(body)
	if err != nil || m.method != "initialize" || !m.request() {
		writeJSON(w, http.StatusBadRequest, failure(m.idJSON, codeNoMethod, "Tenet: this gateway begins a session with initialize, before anything else", nil))
		return
	}
	s, id, err := h.start()
	if err != nil {
		h.g.cfg.Note("%s: %v", h.g.cfg.Server, err)
		http.Error(w, "the MCP server behind the gateway cannot be started", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set(sessionHeader, id)
	s.post(w, r, body)
}

// codeNoMethod is the error of a method that does not exist.
const codeNoMethod = -32601

// start starts a program and passes messages between it and the session's client until one ends.
func (h *host) start() (*hosted, string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.sessions) >= maxPrograms {
		for _, s := range h.sessions {
			if s.idle() {
				s.cancel() // its place is free once its program has ended
			}
		}
		return nil, "", errTooMany
	}
	server, err := start(h.p.Command, h.p.Environ, h.p.Stderr)
	if err != nil {
		return nil, "", err
	}
	id := rand.Text()
	s := &hosted{in: make(chan []byte), posts: map[string]*listener{}, used: time.Now()}
	s.ctx, s.cancel = context.WithCancel(h.ctx)
	h.sessions[id] = s
	h.wait.Go(func() {
		defer s.cancel()
		if err := over(s.ctx, h.g.session(id).pump(s.ctx, s, server)); err != nil {
			h.g.cfg.Note("%s: a session ended: %v", h.g.cfg.Server, err)
		}
		_ = server.Close()
		h.mu.Lock()
		delete(h.sessions, id)
		h.mu.Unlock()
	})
	return s, id, nil
}

func (s *hosted) idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.posts) == 0 && s.get == nil && time.Since(s.used) > idleProgram
}

// receive implements stream.
func (s *hosted) receive(ctx context.Context) ([]byte, error) {
	select {
	case raw := <-s.in:
		return raw, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-s.ctx.Done():
		return nil, io.EOF
	}
}

// send implements stream: a message goes to the response of the request that it belongs to; another to the stream that the client listens
// to, or to any open response, or it waits for one.
func (s *hosted) send(ctx context.Context, raw []byte, about string) error {
	s.mu.Lock()
	l := s.posts[about]
	if l == nil {
		l = s.get
	}
	if l == nil {
		for _, any := range s.posts {
			l = any
			break
		}
	}
	if l == nil {
		if len(s.backlog) < maxBacklog {
			s.backlog = append(s.backlog, raw)
		}
		s.mu.Unlock()
		return nil
	}
	s.mu.Unlock()
	select {
	case l.out <- raw:
	case <-l.gone:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// post takes in the messages of a request and answers with those that answer them.
func (s *hosted) post(w http.ResponseWriter, r *http.Request, body []byte) {
	parts, err := split(body)
	if err != nil {
		writeJSON(w, http.StatusBadRequest, failure(nil, codeParse, "Tenet: "+err.Error(), nil))
		return
	}
	l := &listener{out: make(chan []byte), gone: r.Context().Done()}
	open := map[string]bool{}
	s.mu.Lock()
	s.used = time.Now()
	for _, part := range parts {
		m, err := parse(part)
		if m.id == "" || m.response() && err == nil {
			continue
		}
		if s.posts[m.id] != nil {
			s.close(open, l)
			s.mu.Unlock()
			writeJSON(w, http.StatusBadRequest, failure(m.idJSON, codeInvalid, "Tenet: the id is that of a request that waits for an answer", nil))
			return
		}
		s.posts[m.id], open[m.id] = l, true
	}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.close(open, l)
		s.mu.Unlock()
	}()
	select {
	case s.in <- body:
	case <-r.Context().Done():
		return
	case <-s.ctx.Done():
		http.Error(w, "the session has ended", http.StatusNotFound)
		return
	}
	if len(open) == 0 {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	s.answer(w, r, l, open)
}

// close forgets requests of a response. It needs the lock.
func (s *hosted) close(open map[string]bool, l *listener) {
	for id := range open {
		if s.posts[id] == l {
			delete(s.posts, id)
		}
	}
}

// answer writes messages until all open requests are answered: as events, or as JSON for a client that takes no events.
func (s *hosted) answer(w http.ResponseWriter, r *http.Request, l *listener, open map[string]bool) {
	events := accepts(r, streamType)
	if events {
		beginStream(w)
	}
	for len(open) > 0 {
		var raw []byte
		select {
		case raw = <-l.out:
		case <-r.Context().Done():
			return
		case <-s.ctx.Done():
			return
		}
		m, err := parse(raw)
		answers := err == nil && m.response() && open[m.id]
		if answers {
			delete(open, m.id)
			s.mu.Lock()
			delete(s.posts, m.id)
			s.mu.Unlock()
		}
		if events {
			if (&event{name: "message", data: raw}).write(w) != nil {
				return
			}
		} else if answers {
			writeJSON(w, http.StatusOK, raw)
			return
		}
	}
}

// listen serves the stream of messages that belong to no request.
func (s *hosted) listen(w http.ResponseWriter, r *http.Request) {
	if !accepts(r, streamType) {
		http.Error(w, "the stream is sent as "+streamType, http.StatusNotAcceptable)
		return
	}
	l := &listener{out: make(chan []byte), gone: r.Context().Done()}
	s.mu.Lock()
	if s.get != nil {
		s.mu.Unlock()
		http.Error(w, "the session has such a stream already", http.StatusConflict)
		return
	}
	s.get, s.used = l, time.Now()
	backlog := s.backlog
	s.backlog = nil
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.get, s.used = nil, time.Now()
		s.mu.Unlock()
	}()
	beginStream(w)
	for {
		var raw []byte
		if len(backlog) > 0 {
			raw, backlog = backlog[0], backlog[1:]
		} else {
			select {
			case raw = <-l.out:
			case <-r.Context().Done():
				return
			case <-s.ctx.Done():
				return
			}
		}
		if (&event{name: "message", data: raw}).write(w) != nil {
			return
		}
	}
}

func beginStream(w http.ResponseWriter) {
	w.Header().Set("Content-Type", streamType)
	w.Header().Set("Cache-Control", "no-cache, no-transform")
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush() // the client waits for the headers
}

// accepts reports whether a client takes answers of a type.
func accepts(r *http.Request, kind string) bool {
	for _, header := range r.Header.Values("Accept") {
		for part := range strings.SplitSeq(header, ",") {
			if t, _, err := mime.ParseMediaType(part); err == nil && (t == kind || t == "*/*") {
				return true
			}
		}
	}
	return false
}
