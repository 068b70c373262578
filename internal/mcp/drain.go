package mcp

import (
	"bytes"
	"encoding/json"
	"io"
	"sync"
)

// drained is a pair of streams whose input ends only after all requests that were read from it have been answered: the
// protocol's implementation drops what it is still working on when the input ends, as it does where requests are piped in.
type drained struct {
	in  io.Reader
	out io.Writer

	mu      sync.Mutex
	changed *sync.Cond
	waiting int // requests that were read and not answered
	closed  bool
	line    []byte // the rest of a line that was read
}

// maxLine bounds a line of input, in bytes, as far as it is looked at here.
const maxLine = 16 << 20

func drain(in io.Reader, out io.Writer) *drained {
	d := &drained{in: in, out: out}
	d.changed = sync.NewCond(&d.mu)
	return d
}

// Read reads input and counts the requests in it.
func (d *drained) Read(p []byte) (int, error) {
	n, err := d.in.Read(p)
	d.mu.Lock()
	defer d.mu.Unlock()
	rest := p[:n]
	for at := bytes.IndexByte(rest, '\n'); at >= 0; at = bytes.IndexByte(rest, '\n') {
		d.count(append(d.line, rest[:at]...))
		d.line, rest = d.line[:0], rest[at+1:]
	}
	if d.line = append(d.line, rest...); len(d.line) > maxLine {
		d.line = nil
	}
	if err == nil {
		return n, nil
	}
	d.count(d.line)
	d.line = nil
	if n > 0 {
		return n, nil // the end comes with the next read
	}
	for d.waiting > 0 && !d.closed {
		d.changed.Wait()
	}
	return 0, err
}

// count counts a line if it is a request. One that is cancelled need not be answered.
func (d *drained) count(line []byte) {
	var message struct {
		Method string          `json:"method"`
		ID     json.RawMessage `json:"id"`
	}
	switch {
	case json.Unmarshal(line, &message) != nil:
	case message.Method != "" && len(message.ID) > 0:
		d.waiting++
	case message.Method == "notifications/cancelled" && d.waiting > 0:
		d.waiting--
	}
}

// Close ends the wait for answers.
func (d *drained) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	d.changed.Broadcast()
	return nil
}

// writer is the output.
func (d *drained) writer() io.WriteCloser { return drainedWriter{d} }

type drainedWriter struct{ *drained }

// Write writes an answer, which comes in one piece, and counts it.
func (w drainedWriter) Write(p []byte) (int, error) {
	n, err := w.out.Write(p)
	var message struct {
		Method string          `json:"method"`
		ID     json.RawMessage `json:"id"`
	}
	answers := err != nil || json.Unmarshal(p, &message) == nil && message.Method == "" && len(message.ID) > 0
	w.mu.Lock()
	defer w.mu.Unlock()
	if answers && w.waiting > 0 {
		w.waiting--
		w.changed.Broadcast()
	}
	return n, err
}
