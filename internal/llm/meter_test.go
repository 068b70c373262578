package llm_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"tenet/internal/llm"
)

// slow is a model that takes its time, and fails if told.
type slow struct {
	took time.Duration
	err  error
}

func (s *slow) ID() string     { return "slow:model" }
func (s *slow) Server() string { return "http://slow" }

func (s *slow) Complete(context.Context, llm.Request) (llm.Response, error) {
	time.Sleep(s.took)
	return llm.Response{}, s.err
}

func TestAMeterCountsCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var meter llm.Meter
		observed := 0
		meter.Observe = func(time.Duration, bool) { observed++ }
		inner := &slow{}
		m := meter.Model(inner)
		if m.ID() != "slow:model" || llm.ServerOf(m) != "http://slow" {
			t.Errorf("the metered model is %s on %s", m.ID(), llm.ServerOf(m))
		}
		if s := meter.Stats(); s != (llm.CallStats{}) {
			t.Errorf("before the first call: %+v", s)
		}
		ask := func(ctx context.Context) { _, _ = m.Complete(ctx, llm.Request{}) }
		for i := range 300 { // the last 100 take 201 to 300 ms
			inner.took = time.Duration(i+1) * time.Millisecond
			ask(t.Context())
		}
		inner.err = errors.New("away")
		ask(t.Context())
		failedAt := time.Now()
		s := meter.Stats()
		if s.Calls != 301 || s.Failed != 1 || s.LastError != "away" || !s.LastErrorAt.Equal(failedAt) || !s.LastCallAt.Equal(failedAt) || observed != 301 {
			t.Errorf("%+v, %d observed", s, observed)
		}
		if s.Median != 251*time.Millisecond || s.P95 != 296*time.Millisecond {
			t.Errorf("median %v, 95 of 100 in %v", s.Median, s.P95)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		ask(ctx)
		if s := meter.Stats(); s.Calls != 301 || s.Failed != 1 {
			t.Errorf("a call that its caller gave up counts: %+v", s)
		}
	})
}

func TestNoModelIsNotMetered(t *testing.T) {
	if m, e := new(llm.Meter).Model(nil), new(llm.Meter).Embedder(nil); m != nil || e != nil {
		t.Errorf("%v, %v", m, e)
	}
}
