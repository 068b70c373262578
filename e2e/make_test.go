package e2e

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"tenet/internal/porttest"
)

// checkout makes a folder with what `make run` reads, and returns a function that makes the command with no Go on the machine.
func checkout(t *testing.T) func(arguments ...string) *exec.Cmd {
	t.Helper()
	folder, bin := t.TempDir(), t.TempDir()
	for _, name := range []string{"Makefile", "VERSION", "go.mod", "scripts", "examples"} {
		path, err := filepath.Abs(filepath.Join("..", name))
		if err != nil {
			t.Fatal(err)
		}
		if out, err := exec.CommandContext(t.Context(), "cp", "-r", path, folder).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	for _, name := range []string{"awk", "bash", "cat", "chmod", "curl", "cut", "dirname", "git", "grep", "gzip", "make", "mkdir", "mktemp", "mv", "rm", "sh", "sha256sum", "tar", "tr", "uname"} {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Skipf("%s is missing on this machine", name)
		}
		if err := os.Symlink(path, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	home := t.TempDir()
	return func(arguments ...string) *exec.Cmd {
		command := exec.CommandContext(t.Context(), filepath.Join(bin, "make"), arguments...)
		command.Dir = folder
		command.Env = []string{"PATH=" + bin, "HOME=" + home, "LANG=C.UTF-8"}
		command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGTERM) }
		return command
	}
}

// Without Go, make run takes the program from a release, if its checksum is right, and says so; without a release it says what to do.
func TestMakeRunWithoutGo(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("it links the programs of a Linux machine into a folder without Go")
	}
	text, err := os.ReadFile("../VERSION")
	if err != nil {
		t.Fatal(err)
	}
	version := strings.TrimSpace(string(text))
	name, archive := released(t, version)
	sum := sha256.Sum256(archive)
	server := releases(t, version, name, archive, map[string]string{
		"good": hex.EncodeToString(sum[:]) + "  " + name + "\n", "replaced": strings.Repeat("0", 64) + "  " + name + "\n",
	})
	run := checkout(t)
	for arguments, says := range map[string]string{
		"build": "build: Go is missing. Install Go 1.",
		"run TENET_RELEASES=" + server.URL + "/replaced": "is not the expected one",
	} {
		if out, err := run(strings.Fields(arguments)...).CombinedOutput(); err == nil || !strings.Contains(string(out), says) {
			t.Errorf("make %s: %v, want %q in\n%s", arguments, err, says, out)
		}
	}

	addr := porttest.Address(t)
	command := run("run", "TENET_RELEASES="+server.URL+"/good", "LISTEN="+addr)
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	command.Stderr = command.Stdout
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	var printed strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan(); {
		printed.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), "serves on http://"+addr) {
			break
		}
	}
	if err := command.Cancel(); err != nil {
		t.Error(err)
	}
	_ = command.Wait() // ended by a signal
	for _, want := range []string{"== Go is missing: taking release " + version, "DENY  4 violated", "DENY  1 violated", "serves on http://" + addr} {
		if !strings.Contains(printed.String(), want) {
			t.Errorf("make run does not print %q:\n%s", want, printed.String())
		}
	}
}
