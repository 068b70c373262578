package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// run calls Main with an empty home, so that no database of the user is touched.
func run(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return runIn(t.Context(), t, stdin, nil, args...)
}

func runIn(ctx context.Context, t *testing.T, stdin string, environ []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out bytes.Buffer
	var errs shared
	environ = append([]string{"HOME=" + t.TempDir()}, environ...)
	code = Main(ctx, args, strings.NewReader(stdin), &out, &errs, environ)
	return code, out.String(), errs.String()
}

// shared is a buffer that a command writes to, and the programs that it starts.
type shared struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *shared) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func TestUsageErrorsExitWith2AndSayWhatToDo(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"chekc"}, "chekc"},
		{[]string{"check", "--stagd"}, "tenet check --help"},
		{[]string{"check", "a..b", "c..d"}, "unexpected argument c..d"},
		{[]string{"check", "--staged", "main..HEAD"}, "not both"},
		{[]string{"check", "--", "--output=/tmp/x"}, "is not a git range"},
		{[]string{"check", "--format", "xml"}, "xml"},
		{[]string{"check", "--fail-on", "sometimes"}, "sometimes"},
		{[]string{"check", "--max-rules", "many"}, "many"},
		{[]string{"check", "--max-rules", "0"}, "1 to 100"},
		{[]string{"check", "--action", "x", "--staged"}, "alone"},
		{[]string{"check", "--action", "x", "--intent", "y"}, "--scope and --node only"},
		{[]string{"nodes", "create", "x"}, "--level"},
		{[]string{"nodes", "create", "x", "--level", "squad"}, "squad"},
		{[]string{"nodes", "update", "x", "--repository", "a/*", "--unbind"}, "--unbind"},
		{[]string{"check", "-", "--facts", "-"}, "both come from stdin"},
		{[]string{"check", "--facts", "/no/such/file"}, "/no/such/file"},
		{[]string{"check", "--facts", `{"amount": `}, "the facts in --facts are not JSON"},
		{[]string{"check", "--file", "/"}, "is a folder"},
		{[]string{"check", "--file", "-"}, "--file takes the path"},
		{[]string{"check", "--rules", "/no/such/file", "--action", "x"}, "/no/such/file"},
		{[]string{"check", "--rules", "-"}, "a file or a folder"},
		{[]string{"check", "--rules", "x", "--server", "http://localhost"}, "goes without"},
		{[]string{"rules", "list", "--server", "http://localhost", "--data", "x"}, "goes without --data"},
		{[]string{"rules", "list", "--server", "localhost"}, "is not the address of a server"},
		{[]string{"rules", "apply", "x.yaml"}, "--yes"},
		{[]string{"rules"}, "list"},
		{[]string{"rules", "export", "--node", "x"}, "agents.md"},
		{[]string{"rules", "export", "--format", "word"}, "word"},
		{[]string{"scan", "--sources", "wiki"}, "policy_document, assistant_md, linter_config, code_patterns"},
		{[]string{"scan", "--min-confidence", "7"}, "between 0 and 1"},
		{[]string{"scan", "/no/such/folder"}, "/no/such/folder"},
		{[]string{"scan", "--approve"}, "on a terminal"},
		{[]string{"candidates", "approve"}, "or a scan"},
		{[]string{"candidates", "dismiss", "x", "--scan", "y"}, "not both"},
		{[]string{"candidates", "dismiss", "x", "--min-confidence", "0.5"}, "goes with --scan"},
		{[]string{"candidates", "approve", "x", "y", "--slug", "A-1"}, "single candidate"},
		{[]string{"candidates", "list"}, "no database"},
		{[]string{"search"}, "nothing to look for"},
		{[]string{"search", "--cites", "x", "--as-of", "2026-01-01"}, "one at a time"},
		{[]string{"search", "--role", "x", "--situation", "y"}, "one at a time"},
		{[]string{"search", "--cites", "x", "word"}, "words go with"},
		{[]string{"search", "--as-of", "2026-01-01", "--severity", "HIGH"}, "--severity"},
		{[]string{"search", "--mode", "vector", "--tag", "x"}, "--mode goes with words"},
		{[]string{"search", "--mode", "magic", "x"}, "keyword, vector, hybrid"},
		{[]string{"audit", "verify", "--expect-seq", "3"}, "belong together"},
		{[]string{"audit", "verify", "--after-seq", "3"}, "belong together"},
		{[]string{"audit", "verify", "--limit=-1"}, "at least 1"},
		{[]string{"keys", "create", "--role", "king", "--name", "x"}, "king"},
		{[]string{"keys", "create", "--role", "admin"}, "--name"},
		{[]string{"--config", "/no/such/tenet.yaml", "rules", "list"}, "/no/such/tenet.yaml"},
		{[]string{"--color", "sometimes", "version"}, "sometimes"},
	} {
		code, out, errs := run(t, "", test.args...)
		if code != 2 || out != "" || !strings.Contains(errs, test.want) || !strings.HasPrefix(errs, "tenet: ") {
			t.Errorf("tenet %s\nexits with %d, prints %q and %q; want 2, nothing and %q", strings.Join(test.args, " "), code, out, errs, test.want)
		}
	}
}

func TestFactsMayStandInTheCommand(t *testing.T) {
	in, from := t.TempDir(), writeFacts(t)
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	answer := func(facts string) string {
		t.Helper()
		code, out, errs := run(t, "", "check", "--data", in, "--facts", facts, "--format", "json")
		var got struct {
			Coverage json.RawMessage `json:"coverage"`
		}
		if err := json.Unmarshal([]byte(out), &got); err != nil {
			t.Fatalf("check exits with %d and %q: %v", code, errs, err)
		}
		return string(got.Coverage)
	}
	if inline, read := answer(" "+string(b)), answer(from); inline != read {
		t.Errorf("facts in the command are covered as %s, the same in a file as %s", inline, read)
	}
}

func TestFactsMustBeAnObject(t *testing.T) {
	for _, facts := range []string{"", "nope", "[1]", "3", `{"a":1} {"b":2}`, "\xff"} {
		if code, _, errs := run(t, facts, "check", "--facts", "-"); code != 2 || !strings.Contains(errs, "JSON") {
			t.Errorf("facts %q exit with %d and %q", facts, code, errs)
		}
	}
}

func TestHelp(t *testing.T) {
	for _, test := range []struct {
		args []string
		want []string
	}{
		{[]string{"search", "--help"}, []string{"--as-of", "--cites", "tenet search --conflicts SEC-003"}},
		{nil, []string{"check", "serve", "rules", "search", "audit", "keys", "--server"}},
		{[]string{"--help"}, []string{"Usage: tenet"}},
		{[]string{"check", "--help"}, []string{"Exit codes: 0", "--fail-on", "set -o pipefail; git diff HEAD | tenet check", "$NO_COLOR"}},
		{[]string{"serve", "--help"}, []string{"--listen", "$TENET_LISTEN", "loopback"}},
		{[]string{"rules", "plan", "--help"}, []string{"--exit-code", "--prune"}},
		{[]string{"audit", "verify", "--help"}, []string{"--expect-hash"}},
	} {
		code, out, errs := run(t, "", test.args...)
		if code != 0 || errs != "" {
			t.Errorf("tenet %v exits with %d and %q", test.args, code, errs)
		}
		for _, want := range test.want {
			if !strings.Contains(out, want) {
				t.Errorf("tenet %v does not tell %q:\n%s", test.args, want, out)
			}
		}
	}
}

func TestVersion(t *testing.T) {
	Version = "1.2.3"
	t.Cleanup(func() { Version = "" })
	if code, out, _ := run(t, "", "version"); code != 0 || !strings.HasPrefix(out, "tenet 1.2.3 (go") {
		t.Errorf("exits with %d and %q", code, out)
	}
}

func TestAnEmptyDiffIsAnErrorUnlessItIsMeant(t *testing.T) {
	for _, stdin := range []string{"", " \n\n"} {
		if code, out, errs := run(t, stdin, "check"); code != exitFailed || out != "" || !strings.Contains(errs, "pipefail") || !strings.Contains(errs, "fetch-depth: 0") {
			t.Errorf("exits with %d, %q and %q", code, out, errs)
		}
		if code, out, errs := run(t, stdin, "check", "--allow-empty"); code != exitOK || out != "" || !strings.Contains(errs, "the diff is empty") {
			t.Errorf("under --allow-empty it exits with %d, %q and %q", code, out, errs)
		}
	}
	for format, want := range map[string]string{"json": `"rules_evaluated": 0`, "sarif": `"results": []`, "junit": "<testsuites"} {
		if code, out, _ := run(t, "", "check", "--allow-empty", "--format", format); code != exitOK || !strings.Contains(out, want) {
			t.Errorf("format %s exits with %d and %q: the reader of the report needs one", format, code, out)
		}
	}
}

func TestAnEmptyFlagIsAVariableThatIsNotSet(t *testing.T) {
	for _, args := range [][]string{
		{"check", ""},
		{"check", "--base", ""},
		{"check", "--action", " "},
		{"check", "--facts="},
		{"check", "--rules", ""},
		{"check", "--node", ""},
		{"check", "--environment", ""},
		{"check", "--scope", ""},
		{"check", "--repository", ""},
		{"--server", "", "check"},
		{"--data", "", "check"},
		{"--config", "", "check"},
		{"--project", "", "check"},
		{"submit", "-", "--scope", ""},
	} {
		if code, out, errs := run(t, "x", args...); code != exitFailed || out != "" || !strings.Contains(errs, "is empty; set the variable") {
			t.Errorf("tenet %q exits with %d, %q and %q", args, code, out, errs)
		}
	}
}

func TestInterruptedCommandSaysSo(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if code, _, errs := runIn(ctx, t, "", nil, "check", "--action", "pay"); code != exitInterrupted || !strings.Contains(errs, "interrupted") {
		t.Errorf("exits with %d and %q", code, errs)
	}
}

func TestCheckGivesUpAfterItsTimeLimit(t *testing.T) {
	release := make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer silent.Close()
	defer close(release)
	code, out, errs := run(t, "", "check", "--server", silent.URL, "--action", "pay", "--timeout", "50ms")
	if code != 2 || out != "" || !strings.Contains(errs, "no answer within 50ms") {
		t.Errorf("exits with %d, %q and %q", code, out, errs)
	}
}

func TestAnswerWithoutVerdictCouldNotBeJudged(t *testing.T) {
	stranger := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") }))
	defer stranger.Close()
	if code, out, errs := run(t, "", "check", "--server", stranger.URL, "--action", "pay"); code != 2 || out != "" || errs == "" {
		t.Errorf("exits with %d, %q and %q", code, out, errs)
	}
}

func TestColour(t *testing.T) {
	for _, test := range []struct {
		flag string
		want bool
	}{{"always", true}, {"never", false}, {"auto", false}} {
		s := &session{out: &bytes.Buffer{}, env: lookup(nil), globals: &globals{Color: test.flag}}
		if got := s.wantsColour(); got != test.want {
			t.Errorf("--color=%s without a terminal gives %t", test.flag, got)
		}
	}
}

func TestColourOnATerminal(t *testing.T) {
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = terminal.Close() }()
	for _, test := range []struct {
		environ []string
		want    bool
	}{{nil, true}, {[]string{"NO_COLOR=1"}, false}, {[]string{"NO_COLOR="}, true}, {[]string{"TERM=dumb"}, false}} {
		s := &session{out: terminal, env: lookup(test.environ), globals: &globals{Color: "auto"}}
		if got := s.wantsColour(); got != test.want {
			t.Errorf("on a terminal with %v colour is %t", test.environ, got)
		}
	}
}

func TestProgressIsForTerminals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		done := (&session{err: &out}).progress("working")
		time.Sleep(time.Minute)
		if done(); out.Len() > 0 {
			t.Errorf("without a terminal, progress prints %q", out.String())
		}
	})
}

func TestLineDisarmsTerminalControls(t *testing.T) {
	if got := line("a\x1b[31mb\nc\u009bd"); strings.ContainsAny(got, "\x1b\n\u009b") {
		t.Errorf("line gives %q", got)
	}
}
