package rest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"
	"unicode"
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
	wrote    func() // notes the end of a request that may have written; nil for others
	broke    int    // status of the error that ended a stream; 0 for none
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

// saneID has the form of the ids that proxies and clients give requests: a UUID, the id of a trace, Root=1-67891233-abcdef012345678912345678.
var saneID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:=/+-]{0,63}$`)

// secretID has the form of what a caller must not have put there: keys of Tenet and of well-known services, tokens of three parts, and long texts in
// capital and small letters with digits, as random keys are. Ids are shorter (a KSUID has 27 characters) or in one case.
var secretID = regexp.MustCompile(`^(?i:tnt_|whsec_|sk[-_]|pk_|rk_|gh[a-z]_|github_pat_|glpat-|xox[a-z]-|hf_|npm_|pypi-|dop_v1|bearer|basic)|` +
	`^(AKIA|ASIA|AIza|eyJ)|^[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}$`)

// maxMixedID is how many bytes of an id may be in parts that have capitals, small letters and digits.
const maxMixedID = 32

// plainPart has the form of a part of an id that is no piece of a random key: words and numbers in one case, also several with / or + between them.
var plainPart = regexp.MustCompile(`^(?:[A-Z]?[a-z]*|[a-z0-9]*|[A-Z0-9]*)(?:[/+](?:[A-Z]?[a-z]*|[a-z0-9]*|[A-Z0-9]*))*$`)

// mixedBytes returns how many bytes of an id are in parts that may be pieces of a random key. The marks -._:= separate parts; / and + are digits of
// base64, so they separate only plain parts.
func mixedBytes(id string) int {
	n := 0
	for part := range strings.FieldsFuncSeq(id, func(c rune) bool { return strings.ContainsRune("-._:=", c) }) {
		if strings.ContainsFunc(part, unicode.IsUpper) && strings.ContainsFunc(part, unicode.IsLower) && strings.ContainsFunc(part, unicode.IsDigit) && !plainPart.MatchString(part) {
			n += len(part)
		}
	}
	return n
}

// requestID returns the id of a request: the caller's, if it can be no secret, since it is logged and answered, or else a new one.
func requestID(r *http.Request) string {
	id := r.Header.Get("X-Request-Id")
	if id != "" && logged(r.Context(), id) {
		return id // AccessLog has looked at it
	}
	if !saneID.MatchString(id) || secretID.MatchString(id) || mixedBytes(id) > maxMixedID {
		return audit.NewID()
	}
	return id
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := s.cfg.Now()
	x := &exchange{server: s, id: requestID(r)}
	rw := &response{ResponseWriter: w}
	r = r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x))
	x.r, x.w = r, rw
	s.setHeaders(rw.Header(), x.id)
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
	if own := s.methods[r.URL.Path]; own != nil && strings.Contains(pattern, "{") {
		WriteProblem(rw, r, s.notAllowed(r, allowed(own))) // the word is no id
		return
	}
	s.mux.ServeHTTP(rw, r)
}

// setHeaders sets the headers that every answer has.
func (s *Server) setHeaders(h http.Header, id string) {
	h.Set("X-Request-Id", id)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	if s.cfg.Headers != nil {
		s.cfg.Headers(h)
	}
}

// secrets are the keys, tokens and webhook secrets of Tenet.
var secrets = regexp.MustCompile(`(?i)(tnt|whsec)_[A-Za-z0-9+/=_.-]+`)

// withoutKeys replaces keys in a text that is logged. A caller may have put one where an id belongs.
func withoutKeys(text string) string { return secrets.ReplaceAllString(text, "${1}_[redacted]") }

// finish sends an answer without a body and counts the request.
func (s *Server) finish(rw *response, x *exchange, start time.Time) {
	rw.send()
	if x.wrote != nil {
		x.wrote()
	}
	s.countRefusal(x, rw.status)
	took := s.cfg.Now().Sub(start)
	s.observe(x.r, rw.status, took)
	telemetry.Route(x.r.Context(), x.r.Pattern, x.project)
	if s.cfg.Ended != nil && x.project != "" {
		s.cfg.Ended(cmp.Or(x.broke, rw.status))
	}
	if s.cfg.Served != nil && rw.status < http.StatusBadRequest && x.project != "" {
		s.cfg.Served(x.project)
	}
	if ctx := x.r.Context(); s.cfg.Logger.Enabled(ctx, slog.LevelDebug) && !logged(ctx, x.id) {
		s.cfg.Logger.DebugContext(ctx, "request", slog.String("request_id", x.id), slog.String("method", x.r.Method),
			slog.String("path", Clip(withoutKeys(x.r.URL.Path), maxField)), slog.Int("status", rw.status), slog.Duration("took", took))
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
	s.setHeaders(rw.Header(), x.id)
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
	return s.notAllowed(r, cmp.Or(s.allow(r.URL.Path), answer.Header().Get("Allow")))
}

// allowed lists methods for the header Allow; GET brings HEAD.
func allowed(methods []string) string {
	list := slices.Clone(methods)
	if slices.Contains(list, http.MethodGet) {
		list = append(list, http.MethodHead)
	}
	slices.Sort(list)
	return strings.Join(slices.Compact(list), ", ")
}

// allow lists the methods of a path: those of the routes that describe it most closely, so that /rules/import has none of /rules/{id}.
func (s *Server) allow(path string) string {
	asked := strings.Split(path, "/")
	var closest []string
	var methods []string
	for pattern := range s.endpoints {
		method, route, ok := strings.Cut(pattern, " ")
		parts := strings.Split(route, "/")
		if !ok || !matches(parts, asked) {
			continue
		}
		switch c := closer(parts, closest); {
		case closest == nil || c > 0:
			closest, methods = parts, []string{method}
		case c == 0:
			methods = append(methods, method)
		}
	}
	return allowed(methods)
}

// matches reports whether the segments of a route take those of a path.
func matches(route, path []string) bool {
	for i, part := range route {
		switch {
		case strings.HasSuffix(part, "...}"):
			return true
		case i >= len(path), path[i] == "" && part != "" && part != "{$}":
			return false
		case part != path[i] && !strings.HasPrefix(part, "{"):
			return false
		}
	}
	return len(route) == len(path)
}

// closer compares two routes that take one path: the one that names a segment where the other has a parameter is closer.
func closer(a, b []string) int {
	for i := range min(len(a), len(b)) {
		if p, q := strings.HasPrefix(a[i], "{"), strings.HasPrefix(b[i], "{"); p != q {
			if q {
				return 1
			}
			return -1
		}
	}
	return cmp.Compare(len(a), len(b))
}

func (s *Server) notAllowed(r *http.Request, allow string) error {
	reason := ""
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
