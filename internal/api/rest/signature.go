package rest

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"sync"

	"tenet/internal/auth"
	"tenet/internal/rule"
)

// Signer authenticates the signer of a body.
type Signer struct {
	// Expect refuses headers that no valid signature can have, before the server reads the body.
	Expect func(header http.Header) error
	Verify func(header http.Header, body []byte) (auth.Actor, error)
}

// SignedBytes returns the body of a signed request.
func SignedBytes(ctx context.Context) []byte { return exchangeFrom(ctx).raw }

// authenticateBody reads the body of a signed request and returns its signer. It reads the body before it can know the
// caller, within the limits for all callers, but not if the header alone shows that the signature is wrong.
func (s *Server) authenticateBody(x *exchange) (auth.Actor, error) {
	signer := x.endpoint.signer
	if err := signer.Expect(x.r.Header); err != nil {
		return auth.Actor{}, Unsigned(err)
	}
	if _, err := x.mediaType(); err != nil {
		return auth.Actor{}, err
	}
	from := s.ClientAddr(x.r)
	if err := s.strangers.enter(from); err != nil {
		return auth.Actor{}, err
	}
	defer s.strangers.leave(from)
	var err error
	if x.raw, err = x.readSlowly(); err != nil {
		return auth.Actor{}, err
	}
	who, err := signer.Verify(x.r.Header, x.raw)
	return who, Unsigned(err)
}

// Bounds of the bodies of unknown callers that the server reads at once.
const (
	maxStrangers    = 64
	maxFromOne      = 16       // from one address
	maxStrangeBytes = 64 << 20 // of all of them together
	firstBytes      = 4 << 10  // a body takes as much memory as has come of it, at least this, at most twice that
)

// strangers counts the callers whose bodies the server reads before it can know them.
type strangers struct {
	mu   sync.Mutex
	all  int
	from map[netip.Addr]int
	held int64 // bytes of their bodies
}

// enter returns an unavailable error while too many others send, in all or from the same address.
func (g *strangers) enter(from netip.Addr) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.all >= maxStrangers || g.from[from] >= maxFromOne {
		return busy()
	}
	g.all++
	g.from[from]++
	return nil
}

func (g *strangers) leave(from netip.Addr) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.all--
	if g.from[from]--; g.from[from] == 0 {
		delete(g.from, from)
	}
}

// hold reserves memory, or with a negative number frees it. It returns an unavailable error if the bodies take too much of it.
func (g *strangers) hold(n int64) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if n > 0 && g.held+n > maxStrangeBytes {
		return busy()
	}
	g.held += n
	return nil
}

func busy() error {
	return &httpError{
		cause:  rule.Errorf(rule.CodeUnavailable, "too many signed requests are under way; send it again later"),
		header: http.Header{"Retry-After": {"5"}, "Connection": {"close"}},
	}
}

// readSlowly reads the body of a caller that is not known yet. What the caller says of its length reserves nothing.
func (x *exchange) readSlowly() ([]byte, error) {
	limit := x.endpoint.limit
	if x.r.ContentLength > limit {
		return nil, x.tooLarge(limit, !strings.EqualFold(x.r.Header.Get("Expect"), "100-continue"))
	}
	timeout := x.awaitBody()
	g := x.server.strangers
	body := make([]byte, 0, firstBytes)
	held := int64(0)
	defer func() { _ = g.hold(-held) }()
	for {
		if len(body) == cap(body) {
			more := int64(cap(body))
			if err := g.hold(more); err != nil {
				return nil, err
			}
			held += more
			body = append(make([]byte, 0, 2*cap(body)), body...)
		}
		n, err := x.r.Body.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		switch {
		case int64(len(body)) > limit:
			return nil, x.tooLarge(limit, true)
		case errors.Is(err, io.EOF):
			return body, nil
		case err != nil:
			return nil, brokenBody(err, timeout)
		}
	}
}

// Unsigned adds to an unauthenticated error that a signature is needed. Other errors stay as they are.
func Unsigned(err error) error {
	if rule.CodeOf(err) != rule.CodeUnauthenticated {
		return err
	}
	return &httpError{
		cause: rule.Errorf(rule.CodeUnauthenticated, "%s", err.Error()), header: http.Header{"Www-Authenticate": {`Signature realm="tenet"`}},
	}
}
