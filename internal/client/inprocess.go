package client

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
)

// InProcess is a transport that calls a handler directly: an embedded command goes the same way through validation and
// authorisation as a request over the network. The answer is held in memory until the handler returns, except that
// of [Copy].
func InProcess(h http.Handler) http.RoundTripper { return inProcess{h} }

type inProcess struct{ handler http.Handler }

// RoundTrip implements [http.RoundTripper]. A handler that panics gives an error.
func (p inProcess) RoundTrip(req *http.Request) (res *http.Response, err error) {
	in := req.Clone(req.Context())
	in.RequestURI = req.URL.RequestURI()
	in.RemoteAddr = "127.0.0.1:0"
	if in.Host == "" {
		in.Host = req.URL.Host
	}
	if in.Body == nil {
		in.Body = http.NoBody
	}
	defer func() { _ = in.Body.Close() }()
	w := &recorded{header: http.Header{}}
	w.into, _ = req.Context().Value(writerKey{}).(io.Writer)
	w.take, _ = req.Context().Value(takerKey{}).(func(any) bool)
	defer func() {
		if v := recover(); v != nil {
			res, err = nil, fmt.Errorf("the handler of %s %s panicked: %v", req.Method, req.URL.Path, v)
		}
	}()
	p.handler.ServeHTTP(w, in)
	w.WriteHeader(http.StatusOK)
	return &http.Response{
		Status: fmt.Sprintf("%d %s", w.status, http.StatusText(w.status)), StatusCode: w.status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: w.sent,
		Body: io.NopCloser(&w.body), ContentLength: int64(w.body.Len()), Request: req,
	}, nil
}

// writerKey is the key of the writer that takes the bodies of successful answers of a call.
type writerKey struct{}

// intoWriter returns a context whose call in process writes its answer to w at once.
func intoWriter(ctx context.Context, w io.Writer) context.Context {
	return context.WithValue(ctx, writerKey{}, w)
}

// takerKey is the key of the function that takes the value of a successful answer of a call in place of its JSON.
type takerKey struct{}

// recorded keeps what a handler writes, or gives it to the writer of a call.
type recorded struct {
	into         io.Writer      // nil for none
	take         func(any) bool // nil for none
	header, sent http.Header
	status       int
	body         bytes.Buffer
}

func (w *recorded) Header() http.Header { return w.header }

func (w *recorded) WriteHeader(status int) {
	if w.status != 0 || status < 200 {
		return
	}
	w.status, w.sent = status, w.header.Clone()
}

func (w *recorded) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if w.into != nil && w.status < 300 {
		return w.into.Write(b)
	}
	return w.body.Write(b)
}

// TakeValue takes the value of an answer that would be sent as JSON, if the caller in this process takes such values.
func (w *recorded) TakeValue(v any) bool {
	return w.take != nil && (w.status == 0 || w.status < 300) && w.take(v)
}

// Flush implements [http.Flusher]; it sends nothing early.
func (w *recorded) Flush() { w.WriteHeader(http.StatusOK) }
