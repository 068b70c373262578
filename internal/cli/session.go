package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"tenet/internal/client"
)

// session is the environment of a command: its streams, its environment and the global flags.
type session struct {
	stdin    io.Reader // as it was given; read it through in
	in       io.Reader // stdin, until the command is interrupted
	out, err io.Writer
	env      func(string) string
	globals  *globals
	settings *settingsText     // the settings file that is named, if it was read from a commit
	isSet    func(string) bool // whether the environment has a variable, also an empty one
	columns  int               // width of the terminal while output is collected for a pager; 0 asks the stream
	colour   bool
	working  bool           // an embedded node carries out background work
	follow   bool           // an embedded node sees what other processes change
	server   *client.Client // of the server in use, if it is not this process
	scratch  bool           // the node in use has a throw-away database
}

// interruptible reads until its context ends, also where the reader it reads from would wait without limit.
type interruptible struct {
	ctx  context.Context
	from io.Reader
}

// Read implements [io.Reader]. After an interruption what arrives later is lost.
func (r interruptible) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	type result struct {
		n   int
		err error
	}
	own := make([]byte, len(p))
	arrived := make(chan result, 1)
	go func() {
		n, err := r.from.Read(own)
		arrived <- result{n, err}
	}()
	select {
	case <-r.ctx.Done():
		return 0, r.ctx.Err()
	case got := <-arrived:
		return copy(p, own[:got.n]), got.err
	}
}

// lookup reads an environment in the form of os.Environ; the last of equal names counts.
func lookup(environ []string) func(string) string {
	values := make(map[string]string, len(environ))
	for _, entry := range environ {
		if name, value, ok := strings.Cut(entry, "="); ok {
			values[name] = value
		}
	}
	return func(name string) string { return values[name] }
}

// naming returns whether an environment in the form of os.Environ has a variable.
func naming(environ []string) func(string) bool {
	names := make(map[string]bool, len(environ))
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		names[name] = true
	}
	return func(name string) bool { return names[name] }
}

// isTerminal reports whether a stream is a terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// wantsColour follows --color, and otherwise https://no-color.org.
func (s *session) wantsColour() bool {
	switch s.globals.Color {
	case "always":
		return true
	case "never":
		return false
	}
	return isTerminal(s.out) && s.env("NO_COLOR") == "" && s.env("TERM") != "dumb"
}

func (s *session) style(code, text string) string {
	if !s.colour {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (s *session) bold(text string) string   { return s.style("1", text) }
func (s *session) dim(text string) string    { return s.style("2", text) }
func (s *session) red(text string) string    { return s.style("31", text) }
func (s *session) green(text string) string  { return s.style("32", text) }
func (s *session) yellow(text string) string { return s.style("33", text) }

// note prints a line for people to stderr.
func (s *session) note(format string, args ...any) {
	fmt.Fprintf(s.err, "tenet: "+format+"\n", args...)
}

// progress shows on a terminal how long a command has been working, after the first half second. The returned function ends it.
func (s *session) progress(what string) (done func()) {
	if !isTerminal(s.err) {
		return func() {}
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	began := time.Now()
	go func() {
		defer close(stopped)
		tick := time.NewTicker(500 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				fmt.Fprint(s.err, "\r\x1b[K")
				return
			case <-tick.C:
				fmt.Fprintf(s.err, "\r\x1b[K%s %d s", what, int(time.Since(began).Seconds()))
			}
		}
	}()
	return func() { close(stop); <-stopped }
}

// width is how many columns lines may have; a stream that is no terminal has no limit, which is 0.
func (s *session) width() int {
	if s.columns > 0 {
		return s.columns
	}
	if f, ok := s.out.(*os.File); ok {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil {
			return w
		}
	}
	return 0
}
