package conflict

import (
	"testing"
	"time"
)

// A search for conflicts lets others write to SQLite after some milliseconds, whatever its rules contradict.
func TestBatchesFollowTheirTime(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		size int
		took time.Duration
		want int
	}{
		{10, 0, 20},
		{10, time.Millisecond, 20},
		{10, 20 * time.Millisecond, 10},
		{10, 40 * time.Millisecond, 5},
		{10, time.Second, 1},
		{1, time.Minute, 1},
		{1, 5 * time.Millisecond, 2},
		{100, time.Millisecond, 100},
		{80, 10 * time.Millisecond, 100},
		{100, 4 * time.Second, 1},
	} {
		if got := nextBatch(test.size, test.took); got != test.want {
			t.Errorf("after %d in %s come %d, want %d", test.size, test.took, got, test.want)
		}
	}
}
