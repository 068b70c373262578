package conflict

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"tenet/internal/corpus"
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

// fixed is a project's view that does not change.
type fixed struct{ corpus.LiveViews }

func (fixed) View(context.Context, string) (*corpus.View, error) { return &corpus.View{}, nil }

// While somebody changes rules, the search for conflicts takes a part of the time.
func TestASearchRestsWhileRulesChange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &Conflicts{cfg: Config{Views: fixed{}}}
		for _, test := range []struct {
			version int64 // of the corpus that the batch saw
			took    time.Duration
			want    time.Duration
		}{
			{0, 10 * time.Millisecond, 0}, // nothing has changed since
			{7, 10 * time.Millisecond, 30 * time.Millisecond},
			{7, time.Second, 200 * time.Millisecond},
		} {
			begun := time.Now()
			time.Sleep(test.took)
			s := &search{b: b, projectID: "p", version: test.version}
			if err := s.rest(t.Context(), begun); err != nil || time.Since(begun) != test.took+test.want {
				t.Errorf("after a batch of %s at version %d it rests %s (%v), want %s", test.took, test.version, time.Since(begun)-test.took, err, test.want)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := (&search{b: b, version: 7}).rest(ctx, time.Now().Add(-time.Second)); !errors.Is(err, context.Canceled) {
			t.Errorf("a search that is cancelled: %v", err)
		}
	})
}
