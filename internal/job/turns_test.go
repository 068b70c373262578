package job_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"tenet/internal/job"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// A project that has enqueued many jobs does not keep those of others waiting: its jobs leave them places, and they take turns.
func TestProjectsTakeTurns(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bed) {
		const flood, workers = 200, 8
		add := func(project string, jobs int) {
			err := b.s.Update(t.Context(), func(tx store.Tx) error {
				for range jobs {
					if _, err := b.queue.Enqueue(t.Context(), tx, "work", project, nil, job.Options{}); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		var running, most, flooded, others atomic.Int64
		passed := make(chan int64, 6) // jobs of the flood that were done before one of another project
		b.run(job.Config{Workers: workers, Handlers: map[string]job.Handler{"work": func(_ context.Context, j wire.Job, _ func(int, int)) error {
			if j.ProjectID != "p" {
				others.Add(1)
				passed <- flooded.Load()
				return nil
			}
			if n := running.Add(1); n > most.Load() {
				most.Store(n)
			}
			time.Sleep(5 * time.Millisecond)
			running.Add(-1)
			flooded.Add(1)
			return nil
		}}})
		add("p", flood)
		until(t, "the flood is at work", func() bool { return flooded.Load() > 0 })
		before := flooded.Load()
		add("q", 3)
		add("r", 3)
		until(t, "the others' jobs are done", func() bool { return others.Load() == 6 })
		for range 6 {
			if n := <-passed - before; n > flood/2 {
				t.Errorf("a job of another project waited for %d jobs of the flood", n)
			}
		}
		if most.Load() > workers*3/4 {
			t.Errorf("one project had %d of %d workers", most.Load(), workers)
		}
		until(t, "the flood is done", func() bool { return flooded.Load() == flood })
	})
}
