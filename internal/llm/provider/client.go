package provider

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"
	"unicode"

	"tenet/internal/llm"
	"tenet/internal/rule"
)

// identity names a model and the settings it hangs on, for error messages.
type identity struct {
	id, model         string
	keyName, baseName string
}

// client speaks the chat completions protocol of OpenAI and of the many servers that are compatible with it.
type client struct {
	identity
	base  *url.URL
	key   string
	opts  Options
	http  *http.Client
	slots chan struct{}
	// known is the dialect that last worked. Servers do not change, so what one refused is not sent again.
	known atomic.Pointer[dialect]
}

func newClient(who identity, base *url.URL, key string, opts Options) *client {
	c := &client{identity: who, base: base, key: key, opts: opts, slots: make(chan struct{}, opts.Concurrency)}
	c.http = &http.Client{
		Transport: opts.Transport,
		// A redirect would carry the prompt, and to a sibling host the key, to wherever the server says.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	first := dialect{newTokenLimit: base.Host == "api.openai.com"}
	c.known.Store(&first)
	return c
}

// ID returns provider:model.
func (c *client) ID() string { return c.id }

// Complete asks for one answer.
func (c *client) Complete(ctx context.Context, req llm.Request) (llm.Response, error) {
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		return llm.Response{}, c.interrupted(ctx.Err())
	}
	return retry(ctx, c.opts, func(ctx context.Context) (llm.Response, error) { return c.attempt(ctx, req) })
}

// attempt sends req once, and again for each parameter that the server turns out not to know.
func (c *client) attempt(ctx context.Context, req llm.Request) (llm.Response, error) {
	d := *c.known.Load()
	tried := map[dialect]bool{}
	for {
		tried[d] = true
		payload, err := encode(c.model, req, d)
		if err != nil {
			return llm.Response{}, err
		}
		status, header, body, err := c.do(ctx, http.MethodPost, "/chat/completions", payload)
		if err != nil {
			return llm.Response{}, err
		}
		if status == http.StatusOK {
			c.known.Store(&d)
			return decode(body)
		}
		if complains(status) {
			if next, ok := d.adapt(decodeFailure(body).complaint); ok && !tried[next] {
				c.opts.Logger.InfoContext(ctx, "the model's server does not know a parameter; going on without it", "model", c.id, "status", status)
				d = next
				continue
			}
		}
		return llm.Response{}, c.refused(status, header, body)
	}
}

// complains reports whether an answer of this status may be about a parameter. llama-cpp-python answers 500 to a
// response_format that it does not know, others 501.
func complains(status int) bool {
	return status == http.StatusBadRequest || status == http.StatusUnprocessableEntity ||
		status == http.StatusInternalServerError || status == http.StatusNotImplemented
}

// Check asks for the list of models.
func (c *client) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.opts.Timeout)
	defer cancel()
	status, header, body, err := c.do(ctx, http.MethodGet, "/models", nil)
	if err != nil {
		return unwrapTransient(err)
	}
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return unwrapTransient(c.refused(status, header, body))
	}
	if status < 300 || status >= 400 && status < 500 {
		// Some gateways have no list, or limit its rate. They are there, which is all that is asked.
		return nil
	}
	return unwrapTransient(c.refused(status, header, body))
}

// do makes one HTTP exchange. A broken connection is a transient error.
func (c *client) do(ctx context.Context, method, path string, payload []byte) (int, http.Header, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base.String()+path, bytes.NewReader(payload))
	if err != nil {
		return 0, nil, nil, rule.Errorf(rule.CodeInvalid, "%s is no usable address", c.baseName)
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "tenet")
	if payload != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return 0, nil, nil, c.broken(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, c.opts.MaxResponseBytes+1))
	if err != nil {
		return 0, nil, nil, c.broken(ctx, err)
	}
	if int64(len(body)) > c.opts.MaxResponseBytes {
		return 0, nil, nil, rule.Errorf(rule.CodeInvalid, "the answer of %s is larger than %d bytes", c.id, c.opts.MaxResponseBytes)
	}
	return resp.StatusCode, resp.Header, body, nil
}

// broken tells of an exchange that did not come to an end.
func (c *client) broken(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return &transientError{err: c.interrupted(ctx.Err())}
	}
	c.opts.Logger.DebugContext(ctx, "an exchange with the model's server broke off", "model", c.id, "error", err)
	return &transientError{err: rule.Errorf(rule.CodeUnavailable, "the server of %s cannot be reached (%s); check %s and that it runs", c.id, fault(err), c.baseName)}
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

func (c *client) interrupted(err error) error {
	return rule.Errorf(rule.CodeUnavailable, "%s did not answer in time: %w", c.id, err)
}

// refused turns an error answer into an error. What the server says about a key is left out: it may repeat parts of it.
func (c *client) refused(status int, header http.Header, body []byte) error {
	f := decodeFailure(body)
	says := ""
	if f.message != "" {
		says = ": " + c.scrub(f.message)
	}
	switch {
	case status >= 300 && status < 400:
		return rule.Errorf(rule.CodeUnavailable, "the server of %s redirects elsewhere (%d), which is not followed; set %s to the final address", c.id, status, c.baseName)
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		if c.keyName == "" {
			return rule.Errorf(rule.CodeUnavailable, "the server of %s asks for a key (%d); check %s", c.id, status, c.baseName)
		}
		return rule.Errorf(rule.CodeUnavailable, "the server of %s refuses the key (%d); check %s", c.id, status, c.keyName)
	case status == http.StatusNotFound:
		return rule.Errorf(rule.CodeUnavailable, "the server does not know %s (404); check the model's name and %s%s", c.id, c.baseName, says)
	case status == http.StatusRequestEntityTooLarge || f.code == "context_length_exceeded":
		return rule.Errorf(rule.CodeTooLarge, "the prompt is longer than %s takes%s", c.id, says)
	case status == http.StatusTooManyRequests && f.code == "insufficient_quota":
		return rule.Errorf(rule.CodeUnavailable, "the account of %s has no quota left", c.id)
	case status == http.StatusTooManyRequests:
		return &transientError{err: rule.Errorf(rule.CodeUnavailable, "%s is limiting the rate of calls (429)", c.id), header: header}
	case status == http.StatusRequestTimeout || status >= 500 && status != http.StatusNotImplemented:
		return &transientError{err: rule.Errorf(rule.CodeUnavailable, "the server of %s fails (%d)", c.id, status), header: header}
	}
	return rule.Errorf(rule.CodeUnavailable, "the server of %s refuses the call (%d)%s", c.id, status, says)
}

// scrub makes a server's words fit for an error message: short, printable, without the key.
func (c *client) scrub(s string) string {
	if c.key != "" {
		s = strings.ReplaceAll(s, c.key, "[key]")
	}
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, s)
	return strings.TrimSpace(cut(s, 200))
}
