package provider

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"
	"unicode"

	"tenet/internal/rule"
	"tenet/internal/telemetry"
	"tenet/internal/text"
	"tenet/internal/turn"
)

// identity names a model and the settings it hangs on, for error messages.
type identity struct {
	vendor, model     string
	keyName, baseName string
}

func (i identity) id() string { return i.vendor + ":" + i.model }

// link is the way to one model on one server: it makes exchanges and reports their faults.
type link struct {
	identity
	base *url.URL
	key  string
	// authorise puts the key into a request's header.
	authorise func(h http.Header, key string)
	opts      Options
	http      *http.Client
	slots     *turn.Places
	breaker   *breaker
}

func newLink(who identity, base *url.URL, key string, authorise func(http.Header, string), opts Options) *link {
	l := &link{identity: who, base: base, key: key, authorise: authorise, opts: opts, slots: opts.Slots.of(who.vendor), breaker: &breaker{}}
	l.http = &http.Client{
		Transport: telemetry.Transport(opts.Transport),
		// A redirect would carry the prompt, and to a sibling host the key, to wherever the server says.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return l
}

// ID returns provider:model.
func (l *link) ID() string { return l.id() }

// Server returns the address of the server; empty for the vendor's own.
func (l *link) Server() string {
	if at := l.base.String(); at != places[l.vendor].address {
		return at
	}
	return ""
}

// reply is a server's answer.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// post sends body as JSON.
func (l *link) post(ctx context.Context, path string, body any) (reply, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(body); err != nil {
		return reply{}, rule.Errorf(rule.CodeInvalid, "the prompt cannot be sent: %w", err)
	}
	return l.do(ctx, http.MethodPost, path, b.Bytes())
}

// do makes one HTTP exchange. A broken connection is a transient error.
func (l *link) do(ctx context.Context, method, path string, payload []byte) (reply, error) {
	req, err := http.NewRequestWithContext(ctx, method, l.base.String()+path, bytes.NewReader(payload))
	if err != nil {
		return reply{}, rule.Errorf(rule.CodeInvalid, "%s is no usable address", l.baseName)
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "tenet")
	if payload != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	l.authorise(req.Header, l.key)
	resp, err := l.http.Do(req)
	if err != nil {
		return reply{}, l.exchangeError(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, l.opts.MaxResponseBytes+1))
	if err != nil {
		return reply{}, l.exchangeError(ctx, err)
	}
	if int64(len(body)) > l.opts.MaxResponseBytes {
		return reply{}, rule.Errorf(rule.CodeInvalid, "the answer of %s is larger than %d bytes", l.id(), l.opts.MaxResponseBytes)
	}
	return reply{resp.StatusCode, resp.Header, body}, nil
}

// check makes the cheap call that shows whether the server is there and takes the key.
func (l *link) check(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeout(ctx, l.opts.Timeout)
	defer cancel()
	r, err := l.do(ctx, http.MethodGet, path, nil)
	if err != nil {
		return unwrapTransient(err)
	}
	if err := l.refused(r); errors.Is(err, ErrKey) || r.status >= 300 && r.status < 400 || r.status >= 500 {
		return unwrapTransient(err)
	}
	// Some gateways have no list, or limit its rate. They are there, which is all that is asked.
	return nil
}

// exchangeError returns the error of an exchange that did not come to an end.
func (l *link) exchangeError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return &transientError{err: l.interrupted(ctx.Err())}
	}
	l.opts.Logger.DebugContext(ctx, "an exchange with the model's server broke off", "model", l.id(), "error", err)
	return &transientError{err: rule.Errorf(rule.CodeUnavailable, "the server of %s cannot be reached (%s); check %s and that it runs", l.id(), fault(err), l.baseName)}
}

// fault names what broke in words that callers may see: without addresses.
func fault(err error) string {
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return "its name does not resolve"
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return "its certificate is not trusted"
	}
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing listens there"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection broke"
	}
	return "the connection failed"
}

func (l *link) interrupted(err error) error {
	return rule.Errorf(rule.CodeUnavailable, "%s did not answer in time: %w", l.id(), err)
}

// refused turns an error answer into an error. What the server says about a key is left out: it may repeat parts of it.
func (l *link) refused(r reply) error {
	f := decodeFailure(r.body)
	says := ""
	if f.message != "" {
		says = ": " + l.scrub(f.message)
	}
	switch {
	case r.status >= 300 && r.status < 400:
		return rule.Errorf(rule.CodeUnavailable, "the server of %s redirects elsewhere (%d), which is not followed; set %s to the final address", l.id(), r.status, l.baseName)
	case r.status == http.StatusUnauthorized || r.status == http.StatusForbidden || r.status == http.StatusBadRequest && f.badKey:
		if l.keyName == "" {
			return rule.Errorf(rule.CodeUnavailable, "the server of %s asks for a key (%d): %w; check %s", l.id(), r.status, ErrKey, l.baseName)
		}
		return rule.Errorf(rule.CodeUnavailable, "the server of %s %w (%d); check %s", l.id(), ErrKey, r.status, l.keyName)
	case r.status == http.StatusNotFound:
		return rule.Errorf(rule.CodeUnavailable, "the server does not know %s (404); check the model's name and %s%s", l.id(), l.baseName, says)
	case r.status == http.StatusRequestEntityTooLarge || f.tooLong:
		return rule.Errorf(rule.CodeTooLarge, "the prompt is longer than %s takes%s", l.id(), says)
	case r.status == http.StatusTooManyRequests && f.code == "insufficient_quota":
		return rule.Errorf(rule.CodeUnavailable, "the account of %s has no quota left", l.id())
	case r.status == http.StatusTooManyRequests:
		return passing(rule.Errorf(rule.CodeUnavailable, "%s is limiting the rate of calls (429)", l.id()), r.header, f)
	case r.status == http.StatusRequestTimeout || r.status >= 500 && r.status != http.StatusNotImplemented:
		return passing(rule.Errorf(rule.CodeUnavailable, "the server of %s fails (%d)", l.id(), r.status), r.header, f)
	}
	return rule.Errorf(rule.CodeUnavailable, "the server of %s refuses the call (%d)%s", l.id(), r.status, says)
}

// passing is a failure that may pass, with the pause that the server asks for if it does.
func passing(err error, header http.Header, f failure) error {
	t := &transientError{err: err}
	if t.pause, t.asked = retryAfter(header, time.Now()); !t.asked && f.retryDelay > 0 {
		t.pause, t.asked = f.retryDelay, true
	}
	return t
}

// scrub makes a server's words fit for an error message: short, printable, without the key.
func (l *link) scrub(s string) string {
	if l.key != "" {
		s = strings.ReplaceAll(s, l.key, "[key]")
	}
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, s)
	return strings.TrimSpace(text.Clip(s, 200, ""))
}
