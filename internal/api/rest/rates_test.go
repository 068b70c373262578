package rest

import (
	"strings"
	"testing"
	"time"
)

func TestRateBucketsAreBounded(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	l := newRates(1, 1, func() time.Time { return now })
	for i := range 3 * maxBuckets {
		if i%maxBuckets == 0 {
			now = now.Add(time.Minute)
		}
		if err := l.take(strings.Repeat("x", i%7)+time.Duration(i).String(), nil); err != nil {
			t.Fatal(err)
		}
	}
	if len(l.buckets) > maxBuckets {
		t.Errorf("%d buckets are kept", len(l.buckets))
	}
}
