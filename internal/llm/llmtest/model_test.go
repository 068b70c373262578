package llmtest_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tenet/internal/llm"
	"tenet/internal/llm/llmtest"
	"tenet/internal/rule"
)

func TestFakeFollowsItsScript(t *testing.T) {
	f := &llmtest.Fake{Respond: func(_ context.Context, req llm.Request) (llm.Response, error) {
		return llm.Response{Text: "echo " + req.Prompt}, nil
	}}
	boom := errors.New("boom")
	f.Push("one")
	f.PushError(boom)
	f.PushResponse(llm.Response{Text: "three", InputTokens: 7})

	want := []struct {
		text string
		err  error
	}{{"one", nil}, {"", boom}, {"three", nil}, {"echo d", nil}}
	for i, w := range want {
		got, err := f.Complete(t.Context(), llm.Request{Prompt: string(rune('a' + i))})
		if got.Text != w.text || !errors.Is(err, w.err) {
			t.Errorf("call %d: got %q, %v; want %q, %v", i, got.Text, err, w.text, w.err)
		}
	}
	reqs := f.Requests()
	if len(reqs) != 4 || reqs[2].Prompt != "c" || f.Calls() != 4 {
		t.Errorf("recorded %d requests: %v", len(reqs), reqs)
	}
}

func TestFakeWithoutScriptIsUnavailable(t *testing.T) {
	var f llmtest.Fake
	if _, err := f.Complete(t.Context(), llm.Request{}); rule.CodeOf(err) != rule.CodeUnavailable {
		t.Errorf("got %v, want an unavailable error", err)
	}
}

func TestFakeDelayEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &llmtest.Fake{Delay: time.Hour}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		_, err := f.Complete(ctx, llm.Request{})
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
			t.Errorf("got %v after %v", err, time.Since(start))
		}
	})
}

func TestFakeTellsThePeakOfConcurrentCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &llmtest.Fake{Delay: time.Second}
		f.Push("a", "b", "c")
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if _, err := f.Complete(t.Context(), llm.Request{}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if f.Peak() != 3 {
			t.Errorf("peak is %d, want 3", f.Peak())
		}
	})
}
