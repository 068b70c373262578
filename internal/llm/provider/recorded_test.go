package provider_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"tenet/internal/llm"
	"tenet/internal/llm/provider"
	"tenet/internal/rule"
)

// recording is a file of testdata: what a provider is sent and answers, in the form of its public documentation. [key]
// stands for the key.
type recording struct {
	Spec      string `json:"spec"`
	Exchanges []struct {
		Request struct {
			Path   string            `json:"path"`
			Header map[string]string `json:"header"`
			Body   any               `json:"body"`
		} `json:"request"`
		Answer struct {
			Status int               `json:"status"`
			Header map[string]string `json:"header"`
			Body   json.RawMessage   `json:"body"`
		} `json:"answer"`
	} `json:"exchanges"`
	Want struct {
		Text   string    `json:"text"`
		Input  int       `json:"input"`
		Output int       `json:"output"`
		Cached int       `json:"cached"`
		Code   rule.Code `json:"code"`
		Error  string    `json:"error"`
		// JSON says that the text is this up to white space.
		JSON bool `json:"json"`
	} `json:"want"`
}

// recorded is the request that all recordings are of.
var recorded = llm.Request{
	System: "You judge.", Prefix: "RULES\nR1 no secrets\n", Prompt: "SUBJECT\nkey := 1\n", SchemaName: "verdicts", MaxOutputTokens: 500,
	Schema: json.RawMessage(`{"type":"object","properties":{"verdict":{"type":"string"}},"required":["verdict"],"additionalProperties":false}`),
}

// settings of the address and the key of each provider.
var settings = map[string][2]string{
	"openai": {"OPENAI_BASE_URL", "OPENAI_API_KEY"}, "anthropic": {"ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"},
	"gemini": {"GEMINI_BASE_URL", "GEMINI_API_KEY"}, "ollama": {"OLLAMA_HOST", "NO_KEY"},
}

func TestRecordedTraffic(t *testing.T) {
	files, err := filepath.Glob("testdata/*-*.json")
	if err != nil || len(files) < 30 {
		t.Fatalf("found %d recordings, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var rec recording
			if err := json.Unmarshal(b, &rec); err != nil {
				t.Fatal(err)
			}
			replay(t, &rec)
		})
	}
}

func replay(t *testing.T, rec *recording) {
	t.Helper()
	next := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if next == len(rec.Exchanges) {
			t.Errorf("one request too many: %s %s", r.Method, r.URL.Path)
			w.WriteHeader(http.StatusTeapot)
			return
		}
		e := &rec.Exchanges[next]
		next++
		if r.Method != http.MethodPost || r.URL.EscapedPath() != e.Request.Path {
			t.Errorf("got %s %s, want POST %s", r.Method, r.URL.EscapedPath(), e.Request.Path)
		}
		for name, want := range e.Request.Header {
			if got := r.Header.Get(name); got != strings.ReplaceAll(want, "[key]", secretKey) {
				t.Errorf("%s is %q", name, got)
			}
		}
		if strings.Contains(r.URL.String(), secretKey) {
			t.Errorf("the key is in the address, which proxies log")
		}
		var got any
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil || !reflect.DeepEqual(got, e.Request.Body) {
			b, _ := json.Marshal(got)
			want, _ := json.Marshal(e.Request.Body)
			t.Errorf("request %d is\n%s, %v, want\n%s", next, b, err, want)
		}
		for name, value := range e.Answer.Header {
			w.Header().Set(name, value)
		}
		w.WriteHeader(e.Answer.Status)
		_, _ = w.Write(bytes.ReplaceAll(e.Answer.Body, []byte("[key]"), []byte(secretKey)))
	}))
	defer srv.Close()
	var logs bytes.Buffer
	vendor, _, _ := strings.Cut(rec.Spec, ":")
	m, err := provider.New(rec.Spec, env(settings[vendor][0], srv.URL, settings[vendor][1], secretKey), provider.Options{
		Backoff: time.Millisecond, Logger: slog.New(slog.NewTextHandler(&logs, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := m.Complete(t.Context(), recorded)
	want := &rec.Want
	if want.JSON {
		var b bytes.Buffer
		_ = json.Compact(&b, []byte(got.Text))
		got.Text = b.String()
	}
	switch {
	case want.Error != "":
		if rule.CodeOf(err) != want.Code || !strings.Contains(err.Error(), want.Error) || strings.Contains(err.Error(), secretKey) {
			t.Errorf("got %v, want %s with %q", err, want.Code, want.Error)
		}
	case err != nil:
		t.Error(err)
	case got != llm.Response{Text: want.Text, InputTokens: want.Input, OutputTokens: want.Output, CachedTokens: want.Cached}:
		t.Errorf("got %+v, want %+v", got, *want)
	}
	if next != len(rec.Exchanges) {
		t.Errorf("%d of %d exchanges took place", next, len(rec.Exchanges))
	}
	if strings.Contains(logs.String(), secretKey) {
		t.Errorf("the logs tell the key: %s", &logs)
	}
}
