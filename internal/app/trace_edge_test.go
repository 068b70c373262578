package app_test

import (
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"tenet/internal/rule"
	"tenet/internal/telemetry"
)

// An evaluation at an edge is traced as at a server, below the span of its caller, and names the bundle. Neither its subject nor the name of the client is sent.
func TestTracesOfAnEvaluationAtAnEdge(t *testing.T) {
	var mu sync.Mutex
	var sent strings.Builder
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		_, _ = io.Copy(&sent, r.Body)
	}))
	defer collector.Close()
	o := newOrigin(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	stop, err := telemetry.Open(t.Context(), func(name string) string { return map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": collector.URL}[name] }, "1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stop(t.Context()) }() // again, unless the test has failed
	e := o.edge(t.TempDir(), o.shipping(0))
	const trace, caller = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+e.Addr()+"/api/v1/evaluate", strings.NewReader(`{"facts": {"name": "zebra-secret"}}`))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "zebra")
	request.Header.Set("Traceparent", "00-"+trace+"-"+caller+"-01")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%d: %s, %v", answer.StatusCode, text, err)
	}
	_ = answer.Body.Close()
	got := open[rule.Evaluation](t, text)
	until(t, "the record at the server", func() bool {
		return ask(t, o.App, "GET", "/api/v1/evaluations/"+got.EvaluationID, "", nil) == http.StatusOK
	})
	if err := stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	stages := []string{"POST /api/v1/evaluate", "evaluate", "parse", "select", "check", "triage", "judge", "record"}
	for _, name := range append(stages, "tenet.verdict", "tenet.bundle", got.Bundle, got.EvaluationID, "1.0.0") {
		if name == "" || !strings.Contains(sent.String(), name) {
			t.Errorf("no %q was sent", name)
		}
	}
	bytesOf := func(id string) string {
		b, err := hex.DecodeString(id)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	if n := strings.Count(sent.String(), bytesOf(trace)); n < len(stages) {
		t.Errorf("%d spans are of the trace of the caller; the stages are %d", n, len(stages))
	}
	if n := strings.Count(sent.String(), bytesOf(caller)); n != 1 {
		t.Errorf("%d spans are right below that of the caller", n)
	}
	if strings.Contains(sent.String(), "zebra") {
		t.Error("the subject or the name of the client was sent")
	}
}
