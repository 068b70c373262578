package relay

import (
	"context"
	"io"
	"net/http"
	"strings"
	"time"
)

// maxIdle is how long a connection to a server over HTTP may have been idle to be used again. Servers close idle connections, many after 2 or 5
// seconds, without a word in advance: a call on its way then is lost, and nobody may repeat it, since the server may have carried it out.
const maxIdle = time.Second

// NewClient returns a client for servers over HTTP. It follows no redirect, so that the headers of a [Remote] stay with the server that is named.
func NewClient() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // it is one
	transport.MaxIdleConnsPerHost, transport.IdleConnTimeout = 64, maxIdle
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// repeatableMethods are the requests that only read, or that set again what they have set.
var repeatableMethods = map[string]bool{
	"initialize": true, "ping": true, "tools/list": true, "resources/list": true, "resources/templates/list": true, "resources/read": true,
	"resources/subscribe": true, "resources/unsubscribe": true, "prompts/list": true, "prompts/get": true, "completion/complete": true, "logging/setLevel": true,
}

// repeatable reports whether a message may reach the server twice: responses and notifications may, calls of tools not.
func repeatable(m *message) bool {
	return m.response() || !m.request() && strings.HasPrefix(m.method, "notifications/") || repeatableMethods[m.method]
}

// repeats has a request sent again on another connection if the server closes the first one without an answer.
func repeats(r *http.Request) {
	r.Header["Idempotency-Key"] = []string{} // package http reads it, and sends no header for it
}

// drainTime is how long the end of a stream that has answered may take.
const drainTime = 100 * time.Millisecond

// drain reads a stream that has answered to its end, so that the connection can be used again, and closes it.
func drain(ctx context.Context, body io.ReadCloser) {
	ctx, cancel := context.WithTimeout(ctx, drainTime)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = body.Close() }) // ends the reading
	_, _ = io.CopyN(io.Discard, body, maxAnswer)                // what follows an answer is of no use
	stop()
	_ = body.Close() // opened for reading
}
