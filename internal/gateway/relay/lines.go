package relay

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
)

// stream carries messages to and from one side.
type stream interface {
	// receive returns the next message or batch; io.EOF at the end. An error of type tooLong is about that message alone.
	receive(ctx context.Context) ([]byte, error)
	// send sends a message. About is the key of the client's request that it belongs to; empty for none.
	send(ctx context.Context, raw []byte, about string) error
}

// tooLong is a message beyond the limit.
type tooLong struct{ limit int }

func (e tooLong) Error() string { return fmt.Sprintf("the message has more than %d MiB", e.limit>>20) }

// lines is a stream of lines, as stdio has them.
type lines struct {
	in    *bufio.Reader
	limit int

	mu  sync.Mutex
	out io.Writer
}

func newLines(in io.Reader, out io.Writer, limit int) *lines {
	return &lines{in: bufio.NewReaderSize(in, 64<<10), out: out, limit: limit}
}

// receive implements stream. Empty lines are left out.
func (l *lines) receive(context.Context) ([]byte, error) {
	for {
		line, err := l.line()
		if err != nil {
			return nil, err
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return line, nil
		}
	}
}

// line reads a line, and drops it if it is too long.
func (l *lines) line() ([]byte, error) {
	var line []byte
	long := false
	for {
		part, err := l.in.ReadSlice('\n')
		if !long {
			line = append(line, part...)
		}
		if len(line) > l.limit {
			long, line = true, nil
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && long, err == nil && long:
			return nil, tooLong{l.limit}
		case err != nil && len(bytes.TrimSpace(line)) > 0: // the last line has no end
			return line, nil
		}
		return line, err
	}
}

// send implements stream.
func (l *lines) send(_ context.Context, raw []byte, _ string) error {
	raw = oneLine(raw)
	if raw == nil {
		return errors.New("the message cannot be written as one line")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := l.out.Write(append(slices.Clip(raw), '\n'))
	return err
}
