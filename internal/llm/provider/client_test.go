package provider_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tenet/internal/llm"
	"tenet/internal/llm/provider"
	"tenet/internal/rule"
)

const secretKey = "sk-test-0123456789abcdef"

var request = llm.Request{
	System: "be just", Prompt: "judge <this> & that", Schema: json.RawMessage(`{"type":"object"}`), SchemaName: "verdicts", MaxOutputTokens: 321,
}

// stub serves handler as an OpenAI-compatible server and returns its model with fast retries.
func stub(t *testing.T, handler http.HandlerFunc) provider.Model {
	t.Helper()
	return stubWith(t, handler, provider.Options{})
}

func stubWith(t *testing.T, handler http.HandlerFunc, opts provider.Options) provider.Model {
	t.Helper()
	srv := httptest.NewServer(handler)
	t.Cleanup(srv.Close)
	if opts.Backoff == 0 {
		opts.Backoff = time.Millisecond
	}
	m, err := provider.New("openai:tiny", env("OPENAI_BASE_URL", srv.URL+"/v1", "OPENAI_API_KEY", secretKey), opts)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func answer(w io.Writer, text string) {
	b, _ := json.Marshal(text)
	fmt.Fprintf(w, `{"choices":[{"finish_reason":"stop","message":{"role":"assistant","content":%s}}],
		"usage":{"prompt_tokens":120,"completion_tokens":30,"prompt_tokens_details":{"cached_tokens":100}}}`, b)
}

func readBody(t *testing.T, r *http.Request) map[string]any {
	t.Helper()
	var body map[string]any
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		t.Errorf("the request is no JSON: %v", err)
	}
	return body
}

func TestCompleteSendsADeterministicStructuredRequest(t *testing.T) {
	m := stub(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.URL.Path != "/v1/chat/completions" || r.Header.Get("Authorization") != "Bearer "+secretKey {
			t.Errorf("got %s %s with %v", r.Method, r.URL.Path, r.Header)
		}
		body := readBody(t, r)
		format, _ := json.Marshal(body["response_format"])
		if string(format) != `{"json_schema":{"name":"verdicts","schema":{"type":"object"},"strict":true},"type":"json_schema"}` {
			t.Errorf("response_format is %s", format)
		}
		messages, _ := json.Marshal(body["messages"])
		var want bytes.Buffer
		enc := json.NewEncoder(&want)
		_ = enc.Encode([]map[string]string{{"role": "system", "content": "be just"}, {"role": "user", "content": "judge <this> & that"}})
		if string(messages) != strings.TrimSpace(want.String()) {
			t.Errorf("messages are %s", messages)
		}
		if body["model"] != "tiny" || body["temperature"] != 0.0 || body["seed"] == nil || body["max_tokens"] != 321.0 {
			t.Errorf("body is %v", body)
		}
		answer(w, "fine")
	})
	got, err := m.Complete(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	if want := (llm.Response{Text: "fine", InputTokens: 120, OutputTokens: 30, CachedTokens: 100}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if m.ID() != "openai:tiny" {
		t.Errorf("ID is %q", m.ID())
	}
}

func TestCompleteDoesWithoutWhatAServerRefusesAndRemembers(t *testing.T) {
	cases := []struct {
		name    string
		status  int
		refuses func(body map[string]any) (refusal string)
		check   func(t *testing.T, body map[string]any)
	}{
		{"json_schema", 400, func(b map[string]any) string {
			if f, _ := b["response_format"].(map[string]any); f["type"] == "json_schema" {
				return `{"error":{"message":"response_format.type json_schema is not supported"}}`
			}
			return ""
		}, func(t *testing.T, b map[string]any) {
			if f, _ := b["response_format"].(map[string]any); f["type"] != "json_object" {
				t.Errorf("response_format is %v", f)
			}
		}},
		{"every response_format", 422, func(b map[string]any) string {
			if b["response_format"] != nil {
				return `{"detail":[{"loc":["body","response_format","type"],"msg":"unexpected value"}]}`
			}
			return ""
		}, func(t *testing.T, b map[string]any) {
			if text := fmt.Sprint(b["messages"]); !strings.Contains(text, "JSON Schema") || !strings.Contains(text, `{"type":"object"}`) {
				t.Errorf("the schema is not told in words: %s", text)
			}
		}},
		{"max_tokens", 400, func(b map[string]any) string {
			if b["max_tokens"] != nil {
				return `{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","param":"max_tokens","code":"unsupported_parameter"}}`
			}
			return ""
		}, func(t *testing.T, b map[string]any) {
			if b["max_completion_tokens"] != 321.0+8192 { // room for thoughts
				t.Errorf("body is %v", b)
			}
		}},
		{"temperature and seed", 400, func(b map[string]any) string {
			if b["temperature"] != nil {
				return `{"error":{"message":"Unsupported value: 'temperature' does not support 0 with this model.","param":"temperature"}}`
			}
			if b["seed"] != nil {
				return `{"error":"unknown field: seed"}`
			}
			return ""
		}, func(*testing.T, map[string]any) {}},
		{"json_schema with a 500, as llama-cpp-python has it", 500, func(b map[string]any) string {
			if f, _ := b["response_format"].(map[string]any); f["type"] == "json_schema" {
				return `{"error":{"message":"1 validation error: {'loc': ('body', 'response_format', 'type')}","type":"internal_server_error","param":null,"code":null}}`
			}
			return ""
		}, func(t *testing.T, b map[string]any) {
			if f, _ := b["response_format"].(map[string]any); f["type"] != "json_object" || f["schema"] == nil {
				t.Errorf("response_format is %v", f)
			}
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var refused, served atomic.Int32
			m := stub(t, func(w http.ResponseWriter, r *http.Request) {
				body := readBody(t, r)
				if no := c.refuses(body); no != "" {
					refused.Add(1)
					w.WriteHeader(c.status)
					_, _ = io.WriteString(w, no)
					return
				}
				served.Add(1)
				c.check(t, body)
				answer(w, "fine")
			})
			for range 3 {
				if _, err := m.Complete(t.Context(), request); err != nil {
					t.Fatal(err)
				}
			}
			if served.Load() != 3 || refused.Load() == 0 || refused.Load() > 3 {
				t.Errorf("served %d and refused %d calls; a refusal must be remembered", served.Load(), refused.Load())
			}
		})
	}
}

func TestARefusalThatNothingHelpsAgainstEnds(t *testing.T) {
	var calls atomic.Int32
	m := stub(t, func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"error":{"message":"max_tokens max_completion_tokens temperature seed response_format: all wrong"}}`)
	})
	_, err := m.Complete(t.Context(), request)
	if rule.CodeOf(err) != rule.CodeUnavailable || calls.Load() > 8 {
		t.Errorf("got %v after %d calls", err, calls.Load())
	}
}

func TestCompleteRefusesUnusableAnswers(t *testing.T) {
	cases := []struct {
		name, body string
		code       rule.Code
		want       string
	}{
		{"cut off", `{"choices":[{"finish_reason":"length","message":{"content":"{\"verd"}}]}`, rule.CodeInvalid, "cut off"},
		{"refusal", `{"choices":[{"finish_reason":"stop","message":{"content":null,"refusal":"I cannot"}}]}`, rule.CodeUnavailable, "refused"},
		{"filter", `{"choices":[{"finish_reason":"content_filter","message":{"content":""}}]}`, rule.CodeUnavailable, "refused"},
		{"tool", `{"choices":[{"finish_reason":"tool_calls","message":{"content":null}}]}`, rule.CodeInvalid, "tool"},
		{"tool beside text", `{"choices":[{"finish_reason":"stop","message":{"content":"fine","tool_calls":[{"type":"function"}]}}]}`, rule.CodeInvalid, "tool"},
		{"two choices", `{"choices":[{"finish_reason":"stop","message":{"content":"fine"}},{"index":1,"finish_reason":"stop","message":{"content":"not fine"}}]}`, rule.CodeInvalid, "several answers"},
		{"error", `{"choices":[{"finish_reason":"error","message":{"content":"fine"}}]}`, rule.CodeInvalid, "its own end"},
		{"abort", `{"choices":[{"finish_reason":"abort","message":{"content":"fine"}}]}`, rule.CodeInvalid, "its own end"},
		{"error of a choice", `{"choices":[{"finish_reason":"stop","message":{"content":"fine"},"error":{"code":502,"message":"gone"}}]}`, rule.CodeUnavailable, "reported an error"},
		{"empty", `{"choices":[{"finish_reason":"stop","message":{"content":" \n"}}]}`, rule.CodeInvalid, "empty"},
		{"no choice", `{"choices":[]}`, rule.CodeInvalid, "no answer"},
		{"truncated JSON", `{"choices":[{"finish_reason":"stop","mess`, rule.CodeInvalid, "no valid JSON"},
		{"no JSON", `<html>busy</html>`, rule.CodeInvalid, "no valid JSON"},
		{"wrong types", `{"choices":[{"message":{"content":{"a":1}}}]}`, rule.CodeInvalid, "no valid JSON"},
		{"nothing", ``, rule.CodeInvalid, "no valid JSON"},
		{"huge", `{"choices":[{"message":{"content":"` + strings.Repeat("a", 3<<20) + `"}}]}`, rule.CodeInvalid, "larger than"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var calls atomic.Int32
			m := stub(t, func(w http.ResponseWriter, _ *http.Request) {
				calls.Add(1)
				_, _ = io.WriteString(w, c.body)
			})
			_, err := m.Complete(t.Context(), request)
			if rule.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s with %q", err, c.code, c.want)
			}
			if calls.Load() != 1 {
				t.Errorf("%d calls; such an answer does not get better by asking again", calls.Load())
			}
		})
	}
}

func TestAnEndlessAnswerIsNotReadOn(t *testing.T) {
	var sent atomic.Int64
	m := stub(t, func(w http.ResponseWriter, r *http.Request) {
		chunk := bytes.Repeat([]byte(" "), 64<<10)
		for r.Context().Err() == nil {
			n, err := w.Write(chunk)
			sent.Add(int64(n))
			if err != nil {
				return
			}
		}
	})
	_, err := m.Complete(t.Context(), request)
	if rule.CodeOf(err) != rule.CodeInvalid || !strings.Contains(err.Error(), "larger than") || sent.Load() > 64<<20 {
		t.Errorf("got %v after %d bytes", err, sent.Load())
	}
}

func TestContentInParts(t *testing.T) {
	m := stub(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"choices":[{"message":{"content":[{"type":"text","text":"one "},{"type":"text","text":"two"}]}}]}`)
	})
	if got, err := m.Complete(t.Context(), request); err != nil || got.Text != "one two" {
		t.Errorf("got %q, %v", got.Text, err)
	}
}

func TestCompleteRetriesWhatMayPass(t *testing.T) {
	for _, status := range []int{408, 429, 500, 502, 503, 504, 529} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			var calls atomic.Int32
			m := stub(t, func(w http.ResponseWriter, _ *http.Request) {
				if calls.Add(1) < 3 {
					w.WriteHeader(status)
					return
				}
				answer(w, "fine")
			})
			if got, err := m.Complete(t.Context(), request); err != nil || got.Text != "fine" || calls.Load() != 3 {
				t.Errorf("got %q, %v after %d calls", got.Text, err, calls.Load())
			}
		})
	}
}

func TestCompleteRetriesBrokenConnections(t *testing.T) {
	var calls atomic.Int32
	m := stub(t, func(w http.ResponseWriter, _ *http.Request) {
		switch calls.Add(1) {
		case 1: // reset before an answer
			panic(http.ErrAbortHandler)
		case 2: // reset within the body
			w.Header().Set("Content-Length", "5000")
			_, _ = io.WriteString(w, `{"choices":`)
			panic(http.ErrAbortHandler)
		default:
			answer(w, "fine")
		}
	})
	if got, err := m.Complete(t.Context(), request); err != nil || got.Text != "fine" {
		t.Errorf("got %q, %v", got.Text, err)
	}
}

func TestAStormOfFailuresEnds(t *testing.T) {
	var calls atomic.Int32
	m := stubWith(t, func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		w.WriteHeader(http.StatusInternalServerError)
	}, provider.Options{Retries: 2})
	_, err := m.Complete(t.Context(), request)
	if rule.CodeOf(err) != rule.CodeUnavailable || calls.Load() != 3 {
		t.Errorf("got %v after %d calls, want 3", err, calls.Load())
	}
}

func TestNoRetryForWhatWillNotPass(t *testing.T) {
	cases := []struct {
		status int
		body   string
		code   rule.Code
		want   string
	}{
		{401, `{"error":{"message":"Incorrect API key provided: sk-test-****cdef"}}`, rule.CodeUnavailable, "check OPENAI_API_KEY"},
		{403, ``, rule.CodeUnavailable, "check OPENAI_API_KEY"},
		{404, `{"error":{"message":"model tiny\u001b[31m not found"}}`, rule.CodeUnavailable, "check the model's name"},
		{400, `{"error":{"message":"too long","code":"context_length_exceeded"}}`, rule.CodeTooLarge, "longer than"},
		{413, ``, rule.CodeTooLarge, "longer than"},
		{429, `{"error":{"message":"pay","code":"insufficient_quota"}}`, rule.CodeUnavailable, "quota"},
		{501, ``, rule.CodeUnavailable, "501"},
		{302, ``, rule.CodeUnavailable, "redirects"},
	}
	for _, c := range cases {
		t.Run(fmt.Sprint(c.status, c.want), func(t *testing.T) {
			var calls atomic.Int32
			m := stub(t, func(w http.ResponseWriter, _ *http.Request) {
				calls.Add(1)
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			})
			_, err := m.Complete(t.Context(), request)
			if rule.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.want) || calls.Load() != 1 {
				t.Errorf("got %v after %d calls", err, calls.Load())
			}
			if strings.Contains(err.Error(), "cdef") || strings.ContainsRune(err.Error(), 0x1b) {
				t.Errorf("the error repeats what it must not: %q", err)
			}
		})
	}
}

func TestAHangEndsWithTheAttemptsTimeout(t *testing.T) {
	var calls atomic.Int32
	release := make(chan struct{})
	defer close(release)
	m := stubWith(t, func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1) == 1 {
			select {
			case <-release:
			case <-r.Context().Done():
			}
			return
		}
		answer(w, "fine")
	}, provider.Options{Timeout: 50 * time.Millisecond})
	if got, err := m.Complete(t.Context(), request); err != nil || got.Text != "fine" {
		t.Errorf("got %q, %v", got.Text, err)
	}
}

func TestAHangEndsWithTheCallersDeadline(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	m := stub(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err := m.Complete(ctx, request)
	if rule.CodeOf(err) != rule.CodeUnavailable || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("took %v", took)
	}
}

func TestRedirectsCarryNothingElsewhere(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		var reached atomic.Bool
		other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Store(true) }))
		m := stub(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL+r.URL.Path, status)
		})
		if _, err := m.Complete(t.Context(), request); rule.CodeOf(err) != rule.CodeUnavailable || !strings.Contains(err.Error(), "OPENAI_BASE_URL") {
			t.Errorf("%d: got %v", status, err)
		}
		if err := m.Check(t.Context()); rule.CodeOf(err) != rule.CodeUnavailable {
			t.Errorf("%d: Check gives %v", status, err)
		}
		if reached.Load() {
			t.Errorf("%d: the other host was asked", status)
		}
		other.Close()
	}
}

func TestConcurrencyIsBounded(t *testing.T) {
	var now, peak atomic.Int32
	m := stubWith(t, func(w http.ResponseWriter, _ *http.Request) {
		n := now.Add(1)
		defer now.Add(-1)
		for {
			p := peak.Load()
			if n <= p || peak.CompareAndSwap(p, n) {
				break
			}
		}
		time.Sleep(5 * time.Millisecond)
		answer(w, "fine")
	}, provider.Options{Concurrency: 3})
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if _, err := m.Complete(t.Context(), request); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if peak.Load() > 3 {
		t.Errorf("%d calls at once, want at most 3", peak.Load())
	}
}

func TestTheKeyIsNeverToldInErrorsOrLogs(t *testing.T) {
	var logs bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	for _, status := range []int{200, 302, 400, 401, 403, 404, 422, 429, 500} {
		m := stubWith(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "http://127.0.0.1:1/?key="+secretKey)
			w.WriteHeader(status)
			fmt.Fprintf(w, `{"error":{"message":"you sent %s"}}`, r.Header.Get("Authorization"))
		}, provider.Options{Logger: logger, Retries: 1})
		_, err := m.Complete(t.Context(), request)
		if err == nil || strings.Contains(err.Error(), secretKey) {
			t.Errorf("%d: got %v", status, err)
		}
	}
	if logs.Len() == 0 || strings.Contains(logs.String(), secretKey) {
		t.Errorf("logs are %s", &logs)
	}
}

func TestCheck(t *testing.T) {
	cases := []struct {
		status int
		ok     bool
	}{{200, true}, {404, true}, {405, true}, {429, true}, {401, false}, {403, false}, {500, false}, {503, false}}
	for _, c := range cases {
		m := stub(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodGet || r.URL.Path != "/v1/models" {
				t.Errorf("got %s %s", r.Method, r.URL.Path)
			}
			w.WriteHeader(c.status)
		})
		if err := m.Check(t.Context()); (err == nil) != c.ok || err != nil && rule.CodeOf(err) != rule.CodeUnavailable {
			t.Errorf("%d: got %v", c.status, err)
		}
	}
}

func TestCheckTellsWhenNothingListens(t *testing.T) {
	srv := httptest.NewServer(nil)
	srv.Close()
	m, err := provider.New("ollama:x", env("OLLAMA_HOST", srv.URL), provider.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Check(t.Context()); rule.CodeOf(err) != rule.CodeUnavailable || !strings.Contains(err.Error(), "OLLAMA_HOST") || strings.Contains(err.Error(), "127.0.0.1") {
		t.Errorf("got %v", err)
	}
}
