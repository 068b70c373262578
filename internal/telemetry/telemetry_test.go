package telemetry

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"tenet/internal/rule"
)

// A request that names a trace is part of it, and so are the requests and the records of the log that it leads to. Nothing of what was asked is
// sent: not the path, whose words may be anything, but the route; nor the query, the program of the client, the body or the text of errors.
func TestTracesGoOn(t *testing.T) {
	kept := tracetest.NewInMemoryExporter()
	defer func() { _ = use(sdk.NewTracerProvider())(t.Context()) }()
	stop := use(sdk.NewTracerProvider(sdk.WithSyncer(kept)))
	var said string
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { said = r.Header.Get("Traceparent") }))
	defer other.Close()
	var text bytes.Buffer
	log := slog.New(Logs(slog.NewJSONHandler(&text, nil)))
	server := httptest.NewServer(Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || string(body) != "the secret subject" || r.URL.Path != "/api/v1/rules/secret-1" || r.URL.Query().Get("q") != "secret words" ||
			r.RequestURI != "/api/v1/rules/secret-1?q=secret+words" || r.Header.Get("User-Agent") != "secret/1.0" {
			t.Errorf("the handler gets %s %v %q: %v", r.RequestURI, r.Header, body, err)
		}
		ctx, span := Start(r.Context(), "judge", "tenet.project", "default")
		log.InfoContext(ctx, "here")
		ask, err := http.NewRequestWithContext(ctx, http.MethodGet, other.URL, http.NoBody)
		if err != nil {
			t.Error(err)
			return
		}
		answer, err := (&http.Client{Transport: Transport(nil)}).Do(ask)
		if err != nil {
			t.Error(err)
			return
		}
		_ = answer.Body.Close()
		span.End(rule.Errorf(rule.CodeUnavailable, "the secret subject"))
		Route(r.Context(), "POST /api/v1/rules/{id}", "default")
	})))
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/api/v1/rules/secret-1?q=secret+words", strings.NewReader("the secret subject"))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("User-Agent", "secret/1.0")
	request.Header.Set("Traceparent", "00-"+trace+"-00f067aa0ba902b7-01")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, answer.Body)
	_ = answer.Body.Close()
	server.Close() // the span of the request ends with its handler
	spans := kept.GetSpans()
	if err := stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(spans) != 2 || spans[0].Name != "judge" || spans[1].Name != "POST /api/v1/rules/{id}" {
		t.Fatalf("%d spans: %v", len(spans), spans)
	}
	for _, s := range spans {
		if s.SpanContext.TraceID().String() != trace {
			t.Errorf("%s is in the trace %s, want %s", s.Name, s.SpanContext.TraceID(), trace)
		}
		for _, a := range s.Attributes {
			if strings.Contains(a.Value.String(), "secret") {
				t.Errorf("%s has %s=%s", s.Name, a.Key, a.Value.String())
			}
		}
		if strings.Contains(s.Status.Description, "secret") {
			t.Errorf("the status of %s is %q", s.Name, s.Status.Description)
		}
	}
	if !strings.HasPrefix(said, "00-"+trace+"-"+spans[0].SpanContext.SpanID().String()) {
		t.Errorf("the other server is told %q", said)
	}
	if !strings.Contains(text.String(), `"trace_id":"`+trace+`"`) {
		t.Errorf("the log says %s", text.String())
	}
}

// Spans are sent where the environment says, by its protocol; without an address nothing is.
func TestConfigured(t *testing.T) {
	defer provider.Store(nil)
	got := make(chan string, 10)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got <- r.URL.Path + " " + r.Header.Get("Content-Type")
	}))
	defer collector.Close()
	env := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": collector.URL}
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	lookup := func(name string) string { return env[name] }
	stop, err := Open(t.Context(), lookup, "1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	_, span := Start(t.Context(), "one")
	span.End(nil)
	if err := stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if at := <-got; at != "/v1/traces application/x-protobuf" {
		t.Errorf("sent to %s", at)
	}
	if On() {
		t.Error("still on after the end")
	}
	for name, change := range map[string]map[string]string{
		"off":    {"OTEL_SDK_DISABLED": "true", "OTEL_EXPORTER_OTLP_ENDPOINT": "x"},
		"none":   {"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "x"},
		"absent": {},
	} {
		env = change
		if Configured(lookup) {
			t.Errorf("%s: configured", name)
		}
	}
	env = map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "x", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"}
	if _, err := Open(t.Context(), lookup, ""); err == nil || !strings.Contains(err.Error(), "http/json") {
		t.Errorf("an unknown protocol: %v", err)
	}
}

// While telemetry is off, a span allocates nothing, and handlers and transports are as they were.
func TestOffCostsNothing(t *testing.T) {
	ctx := t.Context()
	if n := testing.AllocsPerRun(100, func() { work(ctx) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if Transport(nil) != nil {
		t.Error("another transport")
	}
}

func work(ctx context.Context) {
	_, span := Start(ctx, "judge", "tenet.project", "default")
	span.Count("tenet.rules", 3)
	span.Set("tenet.verdict", "ALLOW")
	span.End(nil)
}

// BenchmarkOff measures a span while telemetry is off.
func BenchmarkOff(b *testing.B) {
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		work(ctx)
	}
}
