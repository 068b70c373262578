package checkpoint

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"
)

// commandTime bounds a call of a signer's command.
const commandTime = 20 * time.Second

// Command is a [Signer] whose keys are elsewhere, such as in a hardware module or a cloud's key management: a program, with first
// arguments, that is called in two ways.
//
//	PROGRAM keys ORIGIN   prints a line for each key: sign VKEY or verify VKEY
//	PROGRAM sign ORIGIN   reads a text and prints the signature by each key that signs, in base64, a line each
type Command []string

// Keys implements [Signer].
func (c Command) Keys(ctx context.Context, origin string) (signing, old []string, err error) {
	lines, err := c.run(ctx, "keys", origin, "")
	if err != nil {
		return nil, nil, err
	}
	for _, l := range lines {
		switch kind, key, _ := strings.Cut(l, " "); kind {
		case "sign":
			signing = append(signing, key)
		case "verify":
			old = append(old, key)
		default:
			return nil, nil, fmt.Errorf("%s keys %s: a line begins with neither sign nor verify", c[0], origin)
		}
	}
	if len(signing) == 0 {
		return nil, nil, fmt.Errorf("%s keys %s: no key that signs", c[0], origin)
	}
	return signing, old, nil
}

// Sign implements [Signer].
func (c Command) Sign(ctx context.Context, origin, text string) ([][]byte, error) {
	lines, err := c.run(ctx, "sign", origin, text)
	if err != nil {
		return nil, err
	}
	list := make([][]byte, len(lines))
	for i, l := range lines {
		if list[i], err = base64.StdEncoding.DecodeString(l); err != nil {
			return nil, fmt.Errorf("%s sign %s: a line is not a signature in base64", c[0], origin)
		}
	}
	return list, nil
}

// run calls the program and returns the lines that it prints.
func (c Command) run(ctx context.Context, verb, origin, input string) ([]string, error) {
	if len(c) == 0 {
		return nil, errors.New("the signer's command is empty")
	}
	ctx, cancel := context.WithTimeout(ctx, commandTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, c[0], append(append([]string{}, c[1:]...), verb, origin)...)
	cmd.WaitDelay = time.Second
	var out, problem limited
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &out, &problem
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s %s %s: %w: %.300s", c[0], verb, origin, err, problem.String())
	}
	var lines []string
	for l := range strings.Lines(out.String()) {
		if l = strings.TrimSpace(l); l != "" {
			lines = append(lines, l)
		}
	}
	return lines, nil
}

// limited is a buffer that ignores what goes beyond [MaxNote].
type limited struct{ bytes.Buffer }

// Write implements [io.Writer].
func (l *limited) Write(b []byte) (int, error) {
	if room := MaxNote - l.Len(); room > 0 {
		_, _ = l.Buffer.Write(b[:min(room, len(b))]) // a buffer never fails
	}
	return len(b), nil
}

var _ io.Writer = (*limited)(nil)
