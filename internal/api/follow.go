package api

import (
	"context"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"tenet/internal/job"
)

// followed describes an operation whose run can be followed by server-sent events.
func followed(op *huma.Operation) {
	op.Responses["200"].Content[eventType] = &huma.MediaType{Schema: &huma.Schema{
		Type:        huma.TypeString,
		Description: "Server-sent events: progress (the run as far as it has come), then done (the run that has ended) or error (a problem).",
	}}
}

// followInterval is how often a run that is followed is looked at.
const followInterval = 200 * time.Millisecond

// follow sends a run whenever it has come further, until it has ended.
func follow[R any](ctx context.Context, s *server, run R, get func(context.Context) (R, error), state func(*R) (string, job.Progress)) error {
	events, live := openStream(ctx)
	defer events.end()
	tick := time.NewTicker(followInterval)
	defer tick.Stop()
	told := job.Progress{Done: -1}
	for {
		now, progress := state(&run)
		if now != job.Queued && now != job.Running {
			return events.finish(ctx, s, run, nil, nil)
		}
		if progress != told {
			told = progress
			events.send("progress", run)
		}
		var err error
		select {
		case <-live.Done():
			err = live.Err()
		case <-tick.C:
			run, err = get(live)
		}
		if err != nil {
			return events.finish(ctx, s, run, nil, err)
		}
	}
}
