// Package telemetry sends traces by OpenTelemetry (OTLP). It is off unless an address is configured by the standard names in the
// environment, and costs nothing then. Spans carry ids, names, counts and verdicts, and never the text of a subject.
package telemetry

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"tenet/internal/rule"
)

// scope names the source of the spans.
const scope = "tenet"

// provider makes spans; nil while telemetry is off. It is one of the process, as what it sends to is.
var provider atomic.Pointer[sdk.TracerProvider]

// context of callers and to servers: W3C Trace Context and Baggage are the formats of others, of which only the first is passed on.
var propagator = propagation.TraceContext{}

// On reports whether spans are made.
func On() bool { return provider.Load() != nil }

// Configured reports whether the environment asks for traces.
func Configured(env func(string) string) bool {
	if strings.EqualFold(env("OTEL_SDK_DISABLED"), "true") || strings.EqualFold(env("OTEL_TRACES_EXPORTER"), "none") {
		return false
	}
	return env("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != ""
}

// Open begins to send spans if the environment asks for them, and returns the function that sends those that are left. The variables are those
// of the specification: addresses, headers, certificates, time limits, sampler and resource. An unknown protocol is invalid.
func Open(ctx context.Context, env func(string) string, version string) (stop func(context.Context) error, err error) {
	if !Configured(env) {
		return func(context.Context) error { return nil }, nil
	}
	var exporter sdk.SpanExporter
	protocol := env("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL")
	if protocol == "" {
		protocol = env("OTEL_EXPORTER_OTLP_PROTOCOL")
	}
	switch protocol {
	case "", "http/protobuf":
		exporter, err = otlptracehttp.New(ctx)
	case "grpc":
		exporter, err = otlptracegrpc.New(ctx)
	default:
		return nil, rule.Errorf(rule.CodeInvalid, "OTEL_EXPORTER_OTLP_PROTOCOL: %q is not http/protobuf or grpc", protocol)
	}
	if err != nil {
		return nil, rule.Errorf(rule.CodeInvalid, "OpenTelemetry: %w", err)
	}
	// Later options win, so that OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES do.
	about, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", scope), attribute.String("service.version", version)),
		resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, rule.Errorf(rule.CodeInvalid, "OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	return use(sdk.NewTracerProvider(sdk.WithBatcher(exporter), sdk.WithResource(about))), nil
}

// use makes spans with a provider until the returned function is called.
func use(p *sdk.TracerProvider) (stop func(context.Context) error) {
	provider.Store(p)
	return func(ctx context.Context) error {
		provider.CompareAndSwap(p, nil)
		return p.Shutdown(ctx)
	}
}

// Span is a part of the work for a request; nil, which does nothing, while telemetry is off.
type Span struct{ span trace.Span }

// Start begins a span. Attributes are names and values by turns. The caller ends it.
func Start(ctx context.Context, name string, attributes ...string) (context.Context, *Span) {
	p := provider.Load()
	if p == nil {
		return ctx, nil
	}
	ctx, span := p.Tracer(scope).Start(ctx, name)
	s := &Span{span}
	for i := 0; i+1 < len(attributes); i += 2 {
		s.Set(attributes[i], attributes[i+1])
	}
	return ctx, s
}

// Set adds an attribute. It must not hold text of a subject.
func (s *Span) Set(name, value string) {
	if s != nil && value != "" {
		s.span.SetAttributes(attribute.String(name, value))
	}
}

// Count adds a number.
func (s *Span) Count(name string, n int) {
	if s != nil {
		s.span.SetAttributes(attribute.Int(name, n))
	}
}

// End ends the span. Of an error, only its code is sent: its text may repeat what was asked.
func (s *Span) End(err error) {
	if s == nil {
		return
	}
	if err != nil {
		code := string(rule.CodeOf(err))
		s.span.SetAttributes(attribute.String("error.type", code))
		s.span.SetStatus(codes.Error, code)
	}
	s.span.End()
}

// Route names the span of a request by the route that answers it.
func Route(ctx context.Context, pattern, project string) {
	if !On() {
		return
	}
	span := trace.SpanFromContext(ctx)
	if pattern != "" {
		span.SetName(pattern)
		_, path, _ := strings.Cut(pattern, " ")
		span.SetAttributes(attribute.String("http.route", path))
	}
	if project != "" {
		span.SetAttributes(attribute.String("tenet.project", project))
	}
}

// Handler makes a span of each request, below the one that its caller names (traceparent). While telemetry is off it is the handler.
func Handler(next http.Handler) http.Handler {
	p := provider.Load()
	if p == nil {
		return next
	}
	traced := otelhttp.NewHandler(shown(next), "request", otelhttp.WithTracerProvider(p), otelhttp.WithPropagators(propagator),
		otelhttp.WithSpanNameFormatter(func(_ string, r *http.Request) string { return r.Method }))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/health", "/ready", "/metrics":
			next.ServeHTTP(w, r)
			return
		}
		// The span would have the path and the query as they are, and the name of the client's program. The route is enough.
		hidden := r.WithContext(context.WithValue(r.Context(), original{}, r))
		hidden.URL, hidden.RequestURI = &url.URL{Scheme: r.URL.Scheme}, ""
		hidden.Header = http.Header{}
		for _, name := range propagator.Fields() {
			hidden.Header[http.CanonicalHeaderKey(name)] = r.Header[http.CanonicalHeaderKey(name)]
		}
		traced.ServeHTTP(w, hidden)
	})
}

// original is the key of a request in the context of its span.
type original struct{}

// shown gives a handler the request as it came, in the context of its span.
func shown(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if came, ok := r.Context().Value(original{}).(*http.Request); ok {
			body := r.Body
			r = came.WithContext(r.Context())
			r.Body = body
		}
		next.ServeHTTP(w, r)
	})
}

// Transport names the span of a request to another server in its headers. While telemetry is off it is the transport, nil included.
func Transport(next http.RoundTripper) http.RoundTripper {
	if !On() {
		return next
	}
	if next == nil {
		next = http.DefaultTransport
	}
	return carrier{next}
}

// carrier adds the header traceparent.
type carrier struct{ next http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (c carrier) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	propagator.Inject(r.Context(), propagation.HeaderCarrier(r.Header))
	return c.next.RoundTrip(r)
}

// Logs adds the ids of trace and span to the records of a log.
func Logs(next slog.Handler) slog.Handler { return logs{next} }

type logs struct{ slog.Handler }

// Handle implements [slog.Handler].
func (l logs) Handle(ctx context.Context, r slog.Record) error {
	if at := trace.SpanContextFromContext(ctx); at.IsValid() {
		r = r.Clone()
		r.AddAttrs(slog.String("trace_id", at.TraceID().String()), slog.String("span_id", at.SpanID().String()))
	}
	return l.Handler.Handle(ctx, r)
}

// WithAttrs implements [slog.Handler].
func (l logs) WithAttrs(attrs []slog.Attr) slog.Handler { return logs{l.Handler.WithAttrs(attrs)} }

// WithGroup implements [slog.Handler].
func (l logs) WithGroup(name string) slog.Handler { return logs{l.Handler.WithGroup(name)} }
