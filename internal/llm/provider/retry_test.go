package provider

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tenet/internal/llm"
	"tenet/internal/rule"
)

// transport answers every request with fn; it needs no network, so that time can be faked.
type transport func(r *http.Request) (int, http.Header, string)

func (fn transport) RoundTrip(r *http.Request) (*http.Response, error) {
	status, header, body := fn(r)
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

const fine = `{"choices":[{"message":{"content":"fine"}}]}`

func limitedModel(t *testing.T, header http.Header, failures int) (Model, *int) {
	t.Helper()
	calls := new(int)
	m, err := New("openai:tiny", func(string) string { return "http://models.test" }, Options{Transport: transport(func(*http.Request) (int, http.Header, string) {
		if *calls++; *calls <= failures {
			return http.StatusTooManyRequests, header, ""
		}
		return http.StatusOK, nil, fine
	})})
	if err != nil {
		t.Fatal(err)
	}
	return m, calls
}

func TestRetryAfterIsHonoured(t *testing.T) {
	cases := map[string]http.Header{
		"seconds":      {"Retry-After": {"20"}},
		"milliseconds": {"Retry-After": {"1"}, "Retry-After-Ms": {"20000"}},
	}
	for name, header := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, calls := limitedModel(t, header, 1)
				start := time.Now()
				got, err := m.Complete(t.Context(), llm.Request{Prompt: "p"})
				if err != nil || got.Text != "fine" || *calls != 2 {
					t.Fatalf("got %q, %v after %d calls", got.Text, err, *calls)
				}
				if took := time.Since(start); took != 20*time.Second {
					t.Errorf("waited %v, want 20s", took)
				}
			})
		})
	}
}

func TestRetryAfterAsADate(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	at := func(d time.Duration) http.Header {
		return http.Header{"Retry-After": {now.Add(d).Format(http.TimeFormat)}}
	}
	if d, ok := retryAfter(at(7*time.Second), now); !ok || d != 7*time.Second {
		t.Errorf("got %v, %v", d, ok)
	}
	if d, ok := retryAfter(at(-time.Hour), now); !ok || d != 0 {
		t.Errorf("a date in the past: got %v, %v", d, ok)
	}
	for _, bad := range []string{"", "-5", "soon", "1e9", "99999999999999999999"} {
		if d, ok := retryAfter(http.Header{"Retry-After": {bad}}, now); ok {
			t.Errorf("%q: got %v", bad, d)
		}
	}
}

func TestNoPauseThatTheDeadlineWouldNotOutlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, calls := limitedModel(t, http.Header{"Retry-After": {"60"}}, 99)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		start := time.Now()
		_, err := m.Complete(ctx, llm.Request{Prompt: "p"})
		if rule.CodeOf(err) != rule.CodeUnavailable || !strings.Contains(err.Error(), "no time left") || *calls != 1 {
			t.Errorf("got %v after %d calls", err, *calls)
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("waited %v for nothing", took)
		}
	})
}

func TestBackoffGrowsAndIsRandom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, calls := limitedModel(t, nil, 3)
		start := time.Now()
		if _, err := m.Complete(t.Context(), llm.Request{Prompt: "p"}); err != nil || *calls != 4 {
			t.Fatalf("got %v after %d calls", err, *calls)
		}
		if took := time.Since(start); took == 0 || took > 3500*time.Millisecond+3 {
			t.Errorf("waited %v, want at most 0.5s + 1s + 2s", took)
		}
	})
	different := map[time.Duration]bool{}
	for n := range 100 {
		d := backoff(time.Second, n)
		if d <= 0 || d > maxBackoff+1 {
			t.Fatalf("backoff %d is %v", n, d)
		}
		different[d] = true
	}
	if len(different) < 50 {
		t.Errorf("only %d different pauses in 100", len(different))
	}
}

func TestWaitingForASlotEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		m, err := New("openai:x", func(string) string { return "http://models.test" }, Options{Concurrency: 1, Transport: transport(func(*http.Request) (int, http.Header, string) {
			<-hold
			return http.StatusOK, nil, fine
		})})
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() {
			_, err := m.Complete(t.Context(), llm.Request{Prompt: "first"})
			done <- err
		}()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := m.Complete(ctx, llm.Request{Prompt: "second"}); rule.CodeOf(err) != rule.CodeUnavailable {
			t.Errorf("got %v", err)
		}
		close(hold)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestOllamaAddress(t *testing.T) {
	for host, want := range map[string]string{
		"":                         "http://127.0.0.1:11434",
		"0.0.0.0":                  "http://127.0.0.1:11434",
		"0.0.0.0:9000":             "http://127.0.0.1:9000",
		":9000":                    "http://127.0.0.1:9000",
		"gpu.lan":                  "http://gpu.lan:11434",
		"http://gpu.lan":           "http://gpu.lan:80",
		"https://gpu.lan":          "https://gpu.lan:443",
		"https://gpu.lan/ollama/":  "https://gpu.lan:443/ollama",
		"[::1]:9000":               "http://[::1]:9000",
		"[::1]":                    "http://[::1]:11434",
		"[::]":                     "http://127.0.0.1:11434",
		" http://10.0.0.5:11434/ ": "http://10.0.0.5:11434",
	} {
		if got := ollamaAddress(host); got != want {
			t.Errorf("%q: got %q, want %q", host, got, want)
		}
	}
}

// FuzzAnswers feeds all decoders what a hostile server may send: they must neither panic nor pass on an empty answer,
// negative counts or vectors that are not as asked for.
func FuzzAnswers(f *testing.F) {
	f.Add([]byte(fine))
	f.Add([]byte(`{"choices":[{"finish_reason":"length","message":{"content":[{"text":"a"}]}}],"usage":{"prompt_tokens":-5}}`))
	f.Add([]byte(`{"error":{"message":"m","code":400,"param":null}}`))
	f.Add([]byte(`{"error":{"message":"m","status":"X","details":[{"reason":"API_KEY_INVALID"},{"retryDelay":"-3s"}]}}`))
	f.Add([]byte(`{"error":"text"}`))
	f.Add([]byte(`{"detail":[{"loc":["body",1],"msg":"m"}]}`))
	f.Add([]byte(`{"content":[{"type":"tool_use","input":null},{"type":"text","text":"a"}],"stop_reason":"tool_use","usage":{"input_tokens":-1}}`))
	f.Add([]byte(`{"candidates":[{"content":{"parts":[{"text":"a","thought":true}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":-1}}`))
	f.Add([]byte(`{"message":{"content":"a"},"done":true,"eval_count":-9}`))
	f.Add([]byte(`{"data":[{"index":1,"embedding":[1]},{"index":0,"embedding":[1e30]}]}`))
	f.Add([]byte(`{"embeddings":[[0],{"values":[]}]}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, w := range []wire{openAI{}, anthropic{}, gemini{}, &ollama{}} {
			resp, err := w.decode(body)
			if err == nil && strings.TrimSpace(resp.Text) == "" || resp.InputTokens < 0 || resp.OutputTokens < 0 || resp.CachedTokens < 0 {
				t.Errorf("%T accepted %+v", w, resp)
			}
			fail, d := decodeFailure(body), dialect{}
			for n := 0; ; n++ {
				next, ok := w.adapt(d, fail.complaint)
				if !ok || n > 20 {
					break
				}
				d = next
			}
			if fail.retryDelay < 0 {
				t.Errorf("a pause of %v", fail.retryDelay)
			}
		}
		e := &embedder{link: &link{}}
		for _, w := range []vectorWire{openAIVectors{}, geminiVectors{}, ollamaVectors{}} {
			vectors, err := w.decode(body, 2)
			if err == nil && e.examine(vectors, 2) == nil && len(vectors) != 2 {
				t.Errorf("%T accepted %d vectors", w, len(vectors))
			}
		}
	})
}

func TestACallOfAToolBesideTextIsNoAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		wire wire
		body string
		want error
	}{
		"gemini":        {gemini{}, `{"candidates":[{"content":{"parts":[{"text":"fine"},{"functionCall":{"name":"f","args":{}}}]},"finishReason":"STOP"}]}`, errTool},
		"gemini, null":  {gemini{}, `{"candidates":[{"content":{"parts":[{"text":"fine","functionCall":null}]},"finishReason":"STOP"}]}`, nil},
		"openai, older": {openAI{}, `{"choices":[{"finish_reason":"stop","message":{"content":"fine","function_call":{"name":"f","arguments":"{}"}}}]}`, errTool},
		"openai, null":  {openAI{}, `{"choices":[{"finish_reason":"stop","message":{"content":"fine","function_call":null}}]}`, nil},
		"openai, plain": {openAI{}, `{"choices":[{"finish_reason":"stop","message":{"content":"fine"}}]}`, nil},
	} {
		if got, err := c.wire.decode([]byte(c.body)); !errors.Is(err, c.want) || got.Text != "fine" {
			t.Errorf("%s: got %q, %v, want %v", name, got.Text, err, c.want)
		}
	}
}
