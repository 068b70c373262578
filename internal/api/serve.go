package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"runtime/debug"
	"strings"
	"time"
	"unicode/utf8"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/rule"
)

// exchange is one request under way, from its context.
type exchange struct {
	id      string
	r       *http.Request
	w       http.ResponseWriter
	plan    *plan
	project string // that the request concerns; empty if none
	given   bool   // the request names the project
	raw     []byte // body of a signed request
}

type exchangeKey struct{}

// exchangeFrom returns the request of a context. Handlers always have one.
func exchangeFrom(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

func requestID(ctx context.Context) string {
	if x := exchangeFrom(ctx); x != nil {
		return x.id
	}
	return ""
}

var saneID = regexp.MustCompile(`^[A-Za-z0-9._:/+=-]{1,128}$`)

// ServeHTTP implements [http.Handler].
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := s.cfg.Now()
	x := &exchange{id: r.Header.Get("X-Request-Id")}
	if !saneID.MatchString(x.id) {
		x.id = audit.NewID()
	}
	rw := &response{ResponseWriter: w}
	r = r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x))
	x.r, x.w = r, rw
	header := rw.Header()
	header.Set("X-Request-Id", x.id)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cache-Control", "no-store")
	defer s.finish(rw, x, start)
	defer s.recover(rw, r)
	if err := s.mayEnter(r); err != nil {
		s.writeProblem(rw, r, err)
		return
	}
	h, pattern := s.mux.Handler(r)
	if pattern == "" {
		s.writeProblem(rw, r, unrouted(h, r))
		return
	}
	s.mux.ServeHTTP(rw, r)
}

// finish sends an answer without a body and counts the request.
func (s *server) finish(rw *response, x *exchange, start time.Time) {
	rw.send()
	took := s.cfg.Now().Sub(start)
	s.metrics.observe(x.r, rw.status, took)
	if rw.status < http.StatusBadRequest && x.project != "" {
		s.metrics.noteProject(x.project)
	}
	if ctx := x.r.Context(); s.log.Enabled(ctx, slog.LevelDebug) {
		s.log.DebugContext(ctx, "request", slog.String("request_id", x.id), slog.String("method", x.r.Method),
			slog.String("path", cut(x.r.URL.Path, maxField)), slog.Int("status", rw.status), slog.Duration("took", took))
	}
}

// recover turns a panic into an internal error. Where a part of the answer is out already, the connection is cut, so that
// the client does not take the part for the whole.
func (s *server) recover(rw *response, r *http.Request) {
	v := recover()
	if v == nil {
		return
	}
	if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		rw.sent = true
		panic(v)
	}
	s.log.ErrorContext(r.Context(), "panic", slog.String("request_id", requestID(r.Context())),
		slog.Any("panic", v), slog.String("stack", string(debug.Stack())))
	if rw.sent {
		panic(http.ErrAbortHandler)
	}
	clear(rw.Header())
	rw.Header().Set("X-Request-Id", requestID(r.Context()))
	s.writeProblem(rw, r, fmt.Errorf("panic: %v", v))
}

// mayEnter refuses requests that no operation could answer well.
func (s *server) mayEnter(r *http.Request) error {
	if strings.IndexByte(r.URL.Path, 0) >= 0 || !utf8.ValidString(r.URL.Path) {
		return withStatus(http.StatusBadRequest, "path", "the path holds a NUL character or is not valid UTF-8")
	}
	if s.cfg.RequireLoopbackHost && !loopback(r.Host) {
		required, err := s.cfg.Keys.Required(r.Context())
		if err != nil {
			return err
		}
		if !required {
			return rule.Errorf(rule.CodeForbidden,
				"without API keys this server answers only requests to localhost, not to %q; make a key with `tenet keys create`", cut(r.Host, maxValue))
		}
	}
	if err := s.crossOrigin.Check(r); err != nil {
		return rule.Errorf(rule.CodeForbidden, "requests from pages of another site are refused")
	}
	return nil
}

// loopback reports whether a Host header names this machine.
func loopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.Trim(host, "[]"), ".")
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

// unrouted is the error for a request that no route takes. h is what the mux would answer: it knows which methods the
// path has.
func unrouted(h http.Handler, r *http.Request) error {
	answer := &response{ResponseWriter: discard{http.Header{}}}
	h.ServeHTTP(answer, r)
	if answer.status != http.StatusMethodNotAllowed {
		return rule.Errorf(rule.CodeNotFound, "there is nothing at %s; /docs lists what there is", cut(r.URL.Path, maxField))
	}
	allow := answer.Header().Get("Allow")
	return &httpError{
		cause:  rule.Errorf(rule.CodeInvalid, "%s%s is not possible here; use %s", frozen(r), cut(r.Method, maxValue), allow),
		status: http.StatusMethodNotAllowed, header: http.Header{"Allow": {allow}},
	}
}

// discard is a writer that keeps only headers.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(b []byte) (int, error) { return len(b), nil }
func (d discard) WriteHeader(int)             {}

// actor returns who calls.
func actor(ctx context.Context) auth.Actor { return auth.ActorFrom(ctx) }
