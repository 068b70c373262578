package cli

import (
	"bytes"
	"cmp"
	"io"
	"os"
	"os/exec"
	"strings"

	"golang.org/x/term"
)

// paged calls print, and shows what it prints in a pager if it is longer than the terminal: that of $TENET_PAGER or $PAGER, else less. Without a
// terminal, with --no-pager, and with a pager that is empty or cat, it goes to stdout as it is.
func (s *session) paged(print func() error) error {
	f, ok := s.out.(*os.File)
	if !ok || !isTerminal(f) || !isTerminal(s.stdin) || s.globals.NoPager || s.env("TERM") == "dumb" {
		return print()
	}
	_, height, err := term.GetSize(int(f.Fd()))
	if err != nil || height <= 0 {
		return print()
	}
	var text bytes.Buffer
	s.columns, s.out = s.width(), &text
	err = print()
	s.columns, s.out = 0, f
	if bytes.Count(text.Bytes(), []byte("\n")) < height || !s.page(&text) {
		if _, failed := io.Copy(f, &text); err == nil {
			err = failed
		}
	}
	return err
}

// pager is the command that shows long output; empty for none.
func (s *session) pager() []string {
	for _, name := range []string{"TENET_PAGER", "PAGER"} {
		if value, ok := s.environ(name); ok {
			words := strings.Fields(value)
			if len(words) == 1 && words[0] == "cat" {
				return nil
			}
			return words
		}
	}
	return []string{"less"}
}

// environ is a variable of the environment, and whether it is set.
func (s *session) environ(name string) (string, bool) {
	value := s.env(name)
	return value, value != "" || s.isSet != nil && s.isSet(name)
}

// page shows a text in the pager; false if there is none, and then the text is as it was.
func (s *session) page(text *bytes.Buffer) bool {
	words := s.pager()
	if len(words) == 0 {
		return false
	}
	program, err := exec.LookPath(words[0])
	if err != nil {
		return false
	}
	cmd := exec.Command(program, words[1:]...) //nolint:gosec,noctx // the user's own command; an interrupt is for the pager
	cmd.Env = append(os.Environ(), "LESS="+cmp.Or(s.env("LESS"), "FRX"))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(text.Bytes()), s.out, s.err
	if err := cmd.Start(); err != nil {
		return false
	}
	_ = cmd.Wait() // people leave pagers in many ways
	return true
}
