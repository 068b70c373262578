package rest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"

	"tenet/internal/rule"
	"tenet/internal/wire"
)

// response delays the status until the first byte of the body, so that a whole answer carries its length, and one that
// cannot be encoded becomes a proper error.
type response struct {
	http.ResponseWriter
	status int // 0 until WriteHeader
	sent   bool
	closed bool // the answer is complete; later writes are dropped
}

// WriteHeader sets the status; the first Write, Flush or the end of the request sends it.
func (w *response) WriteHeader(status int) {
	if status < http.StatusOK {
		w.ResponseWriter.WriteHeader(status)
		return
	}
	if !w.sent && !w.closed {
		w.status = status
	}
}

// Write sends a part of the body.
func (w *response) Write(b []byte) (int, error) {
	if w.closed {
		return len(b), nil
	}
	w.send()
	return w.ResponseWriter.Write(b)
}

// Flush sends the bytes written so far.
func (w *response) Flush() {
	w.send()
	_ = http.NewResponseController(w.ResponseWriter).Flush() // not every writer can
}

// Unwrap lets http.ResponseController reach the connection.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *response) send() {
	if w.sent {
		return
	}
	w.sent = true
	if w.status == 0 {
		w.status = http.StatusOK
	}
	w.ResponseWriter.WriteHeader(w.status)
}

// maxPooled is the largest buffer, in bytes, that the pool takes back.
const maxPooled = 8 << 20

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

func getBuffer() *bytes.Buffer { return buffers.Get().(*bytes.Buffer) }

func putBuffer(b *bytes.Buffer) {
	if b.Cap() <= maxPooled {
		b.Reset()
		buffers.Put(b)
	}
}

// encodeTo appends v as JSON and a line break, without escaping for HTML: snippets of code stay readable. It panics for a
// value that cannot be encoded, a programming error.
func encodeTo(buf *bytes.Buffer, v any) {
	switch v := v.(type) {
	case *rule.Evaluation:
		writeText(buf, v)
		return
	case *wire.SubmissionAnswer:
		writeText(buf, v)
		return
	case rule.Rule:
		writeText(buf, &v)
		return
	case wire.Page[rule.Rule]:
		writeText(buf, &v)
		return
	case wire.RuleSearchPage:
		writeText(buf, &v)
		return
	}
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(fmt.Errorf("rest: an answer cannot be encoded: %w", err))
	}
}

// writeText is [encodeTo] for the most frequent answers.
func writeText[T wire.Encoded](buf *bytes.Buffer, v T) {
	buf.Write(append(wire.AppendJSON(buf.AvailableBuffer(), v, false), '\n'))
}

// encode sends v as JSON, and ignores a client that has gone.
func encode(w io.Writer, v any) {
	buf := getBuffer()
	defer putBuffer(buf)
	encodeTo(buf, v)
	if rw, ok := w.(*response); ok && !rw.sent {
		rw.Header().Set("Content-Length", strconv.Itoa(buf.Len()))
	}
	_, _ = w.Write(buf.Bytes())
}

// List is a JSON body: a list whose elements are encoded already. Operations that answer with it describe their body themselves.
type List [][]byte

// listPart is how many bytes of a list are written at a time: few enough to stay in the caches of a processor.
const listPart = 64 << 10

// send writes the list and a line break, and ignores a client that has gone.
func (l List) send(w *response) {
	length := len("[]\n") + max(0, len(l)-1)
	for _, element := range l {
		length += len(element)
	}
	w.Header().Set("Content-Length", strconv.Itoa(length))
	buf := getBuffer()
	defer putBuffer(buf)
	buf.WriteByte('[')
	for i, element := range l {
		if i > 0 {
			buf.WriteByte(',')
		}
		if buf.Len()+len(element) > listPart {
			if _, err := w.Write(buf.Bytes()); err != nil {
				return
			}
			buf.Reset()
		}
		buf.Write(element)
	}
	buf.WriteString("]\n")
	_, _ = w.Write(buf.Bytes())
}

// takesValue gives an answer to a caller in this process that takes values in place of JSON; false for all others.
func takesValue(w *response, v any) bool {
	for next := w.ResponseWriter; ; {
		if caller, ok := next.(interface{ TakeValue(v any) bool }); ok {
			return caller.TakeValue(v)
		}
		inner, ok := next.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return false
		}
		next = inner.Unwrap()
	}
}
