package api

import (
	"bytes"
	"context"
	"encoding/json"
	"mime"
	"net/http"
	"strings"
	"sync"
	"time"

	"tenet/internal/rule"
)

// eventType is the media type of server-sent events.
const eventType = "text/event-stream"

// Time limits of a stream. A reader that takes nothing for sendTimeout is gone.
const (
	heartbeat   = 10 * time.Second
	sendTimeout = 30 * time.Second
)

// wantsEvents reports whether the client has asked for a stream.
func (x *exchange) wantsEvents() bool {
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

// stream answers with server-sent events. It opens with the first event or heartbeat: what fails before is answered like
// any other request.
type stream struct {
	w      *response
	cancel context.CancelFunc
	told   map[string]bool // rules

	mu   sync.Mutex
	open bool
	err  error
	// end stops the heartbeat and the work. It may be called again.
	end func()
}

// openStream begins a stream. The returned context ends when the client takes no more.
func openStream(ctx context.Context) (*stream, context.Context) {
	x := exchangeFrom(ctx)
	ctx, cancel := context.WithCancel(ctx)
	w, _ := x.w.(*response)
	stop, stopped := make(chan struct{}), make(chan struct{})
	st := &stream{w: w, cancel: cancel, told: map[string]bool{}}
	st.end = sync.OnceFunc(func() {
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

// beat sends comments, so that nobody between takes a long wait for a dead connection.
func (st *stream) beat(stop <-chan struct{}) {
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

// verdict sends the final verdict of a rule.
func (st *stream) verdict(v rule.RuleVerdict) {
	st.mu.Lock()
	told := st.told[v.RuleID]
	st.told[v.RuleID] = true
	st.mu.Unlock()
	if !told {
		st.send("verdict", v)
	}
}

// finish ends the stream with the answer, whose record is durable, or with an error. It returns the error if nothing was
// sent before it, so that it is answered as usual.
func (st *stream) finish(ctx context.Context, s *server, answer any, verdicts []rule.RuleVerdict, err error) error {
	st.end()
	switch {
	case err == nil:
		for _, v := range verdicts {
			st.verdict(v) // of an answer that was there already
		}
		st.send("done", answer)
	case !st.open:
		return err
	default:
		st.send("error", s.problem(ctx, err))
	}
	st.w.closed = true
	return nil
}

func (st *stream) send(event string, v any) {
	var b bytes.Buffer
	b.WriteString("event: " + event + "\ndata: ")
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic("api: an event cannot be encoded: " + err.Error())
	}
	b.WriteByte('\n') // the encoder has ended the line
	st.write(b.Bytes())
}

// write sends bytes at once. If the client takes no more, it ends the work.
func (st *stream) write(b []byte) {
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
