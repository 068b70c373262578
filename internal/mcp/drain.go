package mcp

import (
	"bytes"
	"encoding/json"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// drained is a pair of streams whose input ends only after all requests that were read from it have been answered: the
// protocol's implementation drops what it is still working on when the input ends, as it does where requests are piped in.
type drained struct {
	in  io.Reader
	out io.Writer

	mu      sync.Mutex
	changed *sync.Cond
	waiting map[jsonrpc.ID]bool // of requests that were read and not answered; cancelled ones are answered, too
	closed  bool
	line    []byte // the rest of a line that was read
}

// maxLine bounds a line of input, in bytes, as far as it is looked at here.
const maxLine = 16 << 20

func drain(in io.Reader, out io.Writer) *drained {
	d := &drained{in: in, out: out, waiting: map[jsonrpc.ID]bool{}}
	d.changed = sync.NewCond(&d.mu)
	return d
}

// Read reads input and notes the requests in it.
func (d *drained) Read(p []byte) (int, error) {
	n, err := d.in.Read(p)
	d.mu.Lock()
	defer d.mu.Unlock()
	rest := p[:n]
	for at := bytes.IndexByte(rest, '\n'); at >= 0; at = bytes.IndexByte(rest, '\n') {
		d.note(append(d.line, rest[:at]...))
		d.line, rest = d.line[:0], rest[at+1:]
	}
	if d.line = append(d.line, rest...); len(d.line) > maxLine {
		d.line = nil
	}
	if err == nil {
		return n, nil
	}
	d.note(d.line)
	d.line = nil
	if n > 0 {
		return n, nil // the end comes with the next read
	}
	for len(d.waiting) > 0 && !d.closed {
		d.changed.Wait()
	}
	return 0, err
}

// note notes the requests in a line.
func (d *drained) note(line []byte) {
	for _, m := range messages(line) {
		if r, ok := m.(*jsonrpc.Request); ok && r.IsCall() {
			d.waiting[r.ID] = true // one more under an id that waits already is not answered
		}
	}
}

// messages reads a line the way that the protocol's implementation does: what that does not take for a request gets no answer.
func messages(line []byte) []jsonrpc.Message {
	parts := []json.RawMessage{line}
	if line = bytes.TrimSpace(line); len(line) > 0 && line[0] == '[' && json.Unmarshal(line, &parts) != nil {
		return nil
	}
	var out []jsonrpc.Message
	for _, part := range parts {
		if m, err := jsonrpc.DecodeMessage(part); err == nil {
			out = append(out, m)
		}
	}
	return out
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

// Write writes answers, each in one piece, and notes them. Where nobody takes them, none is waited for.
func (w drainedWriter) Write(p []byte) (int, error) {
	n, err := w.out.Write(p)
	answers := messages(p)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range answers {
		if r, ok := m.(*jsonrpc.Response); ok {
			delete(w.waiting, r.ID)
		}
	}
	w.closed = w.closed || err != nil
	w.changed.Broadcast()
	return n, err
}
