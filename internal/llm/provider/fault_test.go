package provider_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tenet/internal/llm"
	"tenet/internal/llm/provider"
	"tenet/internal/rule"
)

// eachProvider runs f with a model of each provider behind handler.
func eachProvider(t *testing.T, handler func() http.HandlerFunc, opts provider.Options, f func(t *testing.T, m provider.Model)) {
	t.Helper()
	if opts.Backoff == 0 {
		opts.Backoff = time.Millisecond
	}
	for vendor, names := range settings {
		t.Run(vendor, func(t *testing.T) {
			srv := httptest.NewServer(handler())
			defer srv.Close()
			m, err := provider.New(vendor+":tiny", env(names[0], srv.URL, names[1], secretKey), opts)
			if err != nil {
				t.Fatal(err)
			}
			f(t, m)
		})
	}
}

// answerAny is an answer with the text fine that every provider's client can read.
const answerAny = `{"choices":[{"message":{"content":"fine"}}],"content":[{"type":"text","text":"fine"}],"stop_reason":"end_turn",
	"candidates":[{"content":{"parts":[{"text":"fine"}]},"finishReason":"STOP"}],"message":{"content":"fine"},"done":true}`

func TestEveryProviderSurvivesBrokenConnections(t *testing.T) {
	eachProvider(t, func() http.HandlerFunc {
		var calls atomic.Int32
		return func(w http.ResponseWriter, _ *http.Request) {
			switch calls.Add(1) {
			case 1: // reset before an answer
				panic(http.ErrAbortHandler)
			case 2: // reset within the body
				w.Header().Set("Content-Length", "5000")
				_, _ = io.WriteString(w, answerAny[:40])
				panic(http.ErrAbortHandler)
			}
			_, _ = io.WriteString(w, answerAny)
		}
	}, provider.Options{}, func(t *testing.T, m provider.Model) {
		if got, err := m.Complete(t.Context(), request); err != nil || got.Text != "fine" {
			t.Errorf("got %q, %v", got.Text, err)
		}
	})
}

func TestProvidersRefuseMoreThanOneAnswer(t *testing.T) {
	part := func(text string) string {
		return `{"content":{"parts":[{"text":"` + text + `"}]},"finishReason":"STOP"}`
	}
	use := func(text string) string {
		return `{"type":"tool_use","name":"answer","input":{"text":"` + text + `"}}`
	}
	cases := []struct {
		name, vendor, body string
		want               string // in the error; empty if it is an answer
	}{
		{"one candidate", "gemini", `{"candidates":[` + part("fine") + `]}`, ""},
		{"a thought beside the text", "gemini", `{"candidates":[{"content":{"parts":[{"text":"no","thought":true},{"text":"fine"}]}}]}`, ""},
		{"two candidates", "gemini", `{"candidates":[` + part("fine") + `,` + part("not fine") + `]}`, "several answers"},
		{"two equal candidates", "gemini", `{"candidates":[` + part("fine") + `,` + part("fine") + `]}`, "several answers"},
		{"an unfinished candidate", "gemini", `{"candidates":[` + part("fine") + `,{"finishReason":"MAX_TOKENS"}]}`, "several answers"},
		{"a call of a function beside the text", "gemini", `{"candidates":[{"content":{"parts":[{"text":"fine"},{"functionCall":{"name":"deny"}}]},"finishReason":"STOP"}]}`, "tool"},
		{"one use of the tool", "anthropic", `{"content":[` + use("fine") + `],"stop_reason":"tool_use"}`, ""},
		{"text about the use of the tool", "anthropic", `{"content":[{"type":"text","text":"not"},` + use("fine") + `,{"type":"text","text":"no"}],"stop_reason":"tool_use"}`, ""},
		{"two uses of the tool", "anthropic", `{"content":[` + use("fine") + `,` + use("not fine") + `],"stop_reason":"tool_use"}`, "several answers"},
	}
	for _, c := range cases {
		t.Run(c.vendor+"/"+c.name, func(t *testing.T) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, c.body) }))
			defer srv.Close()
			m, err := provider.New(c.vendor+":tiny", env(settings[c.vendor][0], srv.URL, settings[c.vendor][1], secretKey), provider.Options{Backoff: time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			got, err := m.Complete(t.Context(), request)
			if c.want == "" {
				if err != nil || !strings.Contains(got.Text, "fine") || strings.Contains(got.Text, "no") {
					t.Errorf("got %q, %v", got.Text, err)
				}
				return
			}
			if rule.CodeOf(err) != rule.CodeInvalid || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %q, %v; want an invalid error with %q", got.Text, err, c.want)
			}
		})
	}
}

func TestEveryProviderRefusesBrokenAnswers(t *testing.T) {
	for what, body := range map[string]string{
		"truncated": answerAny[:len(answerAny)-20], "10 MB": strings.Replace(answerAny, "fine", strings.Repeat("fine", 10<<20/4), 1),
		"nothing": "", "null": "null", "no object": `"fine"`, "empty object": "{}", "page": "<html>busy</html>",
	} {
		t.Run(what, func(t *testing.T) {
			eachProvider(t, func() http.HandlerFunc {
				return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }
			}, provider.Options{}, func(t *testing.T, m provider.Model) {
				if got, err := m.Complete(t.Context(), request); rule.CodeOf(err) != rule.CodeInvalid || len(got.Text) > 100 {
					t.Errorf("got %d bytes, %v; want an invalid error", len(got.Text), err)
				}
			})
		})
	}
}

func TestNoProviderTakesATextThatComesWithAnError(t *testing.T) {
	for what, change := range map[string]func(string) string{
		"error":          func(s string) string { return `{"error":{"message":"overloaded"},` + s[1:] },
		"error in words": func(s string) string { return s[:len(s)-1] + `,"error":"overloaded"}` },
		"other ending": func(s string) string {
			s = strings.NewReplacer(`"message":{"content":"fine"}}]`, `"message":{"content":"fine"},"finish_reason":"error"}]`, "end_turn", "error", "STOP", "OTHER").Replace(s)
			return s[:len(s)-1] + `,"done_reason":"unload"}`
		},
	} {
		t.Run(what, func(t *testing.T) {
			eachProvider(t, func() http.HandlerFunc {
				return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, change(answerAny)) }
			}, provider.Options{}, func(t *testing.T, m provider.Model) {
				if got, err := m.Complete(t.Context(), request); err == nil {
					t.Errorf("got %q; want an error", got.Text)
				}
			})
		})
	}
	eachProvider(t, func() http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"error":null,`+answerAny[1:]) }
	}, provider.Options{}, func(t *testing.T, m provider.Model) {
		if got, err := m.Complete(t.Context(), request); err != nil || got.Text != "fine" {
			t.Errorf("got %q, %v; an error of null is none", got.Text, err)
		}
	})
}

func TestEveryProviderEndsAStorm(t *testing.T) {
	for _, status := range []int{429, 500, 503} {
		var calls atomic.Int32
		eachProvider(t, func() http.HandlerFunc {
			calls.Store(0)
			return func(w http.ResponseWriter, _ *http.Request) {
				calls.Add(1)
				w.WriteHeader(status)
			}
		}, provider.Options{}, func(t *testing.T, m provider.Model) {
			for range 50 {
				if _, err := m.Complete(t.Context(), request); rule.CodeOf(err) != rule.CodeUnavailable {
					t.Fatalf("got %v, want an unavailable error", err)
				}
			}
			if n := calls.Load(); n < 4 || n > 5 {
				t.Errorf("%d exchanges for 50 calls; a server that fails is to be left alone after 5", n)
			}
		})
	}
}

func TestNoProviderTellsTheKey(t *testing.T) {
	var logs bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	for _, status := range []int{200, 302, 400, 401, 403, 404, 413, 422, 429, 500} {
		eachProvider(t, func() http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Location", "http://127.0.0.1:1/?key="+secretKey)
				w.WriteHeader(status)
				fmt.Fprintf(w, `{"error":{"message":"you sent %q"}}`, r.Header)
			}
		}, provider.Options{Logger: logger, Retries: 1}, func(t *testing.T, m provider.Model) {
			_, err := m.Complete(t.Context(), request)
			if err == nil || strings.Contains(err.Error(), secretKey) {
				t.Errorf("%d: got %v", status, err)
			}
			if err := m.Check(t.Context()); err != nil && strings.Contains(err.Error(), secretKey) {
				t.Errorf("%d: the check gives %v", status, err)
			}
		})
	}
	if logs.Len() == 0 || strings.Contains(logs.String(), secretKey) {
		t.Errorf("logs are %s", &logs)
	}
}

func TestCheckTellsABadKeyFromAServerThatIsAway(t *testing.T) {
	paths := map[string]string{"openai": "/models", "anthropic": "/v1/models", "gemini": "/v1beta/models", "ollama": "/api/tags"}
	for _, c := range []struct {
		status  int
		body    string
		ok, key bool
	}{
		{200, `{}`, true, false},
		{404, ``, true, false},
		{429, ``, true, false},
		{401, ``, false, true},
		{403, ``, false, true},
		{400, `{"error":{"code":400,"message":"API key not valid.","details":[{"reason":"API_KEY_INVALID"}]}}`, false, true},
		{500, ``, false, false},
		{301, ``, false, false},
	} {
		eachProvider(t, func() http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodGet || !bytes.Contains([]byte(fmt.Sprint(paths)), []byte(r.URL.Path)) {
					t.Errorf("got %s %s", r.Method, r.URL.Path)
				}
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			}
		}, provider.Options{}, func(t *testing.T, m provider.Model) {
			err := m.Check(t.Context())
			if (err == nil) != c.ok || errors.Is(err, provider.ErrKey) != c.key || err != nil && rule.CodeOf(err) != rule.CodeUnavailable {
				t.Errorf("%d: got %v", c.status, err)
			}
		})
	}
}

func TestOllamaIsGivenRoomForThePrompt(t *testing.T) {
	var got []float64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, readBody(t, r)["options"].(map[string]any)["num_ctx"].(float64))
		_, _ = io.WriteString(w, answerAny)
	}))
	defer srv.Close()
	m, err := provider.New("ollama:tiny", env("OLLAMA_HOST", srv.URL), provider.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{100, 40_000, 100} {
		if _, err := m.Complete(t.Context(), llm.Request{Prompt: strings.Repeat("a ", n/2)}); err != nil {
			t.Fatal(err)
		}
	}
	if fmt.Sprint(got) != "[8192 32768 32768]" {
		t.Errorf("lengths of context are %v; a length that shrinks makes the server load the model again", got)
	}
}

func TestAnthropicIsAskedForLessWhereAModelGivesLess(t *testing.T) {
	var got []float64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		limit := readBody(t, r)["max_tokens"].(float64)
		if got = append(got, limit); limit > 4096 {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"type":"error","error":{"type":"invalid_request_error","message":"max_tokens: 9000 > 4096, which is the maximum allowed number of output tokens"}}`)
			return
		}
		_, _ = io.WriteString(w, answerAny)
	}))
	defer srv.Close()
	m, err := provider.New("anthropic:tiny", env("ANTHROPIC_BASE_URL", srv.URL), provider.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, limit := range []int{9000, 9000, 100, 0} {
		if _, err := m.Complete(t.Context(), llm.Request{Prompt: "p", MaxOutputTokens: limit}); err != nil {
			t.Fatal(err)
		}
	}
	if fmt.Sprint(got) != "[9000 4096 4096 100 4096]" {
		t.Errorf("asked for %v", got)
	}
}
