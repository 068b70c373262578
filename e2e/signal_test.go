package e2e

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestServeStopsWhenAsked(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		n := startNode(t, "--data", t.TempDir())
		began := time.Now()
		if err := n.stop(s); err != nil {
			t.Errorf("%s ends the node with %v:\n%s", s, err, n.log.String())
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("%s takes %s to end an idle node", s, took)
		}
	}
}

func TestInterruptedCheckEndsAtOnceAndLeavesNothing(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	temp := t.TempDir()
	// A pipe that nobody writes to, as from a command that hangs.
	silent, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = silent.Close(), writer.Close() }()
	cmd := exec.Command(program)
	cmd.Args = []string{"tenet", "check"}
	cmd.Env = append(os.Environ(), "HOME="+temp, "TMPDIR="+temp)
	var complaint bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = silent, io.Discard, &complaint
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// More than a pipe holds: when it is written, the command reads its input and waits for the rest of the diff.
	if _, err := writer.WriteString(strings.Repeat("# no diff\n", 20_000)); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // the exit code tells
	if code := cmd.ProcessState.ExitCode(); code != 130 || !strings.Contains(complaint.String(), "interrupted") || time.Since(began) > 5*time.Second {
		t.Errorf("exits with %d after %s and says %q", code, time.Since(began), complaint.String())
	}
	if left, err := filepath.Glob(filepath.Join(temp, "*")); err != nil || len(left) > 0 {
		t.Errorf("leaves %v (%v)", left, err)
	}
}
