package hook

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tenet/internal/diff"
	"tenet/internal/subject"
)

// bash returns the question about a command.
func bash(t *testing.T, dir, command string) Question {
	t.Helper()
	q, err := Claude(claude(t, "PreToolUse", dir, "Bash", map[string]any{"command": command}, nil))
	if err != nil || q.Action != strings.TrimSpace(command) {
		t.Fatalf("%q asks about %q, %v", command, q.Action, err)
	}
	return q
}

func TestACommandIsJudgedByTheFilesThatItLeaves(t *testing.T) {
	dir := project(t, "src/old.py", "a=1\nb=2\n")
	if err := os.Symlink("src", filepath.Join(dir, "lnk")); err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]string{
		`sed -i 's/a=1/eval(x)/' src/old.py`:                           "src/old.py:1 eval(x)",
		`cd src && echo 'eval(x)' > a.py`:                              "src/a.py:1 eval(x)",
		`exec 3> src/a.py; echo 'eval(x)' >&3`:                         "src/a.py:1 eval(x)",
		`echo $'ev\x61l(x)' > src/a.py`:                                "src/a.py:1 eval(x)",
		"echo 'eval(x)' >> src/\\\nold.py":                             "src/old.py:3 eval(x)",
		`f=src; echo "eval(x)" | tee "$f/a.py" > /dev/null`:            "src/a.py:1 eval(x)",
		`echo 'eval(x)' > lnk/a.py`:                                    "src/a.py:1 eval(x)|lnk/a.py:1 eval(x)",
		`echo 'eval(x)' > notes.txt; mv notes.txt src/a.py`:            "src/a.py:1 eval(x)",
		`sh -c 'cat > src/a.py' <<< 'eval(x)' `:                        "src/a.py:1 eval(x)",
		"python3 - <<'E'\neval(x)\nE\ncd src; cat <<E > a.py\neval\nE": "src/a.py:1 eval",
	} {
		q := bash(t, dir, strings.TrimSpace(command))
		if got := strings.Join(added(t, q), "|"); got != want {
			t.Errorf("%s adds %s; want %s", command, got, want)
		}
		if unknown := len(q.Unknown) > 0; unknown != strings.Contains(command, "python3") {
			t.Errorf("%s leaves unknown: %q", command, q.Unknown)
		}
	}
}

func TestARemovalIsADeletion(t *testing.T) {
	dir := project(t, "src/old.py", "a=1\n")
	q := bash(t, dir, "rm src/old.py; touch src/new.py")
	s, err := subject.Build(subject.Input{Diff: q.Diff, Files: q.Files})
	if err != nil || len(q.Unknown) > 0 || len(s.Files) != 2 || s.Files[0].Path != "src/old.py" || s.Files[0].Change != diff.Deleted {
		t.Errorf("asks %+v, %v, and %q", s, err, q.Unknown)
	}
}

func TestAnUnknownEffectIsNamed(t *testing.T) {
	dir := project(t, "a.py", "one\n")
	for command, want := range map[string]string{
		"npm test": "npm", "cat a.py | python3": "python3", "echo x > $OUT": "$OUT", "rm *.py": "*.py", "ls (": "cannot be read", "chmod +x a.py": "permissions", "ln -s a.py b.py": "link", "sed -i s/o/0/w a.py": "sed",
		"ls && echo x > b": "depends on the result", "echo x > .git/config": "git itself", "printf 'a\\0b' > a.py": "", "git commit -m x --no-verify": "git commit",
	} {
		q := bash(t, dir, command)
		if len(q.Unknown) == 0 || !strings.Contains(strings.Join(q.Unknown, "; "), want) {
			t.Errorf("%s leaves unknown %q; want %q", command, q.Unknown, want)
		}
	}
	for _, command := range []string{"git status", "ls -la", "cd . && cat a.py | grep -n one", "git diff HEAD -- a.py"} {
		if q := bash(t, dir, command); len(q.Unknown) > 0 || q.Diff != "" || len(q.Files) > 0 {
			t.Errorf("%s asks %+v", command, q)
		}
	}
	payload := claude(t, "PreToolUse", dir, "PowerShell", map[string]any{"command": "ls"}, nil)
	if q, err := Claude(payload); err != nil || len(q.Unknown) == 0 {
		t.Errorf("a program of PowerShell is taken for one of a shell: %+v, %v", q, err)
	}
}

func TestWhatAFileHasForAWhileIsJudgedWhereTheEndIsNotKnown(t *testing.T) {
	dir := project(t, "a.py", "one\n")
	q := bash(t, dir, "echo 'eval(x)' > src.py; npm run build; echo fine > src.py")
	if got := strings.Join(added(t, q), "|"); !strings.Contains(got, "eval(x)") || !strings.Contains(got, "fine") || q.Note == "" {
		t.Errorf("asks %q, note %q", got, q.Note)
	}
}

func TestAfterTheCommandItsFilesAreJudgedAsTheyAre(t *testing.T) {
	dir := project(t, "a.py", "one\ntwo\n")
	q, err := Claude(claude(t, "PostToolUse", dir, "Bash", map[string]any{"command": "echo two >> a.py"}, nil))
	if err != nil || strings.Join(added(t, q), "|") != "a.py:1 one|a.py:2 two" {
		t.Errorf("asks %q, %v", added(t, q), err)
	}
}

func TestCallsOfOtherServersAreJudgedByTheFileThatTheyName(t *testing.T) {
	dir := project(t, "src/a.py", "one\n")
	path := filepath.Join(dir, "src/a.py")
	for _, test := range []struct {
		tool    string
		input   map[string]any
		want    string
		unknown bool
	}{
		{"mcp__filesystem__write_file", map[string]any{"path": path, "content": "one\neval(x)\n"}, "src/a.py:2 eval(x)", false},
		{"mcp__filesystem__write_file", map[string]any{"path": filepath.Join(dir, "src/b.py"), "content": "eval(x)\n"}, "src/b.py:1 eval(x)", false},
		{"mcp__filesystem__edit_file", map[string]any{"path": path, "edits": []any{map[string]any{"oldText": "one", "newText": "eval(x)"}}}, "src/a.py:1 eval(x)", false},
		{"mcp__filesystem__edit_file", map[string]any{"path": path, "edits": []any{map[string]any{"oldText": "nowhere", "newText": "eval(x)"}}}, "src/a.py:1 eval(x)", true},
		{"mcp__filesystem__write_file", map[string]any{"path": "src/a.py", "content": "eval(x)\n"}, "src/a.py:1 eval(x)", true},
		{"mcp__other__create_text_file", map[string]any{"relative_path": "src/c.py", "content": "eval(x)\n"}, "src/c.py:1 eval(x)", true},
		{"mcp__filesystem__move_file", map[string]any{"source": path, "destination": "x"}, "", true},
		{"mcp__db__query", map[string]any{"sql": "select 1"}, "", true},
	} {
		q, err := Claude(claude(t, "PreToolUse", dir, test.tool, test.input, nil))
		if got := strings.Join(added(t, q), "|"); err != nil || got != test.want || (len(q.Unknown) > 0) != test.unknown || len(q.Calls) != 1 || !strings.HasSuffix(test.tool, q.Calls[0].Server+"__"+q.Calls[0].Tool) || q.Skip {
			t.Errorf("%s %v asks %+v and %q, unknown %q, %v", test.tool, test.input, q.Calls, got, q.Unknown, err)
		}
	}
	b, _ := json.Marshal(map[string]any{"hook_event_name": "beforeMCPExecution", "tool_name": "write_file", "tool_input": map[string]any{"path": path, "content": "eval(x)\n"}, "cwd": dir})
	if q, err := Cursor(b); err != nil || len(q.Unknown) == 0 || strings.Join(added(t, q), "|") != "src/a.py:1 eval(x)" {
		t.Errorf("Cursor asks %+v, %v", q, err)
	}
}

// TestNothingUnknownIsApproved holds for both tools: an answer that would approve becomes one that leaves the decision to the person.
func TestNothingUnknownIsApproved(t *testing.T) {
	a := Answer{Decision: Allow, Approved: true, Unknown: []string{"the effect of the program npm is not known"}}
	if out, errs, code := WriteClaude("PreToolUse", a, true); out != "" || errs != "" || code != 0 {
		t.Errorf("Claude Code is answered %q, %q, %d", out, errs, code)
	}
	out, _, _ := WriteCursor("beforeShellExecution", a)
	if !strings.Contains(out, `"permission":"ask"`) || !strings.Contains(out, "npm") {
		t.Errorf("Cursor is answered %s", out)
	}
	a.Unknown = nil
	if out, _, _ := WriteCursor("beforeShellExecution", a); !strings.Contains(out, `"permission":"allow"`) {
		t.Errorf("Cursor is answered %s", out)
	}
}
