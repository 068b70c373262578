// Package poll repeats work in the background.
package poll

import (
	"context"
	"log/slog"
	"time"
)

// Every calls do at once and then at each interval, until ctx ends. The first of several failures in a row is logged as a warning with the
// message failing; the work is tried again at the next interval.
func Every(ctx context.Context, interval time.Duration, logger *slog.Logger, failing string, do func(ctx context.Context) error) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	logged := false
	for {
		err := do(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil && !logged {
			logger.WarnContext(ctx, failing, slog.Any("error", err)) //nolint:sloglint // callers give constants
		}
		logged = err != nil
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
