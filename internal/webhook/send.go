package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"code.dny.dev/ssrf"

	"tenet/internal/signature"
	"tenet/internal/store"
	"tenet/internal/telemetry"
	"tenet/internal/wire"
)

// Bounds of what is read of an endpoint's answer.
const (
	maxAnswer  = 4 << 10
	maxHeaders = 64 << 10
	maxReason  = 500
)

// sender makes the requests to endpoints. It goes to no address that the guard does not let through, follows no redirect, and
// heeds no proxy of the environment, which would connect in its place.
type sender struct {
	client  *http.Client
	guard   *ssrf.Guardian
	timeout time.Duration
	now     func() time.Time
}

func newSender(c Config) *sender {
	guard := newGuard(c.AllowNetworks)
	// Control checks the address of every connection after its name was resolved and before it is made, so that a name cannot lead
	// elsewhere in between.
	dialer := &net.Dialer{Timeout: c.Timeout, Control: guard.Safe, Resolver: c.Resolver}
	return &sender{
		guard: guard, timeout: c.Timeout, now: c.Now,
		client: &http.Client{
			Transport: &http.Transport{
				DialContext: dialer.DialContext, TLSHandshakeTimeout: c.Timeout, DisableCompression: true, ForceAttemptHTTP2: true,
				MaxResponseHeaderBytes: maxHeaders, MaxIdleConns: 100, MaxIdleConnsPerHost: 1, IdleConnTimeout: 30 * time.Second,
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// result is the outcome of one attempt.
type result struct {
	status int    // of the answer; 0 without one
	answer string // how it begins
	reason string // why it counts as failed; empty for a success
	gone   bool   // the endpoint wants no more
	// refused says that the endpoint works but does not take this event; others may still arrive.
	refused bool
	// after is how long the endpoint asks to be left alone; 0 if it does not ask.
	after time.Duration
	took  time.Duration
}

func (r *result) ok() bool { return r.reason == "" }

// send makes one attempt to deliver an event to an endpoint.
func (s *sender) send(ctx context.Context, p *store.WebhookPolicy, e *store.WebhookEvent) result {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	ctx, span := telemetry.Start(ctx, "webhook", "tenet.project", p.ProjectID, "tenet.webhook", p.ID, "tenet.event", e.ID)
	r, err := s.attempt(ctx, p, e)
	span.Count("http.response.status_code", r.status)
	span.End(err)
	if err != nil {
		r.reason = s.explain(ctx, err)
	}
	r.took = time.Since(began)
	return r
}

func (s *sender) attempt(ctx context.Context, p *store.WebhookPolicy, e *store.WebhookEvent) (result, error) {
	body, err := render(wire.WebhookFormat(p.Format), e)
	if err != nil {
		return result{}, err
	}
	now := s.now()
	secrets := []string{p.Secret}
	if p.OldSecret != "" && p.OldUntil != nil && now.Before(*p.OldUntil) {
		secrets = append(secrets, p.OldSecret)
	}
	signed, err := signature.Sign(e.ID, now, body, secrets...)
	if err != nil {
		return result{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.URL, bytes.NewReader(body))
	if err != nil {
		return result{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "Tenet-Webhooks")
	req.Header.Set(signature.HeaderID, e.ID)
	req.Header.Set(signature.HeaderTimestamp, strconv.FormatInt(now.Unix(), 10))
	req.Header.Set(signature.HeaderSignature, signed)
	res, err := s.client.Do(req)
	if err != nil {
		return result{}, err
	}
	defer func() { _ = res.Body.Close() }() // the rest of the answer is ignored
	r := s.judge(res)
	// An answer beyond the bound is cut off with its connection. What it would say does not change what its status says.
	begins, _ := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	r.answer = clean(string(begins[:min(len(begins), maxAnswer)]), maxAnswer)
	return r, nil
}

// judge reads the status of an answer.
func (s *sender) judge(res *http.Response) result {
	r := result{status: res.StatusCode}
	switch code := res.StatusCode; {
	case code >= 200 && code < 300:
	case code >= 300 && code < 400:
		r.reason = fmt.Sprintf("the endpoint answered %d, and redirects are not followed; set its final address as url", code)
		if at := res.Header.Get("Location"); at != "" {
			r.reason += " (it names " + strconv.QuoteToASCII(clean(at, 200)) + ")"
		}
	case code == http.StatusGone:
		r.gone, r.reason = true, "the endpoint answered 410: it wants no more events, so the policy was disabled"
	default:
		r.reason = fmt.Sprintf("the endpoint answered %d", code)
		if code == http.StatusTooManyRequests || code == http.StatusServiceUnavailable {
			r.after = retryAfter(res.Header.Get("Retry-After"), s.now())
		}
		r.refused = slices.Contains(refusals, code)
	}
	return r
}

// refusals are the statuses that say something about the event rather than about the endpoint.
var refusals = []int{http.StatusBadRequest, http.StatusConflict, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity}

// longestAfter bounds how long an endpoint may ask to be left alone.
const longestAfter = time.Hour

// retryAfter reads the header Retry-After: seconds, or a time. What cannot be read asks for nothing.
func retryAfter(header string, now time.Time) time.Duration {
	after := time.Duration(0)
	if seconds, err := strconv.ParseUint(header, 10, 31); err == nil {
		after = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(header); err == nil {
		after = at.Sub(now)
	}
	return min(max(after, 0), longestAfter)
}

// explain says why an endpoint did not answer. It leaves out the address, which may hold a secret.
func (s *sender) explain(ctx context.Context, err error) string {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Sprintf("no answer within %s", s.timeout)
	case errors.Is(err, ssrf.ErrProhibitedIP), errors.Is(err, ssrf.ErrProhibitedNetwork):
		return "the address " + errNotPublic.Error()
	}
	if e, ok := errors.AsType[*net.DNSError](err); ok {
		return clean("no answer: "+e.Name+" cannot be found: "+e.Err, maxReason) // but not which server inside was asked
	}
	return clean("no answer: "+err.Error(), maxReason)
}

// clean makes text from outside fit to be stored and shown.
func clean(s string, limit int) string {
	if len(s) > limit {
		s = s[:limit]
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}
