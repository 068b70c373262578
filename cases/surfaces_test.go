package cases

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tenet/internal/cli"
	"tenet/internal/rule"
	"tenet/internal/wire"
)

// surfaceRules are a rule that a pattern decides, one that an expression decides, and one that only a model could decide.
var surfaceRules = []wire.RuleInput{
	{
		Slug: new("PY-1"), Statement: "Code must not call eval.", Modality: rule.MustNot, Status: rule.Effective,
		Check: &rule.Check{Pattern: &rule.Pattern{Regex: `\beval\(`, Paths: []string{"*.py"}}},
	},
	{
		Slug: new("PAY-1"), Statement: "Payments are at most 100.", Status: rule.Effective, AppliesTo: &rule.AppliesTo{Kinds: []string{"facts"}},
		Check: &rule.Check{CEL: "facts.amount <= 100"},
	},
	{Slug: new("DOC-1"), Statement: "Texts are kind.", Status: rule.Effective, AppliesTo: &rule.AppliesTo{Paths: []string{"docs/**"}}},
}

// surfaceSubjects are subjects with the verdict that every surface must give on them.
var surfaceSubjects = []struct {
	name  string
	path  string // of a new file with the text
	text  string
	diff  string
	facts map[string]any
	want  rule.Verdict
}{
	{name: "a new file that breaks a rule", path: "src/a.py", text: "eval(x)\n", want: rule.Deny},
	{name: "a new file that keeps the rules", path: "src/a.py", text: "print(x)\n", want: rule.Allow},
	{name: "a new file that needs a model", path: "docs/a.txt", text: "Do it now.\n", want: rule.NeedsConfirmation},
	{name: "facts that break a rule", facts: map[string]any{"amount": 500.0}, want: rule.Deny},
	{name: "facts that keep it", facts: map[string]any{"amount": 5.0}, want: rule.Allow},
	{name: "facts without the one that counts", facts: map[string]any{"currency": "EUR"}, want: rule.NeedsConfirmation},
	{name: "a fact that is null", facts: map[string]any{"amount": nil}, want: rule.NeedsConfirmation},
	{
		name: "a binary file", want: rule.NeedsConfirmation,
		diff: "diff --git a/src/a.py b/src/a.py\nindex 1111111..2222222 100644\nBinary files a/src/a.py and b/src/a.py differ\n",
	},
	{
		name: "two readings of a name", want: rule.Deny,
		diff: "diff --git a/src/a.py a/src/a.py\nindex 1111111..2222222 100644\n--- a/src/a.py\n+++ a/src/a.py\n@@ -1 +1,2 @@\n a = 1\n+eval(a)\n",
	},
	{
		name: "a file that is renamed to where the rule applies", want: rule.NeedsConfirmation,
		diff: "diff --git a/src/a.txt b/src/a.py\nsimilarity index 100%\nrename from src/a.txt\nrename to src/a.py\n",
	},
}

// newFileDiff returns the diff of a new file with one line.
func newFileDiff(path, text string) string {
	return "diff --git a/" + path + " b/" + path + "\nnew file mode 100644\nindex 0000000..2222222\n--- /dev/null\n+++ b/" + path + "\n@@ -0,0 +1 @@\n+" + text
}

// TestSurfacesAgree asks about the same subjects through every way in.
func TestSurfacesAgree(t *testing.T) {
	rules := &wire.RuleFile{Rules: surfaceRules}
	node := start(t, rules)
	server := httptest.NewServer(node)
	t.Cleanup(server.Close)
	s := surfaces{node: node, url: server.URL, rules: filepath.Join(t.TempDir(), "rules.json"), tools: toolsOf(t, server.URL)}
	if err := os.WriteFile(s.rules, encode(t, rules), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range surfaceSubjects {
		t.Run(tt.name, func(t *testing.T) {
			request := map[string]any{}
			if tt.path != "" {
				tt.diff = newFileDiff(tt.path, tt.text)
				s.askAboutFile(t, tt.path, tt.text, tt.want)
			}
			if tt.diff != "" {
				request["diff"] = tt.diff
			} else {
				request["facts"] = tt.facts
			}
			s.ask(t, request, tt.want)
		})
	}
}

// surfaces are the ways in to one node.
type surfaces struct {
	node  http.Handler
	url   string
	rules string // file with the same rules, for the embedded command line
	tools *sdk.ClientSession
}

func toolsOf(t *testing.T, url string) *sdk.ClientSession {
	t.Helper()
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).
		Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: url + "/mcp", DisableStandaloneSSE: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

// same fails the test if a surface gives another verdict.
func same(t *testing.T, surface string, got, want rule.Verdict) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %s, want %s", surface, got, want)
	}
}

// ask asks about a diff or facts.
func (s *surfaces) ask(t *testing.T, request map[string]any, want rule.Verdict) {
	t.Helper()
	same(t, "evaluate in process", call(t, s.node, request).OverallVerdict, want)
	same(t, "evaluate over HTTP", overHTTP(t, s.url, request).OverallVerdict, want)

	submitted := map[string]any{"kind": "code_change", "diff": request["diff"]}
	tool := "evaluate_diff"
	if request["facts"] != nil {
		submitted = map[string]any{"kind": "business_event", "event_type": "payment", "facts": request["facts"]}
		tool = "evaluate_facts"
	}
	var evaluation rule.Evaluation
	s.post(t, "/api/v1/submissions", map[string]any{"subject": submitted}, &evaluation)
	same(t, "submission", evaluation.OverallVerdict, want)

	var answer wire.AgentAnswerOf[wire.AgentCheckResult]
	s.post(t, "/agent/check", map[string]any{"intent": "Change the program.", "diff": request["diff"], "facts": request["facts"]}, &answer)
	same(t, "agent", answer.Result.Verdict, want)
	if answer.Result.Allowed != (want == rule.Allow) {
		t.Errorf("agent: allowed is %t", answer.Result.Allowed)
	}

	res, err := s.tools.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: request})
	if err != nil || res.IsError {
		t.Fatalf("tool: %v, %v", err, res)
	}
	var verdict struct {
		Verdict    rule.Verdict `json:"verdict"`
		MayProceed bool         `json:"may_proceed"`
	}
	if err := json.Unmarshal(encode(t, res.StructuredContent), &verdict); err != nil {
		t.Fatal(err)
	}
	same(t, "tool", verdict.Verdict, want)
	if verdict.MayProceed != (want == rule.Allow) {
		t.Errorf("tool: may_proceed is %t", verdict.MayProceed)
	}

	stdin, args := "", []string{"check", "--format", "json"}
	if text, ok := request["diff"].(string); ok {
		stdin, args = text, append(args, "-")
	} else {
		stdin, args = string(encode(t, request["facts"])), append(args, "--facts", "-")
	}
	_, out := s.command(t, t.TempDir(), stdin, append(args, "--rules", s.rules)...)
	same(t, "check, embedded", decode(t, []byte(out)).OverallVerdict, want)
	_, out = s.command(t, t.TempDir(), stdin, append(args, "--server", s.url)...)
	same(t, "check, with a server", decode(t, []byte(out)).OverallVerdict, want)
}

// askAboutFile asks about a new file in a repository: whole, staged, and as a tool writes it.
func (s *surfaces) askAboutFile(t *testing.T, path, text string, want rule.Verdict) {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(path)), 0o750); err != nil {
		t.Fatal(err)
	}
	payload := string(encode(t, map[string]any{
		"hook_event_name": "PreToolUse", "cwd": dir, "tool_name": "Write", "tool_input": map[string]any{"file_path": filepath.Join(dir, path), "content": text},
	}))
	code, out := s.command(t, dir, payload, "hook", "claude-code", "--server", s.url)
	same(t, "hook before a file is written", decision(code, out), want)

	if err := os.WriteFile(filepath.Join(dir, path), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, out = s.command(t, dir, "", "check", "--format", "json", "--file", path, "--server", s.url)
	same(t, "check of a whole file", decode(t, []byte(out)).OverallVerdict, want)
	for _, args := range [][]string{{"init", "--quiet"}, {"add", path}} {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir, cmd.Env = dir, []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1"}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	_, out = s.command(t, dir, "", "check", "--format", "json", "--staged", "--server", s.url)
	same(t, "check of what is staged", decode(t, []byte(out)).OverallVerdict, want)
	if code, out = s.command(t, dir, "", "hook", "git", "--server", s.url); (code == 0) != (want == rule.Allow) && want != rule.NeedsConfirmation {
		t.Errorf("hook of git: exit code %d for %s: %s", code, want, out)
	}
}

// decision reads the answer of a hook of Claude Code: silence leaves everything to the tool, which asks as it is set up to.
func decision(code int, out string) rule.Verdict {
	switch {
	case code == 2 || strings.Contains(out, `"permissionDecision":"deny"`):
		return rule.Deny
	case strings.Contains(out, `"permissionDecision":"ask"`):
		return rule.NeedsConfirmation
	}
	return rule.Allow
}

// post sends a request and reads the answer.
func (s *surfaces) post(t *testing.T, path string, body map[string]any, answer any) {
	t.Helper()
	for key, value := range body {
		if value == nil {
			delete(body, key)
		}
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost"+path, bytes.NewReader(encode(t, body)))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	s.node.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		t.Fatalf("%s: status %d: %s", path, w.Code, w.Body)
	}
	if err := json.Unmarshal(w.Body.Bytes(), answer); err != nil {
		t.Fatal(err)
	}
}

// command runs the command line in a folder.
func (s *surfaces) command(t *testing.T, dir, stdin string, args ...string) (code int, out string) {
	t.Helper()
	t.Chdir(dir)
	var stdout, stderr bytes.Buffer
	code = cli.Main(t.Context(), args, strings.NewReader(stdin), &stdout, &stderr, []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1"})
	return code, stdout.String()
}
