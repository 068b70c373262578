package rest

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
	"tenet/internal/telemetry"
)

// exchange is the state of one request. Its context holds it.
type exchange struct {
	server   *Server
	id       string
	r        *http.Request
	w        http.ResponseWriter
	endpoint *Endpoint
	project  string // that the request concerns; empty if none
	given    bool   // the request names the project
	raw      []byte // body of a signed request
	who      auth.Actor
	refusal  string // why the use of the key is refused, such as [auth.RefusedNetwork]; empty for other reasons
}

type exchangeKey struct{}

// exchangeFrom returns the exchange of a request's context.
func exchangeFrom(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

// Request returns the request of a handler.
func Request(ctx context.Context) *http.Request { return exchangeFrom(ctx).r }

var saneID = regexp.MustCompile(`^[A-Za-z0-9._:/+=-]{1,128}$`)

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := s.cfg.Now()
	x := &exchange{server: s, id: r.Header.Get("X-Request-Id")}
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
	defer s.recover(rw, x)
	if err := s.MayEnter(r); err != nil {
		WriteProblem(rw, r, err)
		return
	}
	h, pattern := s.mux.Handler(r)
	if pattern == "" {
		WriteProblem(rw, r, s.unrouted(h, r))
		return
	}
	s.mux.ServeHTTP(rw, r)
}

// finish sends an answer without a body and counts the request.
func (s *Server) finish(rw *response, x *exchange, start time.Time) {
	rw.send()
	s.countRefusal(x, rw.status)
	took := s.cfg.Now().Sub(start)
	s.observe(x.r, rw.status, took)
	telemetry.Route(x.r.Context(), x.r.Pattern, x.project)
	if s.cfg.Served != nil && rw.status < http.StatusBadRequest && x.project != "" {
		s.cfg.Served(x.project)
	}
	if ctx := x.r.Context(); s.cfg.Logger.Enabled(ctx, slog.LevelDebug) {
		s.cfg.Logger.DebugContext(ctx, "request", slog.String("request_id", x.id), slog.String("method", x.r.Method),
			slog.String("path", Clip(x.r.URL.Path, maxField)), slog.Int("status", rw.status), slog.Duration("took", took))
	}
}

// recover turns a panic into an internal error. If a part of the answer is sent already, it breaks the connection, so that
// the client does not take the part for the whole.
func (s *Server) recover(rw *response, x *exchange) {
	v := recover()
	if v == nil {
		return
	}
	if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		rw.sent = true
		panic(v)
	}
	s.cfg.Logger.ErrorContext(x.r.Context(), "panic", slog.String("request_id", x.id),
		slog.Any("panic", v), slog.String("stack", string(debug.Stack())))
	if rw.sent {
		panic(http.ErrAbortHandler)
	}
	clear(rw.Header())
	rw.Header().Set("X-Request-Id", x.id)
	WriteProblem(rw, x.r, fmt.Errorf("panic: %v", v))
}

// Serves reports whether a request has a route.
func (s *Server) Serves(r *http.Request) bool {
	_, pattern := s.mux.Handler(r)
	return pattern != ""
}

// MayEnter refuses requests that nothing here can answer: paths that are no text, requests to a host name that is not the server's
// while no key protects it, and requests from pages of another site.
func (s *Server) MayEnter(r *http.Request) error {
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
				"without API keys this server answers only requests to localhost, not to %q; make a key with `tenet keys create`", Clip(r.Host, maxValue))
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

// unrouted returns the error for a request that no route takes. h is the mux's own answer, which says which methods the
// path has.
func (s *Server) unrouted(h http.Handler, r *http.Request) error {
	answer := &response{ResponseWriter: discard{http.Header{}}}
	h.ServeHTTP(answer, r)
	if answer.status != http.StatusMethodNotAllowed {
		return rule.Errorf(rule.CodeNotFound, "nothing is served at %s; /docs lists the operations", Clip(r.URL.Path, maxField))
	}
	allow, reason := answer.Header().Get("Allow"), ""
	for prefix, why := range s.reasons {
		if strings.HasPrefix(r.Method+" "+r.URL.Path, prefix) {
			reason = why
		}
	}
	return &httpError{
		cause:  rule.Errorf(rule.CodeInvalid, "%s%s is not possible here; use %s", reason, Clip(r.Method, maxValue), allow),
		status: http.StatusMethodNotAllowed, header: http.Header{"Allow": {allow}},
	}
}

// discard is a writer that stores only headers.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(b []byte) (int, error) { return len(b), nil }
func (d discard) WriteHeader(int)             {}
