package e2e

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"

	"tenet/internal/porttest"

	"github.com/rogpeppe/go-internal/testscript"

	"tenet/internal/cli"
)

// TestMain lets the test binary be the programs that scripts call: under the name tenet, it is the real command line.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"tenet": func() { os.Exit(tenet()) },
		"model": func() { os.Exit(model(os.Args[1:])) },
	})
}

// tenet does what main of cmd/tenet does.
func tenet() int {
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return cli.Main(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ())
}

// TestScripts runs the scripts with the program that TENET_TEST_PROGRAM names, an absolute path ending in tenet: as a user would have
// it, and four times as fast as this test binary with the race detector, which takes its place where the variable is empty.
func TestScripts(t *testing.T) {
	examples, err := filepath.Abs("../examples")
	if err != nil {
		t.Fatal(err)
	}
	action, err := filepath.Abs("../scripts/ci/action.sh")
	if err != nil {
		t.Fatal(err)
	}
	program := os.Getenv("TENET_TEST_PROGRAM")
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			addr, release, err := porttest.Reserve()
			if err != nil {
				return err
			}
			e.Defer(release)
			home := filepath.Join(e.WorkDir, "home")
			e.Setenv("HOME", home)
			e.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(home, ".gitconfig"))
			e.Setenv("GIT_CONFIG_NOSYSTEM", "1")
			e.Setenv("ADDR", addr)
			e.Setenv("URL", "http://"+addr)
			e.Setenv("EXAMPLES", examples)
			e.Setenv("ACTION", action)
			e.Setenv("ACTIONROOT", filepath.Dir(filepath.Dir(filepath.Dir(action))))
			if program != "" {
				e.Setenv("PATH", filepath.Dir(program)+string(filepath.ListSeparator)+e.Getenv("PATH"))
			}
			if addr, release, err = porttest.Reserve(); err != nil {
				return err
			}
			e.Defer(release)
			e.Setenv("MODEL_ADDR", addr)
			// Under the race detector, every program would sleep for a second at its end.
			e.Setenv("GORACE", "atexit_sleep_ms=10")
			return os.Mkdir(home, 0o700)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"capture": capture, "exits": exits, "http": call, "nothing": nothing, "tamper": tamper,
		},
	})
}

// capture NAME FILE REGEXP puts the first group of the expression, found in the file (or stdout, or stderr), into the
// environment.
func capture(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: capture NAME FILE REGEXP")
	}
	m := regexp.MustCompile(args[2]).FindStringSubmatch(ts.ReadFile(args[1]))
	if len(m) != 2 {
		ts.Fatalf("%s does not match %s", args[1], args[2])
	}
	ts.Setenv(args[0], m[1])
}

// nothing PATTERN fails if a file matches the glob.
func nothing(ts *testscript.TestScript, _ bool, args []string) {
	for _, pattern := range args {
		found, err := filepath.Glob(ts.MkAbs(pattern))
		if err != nil || len(found) > 0 {
			ts.Fatalf("%s: there are %v (%v)", pattern, found, err)
		}
	}
}

func complain(format string, args ...any) int {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
	return 99
}
