package rest

import (
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"tenet/internal/auth"
	"tenet/internal/rule"
)

// maxBuckets bounds the buckets. Beyond it, rates drops those that are full, and so like new ones.
const maxBuckets = 10_000

// rates limits the requests of each key by a token bucket.
type rates struct {
	limit rate.Limit
	burst int
	now   func() time.Time

	mu      sync.Mutex
	buckets map[string]*rate.Limiter // by key id; empty for the local user
}

func newRates(perSecond float64, burst int, now func() time.Time) *rates {
	if burst <= 0 {
		burst = max(1, int(math.Ceil(2*perSecond)))
	}
	return &rates{limit: rate.Limit(perSecond), burst: burst, now: now, buckets: map[string]*rate.Limiter{}}
}

// take takes a token of a key, or returns a rate_limited error that says when the next one comes. Limits of the key with a rate take the place
// of the server's.
func (l *rates) take(keyID string, own *auth.Limits) error {
	limit, burst := l.limit, l.burst
	if own != nil && own.Rate > 0 {
		limit, burst = rate.Limit(own.Rate), own.Burst
		if burst == 0 {
			burst = max(1, int(math.Ceil(2*own.Rate)))
		}
	}
	if limit <= 0 {
		return nil
	}
	now := l.now()
	reservation := l.bucket(keyID, limit, burst, now).ReserveN(now, 1)
	delay := reservation.DelayFrom(now)
	if delay == 0 {
		return nil
	}
	reservation.CancelAt(now)
	seconds := strconv.Itoa(int(math.Ceil(delay.Seconds())))
	return &httpError{
		cause:  rule.Errorf(rule.CodeRateLimited, "the key may make %g requests per second; try again in %s s", float64(limit), seconds),
		header: http.Header{"Retry-After": {seconds}},
	}
}

func (l *rates) bucket(keyID string, limit rate.Limit, burst int, now time.Time) *rate.Limiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.buckets[keyID]
	if b != nil {
		return b
	}
	if len(l.buckets) >= maxBuckets {
		for id, old := range l.buckets {
			if old.TokensAt(now) >= float64(old.Burst()) {
				delete(l.buckets, id)
			}
		}
	}
	b = rate.NewLimiter(limit, burst)
	l.buckets[keyID] = b
	return b
}
