package provider

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"tenet/internal/llm"
	"tenet/internal/rule"
)

// maxBackoff bounds the pause that we choose ourselves; a server's Retry-After may be longer.
const maxBackoff = 8 * time.Second

// transientError is a failure that may pass. It never leaves the package.
type transientError struct {
	err    error
	header http.Header // of the answer, if there was one
}

func (e *transientError) Error() string { return e.err.Error() }
func (e *transientError) Unwrap() error { return e.err }

// unwrapTransient returns what callers may see of err.
func unwrapTransient(err error) error {
	if t, ok := err.(*transientError); ok { //nolint:errorlint // only our own outermost mark is taken off
		return t.err
	}
	return err
}

// retry calls attempt until it succeeds, fails for good, or the retries or the context are used up. It does not begin a
// pause that the context would not outlive: the caller learns of the failure at once.
func retry(ctx context.Context, opts Options, attempt func(context.Context) (llm.Response, error)) (llm.Response, error) {
	for n := 0; ; n++ {
		resp, err := limited(ctx, opts.Timeout, attempt)
		var passing *transientError
		if !errors.As(err, &passing) {
			return resp, err
		}
		if n >= opts.Retries || ctx.Err() != nil {
			return resp, passing.err
		}
		pause := backoff(opts.Backoff, n)
		if asked, ok := retryAfter(passing.header, time.Now()); ok {
			pause = asked
		}
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= pause {
			return resp, rule.Errorf(rule.CodeUnavailable, "%w; there was no time left to try again", passing.err)
		}
		opts.Logger.WarnContext(ctx, "a call to the model failed and is tried again", "error", passing.err, "attempt", n+1, "pause", pause)
		if err := sleep(ctx, pause); err != nil {
			return resp, passing.err
		}
	}
}

func limited(ctx context.Context, d time.Duration, attempt func(context.Context) (llm.Response, error)) (llm.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	return attempt(ctx)
}

// backoff is a random pause (full jitter) of at most base doubled n times, so that clients that failed together do not
// come back together.
func backoff(base time.Duration, n int) time.Duration {
	longest := min(base<<min(n, 10), maxBackoff)
	return rand.N(longest) + 1 //nolint:gosec // jitter needs no secrecy
}

// retryAfter reads how long the server asks to wait: Retry-After in seconds or as a date, or OpenAI's retry-after-ms.
func retryAfter(h http.Header, now time.Time) (time.Duration, bool) {
	if ms, err := strconv.ParseUint(h.Get("Retry-After-Ms"), 10, 31); err == nil {
		return time.Duration(ms) * time.Millisecond, true
	}
	value := h.Get("Retry-After")
	if s, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(s) * time.Second, true
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, at.Sub(now)), true
	}
	return 0, false
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
