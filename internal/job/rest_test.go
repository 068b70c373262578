package job_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"tenet/internal/job"
)

// A round over many projects rests three times as long as one of them took, at most a tenth of a second; one over few does not rest.
func TestRoundsOverManyProjectsRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, test := range []struct {
			projects   int
			took, want time.Duration
		}{{100, time.Second, 0}, {101, 10 * time.Millisecond, 30 * time.Millisecond}, {10_000, time.Minute, 100 * time.Millisecond}} {
			began := time.Now()
			time.Sleep(test.took)
			worked := time.Now()
			job.Rest(t.Context(), began, test.projects)
			if got := time.Since(worked); got != test.want {
				t.Errorf("%d projects, %s each: rests for %s, want %s", test.projects, test.took, got, test.want)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		began := time.Now().Add(-time.Second)
		before := time.Now()
		if job.Rest(ctx, began, 1000); time.Since(before) != 0 {
			t.Error("a round that was ended rests")
		}
	})
}
