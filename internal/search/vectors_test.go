package search

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tenet/internal/llm"
	"tenet/internal/llm/llmtest"
	"tenet/internal/redact"
	"tenet/internal/rule"
	"tenet/internal/wire"
)

// A query that many send at once is embedded once, and the end of one caller does not end the call of the others.
func TestQueryIsEmbeddedOnceForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		e := &llmtest.Embedder{Respond: func(context.Context, []string) error { <-release; return nil }}
		q := newQueryVectors(e, redact.New(), time.Now)
		impatient, leave := context.WithCancel(t.Context())
		var done sync.WaitGroup
		done.Go(func() {
			if _, err := q.get(impatient, "payments", patient); !errors.Is(err, context.Canceled) {
				t.Errorf("who has gone gets %v", err)
			}
		})
		synctest.Wait()
		for range 10 {
			done.Go(func() {
				if v, err := q.get(t.Context(), "payments", patient); err != nil || len(v) != llm.Dimensions {
					t.Errorf("got %d numbers, %v", len(v), err)
				}
			})
		}
		leave()
		synctest.Wait()
		close(release)
		done.Wait()
		if _, err := q.get(t.Context(), "payments", embedPatience); err != nil || len(e.Calls()) != 1 {
			t.Errorf("%d calls, %v", len(e.Calls()), err)
		}
	})
}

// A slow service costs a search that has words to fall back to little time, and the next one none; the vector is there once
// the service has answered.
func TestSlowServiceDoesNotMakeHybridSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var slow atomic.Bool
		e := &llmtest.Embedder{Respond: func(context.Context, []string) error {
			if slow.Load() {
				time.Sleep(5 * time.Second)
			}
			return nil
		}}
		s := New(Config{Views: shelve(t, words("Payments are logged.")).embedded(t, e), Embedder: e})
		slow.Store(true)
		hybrid := func(text string) (Result, time.Duration) {
			began := time.Now()
			r, err := s.Hybrid(t.Context(), Among{}, Query{Text: text, Page: first})
			if err != nil {
				t.Fatal(err)
			}
			return r, time.Since(began)
		}
		r, took := hybrid("payments")
		if r.Mode != wire.Keyword || r.Degraded == nil || !strings.Contains(r.Degraded.Reason, "has not answered") || r.Total != 1 || took != embedPatience {
			t.Errorf("the first takes %s: %+v", took, r)
		}
		if r, took = hybrid("logged payments"); r.Mode != wire.Keyword || r.Degraded == nil || !strings.Contains(r.Degraded.Reason, "slow") || took != 0 {
			t.Errorf("the second takes %s: %+v", took, r)
		}
		began := time.Now()
		if r, err := s.Vector(t.Context(), Among{}, Query{Text: "patience", Page: first}); err != nil || r.Total != 1 || time.Since(began) != 5*time.Second {
			t.Errorf("who cannot do without waits %s: %+v, %v", time.Since(began), r, err)
		}
		if r, took = hybrid("payments"); r.Mode != wire.Hybrid || r.Degraded != nil || took != 0 {
			t.Errorf("once the vector is known: %s, %+v", took, r)
		}
		slow.Store(false)
		time.Sleep(slowFor)
		if r, took = hybrid("something else"); r.Mode != wire.Hybrid || took != 0 {
			t.Errorf("once the service is quick again: %s, %+v", took, r)
		}
	})
}

func TestServiceThatNeverAnswersIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &llmtest.Embedder{Respond: func(ctx context.Context, _ []string) error { <-ctx.Done(); return ctx.Err() }}
		s := New(Config{Views: shelve(t, words("Payments are logged.")), Embedder: e})
		began := time.Now()
		if _, err := s.Vector(t.Context(), Among{}, Query{Text: "x", Page: first}); rule.CodeOf(err) != rule.CodeUnavailable || time.Since(began) > embedTimeout+time.Second {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
	})
}

func TestTooManyCallsAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		q := newQueryVectors(&llmtest.Embedder{Respond: func(context.Context, []string) error { <-release; return nil }}, redact.New(), time.Now)
		var done sync.WaitGroup
		for i := range maxEmbedding {
			done.Go(func() {
				if _, err := q.get(t.Context(), strings.Repeat("x", i+1), patient); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if _, err := q.get(t.Context(), "one more", patient); rule.CodeOf(err) != rule.CodeUnavailable {
			t.Errorf("one more call gives %v", err)
		}
		close(release)
		done.Wait()
	})
}

// A service that fails is told in the log when that begins, not with every query.
func TestFailingServiceIsLoggedOnce(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	var away error
	e := &llmtest.Embedder{Respond: func(context.Context, []string) error { return away }}
	s := New(Config{Views: shelve(t, words("Payments are logged.")).embedded(t, e), Embedder: e, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	for i, want := range []int{1, 1, 1, 2} {
		away = rule.Errorf(rule.CodeUnavailable, "away")
		if i == 2 {
			away = nil
		}
		r, err := s.Hybrid(t.Context(), Among{}, Query{Text: strings.Repeat("payments ", i+1), Page: first})
		if err != nil || (r.Degraded == nil) != (away == nil) || strings.Count(log.String(), "\n") != want {
			t.Errorf("query %d: %+v, %v; logged %s", i, r, err, log.String())
		}
	}
}

// broken gives vectors that are none.
type broken struct{ vectors [][]float32 }

func (broken) ID() string { return "broken:model" }

func (b broken) Embed(context.Context, []string) ([][]float32, error) { return b.vectors, nil }

func TestVectorsThatAreNoneAreRefused(t *testing.T) {
	t.Parallel()
	huge := make([]float32, llm.Dimensions)
	huge[0] = 3e38
	huge[1] = huge[0] * 10 // infinite
	for name, vectors := range map[string][][]float32{"none": {}, "short": {{1, 2}}, "zero": {make([]float32, llm.Dimensions)}, "infinite": {huge}} {
		s := New(Config{Views: shelve(t, words("x")), Embedder: broken{vectors}})
		if _, err := s.Vector(t.Context(), Among{}, Query{Text: "x", Page: first}); rule.CodeOf(err) != rule.CodeUnavailable {
			t.Errorf("%s: %v", name, err)
		}
	}
}
