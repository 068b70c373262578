package relay

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"time"

	"tenet/internal/gateway"
)

var errTooMany = errors.New("too many sessions are open")

// remote is a server that is reached over streamable HTTP, as a stream of messages.
type remote struct {
	to   Remote
	note func(format string, args ...any)
	in   chan []byte
	ctx  context.Context // until the session is closed
	end  context.CancelFunc

	mu       sync.Mutex
	session  string // id that the server gave
	version  string // of the protocol that was agreed on
	listened bool
}

// newRemote makes a session with a server, which begins with the first message.
func newRemote(ctx context.Context, to Remote, note func(string, ...any)) *remote {
	ctx, end := context.WithCancel(ctx)
	return &remote{to: to, note: note, in: make(chan []byte, ahead), ctx: ctx, end: end}
}

// receive implements stream.
func (r *remote) receive(ctx context.Context) ([]byte, error) {
	select {
	case raw := <-r.in:
		return raw, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-r.ctx.Done():
		return nil, io.EOF
	}
}

// give hands a message of the server on.
func (r *remote) give(raw []byte) {
	select {
	case r.in <- raw:
	case <-r.ctx.Done():
	}
}

// send implements stream. It returns once the request is written, so that messages keep their order; for a notification, once the server has
// taken it.
func (r *remote) send(_ context.Context, raw []byte, _ string) error {
	m, err := parse(raw)
	if err != nil {
		return err
	}
	written, finished := make(chan struct{}), make(chan struct{})
	var once sync.Once
	ctx := httptrace.WithClientTrace(r.ctx, &httptrace.ClientTrace{
		WroteRequest: func(httptrace.WroteRequestInfo) { once.Do(func() { close(written) }) },
	})
	go func() {
		defer close(finished)
		r.exchange(ctx, &m)
	}()
	if m.request() {
		select {
		case <-written:
		case <-finished:
		}
		return nil
	}
	<-finished
	if m.method == "notifications/initialized" {
		r.listen()
	}
	return nil
}

// exchange sends a message and hands on what the server answers. A request gets an answer, also where the server gives none.
func (r *remote) exchange(ctx context.Context, m *message) {
	res, err := r.request(ctx, http.MethodPost, m, "")
	if err != nil {
		r.failed(m, "it cannot be reached: "+err.Error())
		return
	}
	defer func() { _ = res.Body.Close() }() // opened for reading
	if id := res.Header.Get(sessionHeader); id != "" {
		r.mu.Lock()
		r.session = id
		r.mu.Unlock()
	}
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	switch {
	case kind == streamType && res.StatusCode == http.StatusOK:
		r.stream(ctx, res.Body, m)
	case kind == jsonType:
		body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
		if err != nil || len(body) > maxAnswer {
			r.failed(m, "its answer broke off or is too long")
			return
		}
		if !r.take(body, m) && m.request() {
			r.failed(m, fmt.Sprintf("it answered %s", res.Status))
		}
	case res.StatusCode >= 300 || m.request():
		r.failed(m, fmt.Sprintf("it answered %s", res.Status))
	}
}

// take hands on the messages of a JSON body. It reports whether one of them answers m.
func (r *remote) take(body []byte, m *message) bool {
	parts, err := split(body)
	if err != nil {
		return false
	}
	answered := false
	for _, part := range parts {
		got, err := parse(part)
		if err != nil || got.id == "" && got.response() {
			continue
		}
		if got.response() && m != nil && got.id == m.id {
			answered = true
			r.agree(m, &got)
		}
		r.give(part)
	}
	return answered
}

// agree notes the version that the server answers initialize with.
func (r *remote) agree(m, got *message) {
	if m.method != "initialize" || got.result == nil {
		return
	}
	var p struct {
		Version string `json:"protocolVersion"`
	}
	if json.Unmarshal(got.result, &p) == nil {
		r.mu.Lock()
		r.version = p.Version
		r.mu.Unlock()
	}
}

// Bounds of reading a stream again that broke off.
const (
	resumes   = 5
	firstWait = 500 * time.Millisecond
)

// stream hands on the messages of a stream that answers m; nil answers nothing. It resumes a stream that breaks off, where the server gives
// ids for that.
func (r *remote) stream(ctx context.Context, body io.ReadCloser, m *message) {
	last := ""
	for attempt := 0; ; attempt++ {
		in := newEvents(body, maxAnswer)
		for {
			ev, err := in.next()
			if err != nil {
				break
			}
			if ev.hasID {
				last = ev.id
			}
			if len(bytes.TrimSpace(ev.data)) > 0 && (ev.name == "" || ev.name == "message") {
				attempt = 0
				if r.take(ev.data, m) {
					drain(ctx, body)
					return
				}
			}
		}
		_ = body.Close() // opened for reading
		if ctx.Err() != nil || last == "" || attempt == resumes {
			break
		}
		select {
		case <-time.After(firstWait << attempt):
		case <-ctx.Done():
			return
		}
		res, err := r.request(ctx, http.MethodGet, nil, last)
		if err != nil {
			body = io.NopCloser(bytes.NewReader(nil))
			continue
		}
		if res.StatusCode != http.StatusOK {
			_ = res.Body.Close() // opened for reading
			break
		}
		body = res.Body
	}
	if m != nil {
		r.failed(m, "its answer broke off")
	}
}

// listen opens the stream for messages that belong to no request, once.
func (r *remote) listen() {
	r.mu.Lock()
	again := r.listened || r.version >= statelessVersion
	r.listened = true
	r.mu.Unlock()
	if again {
		return
	}
	go func() {
		for wait := firstWait; r.ctx.Err() == nil; {
			began := time.Now()
			res, err := r.request(r.ctx, http.MethodGet, nil, "")
			if err == nil {
				kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
				if res.StatusCode != http.StatusOK || kind != streamType {
					_ = res.Body.Close() // opened for reading
					return               // the server offers no such stream
				}
				r.stream(r.ctx, res.Body, nil)
			}
			if time.Since(began) > time.Minute {
				wait = firstWait
			}
			select {
			case <-time.After(wait):
				wait = min(2*wait, time.Minute)
			case <-r.ctx.Done():
			}
		}
	}()
}

// failed answers a request for a server that does not.
func (r *remote) failed(m *message, why string) {
	if r.ctx.Err() != nil {
		return
	}
	r.note("the server did not take %s: %s", gateway.Visible(m.method), why)
	if m.request() {
		r.give(failure(m.idJSON, codeRefused, "Tenet: the server did not answer: "+why, nil))
	}
}

// request sends a request of HTTP: a message, or for a nil one a wish to listen from an event on.
func (r *remote) request(ctx context.Context, method string, m *message, from string) (*http.Response, error) {
	var body io.Reader
	if m != nil {
		body = bytes.NewReader(m.raw)
	}
	req, err := http.NewRequestWithContext(ctx, method, r.to.URL.String(), body)
	if err != nil {
		return nil, err
	}
	maps.Copy(req.Header, r.to.Header)
	r.mu.Lock()
	session, version := r.session, r.version
	r.mu.Unlock()
	req.Header.Set("Accept", streamType)
	if m != nil {
		req.Header.Set("Accept", jsonType+", "+streamType)
		req.Header.Set("Content-Type", jsonType)
		if repeatable(m) {
			repeats(req)
		}
		if own := metaOf(m.params, metaVersion); own != "" {
			version = own
		}
		if version >= statelessVersion && m.method != "" {
			req.Header.Set("Mcp-Method", m.method)
			if name := nameOf(m); name != "" {
				req.Header.Set("Mcp-Name", name)
			}
		}
	}
	if version != "" {
		req.Header.Set(versionHeader, version)
	}
	if session != "" {
		req.Header.Set(sessionHeader, session)
	}
	if from != "" {
		req.Header.Set(lastEvent, from)
	}
	return r.to.Client.Do(req)
}

// nameOf returns the name that the header Mcp-Name repeats; empty without one.
func nameOf(m *message) string {
	var p struct {
		Name string `json:"name"`
		URI  string `json:"uri"`
	}
	if !gateway.Evaluated(m.method) || json.Unmarshal(m.params, &p) != nil {
		return ""
	}
	name := p.Name
	if m.method == "resources/read" {
		name = p.URI
	}
	return headerValue(name)
}

// Close ends the session with the server.
func (r *remote) Close() error {
	defer r.end()
	r.mu.Lock()
	session := r.session
	r.mu.Unlock()
	if session == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), endTime)
	defer cancel()
	res, err := r.request(ctx, http.MethodDelete, nil, "")
	if err == nil {
		_ = res.Body.Close() // the server may not offer it
	}
	return nil
}

// headerValue returns a text as a value of a header; in base64 where it has other characters than a header may.
func headerValue(s string) string {
	plain := s == strings.TrimSpace(s) && !strings.HasPrefix(s, "=?base64?") && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
	if plain {
		return s
	}
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(s)) + "?="
}
