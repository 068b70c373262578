package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"unicode/utf8"

	"tenet/internal/rule"
)

// maxEdited bounds the text that comes back from an editor, in bytes.
const maxEdited = 16 << 20

// problemMark begins the comment lines that say what is wrong with an edited text.
const problemMark = "# ! "

// draft is a text that a person edits until it is accepted.
type draft struct {
	name string // pattern of the name of its file, as os.CreateTemp takes it
	text []byte
	// accept takes the edited text. An error that the person can mend opens the editor again, with the error above the text.
	accept func(text []byte) error
}

// errUnedited says that the editor has ended without a change.
var errUnedited = errors.New("nothing was changed")

// edit opens the editor on a text until accept takes what comes back. It returns errUnedited if the person leaves the first text as it is. If
// the person gives up on a text with a problem, the error is the problem, and names the file that has the text.
func (d *draft) edit(ctx context.Context, s *session) error {
	command, err := editorOf(s)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp("", d.name)
	if err != nil {
		return err
	}
	path := f.Name()
	if err := f.Close(); err != nil {
		return err
	}
	text, problem := d.text, error(nil)
	for {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return err
		}
		if err := runEditor(ctx, s, command, path); err != nil {
			return fmt.Errorf("%w; what you have typed is in %s", err, path)
		}
		edited, err := readEdited(path)
		if err != nil {
			return fmt.Errorf("%w; what you have typed is in %s", err, path)
		}
		if given := withoutProblem(edited); bytes.Equal(given, withoutProblem(text)) || blank(given) {
			return unedited(s, path, problem)
		}
		problem = d.accept(edited)
		switch {
		case problem == nil:
			return os.Remove(path)
		case errors.Is(problem, errUntouched) || !mendable(problem):
			return givenUp(s, path, problem)
		}
		text = withProblem(edited, problem)
	}
}

// unedited ends an edit that leads to nothing.
func unedited(s *session, path string, problem error) error {
	if problem == nil {
		return errors.Join(errUnedited, os.Remove(path))
	}
	return givenUp(s, path, problem)
}

// givenUp says where the text is that could not be stored.
func givenUp(s *session, path string, problem error) error {
	s.note("what you have typed is in %s", path)
	return problem
}

// mendable reports whether another text could help against an error.
func mendable(err error) bool {
	e, ok := errors.AsType[*rule.Error](err)
	return !ok || e.Code == rule.CodeInvalid || e.Code == rule.CodeConflict || e.Code == rule.CodeTooLarge
}

// editorOf returns the command of the person's editor.
func editorOf(s *session) (string, error) {
	command := cmp.Or(strings.TrimSpace(s.env("VISUAL")), strings.TrimSpace(s.env("EDITOR")))
	switch {
	case command != "":
		return command, nil
	case !isTerminal(s.stdin):
		return "", errors.New("there is neither an editor nor a terminal; set $EDITOR, or say what to change with flags")
	}
	return "vi", nil
}

// runEditor runs the editor on a file. Like git, it lets a shell read the command, which may have arguments.
func runEditor(ctx context.Context, s *session, command, path string) error {
	run := exec.CommandContext(ctx, "sh", "-c", command+` "$@"`, command, path)
	run.Stdin, run.Stdout, run.Stderr = s.stdin, s.err, s.err
	if isTerminal(s.out) {
		run.Stdout = s.out
	}
	if err := run.Run(); err != nil {
		return fmt.Errorf("the editor %q has failed: %w", command, err)
	}
	return nil
}

func readEdited(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxEdited {
		return nil, fmt.Errorf("the text has %d bytes; at most %d are possible", info.Size(), maxEdited)
	}
	text, err := os.ReadFile(path)
	if err == nil && !utf8.Valid(text) {
		err = errors.New("the text is not valid UTF-8")
	}
	return text, err
}

// withProblem puts a problem above a text, in place of an earlier one.
func withProblem(text []byte, problem error) []byte {
	var b bytes.Buffer
	say := func(words string) {
		for row := range strings.Lines(words) {
			fmt.Fprintf(&b, "%s%s\n", problemMark, line(strings.TrimRight(row, "\n")))
		}
	}
	say("This could not be stored. Mend it and save, or leave it as it is to give up.")
	if e, ok := errors.AsType[*rule.Error](problem); ok && len(e.Fields) > 0 {
		before, _, _ := strings.Cut(problem.Error(), e.Error())
		say(before + e.Message)
		for _, f := range e.Fields {
			say("  " + f.Field + ": " + f.Message)
		}
	} else {
		say(problem.Error())
	}
	b.Write(withoutProblem(text))
	return b.Bytes()
}

func withoutProblem(text []byte) []byte {
	var b bytes.Buffer
	for row := range bytes.Lines(text) {
		if !bytes.HasPrefix(row, []byte(problemMark)) {
			b.Write(row)
		}
	}
	return b.Bytes()
}

// blank reports whether a text has nothing but comments.
func blank(text []byte) bool {
	for row := range bytes.Lines(text) {
		if row = bytes.TrimSpace(row); len(row) > 0 && row[0] != '#' {
			return false
		}
	}
	return true
}
