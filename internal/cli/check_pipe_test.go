//go:build unix

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A pipe that nobody writes to does not hold a check beyond its time limit, and what never ends is no file to judge.
func TestAPipeIsNotWaitedForWithoutLimit(t *testing.T) {
	pipe := func() string {
		t.Helper()
		name := filepath.Join(t.TempDir(), "pipe")
		if err := syscall.Mkfifo(name, 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	written := pipe()
	go func() { // what a process substitution does
		if f, err := os.OpenFile(written, os.O_WRONLY, 0); err == nil {
			_, _ = f.WriteString("nonsense")
			_ = f.Close()
		}
	}()
	for want, args := range map[string][]string{
		"is no plain file":               {"check", "--file", pipe()},
		"/dev/zero is no plain file":     {"check", "--file", "/dev/zero"},
		"within 50ms; see --timeout":     {"check", "--facts", pipe(), "--timeout", "50ms"},
		"the facts in " + written + " a": {"check", "--facts", written},
	} {
		if code, _, errs := run(t, "", args...); code != exitFailed || !strings.Contains(errs, want) {
			t.Errorf("%v exits with %d and %q; want %q", args, code, errs, want)
		}
	}
}
