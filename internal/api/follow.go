package api

import (
	"context"
	"time"

	"tenet/internal/api/rest"
	"tenet/internal/job"
	"tenet/internal/wire"
)

const runEvents = "progress (the current state of the run), then done (the finished run) or error (a problem)."

// followInterval is the time between two looks at a run.
const followInterval = 200 * time.Millisecond

// follow returns a run, or sends it each time it has come further, until it has ended, to a client that wants events.
func follow[R any](ctx context.Context, get func(context.Context) (R, error), state func(*R) (string, wire.Progress)) (R, error) {
	run, err := get(ctx)
	if err != nil || !rest.WantsEvents(ctx) {
		return run, err
	}
	events, live := rest.OpenStream(ctx)
	defer events.End()
	tick := time.NewTicker(followInterval)
	defer tick.Stop()
	sent := wire.Progress{Done: -1}
	for {
		now, progress := state(&run)
		if now != job.Queued && now != job.Running {
			return run, events.Finish(ctx, run, nil)
		}
		if progress != sent {
			sent = progress
			events.Send("progress", run)
		}
		select {
		case <-live.Done():
			err = live.Err()
		case <-tick.C:
			run, err = get(live)
		}
		if err != nil {
			return run, events.Finish(ctx, nil, err)
		}
	}
}
