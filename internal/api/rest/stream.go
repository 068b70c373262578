package rest

import (
	"bytes"
	"context"
	"io"
	"mime"
	"net/http"
	"strings"
	"sync"
	"time"
)

// eventType is the media type of server-sent events.
const eventType = "text/event-stream"

// Time limits of a stream. A reader that takes nothing for sendTimeout is gone.
const (
	heartbeat   = 10 * time.Second
	sendTimeout = 30 * time.Second
)

// Streamed is a body that is written as it is made. If it fails after its first bytes, the connection breaks, so that the client does not
// take the part for the whole.
type Streamed func(to io.Writer) error

// slowly writes a long answer: each part has a time of its own.
type slowly struct{ w *response }

func (s slowly) Write(b []byte) (int, error) {
	control := http.NewResponseController(s.w.ResponseWriter)
	_ = control.SetWriteDeadline(time.Now().Add(sendTimeout)) // only real connections have one
	return s.w.Write(b)
}

// WantsEvents reports whether the client has asked for a stream.
func WantsEvents(ctx context.Context) bool {
	x := exchangeFrom(ctx)
	for _, header := range x.r.Header.Values("Accept") {
		for part := range strings.SplitSeq(header, ",") {
			media, params, err := mime.ParseMediaType(part)
			if err == nil && media == eventType && params["q"] != "0" {
				return true
			}
		}
	}
	return false
}

// Stream answers with server-sent events. It opens with the first event or heartbeat: an earlier error is answered like
// that of any other request.
type Stream struct {
	w      *response
	cancel context.CancelFunc
	mu     sync.Mutex
	open   bool
	err    error
	// End stops the heartbeat and the work. Further calls do nothing.
	End func()
}

// OpenStream begins a stream. The returned context ends when the client takes no more.
func OpenStream(ctx context.Context) (*Stream, context.Context) {
	x := exchangeFrom(ctx)
	ctx, cancel := context.WithCancel(ctx)
	w, _ := x.w.(*response)
	stop, stopped := make(chan struct{}), make(chan struct{})
	st := &Stream{w: w, cancel: cancel}
	st.End = sync.OnceFunc(func() {
		close(stop)
		<-stopped
		cancel()
	})
	go func() {
		defer close(stopped)
		st.beat(stop)
	}()
	return st, ctx
}

// beat sends comments, so that no proxy takes a long wait for a dead connection.
func (st *Stream) beat(stop <-chan struct{}) {
	tick := time.NewTicker(heartbeat)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			st.write([]byte(": still judging\n\n"))
		}
	}
}

// Finish ends the stream with the answer or with an error. It returns the error if it is the first thing to send, so that
// it is answered as usual.
func (st *Stream) Finish(ctx context.Context, answer any, err error) error {
	st.End()
	switch {
	case err == nil:
		st.Send("done", answer)
	case !st.open:
		return err
	default:
		problem, _ := ProblemOf(ctx, err)
		exchangeFrom(ctx).broke = problem.Status
		st.Send("error", problem)
	}
	st.w.closed = true
	return nil
}

// WantsAsync reports whether the client prefers work in the background (RFC 7240).
func WantsAsync(ctx context.Context) bool {
	x := exchangeFrom(ctx)
	for preference := range strings.SplitSeq(strings.Join(x.r.Header.Values("Prefer"), ","), ",") {
		name, _, _ := strings.Cut(preference, ";")
		if strings.EqualFold(strings.TrimSpace(name), "respond-async") {
			return !WantsEvents(ctx)
		}
	}
	return false
}

// Accepted answers 202 with the state of work in the background. The handler then returns any answer.
func Accepted(ctx context.Context, location string, state any) {
	w, _ := exchangeFrom(ctx).w.(*response)
	w.Header().Set("Location", location)
	w.Header().Set("Preference-Applied", "respond-async")
	w.Header().Set("Content-Type", jsonType)
	w.WriteHeader(http.StatusAccepted)
	encode(w, state)
	w.closed = true
}

// Send sends an event.
func (st *Stream) Send(event string, v any) {
	var b bytes.Buffer
	b.WriteString("event: " + event + "\ndata: ")
	encodeTo(&b, v)
	b.WriteByte('\n') // the encoder has ended the line
	st.write(b.Bytes())
}

// write sends bytes at once. If the client takes no more, it ends the work.
func (st *Stream) write(b []byte) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.err != nil {
		return
	}
	if !st.open {
		st.open = true
		st.w.Header().Set("Content-Type", eventType)
		st.w.Header().Set("X-Accel-Buffering", "no")
		st.w.WriteHeader(http.StatusOK)
	}
	control := http.NewResponseController(st.w.ResponseWriter)
	_ = control.SetWriteDeadline(time.Now().Add(sendTimeout)) // only real connections have one
	if _, st.err = st.w.Write(b); st.err == nil {
		st.w.Flush()
		return
	}
	st.cancel()
}
