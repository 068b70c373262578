package cli

import (
	"path/filepath"
	"strings"
	"testing"
)

// Commands of a user without a database or outside of a repository say what matters to him, once.
func TestFirstSteps(t *testing.T) {
	run := newRepository(t)
	put(t, "settings.py", "AWS_KEY = \"AKIA"+"IOSFODNN7EXAMPLE\"\n")
	run("add", ".")
	const edit = `{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"git push --force origin main"}}`
	for _, test := range []struct {
		name       string
		stdin      string
		args       []string
		code       int
		finding    string // in what is printed, exactly once
		unkept     bool   // the id is said not to be kept
		noID       bool
		nothingErr bool
	}{
		{name: "the hook of git", args: []string{"hook", "pre-commit"}, code: 1, finding: "DENY  SEC-001", unkept: true},
		{name: "a check", args: []string{"check", "--staged"}, code: 1, finding: "DENY  SEC-001", unkept: true},
		{name: "the hook of an agent", stdin: edit, args: []string{"hook", "claude-code"}, code: 2, finding: "\"permissionDecision\":\"deny\"", noID: true},
		{name: "a question", args: []string{"ask", "May code call eval?"}, finding: "PY-001", nothingErr: true},
	} {
		code, out, errs := runIn(t.Context(), t, test.stdin, nil, test.args...)
		if code != test.code || strings.Count(out+errs, test.finding) != 1 {
			t.Errorf("%s exits with %d and prints %q %d times:\n%s\n%s", test.name, code, test.finding, strings.Count(out+errs, test.finding), out, errs)
		}
		if said := strings.Contains(out, "; not kept, since there is no database"); said != test.unkept {
			t.Errorf("%s says that nothing is kept: %v\n%s", test.name, said, out)
		}
		if test.noID && strings.Contains(out+errs, "Evaluation ") {
			t.Errorf("%s names a record that is gone:\n%s\n%s", test.name, out, errs)
		}
		if test.nothingErr && errs != "" {
			t.Errorf("%s prints more than the answer: %q", test.name, errs)
		}
	}
	t.Chdir(filepath.Dir(t.TempDir()))
	if code, _, errs := runIn(t.Context(), t, "", nil, "check", "--staged"); code != exitFailed || !strings.Contains(errs, "is in no git repository") {
		t.Errorf("outside of a repository, check --staged exits with %d and %q", code, errs)
	}
}

// What asks for a confirmation is not said to be broken.
func TestConfirmationsAreNotViolations(t *testing.T) {
	rules := folder(t, map[string]string{"rules.yaml": "rules:\n  - {slug: KEY-1, statement: Files should hold no marker., modality: SHOULD, status: EFFECTIVE, check: {pattern: {regex: MARKER}}}\n"})
	const diff = "diff --git a/a.txt b/a.txt\nnew file mode 100644\n--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+MARKER\n"
	for _, format := range []string{"text", "github", "sarif", "junit", "markdown"} {
		code, out, errs := run(t, diff, "check", "--rules", rules, "--format", format)
		if code != 0 || !strings.Contains(strings.ReplaceAll(out+errs, "\\", ""), "KEY-1") || strings.Contains(strings.ToLower(out+errs), "is broken") || strings.Contains(out+errs, "violated here") {
			t.Errorf("%s: exits with %d\n%s\n%s", format, code, out, errs)
		}
	}
}
