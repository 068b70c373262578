package poll_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tenet/internal/poll"
)

func TestFailuresInARowAreLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		ctx, cancel := context.WithCancel(t.Context())
		away := errors.New("the database is away")
		results := []error{nil, away, away, nil, away}
		calls := 0
		began := time.Now()
		poll.Every(ctx, time.Minute, slog.New(slog.NewTextHandler(&log, nil)), "cannot follow", func(context.Context) error {
			if calls == len(results) {
				cancel()
				return away
			}
			calls++
			return results[calls-1]
		})
		if got, want := time.Since(began), 5*time.Minute; got != want {
			t.Errorf("five calls and the last took %v, want %v: the first at once, then one a minute", got, want)
		}
		if n := strings.Count(log.String(), "cannot follow"); n != 2 || strings.Count(log.String(), "is away") != 2 {
			t.Errorf("%d failures are logged, want the first of each row:\n%s", n, log.String())
		}
	})
}
