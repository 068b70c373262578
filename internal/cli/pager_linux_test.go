package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unsafe"
)

// terminal opens a terminal of 24 lines whose output is thrown away.
func terminal(t *testing.T) *os.File {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = master.Close() })
	control := func(f *os.File, request uintptr, at unsafe.Pointer) {
		t.Helper()
		if _, _, failed := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), request, uintptr(at)); failed != 0 {
			t.Skip(failed)
		}
	}
	var number, locked int32
	control(master, syscall.TIOCGPTN, unsafe.Pointer(&number))
	control(master, syscall.TIOCSPTLCK, unsafe.Pointer(&locked))
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = slave.Close() })
	size := [4]uint16{24, 80}
	control(slave, syscall.TIOCSWINSZ, unsafe.Pointer(&size))
	go func() { _, _ = io.Copy(io.Discard, master) }()
	return slave
}

// TestLongReportsGoToThePager judges and scans on a terminal: what is longer than that goes to a pager, and nothing else does.
func TestLongReportsGoToThePager(t *testing.T) {
	t.Parallel()
	screen := terminal(t)
	dir := t.TempDir()
	var rules, guide strings.Builder
	rules.WriteString("rules:\n")
	guide.WriteString("# Guide\n\n")
	for i := range 30 {
		fmt.Fprintf(&rules, "  - {slug: R-%d, statement: Payment %d must be approved., check: {cel: \"facts.amount < %d\"}}\n", i, i, i)
		fmt.Fprintf(&guide, "- Payments of kind %d must be approved by two people.\n", i)
	}
	if err := os.Mkdir(filepath.Join(dir, "repo"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"rules.yaml": rules.String(), "one.yaml": "rules:\n  - {slug: R, statement: Payments must be approved., check: {cel: \"facts.amount < 1\"}}\n", "facts.json": `{"amount": 99}`, "repo/AGENTS.md": guide.String(),
		"pager": "#!/bin/sh\ncat > " + dir + "/seen\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil { //nolint:gosec // one of them is a program
			t.Fatal(err)
		}
	}
	check := func(rules string, more ...string) []string {
		return append([]string{"check", "--rules", filepath.Join(dir, rules), "--facts", filepath.Join(dir, "facts.json")}, more...)
	}
	for _, c := range []struct {
		args  []string
		code  int
		pages string // what the pager has to show; empty if it is not to be called
	}{
		{check("rules.yaml"), exitFound, "R-29"},
		{check("one.yaml"), exitFound, ""},
		{check("rules.yaml", "--no-pager"), exitFound, ""},
		{check("rules.yaml", "--format", "json"), exitFound, ""},
		{[]string{"scan", filepath.Join(dir, "repo")}, exitOK, "kind 29"},
	} {
		seen := filepath.Join(dir, "seen")
		_ = os.Remove(seen)
		environ := []string{"TENET_PAGER=" + filepath.Join(dir, "pager"), "PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TENET_DATA=" + filepath.Join(dir, "data")}
		var errs strings.Builder
		code := Main(t.Context(), c.args, screen, screen, &errs, environ)
		text, _ := os.ReadFile(seen)
		if code != c.code || (len(text) > 0) != (c.pages != "") || !strings.Contains(string(text), c.pages) {
			t.Errorf("%v: exit %d, the pager got %q; %s", c.args, code, text, errs.String())
		}
	}
}
