package app

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"tenet/internal/telemetry"
)

// An evaluation is traced through its stages, and nothing of its subject is sent.
func TestTracesOfAnEvaluation(t *testing.T) {
	var mu sync.Mutex
	var sent strings.Builder
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		_, _ = io.Copy(&sent, r.Body)
	}))
	defer collector.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	stop, err := telemetry.Open(t.Context(), func(name string) string { return map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": collector.URL}[name] }, "1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	a, err := create(t, map[string]string{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.Stop(t.Context()) }()
	request := httptest.NewRequest(http.MethodPost, "http://localhost/api/v1/evaluate", strings.NewReader(`{"facts": {"name": "zebra-secret"}}`))
	request.Header.Set("Content-Type", "application/json")
	answer := httptest.NewRecorder()
	telemetry.Handler(a.Handler()).ServeHTTP(answer, request)
	if answer.Code != http.StatusOK {
		t.Fatalf("%d: %s", answer.Code, answer.Body)
	}
	if err := stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	for _, name := range []string{"POST /api/v1/evaluate", "evaluate", "parse", "select", "check", "triage", "judge", "record", "database transaction", "tenet.verdict", "NEEDS_CONFIRMATION", "tenet.project", "1.0.0"} {
		if !strings.Contains(sent.String(), name) {
			t.Errorf("no %q was sent", name)
		}
	}
	if strings.Contains(sent.String(), "zebra-secret") {
		t.Error("the subject was sent")
	}
}

// A page of the console has its route, and nothing of its path or query, also where it has called the API.
func TestTracesOfAPage(t *testing.T) {
	var mu sync.Mutex
	var sent strings.Builder
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		_, _ = io.Copy(&sent, r.Body)
	}))
	defer collector.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	stop, err := telemetry.Open(t.Context(), func(name string) string { return map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": collector.URL}[name] }, "1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	a, err := create(t, map[string]string{"listen": "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.Stop(t.Context()) }()
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+a.Addr()+"/p/default/rules?q=zebra-words&owner=zebra-owner", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", "text/html")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, answer.Body)
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusOK || answer.Header.Get("X-Request-Id") == "" {
		t.Errorf("the page answers %d with %v", answer.StatusCode, answer.Header)
	}
	if err := errors.Join(a.Stop(t.Context()), stop(t.Context())); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if !strings.Contains(sent.String(), "GET /p/{project}/rules") || strings.Contains(sent.String(), "zebra") {
		t.Errorf("sent: %q", sent.String())
	}
}
