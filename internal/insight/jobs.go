package insight

import (
	"context"
	"time"

	"tenet/internal/job"
)

// Kinds of the jobs that count and measure.
const (
	CountKind  = "insights.count"
	HealthKind = "insights.health"
)

// How often that is done.
const (
	CountEvery  = time.Minute
	HealthEvery = 6 * time.Hour
)

// Handlers are the handlers of the jobs, by kind.
func (n *Insights) Handlers() map[string]job.Handler {
	return map[string]job.Handler{
		CountKind: func(ctx context.Context, _ job.Job, progress func(done, total int)) error {
			return n.countAll(ctx, progress)
		},
		HealthKind: func(ctx context.Context, _ job.Job, progress func(done, total int)) error {
			return n.measureAll(ctx, progress)
		},
	}
}

// Periodic are the rounds of the jobs. A round that fails is not tried again: the next one makes up for it.
func Periodic() []job.Periodic {
	return []job.Periodic{
		{Kind: CountKind, Every: CountEvery, MaxAttempts: 1, Priority: job.Last},
		{Kind: HealthKind, Every: HealthEvery, MaxAttempts: 3, Priority: job.Last},
	}
}
