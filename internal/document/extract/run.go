package extract

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"time"

	"tenet/internal/rule"
)

// atOnce bounds the reading processes that run at once; further ones wait.
var atOnce = make(chan struct{}, max(2, runtime.NumCPU()/2))

// Run takes the text of a file in a process of its own. The process has no environment, a limit of memory, and is
// killed when its time is up. The error has the code invalid for a file that is encrypted, damaged, holds no text or
// takes too long, too_large for one beyond a limit, and is that of ctx when ctx ends.
func Run(ctx context.Context, f Format, data []byte, limits Limits) (*Result, error) {
	limits = limits.withDefaults()
	select {
	case atOnce <- struct{}{}:
		defer func() { <-atOnce }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	spec, err := json.Marshal(task{f, limits})
	if err != nil {
		return nil, err
	}
	timed, cancel := context.WithTimeout(ctx, limits.Time)
	defer cancel()
	out := &bounded{limit: 16*limits.Characters + 1<<20}
	cmd, err := command(timed, string(spec))
	if err != nil {
		return nil, err
	}
	cmd.Stdin, cmd.Stdout = bytes.NewReader(data), out
	err = cmd.Run()
	switch exited, ok := errors.AsType[*exec.ExitError](err); {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case timed.Err() != nil:
		return nil, rule.Errorf(rule.CodeInvalid, "the %s file takes longer than %s to read; split it, or save it in another format", f.Noun(), limits.Time)
	case ok && exited.ExitCode() == childStuffed:
		return nil, rule.Errorf(rule.CodeTooLarge, "the %s file needs more than %d MiB of memory to read; split it, or save it in another format",
			f.Noun(), limits.Memory>>20)
	case out.full:
		return nil, rule.Errorf(rule.CodeTooLarge, "the document holds more than %d characters of text; split it", limits.Characters)
	case ok:
		return nil, rule.Errorf(rule.CodeInvalid, "the %s file is damaged and cannot be read", f.Noun())
	case err != nil:
		return nil, fmt.Errorf("extract: the reading process: %w", err)
	}
	return conclude(out.Bytes())
}

// conclude reads what the process has answered.
func conclude(answer []byte) (*Result, error) {
	var o outcome
	if err := json.Unmarshal(answer, &o); err != nil {
		return nil, fmt.Errorf("extract: the answer of the reading process: %w", err)
	}
	if o.Result == nil {
		return nil, rule.Errorf(o.Code, "%s", o.Message)
	}
	if len(o.Result.Blocks) == 0 {
		return nil, rule.Errorf(rule.CodeInvalid, "the document holds no text; if it is made of pictures, run it through text recognition (OCR) first")
	}
	return o.Result, nil
}

// command makes the reading process: this program again. On Linux it is found by a name that stays right when the file is
// replaced by a newer version.
func command(ctx context.Context, spec string) (*exec.Cmd, error) {
	self := "/proc/self/exe"
	if _, err := os.Stat(self); err != nil {
		if self, err = os.Executable(); err != nil {
			return nil, fmt.Errorf("extract: finding this program: %w", err)
		}
	}
	cmd := exec.CommandContext(ctx, self, childArgument)
	cmd.Env = []string{childVariable + "=" + spec} // no secrets
	if root := os.Getenv("SystemRoot"); root != "" {
		cmd.Env = append(cmd.Env, "SystemRoot="+root) // without which Windows starts nothing
	}
	cmd.WaitDelay = 5 * time.Second
	return cmd, nil
}

// bounded keeps what a process prints, up to a limit.
type bounded struct {
	bytes.Buffer

	limit int
	full  bool
}

// Write implements [io.Writer]; beyond the limit it fails, which ends the process.
func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > b.limit {
		b.full = true
		return 0, errTooLarge
	}
	return b.Buffer.Write(p)
}
