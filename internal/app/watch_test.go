package app

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

	"tenet/internal/api"
	"tenet/internal/llm"
	"tenet/internal/llm/provider"
	"tenet/internal/rule"
)

// checked is a model whose check gives what it was told to, and a log.
type checked struct {
	llm.Fake
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
	badKey := rule.Errorf(rule.CodeUnavailable, "the server %w; check OPENAI_API_KEY", provider.ErrKey)
	steps := []struct {
		err    error
		after  time.Duration // since the step before
		status api.JudgeStatus
		detail string
		logged string // the one line that the step adds to the log
	}{
		{badKey, 0, api.JudgeBadKey, "check OPENAI_API_KEY", "level=WARN"},
		{badKey, watchFailing, api.JudgeBadKey, "check OPENAI_API_KEY", ""},
		{away, watchFailing, api.JudgeUnreachable, "the server is away", "level=WARN"},
		{nil, watchFailing, api.JudgeOK, "", "level=INFO"},
		{&provider.PartialError{Err: badKey}, watchWorking, api.JudgeOK, "check OPENAI_API_KEY", "level=WARN"},
		{nil, watchFailing, api.JudgeOK, "", "level=INFO"},
	}
	synctest.Test(t, func(t *testing.T) {
		m := &checked{}
		m.next(steps[0].err)
		w := newWatch(m, slog.New(slog.NewTextHandler(m, nil)))
		if got := w.now(); got.Status != api.JudgeChecking || got.Model != "fake:model" {
			t.Errorf("before the first check: %+v", got)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { w.run(ctx); close(done) }()
		for i, s := range steps {
			m.next(s.err)
			time.Sleep(s.after)
			synctest.Wait()
			if got := w.now(); got.Status != s.status || !strings.Contains(got.Detail, s.detail) || s.detail == "" && got.Detail != "" {
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
	none := newWatch(nil, log)
	none.run(t.Context()) // returns at once
	if got := none.now(); got.Status != api.JudgeNone || got.Model != "" || !strings.Contains(got.Detail, "TENET_JUDGE_MODEL") {
		t.Errorf("got %+v", got)
	}
	plain := newWatch(&llm.Fake{Name: "fake:plain"}, log)
	plain.run(t.Context())
	if got := plain.now(); got.Status != api.JudgeOK || got.Model != "fake:plain" {
		t.Errorf("got %+v", got)
	}
	if got := fmt.Sprintf("%+v", newWatch(&checked{}, log).now()); !strings.Contains(got, "checking") {
		t.Errorf("got %s", got)
	}
}
