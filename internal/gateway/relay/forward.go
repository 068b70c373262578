package relay

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Names of headers.
const (
	sessionHeader = "Mcp-Session-Id"
	versionHeader = "Mcp-Protocol-Version"
	lastEvent     = "Last-Event-Id"
	streamType    = "text/event-stream"
	jsonType      = "application/json"
)

// Remote is a server that is reached over streamable HTTP.
type Remote struct {
	URL    *url.URL
	Header http.Header // that every request has, such as Authorization
	Client *http.Client
}

// forwarder serves streamable HTTP before a server that speaks it too. Sessions, versions, resumption and authorization are between the client
// and the server; the gateway reads the messages.
type forwarder struct {
	g  *Gateway
	to Remote

	mu       sync.Mutex
	sessions map[string]*held
}

// held is a session of a server, with when it was used last.
type held struct {
	*Session

	used time.Time
}

// Bounds of the sessions that a gateway keeps.
const (
	maxSessions = 10_000
	sessionLife = 24 * time.Hour // since the last use
)

// Forward serves clients over streamable HTTP before a server that is reached in the same way.
func (g *Gateway) Forward(to Remote) http.Handler {
	return &forwarder{g: g, to: to, sessions: map[string]*held{}}
}

// ServeHTTP implements [http.Handler].
func (f *forwarder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodPost:
		f.post(w, r)
	case http.MethodGet, http.MethodDelete:
		f.pass(w, r)
	default:
		w.Header().Set("Allow", "GET, POST, DELETE")
		http.Error(w, "use GET, POST or DELETE", http.StatusMethodNotAllowed)
	}
}

// session returns the session of a request; one of its own for a request without a session.
func (f *forwarder) session(id string) *Session {
	if id == "" {
		return f.g.session("")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	h := f.sessions[id]
	if h == nil {
		if len(f.sessions) >= maxSessions {
			f.sweep()
		}
		h = &held{Session: f.g.session(id)}
		f.sessions[id] = h
	}
	h.used = time.Now()
	return h.Session
}

// sweep forgets sessions that nobody uses; all if that leaves too many. What a forgotten session waited for is dropped.
func (f *forwarder) sweep() {
	for id, h := range f.sessions {
		if time.Since(h.used) > sessionLife {
			delete(f.sessions, id)
		}
	}
	if len(f.sessions) >= maxSessions {
		clear(f.sessions)
	}
}

// adopt gives a session the id that the server has given it.
func (f *forwarder) adopt(s *Session, id string) {
	if id == "" {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.sessions[id] == nil {
		s.name = id
		f.sessions[id] = &held{s, time.Now()}
	}
}

// post passes the messages of a request on, each in a request of its own, and answers with what comes back.
func (f *forwarder) post(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxMessage))
	if err != nil {
		http.Error(w, "the message cannot be read, or has more than "+"16 MiB", http.StatusRequestEntityTooLarge)
		return
	}
	parts, err := split(body)
	if err != nil {
		writeJSON(w, http.StatusBadRequest, failure(nil, codeParse, "Tenet: "+err.Error(), nil))
		return
	}
	s := f.session(r.Header.Get(sessionHeader))
	if len(parts) == 1 {
		f.one(w, r, s, parts[0])
		return
	}
	var collected [][]byte
	for _, part := range parts {
		var one recorder
		f.one(&one, r, s, part)
		if one.status >= 300 {
			writeJSON(w, one.status, one.body.Bytes())
			return
		}
		collected = append(collected, one.messages()...)
	}
	if len(collected) == 0 {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	writeJSON(w, http.StatusOK, append(append([]byte("["), bytes.Join(collected, []byte(","))...), ']'))
}

// one passes one message on.
func (f *forwarder) one(w http.ResponseWriter, r *http.Request, s *Session, raw []byte) {
	ctx := r.Context()
	st := s.fromClient(ctx, raw)
	if !wait(ctx, st.ready, 0) {
		s.drop(st.about)
		return // the client has gone
	}
	switch {
	case st.answer != nil:
		writeJSON(w, http.StatusOK, st.answer)
		return
	case st.forward == nil || st.settle != nil && !st.settle():
		w.WriteHeader(http.StatusAccepted)
		return
	}
	res, err := f.send(ctx, r, http.MethodPost, st.forward, st.repeatable)
	if err != nil {
		s.drop(st.about)
		f.unreachable(w, ctx, err)
		return
	}
	defer func() { _ = res.Body.Close() }() // opened for reading
	f.adopt(s, res.Header.Get(sessionHeader))
	f.answer(ctx, w, res, s, st.about)
}

// pass passes a request without messages on: a stream that the client listens to, or the end of a session.
func (f *forwarder) pass(w http.ResponseWriter, r *http.Request) {
	res, err := f.send(r.Context(), r, r.Method, nil, false)
	if err != nil {
		f.unreachable(w, r.Context(), err)
		return
	}
	defer func() { _ = res.Body.Close() }() // opened for reading
	id := r.Header.Get(sessionHeader)
	f.answer(r.Context(), w, res, f.session(id), "")
	if r.Method == http.MethodDelete && res.StatusCode < 300 {
		f.mu.Lock()
		delete(f.sessions, id)
		f.mu.Unlock()
	}
}

func (f *forwarder) unreachable(w http.ResponseWriter, ctx context.Context, err error) {
	if ctx.Err() != nil {
		return // the client has gone
	}
	f.g.cfg.Note("%s: the server cannot be reached: %v", f.g.cfg.Server, err)
	http.Error(w, "the MCP server behind the gateway cannot be reached", http.StatusBadGateway)
}

// Headers that concern one connection, or the gateway itself.
var ownHeaders = []string{
	"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
	"Content-Length", "Accept-Encoding", "Origin", "Host", TokenHeader,
}

// send sends a request to the server with the headers of the client's.
func (f *forwarder) send(ctx context.Context, r *http.Request, method string, body []byte, again bool) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, f.to.URL.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	maps.Copy(req.Header, r.Header)
	for _, name := range ownHeaders {
		req.Header.Del(name)
	}
	maps.Copy(req.Header, f.to.Header)
	if body != nil {
		req.Header.Set("Content-Type", jsonType)
	}
	if again {
		repeats(req)
	}
	return f.to.Client.Do(req)
}

// answer passes the server's answer on: one message as JSON, a stream of them, or whatever else it is. About is the request that it answers.
func (f *forwarder) answer(ctx context.Context, w http.ResponseWriter, res *http.Response, s *Session, about string) {
	maps.Copy(w.Header(), res.Header)
	for _, name := range ownHeaders {
		w.Header().Del(name)
	}
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	switch {
	case kind == streamType && res.StatusCode == http.StatusOK:
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush() // the client waits for the headers of a stream that is silent at first
		out := &eventWriter{w: w}
		if res.Request.Method == http.MethodGet { // the stream for what belongs to no request
			watched, cancel := context.WithCancel(ctx)
			var watching sync.WaitGroup
			defer watching.Wait() // w must not be used after the request
			defer cancel()
			watching.Go(func() {
				f.g.watchPins(watched, func() { _ = out.write(&event{name: "message", data: listChanged}) }) // the client may have gone
			})
		}
		f.stream(ctx, out, res.Body, s)
	case kind == jsonType:
		f.message(ctx, w, res, s, about)
	default:
		if res.StatusCode >= 300 {
			s.drop(about)
		}
		w.WriteHeader(res.StatusCode)
		_, _ = io.Copy(w, io.LimitReader(res.Body, maxAnswer)) // the client may have gone
	}
}

// message passes an answer of one message or a batch on.
func (f *forwarder) message(ctx context.Context, w http.ResponseWriter, res *http.Response, s *Session, about string) {
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err != nil || len(body) > maxAnswer {
		s.drop(about)
		http.Error(w, "the server's answer broke off or is too long", http.StatusBadGateway)
		return
	}
	if len(bytes.TrimSpace(body)) == 0 || res.StatusCode >= 300 {
		s.drop(about)
		writeRaw(w, res.StatusCode, body)
		return
	}
	parts, err := split(body)
	if err != nil {
		s.drop(about)
		http.Error(w, "the server's answer cannot be read", http.StatusBadGateway)
		return
	}
	var out [][]byte
	for _, part := range parts {
		st := s.fromServer(ctx, part)
		if wait(ctx, st.ready, 0) && st.answer != nil {
			out = append(out, st.answer)
		}
	}
	switch {
	case len(out) == 0:
		s.drop(about)
		http.Error(w, "the server's answer is to no request", http.StatusBadGateway)
	case len(parts) == 1:
		writeRaw(w, res.StatusCode, out[0])
	default:
		writeRaw(w, res.StatusCode, append(append([]byte("["), bytes.Join(out, []byte(","))...), ']'))
	}
}

// stream passes events on until the stream ends. Events keep their ids, so that the client can resume with the server.
func (f *forwarder) stream(ctx context.Context, w *eventWriter, body io.Reader, s *Session) {
	in := newEvents(body, maxAnswer)
	for {
		ev, err := in.next()
		if err != nil {
			if !errors.Is(err, io.EOF) && ctx.Err() == nil {
				f.g.cfg.Note("%s: a stream of the server broke off: %v", f.g.cfg.Server, err)
			}
			return
		}
		if len(bytes.TrimSpace(ev.data)) > 0 && (ev.name == "" || ev.name == "message") {
			st := s.fromServer(ctx, ev.data)
			if !wait(ctx, st.ready, 0) {
				return
			}
			if ev.data = st.answer; ev.data == nil && !ev.hasID {
				continue
			}
		}
		if w.write(&ev) != nil {
			return
		}
	}
}

// eventWriter writes events, of the server and of the gateway itself.
type eventWriter struct {
	mu sync.Mutex
	w  http.ResponseWriter
}

func (o *eventWriter) write(ev *event) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return ev.write(o.w)
}

// drop forgets a request that nobody will answer.
func (s *Session) drop(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := s.asked[id]; a != nil {
		s.forget(id, a)
	}
}

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", jsonType)
	writeRaw(w, status, body)
}

func writeRaw(w http.ResponseWriter, status int, body []byte) {
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may have gone
}

// recorder keeps the answer to one message of a batch.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements [http.ResponseWriter].
func (r *recorder) Header() http.Header {
	if r.header == nil {
		r.header = http.Header{}
	}
	return r.header
}

// WriteHeader implements [http.ResponseWriter].
func (r *recorder) WriteHeader(status int) { r.status = cmp.Or(r.status, status) }

// Write implements [http.ResponseWriter].
func (r *recorder) Write(b []byte) (int, error) {
	r.status = cmp.Or(r.status, http.StatusOK)
	return r.body.Write(b)
}

// messages returns the messages of the answer, of a stream too.
func (r *recorder) messages() [][]byte {
	if !strings.HasPrefix(r.Header().Get("Content-Type"), streamType) {
		if b := bytes.TrimSpace(r.body.Bytes()); len(b) > 0 {
			return [][]byte{b}
		}
		return nil
	}
	var out [][]byte
	in := newEvents(&r.body, maxAnswer)
	for {
		ev, err := in.next()
		if err != nil {
			return out
		}
		if len(bytes.TrimSpace(ev.data)) > 0 {
			out = append(out, ev.data)
		}
	}
}

// Flush implements [http.Flusher].
func (r *recorder) Flush() {}
