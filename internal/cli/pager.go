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
func paged(s *session, print func() error) error {
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
	if bytes.Count(text.Bytes(), []byte("\n")) < height || !page(s, &text) {
		if _, failed := io.Copy(f, &text); err == nil {
			err = failed
		}
	}
	return err
}

// pagedText prints a text as [paged] does.
func pagedText(s *session, text string) error {
	return paged(s, func() error {
		_, err := io.WriteString(s.out, text)
		return err
	})
}

// pagerOf is the command that shows long output; empty for none.
func pagerOf(s *session) []string {
	for _, name := range []string{"TENET_PAGER", "PAGER"} {
		if value := s.env(name); value != "" || s.isSet(name) {
			words := strings.Fields(value)
			if len(words) == 1 && words[0] == "cat" {
				return nil
			}
			return words
		}
	}
	return []string{"less"}
}

// page shows a text in the pager; false if there is none, and then the text is as it was.
func page(s *session, text *bytes.Buffer) bool {
	words := pagerOf(s)
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
