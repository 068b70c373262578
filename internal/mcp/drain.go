package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// drained is a pair of streams whose input ends only after all requests that were read from it have been answered: the
// protocol's implementation drops what it is still working on when the input ends, as it does where requests are piped in.
// It passes whole lines on, without those that have two readings or are no JSON: a message is a line by the protocol, and one over several
// lines would not be looked at here.
type drained struct {
	in  io.Reader
	out io.Writer

	// Of the reader alone.
	chunk []byte
	line  []byte // the beginning of a line
	ready []byte // lines that may pass
	err   error  // what the input ended with

	writing sync.Mutex // held while an answer is written
	mu      sync.Mutex
	changed *sync.Cond
	waiting map[jsonrpc.ID]bool // of requests that were read and not answered; cancelled ones are answered, too
	closed  bool
}

// maxLine bounds a line of input, in bytes: more than any request that the API takes.
const maxLine = 64 << 20

// longLine is how many bytes of memory are kept for the next lines.
const longLine = 1 << 20

// chunkSize is how many bytes are read at a time.
const chunkSize = 32 << 10

func drain(in io.Reader, out io.Writer) *drained {
	d := &drained{in: in, out: out, chunk: make([]byte, chunkSize), waiting: map[jsonrpc.ID]bool{}}
	d.changed = sync.NewCond(&d.mu)
	return d
}

// Read reads lines of the input, and notes the requests in them.
func (d *drained) Read(p []byte) (int, error) {
	for len(d.ready) == 0 && d.err == nil {
		d.fill()
	}
	if len(d.ready) > 0 {
		n := copy(p, d.ready)
		d.ready = d.ready[n:]
		return n, nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for len(d.waiting) > 0 && !d.closed {
		d.changed.Wait()
	}
	return 0, d.err
}

// fill reads once, and passes on the lines that it completes.
func (d *drained) fill() {
	n, err := d.in.Read(d.chunk)
	if d.ready = d.ready[:0]; cap(d.ready) > longLine {
		d.ready = nil
	}
	rest := d.chunk[:n]
	for at := bytes.IndexByte(rest, '\n'); at >= 0; at = bytes.IndexByte(rest, '\n') {
		d.pass(append(d.line, rest[:at+1]...))
		d.line, rest = d.line[:0], rest[at+1:]
	}
	d.line = append(d.line, rest...)
	if len(d.line) > maxLine && err == nil {
		err = fmt.Errorf("a message is longer than %d MiB", maxLine>>20)
		d.line = nil
	}
	if err != nil {
		d.pass(d.line)
		d.line, d.err = nil, err
	}
	if cap(d.line) > longLine {
		d.line = bytes.Clone(d.line)
	}
}

// pass passes a line on and notes the requests in it, or refuses it.
func (d *drained) pass(line []byte) {
	if len(bytes.TrimSpace(line)) == 0 {
		return
	}
	list := messages(line)
	name, found := twice(line)
	switch {
	case found:
		d.answer(refusals(list, fmt.Sprintf(errTwice, name)))
		return
	case !json.Valid(line):
		d.answer([]byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"a line is not valid JSON; write each message on a line of its own"}}` + "\n"))
		return
	}
	d.ready = append(d.ready, line...)
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, m := range list {
		if r, ok := m.(*jsonrpc.Request); ok && r.IsCall() {
			d.waiting[r.ID] = true // one more under an id that waits already is not answered
		}
	}
}

// answer writes an answer of this side. Where nobody takes it, nobody takes the next one either.
func (d *drained) answer(lines []byte) {
	if len(lines) == 0 {
		return // to notifications
	}
	d.writing.Lock()
	defer d.writing.Unlock()
	_, _ = d.out.Write(lines)
}

// messages reads a line the way that the protocol's implementation does: what that does not take for a request gets no answer.
func messages(line []byte) []jsonrpc.Message {
	var out []jsonrpc.Message
	for _, part := range batch(line) {
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
	w.writing.Lock()
	n, err := w.out.Write(p)
	w.writing.Unlock()
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
