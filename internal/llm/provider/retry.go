package provider

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"tenet/internal/rule"
)

// maxBackoff bounds the pause that we choose ourselves; a server's Retry-After may be longer.
const maxBackoff = 8 * time.Second

// transientError is a failure that may pass. It never leaves the package.
type transientError struct {
	err error
	// pause is how long the server asked to wait, if it did.
	pause time.Duration
	asked bool
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

// call makes an exchange under the provider's limit of calls at once, and again as long as it fails in a way that may pass.
func call[T any](ctx context.Context, l *link, attempt func(context.Context) (T, error)) (T, error) {
	var none T
	if err := l.slots.Take(ctx); err != nil {
		return none, l.interrupted(err)
	}
	defer l.slots.Give()
	return retry(ctx, l, attempt)
}

// retry calls attempt until it succeeds, fails for good, or the retries, the breaker's patience or the context are used up.
// It does not begin a pause that the context would not outlive: the caller learns of the failure at once.
func retry[T any](ctx context.Context, l *link, attempt func(context.Context) (T, error)) (T, error) {
	var none T
	var last error
	for n := 0; ; n++ {
		p, rest, ok := l.breaker.enter(time.Now())
		if !ok {
			if last == nil {
				last = rule.Errorf(rule.CodeUnavailable, "%s has failed again and again", l.id())
			}
			return none, rule.Errorf(rule.CodeUnavailable, "%w; it is left alone for %v", last, rest)
		}
		resp, err := guarded(ctx, l, p, attempt)
		var passing *transientError
		if !errors.As(err, &passing) {
			return resp, err
		}
		last = passing.err
		if n >= l.opts.Retries || ctx.Err() != nil {
			return none, last
		}
		pause := backoff(l.opts.Backoff, n)
		if passing.asked {
			pause = passing.pause
		}
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= pause {
			return none, rule.Errorf(rule.CodeUnavailable, "%w; there was no time left to try again", last)
		}
		l.opts.Logger.WarnContext(ctx, "a call to the model failed and is tried again", "error", last, "attempt", n+1, "pause", pause)
		if err := sleep(ctx, pause); err != nil {
			return none, last
		}
	}
}

// guarded makes one attempt within the time for one, and reports its outcome to the breaker.
func guarded[T any](ctx context.Context, l *link, p pass, attempt func(context.Context) (T, error)) (resp T, err error) {
	result := unknown // also if attempt panics
	defer func() { l.breaker.leave(time.Now(), p, result) }()
	start := time.Now()
	limited, cancel := context.WithTimeout(ctx, l.opts.Timeout)
	defer cancel()
	resp, err = attempt(limited)
	if _, passing := errors.AsType[*transientError](err); !passing {
		result = answered
	} else if ctx.Err() == nil || errors.Is(ctx.Err(), context.DeadlineExceeded) && time.Since(start) >= min(l.opts.Timeout/3, realTime) {
		// A caller who left, or who gave no real time, says nothing about the server.
		result = failed
	}
	return resp, err
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
