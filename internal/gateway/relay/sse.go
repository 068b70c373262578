package relay

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
)

// event is an event of a stream of server-sent events.
type event struct {
	id, name, retry string
	hasID           bool
	data            []byte // nil for an event without data
}

// events reads a stream of server-sent events.
type events struct {
	in    *bufio.Reader
	limit int
}

func newEvents(in io.Reader, limit int) *events {
	return &events{bufio.NewReaderSize(in, 64<<10), limit}
}

// next returns the next event that says something; io.EOF at the end. An event that the stream breaks off in is lost, as the standard says.
func (e *events) next() (event, error) {
	var ev event
	empty := true
	size := 0
	for {
		line, err := e.line(e.limit - size)
		if err != nil {
			return ev, err
		}
		size += len(line)
		if len(line) == 0 {
			if !empty {
				return ev, nil
			}
			continue
		}
		name, value, _ := strings.Cut(string(line), ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "data":
			if ev.data != nil {
				ev.data = append(ev.data, '\n')
			}
			ev.data = append(ev.data, value...)
			if ev.data == nil {
				ev.data = []byte{}
			}
		case "id":
			ev.id, ev.hasID = value, true
		case "event":
			ev.name = value
		case "retry":
			ev.retry = value
		default:
			continue // comments and unknown fields
		}
		empty = false
	}
}

// line reads a line without its end, which may be a line feed with or without a carriage return before it.
func (e *events) line(limit int) ([]byte, error) {
	var line []byte
	for {
		part, err := e.in.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > limit {
			return nil, tooLong{e.limit}
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil {
			return nil, err
		}
		return bytes.TrimRight(line, "\r\n"), nil
	}
}

// write writes an event and has it sent at once.
func (ev *event) write(w http.ResponseWriter) error {
	var b bytes.Buffer
	field := func(name, value string) { b.WriteString(name + ": " + value + "\n") }
	if ev.name != "" {
		field("event", ev.name)
	}
	if ev.hasID {
		field("id", ev.id)
	}
	if ev.retry != "" {
		field("retry", ev.retry)
	}
	if ev.data != nil {
		for part := range bytes.SplitSeq(ev.data, []byte("\n")) {
			b.WriteString("data: ")
			b.Write(part)
			b.WriteByte('\n')
		}
	}
	b.WriteByte('\n')
	if _, err := w.Write(b.Bytes()); err != nil {
		return err
	}
	return http.NewResponseController(w).Flush()
}
