package provider

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tenet/internal/llm"
	"tenet/internal/llm/llmtest"
	"tenet/internal/rule"
)

// checked is a model whose check returns err, and a log.
type checked struct {
	llmtest.Fake
	mu   sync.Mutex
	err  error
	logs bytes.Buffer
}

func (c *checked) Check(context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

func (c *checked) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.logs.Write(p)
}

// next sets the result of the next check, and returns what has been logged since the last call.
func (c *checked) next(err error) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.logs.Reset()
	c.err = err
	return c.logs.String()
}

func TestTheWatchTellsHowTheModelIs(t *testing.T) {
	away := rule.Errorf(rule.CodeUnavailable, "the server is away")
	badKey := rule.Errorf(rule.CodeUnavailable, "the server %w; check OPENAI_API_KEY", ErrKey)
	steps := []struct {
		err    error
		after  time.Duration // since the step before
		status llm.Status
		detail string
		logged string // the one line that the step adds to the log
	}{
		{badKey, 0, llm.StatusBadKey, "check OPENAI_API_KEY", "level=WARN"},
		{badKey, watchFailing, llm.StatusBadKey, "check OPENAI_API_KEY", ""},
		{away, watchFailing, llm.StatusUnreachable, "the server is away", "level=WARN"},
		{nil, watchFailing, llm.StatusOK, "", "level=INFO"},
		{&PartialError{Err: badKey}, watchWorking, llm.StatusOK, "check OPENAI_API_KEY", "level=WARN"},
		{nil, watchFailing, llm.StatusOK, "", "level=INFO"},
	}
	synctest.Test(t, func(t *testing.T) {
		m := &checked{}
		m.next(steps[0].err)
		w := NewWatch(m, slog.New(slog.NewTextHandler(m, nil)))
		if got := w.State(); got.Status != llm.StatusChecking || got.Model != "fake:model" {
			t.Errorf("before the first check: %+v", got)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { w.Run(ctx); close(done) }()
		for i, s := range steps {
			m.next(s.err)
			time.Sleep(s.after)
			synctest.Wait()
			if got := w.State(); got.Status != s.status || !strings.Contains(got.Detail, s.detail) || s.detail == "" && got.Detail != "" {
				t.Errorf("step %d: %+v", i, got)
			}
			if got := m.next(s.err); strings.Count(got, "\n") != min(1, len(s.logged)) || !strings.Contains(got, s.logged) {
				t.Errorf("step %d: the log got %q", i, got)
			}
		}
		cancel()
		<-done
	})
}

func TestTheWatchOfNoModelAndOfOneWithoutACheck(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	none := NewWatch(nil, log)
	none.Run(t.Context()) // returns at once
	if got := none.State(); got.Status != llm.StatusNone || got.Model != "" || !strings.Contains(got.Detail, "TENET_JUDGE_MODEL") {
		t.Errorf("got %+v", got)
	}
	plain := NewWatch(&llmtest.Fake{Name: "fake:plain"}, log)
	plain.Run(t.Context())
	if got := plain.State(); got.Status != llm.StatusOK || got.Model != "fake:plain" {
		t.Errorf("got %+v", got)
	}
	if got := fmt.Sprintf("%+v", NewWatch(&checked{}, log).State()); !strings.Contains(got, "checking") {
		t.Errorf("got %s", got)
	}
}
