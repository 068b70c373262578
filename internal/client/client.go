// Package client speaks to a Tenet server over HTTP, or in process to a handler, with the same types and the same errors.
package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"tenet/internal/rule"
	"tenet/internal/wire"
)

// Limits of what is read from a server, in bytes: a server must not be able to fill the memory of its callers.
const (
	maxAnswer  = 64 << 20
	maxExport  = 512 << 20
	maxProblem = 1 << 20
)

// Client calls one server. It is safe for concurrent use. Its methods ask for evaluations, agents, rules and waivers; [Call] and [Get]
// carry out every operation.
type Client struct {
	base    *url.URL
	key     string
	project string
	acting  wire.Acting
	http    *http.Client
	console *atomic.Bool // an answer has said that the server has one
	wait    func(context.Context, time.Duration) error
}

// New makes a client of the server at baseURL, such as http://127.0.0.1:8080. The key may be empty, and so may be
// httpClient, which then is one that follows redirects on the same host only. Time limits are those of the contexts. An address that is not http or https is invalid.
func New(baseURL, key string, httpClient *http.Client) (*Client, error) {
	u, err := url.Parse(strings.TrimRight(baseURL, "/"))
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, rule.Errorf(rule.CodeInvalid, "%q is not the address of a server; use one such as http://127.0.0.1:8080", baseURL)
	}
	if httpClient == nil {
		httpClient = &http.Client{Transport: http.DefaultTransport, CheckRedirect: sameHost}
	}
	return &Client{base: u, key: key, http: httpClient, console: new(atomic.Bool), wait: sleep}, nil
}

// KeyOf returns the API key of a request, from the headers that the API reads; empty without one.
func KeyOf(header http.Header) string {
	if scheme, token, ok := strings.Cut(header.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(token)
	}
	return header.Get("X-Api-Key")
}

// InProject returns a client whose calls concern one project; empty leaves the choice to the server, which is default.
func (c *Client) InProject(id string) *Client {
	other := *c
	other.project = id
	return &other
}

// Acting returns a client whose calls name the person, the agent and the session for which they are made. Empty fields leave what the
// client names already, and names that the API would refuse are left out.
func Acting(c *Client, on wire.Acting) *Client {
	other := *c
	for _, f := range []struct {
		to   *string
		name string
	}{{&other.acting.OnBehalfOf, on.OnBehalfOf}, {&other.acting.Agent, on.Agent}, {&other.acting.Session, on.Session}} {
		name := strings.TrimSpace(f.name)
		if name != "" && len(name) <= maxActing && utf8.ValidString(name) && !strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
			*f.to = name
		}
	}
	return &other
}

// maxActing bounds a name, in bytes, as the API does.
const maxActing = 200

// ActingOf reads from the headers of a request for whom it is made.
func ActingOf(header http.Header) wire.Acting {
	return wire.Acting{OnBehalfOf: header.Get(wire.OnBehalfOfHeader), Agent: header.Get(wire.AgentHeader), Session: header.Get(wire.SessionHeader)}
}

// sameHost keeps a redirect from carrying the key to another host.
func sameHost(req *http.Request, via []*http.Request) error {
	if len(via) >= 5 || req.URL.Host != via[0].URL.Host || req.URL.Scheme != via[0].URL.Scheme {
		return http.ErrUseLastResponse
	}
	return nil
}

// request is one request to the API.
type request struct {
	method, path string
	query        url.Values
	header       http.Header
	body         []byte // sent as it is
	// repeatable calls may be sent again although the server may have carried them out.
	repeatable bool
	// anywhere calls do not concern one project.
	anywhere bool
	limit    int64 // of the answer, in bytes
}

// answer is the answer of the server.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// Attempts and waits of a call that the server puts off.
const (
	maxAttempts = 4
	firstWait   = 250 * time.Millisecond
	longestWait = 30 * time.Second
)

// do carries out a call and repeats it when the server asks for that: after 429, which refuses before any work is done, and
// for repeatable calls after 503. Every answer that is not a success is an [*Error].
func (c *Client) do(ctx context.Context, k request) (*answer, error) {
	for attempt := 1; ; attempt++ {
		a, err := c.once(ctx, k)
		if err != nil {
			return nil, err
		}
		if a.status >= 200 && a.status < 300 {
			return a, nil
		}
		again := a.status == http.StatusTooManyRequests || (a.status == http.StatusServiceUnavailable && k.repeatable)
		if !again || attempt == maxAttempts {
			return nil, problem(a)
		}
		delay, ok := patience(a.header, attempt)
		if deadline, has := ctx.Deadline(); !ok || (has && time.Until(deadline) < delay) {
			return nil, problem(a)
		}
		if err := c.wait(ctx, delay); err != nil {
			return nil, err
		}
	}
}

func (c *Client) once(ctx context.Context, k request) (*answer, error) {
	res, err := send(ctx, c, k)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }() // opened for reading
	body, err := read(res, k)
	if err != nil {
		return nil, err
	}
	return &answer{res.StatusCode, res.Header, body}, nil
}

// copyAnswer carries out a call once and writes its answer to w.
func copyAnswer(ctx context.Context, c *Client, k request, w io.Writer) error {
	to := &remembering{w: w}
	res, err := send(intoWriter(ctx, to), c, k)
	if to.err != nil {
		return to.err // the answer broke off because nobody takes it
	}
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }() // opened for reading
	if res.StatusCode >= 300 {
		body, err := read(res, k)
		if err != nil {
			return err
		}
		return problem(&answer{res.StatusCode, res.Header, body})
	}
	if _, err = io.Copy(to, res.Body); to.err != nil {
		return to.err
	} else if err != nil {
		return fmt.Errorf("%s %s: the server's answer broke off: %w", k.method, k.path, err)
	}
	return nil
}

// remembering is a writer that remembers its first error.
type remembering struct {
	w   io.Writer
	err error
}

func (r *remembering) Write(b []byte) (int, error) {
	n, err := r.w.Write(b)
	if r.err == nil {
		r.err = err
	}
	return n, err
}

// send sends a request once.
func send(ctx context.Context, c *Client, k request) (*http.Response, error) {
	u := *c.base
	u.Path += k.path
	if unescaped, err := url.PathUnescape(k.path); err == nil {
		u.Path, u.RawPath = c.base.Path+unescaped, c.base.EscapedPath()+k.path
	}
	query := url.Values{}
	maps.Copy(query, k.query)
	if c.project != "" && !k.anywhere {
		query.Set("project_id", c.project)
	}
	u.RawQuery = query.Encode()
	req, err := http.NewRequestWithContext(ctx, k.method, u.String(), bytes.NewReader(k.body))
	if err != nil {
		return nil, err
	}
	maps.Copy(req.Header, k.header)
	req.Header.Set("User-Agent", "tenet")
	for name, value := range map[string]string{
		wire.OnBehalfOfHeader: c.acting.OnBehalfOf, wire.AgentHeader: c.acting.Agent, wire.SessionHeader: c.acting.Session,
	} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, unreachable(ctx, c.base, err)
	}
	if res.Header.Get(wire.ConsoleHeader) != "" {
		c.console.Store(true)
	}
	return res, nil
}

// HasConsole reports whether an answer to the client, or to one made from it, said that the server serves the web console.
func HasConsole(c *Client) bool { return c.console.Load() }

// maxExpected is the longest answer, in bytes, for which memory is taken because the server says how long it is.
const maxExpected = 1 << 20

// read reads an answer up to its limit.
func read(res *http.Response, k request) ([]byte, error) {
	limit := k.limit
	if res.StatusCode >= 300 {
		limit = maxProblem
	}
	if n := res.ContentLength; n > 0 && n <= min(limit, maxExpected) {
		body := make([]byte, n)
		if _, err := io.ReadFull(res.Body, body); err != nil {
			return nil, fmt.Errorf("%s %s: reading the server's answer: %w", k.method, k.path, err)
		}
		return body, nil
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, limit+1))
	if err != nil {
		return nil, fmt.Errorf("%s %s: reading the server's answer: %w", k.method, k.path, err)
	}
	if int64(len(body)) > limit {
		return nil, rule.Errorf(rule.CodeTooLarge, "%s %s: the server's answer has more than %d MiB", k.method, k.path, limit>>20)
	}
	return body, nil
}

// unreachable returns the error for a server that does not answer.
func unreachable(ctx context.Context, base *url.URL, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	return rule.Errorf(rule.CodeUnavailable, "no answer from %s: %w; is `tenet serve` running there?", base.Redacted(), err)
}

// patience returns how long to wait before the next attempt: as Retry-After says, or else longer each time. It is false if
// the server asks for more than longestWait.
func patience(h http.Header, attempt int) (time.Duration, bool) {
	if s := h.Get("Retry-After"); s != "" {
		if seconds, err := strconv.Atoi(s); err == nil && seconds >= 0 {
			delay := time.Duration(min(seconds, 3600)) * time.Second
			return delay, delay <= longestWait
		}
		if at, err := http.ParseTime(s); err == nil {
			delay := max(time.Until(at), 0)
			return delay, delay <= longestWait
		}
	}
	delay := firstWait << (attempt - 1)
	return delay/2 + rand.N(delay/2), true
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
