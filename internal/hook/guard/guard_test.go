package guard

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tenet/internal/shell"
)

// settingsText is .claude/settings.json with Tenet's hook in it.
const settingsText = `{
  "model": "opus",
  "hooks": {
    "PreToolUse": [
      {"matcher": "*", "hooks": [{"type": "command", "command": "tenet hook claude-code || exit 2", "timeout": 30}]}
    ]
  }
}
`

// world is a repository with walls, a home folder, and a guard that knows both.
type world struct {
	*Guard

	dir string
}

func makeWorld(t testing.TB) world {
	t.Helper()
	root := t.TempDir()
	home, dir, bin := filepath.Join(root, "home"), filepath.Join(root, "home", "repo"), filepath.Join(root, "bin")
	for name, text := range map[string]string{
		dir + "/.git/HEAD": "ref: refs/heads/main\n", dir + "/.git/config": "[core]\n", dir + "/.git/hooks/pre-commit": "#!/bin/sh\ntenet hook git || exit $?\n",
		dir + "/.claude/settings.json": settingsText, dir + "/.cursor/hooks.json": `{"version":1,"hooks":{"preToolUse":[{"command":"tenet hook cursor"}]}}`,
		dir + "/.mcp.json": `{"mcpServers":{"tenet":{"command":"tenet","args":["mcp"]}}}`, dir + "/tenet.yaml": "listen: 127.0.0.1:8080\n",
		dir + "/policy/pay.yaml":          "rules:\n  - {slug: PAY-1, statement: Pay twice., severity: HIGH}\n",
		dir + "/.github/workflows/ci.yml": "on: push\njobs:\n  judge:\n    steps:\n      - run: tenet check --base origin/main\n      - run: make\n",
		dir + "/.pre-commit-config.yaml":  "repos:\n  - repo: local\n    hooks:\n    - {id: tenet, entry: tenet hook pre-commit, language: system}\n",
		dir + "/src/app.py":               "x = 1\n", dir + "/config/app.yaml": "port: 1\n", dir + "/README.md": "hello\n",
		home + "/.claude/settings.json": settingsText, home + "/.claude.json": "{}", home + "/.gitconfig": "[user]\n",
		bin + "/tenet": "#!/bin/sh\n", bin + "/other": "#!/bin/sh\n",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(".claude", dir+"/linked"); err != nil {
		t.Fatal(err)
	}
	return world{&Guard{
		Home: home, Programs: []string{bin + "/tenet"}, Path: []string{bin}, Files: []string{home + "/data"}, Servers: []string{"127.0.0.1:8080", "tenet.example.com:443"},
	}, dir}
}

// run judges a command as a hook does.
func (w world) run(command string) []string {
	a := Act{Command: strings.NewReplacer("HOMEDIR", w.Home, "BIN", filepath.Dir(w.Programs[0])).Replace(command), Dir: w.dir}
	if script, err := shell.Parse(a.Command); err == nil {
		e := script.Effect(shell.Disk{}, w.dir)
		a.Effect = &e
	}
	return w.Judge([]Act{a})
}

func lists(t testing.TB, name string) []string {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var list []string
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if line := lines.Text(); strings.TrimSpace(line) != "" && !strings.HasPrefix(line, "## ") {
			list = append(list, strings.ReplaceAll(line, `\n`, "\n"))
		}
	}
	return list
}

// TestCommandsThatTakeAWallOutAsk goes through ways to take hooks, rules, settings, program and server out, in many spellings.
func TestCommandsThatTakeAWallOutAsk(t *testing.T) {
	w := makeWorld(t)
	list := lists(t, "asks.txt")
	if len(list) < 120 {
		t.Fatalf("%d acts", len(list))
	}
	for _, command := range list {
		if len(w.run(command)) == 0 {
			t.Errorf("passes: %s", command)
		}
	}
}

// TestEverydayCommandsPass goes through what agents do all day, reading walls included.
func TestEverydayCommandsPass(t *testing.T) {
	w := makeWorld(t)
	list := lists(t, "passes.txt")
	if len(list) < 60 {
		t.Fatalf("%d acts", len(list))
	}
	for _, command := range list {
		if found := w.run(command); len(found) > 0 {
			t.Errorf("asks: %s: %q", command, found)
		}
	}
}

func TestNestedCommandsAreFollowed(t *testing.T) {
	w := makeWorld(t)
	for _, inner := range []string{"git commit --no-verify -m x", "rm .claude/settings.json", "tenet hook uninstall claude-code --yes", "TENET_CONFIRM=yes git commit -m x"} {
		quoted := "'" + inner + "'"
		for _, command := range []string{
			"sh -c " + quoted, "bash -lc " + quoted, "eval " + quoted, "env A=1 sh -c " + quoted, "sudo sh -c " + quoted, "( " + inner + " )", "{ " + inner + "; }", "true && " + inner,
			"false || " + inner, "x=$(" + inner + ")", "echo `" + inner + "`", "if true; then " + inner + "; fi", "for i in 1; do " + inner + "; done", "f() { " + inner + "; }; f",
			"echo " + quoted + " | sh", "sh <<'E'\n" + inner + "\nE", "bash <<< " + quoted, "timeout 5 sh -c " + quoted, "nohup sh -c " + quoted + " &", "cd src && cd .. && " + inner,
			"find . -maxdepth 0 -exec sh -c " + quoted + " \\;", "xargs -I{} sh -c " + quoted, "watch -n1 " + quoted, "C=" + quoted + "; sh -c \"$C\"", "trap " + quoted + " EXIT",
		} {
			if len(w.run(command)) == 0 {
				t.Errorf("passes: %s", command)
			}
		}
	}
}

func TestEditsThatLeaveTheWallPass(t *testing.T) {
	w := makeWorld(t)
	text := func(s string) *string { return &s }
	for name, test := range map[string]struct {
		path          string
		before, after *string
		asks          bool
	}{
		"another model":            {".claude/settings.json", text(settingsText), text(strings.Replace(settingsText, "opus", "sonnet", 1)), false},
		"another hook beside":      {".claude/settings.json", text(settingsText), text(strings.Replace(settingsText, `"hooks": {`, `"hooks": {"PostToolUse": [{"hooks": [{"type": "command", "command": "gofmt"}]}],`, 1)), false},
		"another format":           {".claude/settings.json", text(settingsText), text(strings.Join(strings.Fields(settingsText), " ")), false},
		"nothing left":             {".claude/settings.json", text(settingsText), text("{}"), true},
		"removed":                  {".claude/settings.json", text(settingsText), nil, true},
		"not JSON":                 {".claude/settings.json", text(settingsText), text("{"), true},
		"another matcher":          {".claude/settings.json", text(settingsText), text(strings.Replace(settingsText, `"*"`, `"Bash"`, 1)), true},
		"another command":          {".claude/settings.json", text(settingsText), text(strings.Replace(settingsText, "|| exit 2", "|| true", 1)), true},
		"a shorter time":           {".claude/settings.json", text(settingsText), text(strings.Replace(settingsText, "30", "0", 1)), true},
		"another event":            {".claude/settings.json", text(settingsText), text(strings.Replace(settingsText, "PreToolUse", "Stop", 1)), true},
		"all hooks off":            {".claude/settings.json", text(settingsText), text(strings.Replace(settingsText, `"model"`, `"disableAllHooks": true, "model"`, 1)), true},
		"hooks twice":              {".claude/settings.json", text(settingsText), text(strings.Replace(settingsText, `"model"`, `"hooks": {}, "model"`, 1)), true},
		"a variable":               {".claude/settings.json", text(settingsText), text(strings.Replace(settingsText, `"model"`, `"env": {"TENET_HOOK_FAIL": "open"}, "model"`, 1)), true},
		"another PATH":             {".claude/settings.json", text(settingsText), text(strings.Replace(settingsText, `"model"`, `"env": {"PATH": "/tmp"}, "model"`, 1)), true},
		"no questions":             {".claude/settings.json", text(settingsText), text(strings.Replace(settingsText, `"model"`, `"permissions": {"defaultMode": "bypassPermissions"}, "model"`, 1)), true},
		"a new file":               {".claude/settings.local.json", nil, text(`{"disableAllHooks": true}`), true},
		"in capital letters":       {".CLAUDE/Settings.JSON", text(settingsText), text("{}"), true},
		"behind a link":            {"linked/settings.json", text(settingsText), text("{}"), true},
		"with dots":                {"src/../.claude/./settings.json", text(settingsText), text("{}"), true},
		"in the home folder":       {"~/.claude/settings.json", text(settingsText), text("{}"), true},
		"a server":                 {".mcp.json", text(`{"mcpServers":{"tenet":{"command":"tenet","args":["mcp"]}}}`), text(`{"mcpServers":{}}`), true},
		"another server":           {".mcp.json", text(`{"mcpServers":{"tenet":{"command":"tenet","args":["mcp"]}}}`), text(`{"mcpServers":{"tenet":{"args":["mcp"],"command":"tenet"},"x":{"command":"y"}}}`), false},
		"a hook of git":            {".git/hooks/pre-commit", text("#!/bin/sh\ntenet hook git\n"), text("#!/bin/sh\n"), true},
		"a new hook of git":        {".git/hooks/pre-push", nil, text("#!/bin/sh\n"), true},
		"a sample":                 {".git/hooks/pre-push.sample", nil, text("#!/bin/sh\n"), false},
		"the settings of Tenet":    {"tenet.yaml", text("a: 1\n"), text("a: 2\n"), true},
		"a folder of Tenet":        {".tenet/rules.yaml", nil, text("rules: []\n"), true},
		"the database":             {w.Home + "/data/tenet.db", text(""), nil, true},
		"the program":              {w.Programs[0], text(""), text("#!/bin/sh\n"), true},
		"rules":                    {"policy/pay.yaml", text("rules:\n  - statement: x\n"), text("rules: []\n"), true},
		"other YAML":               {"config/app.yaml", text("port: 1\n"), text("port: 2\n"), false},
		"CI without its line":      {".github/workflows/ci.yml", text("run: tenet check --base x\nrun: make\n"), text("run: make\n"), true},
		"CI that goes on":          {".github/workflows/ci.yml", text("run: tenet check --base x\nrun: make\n"), text("run: tenet check --base x\ncontinue-on-error: true\nrun: make\n"), true},
		"CI with another line":     {".github/workflows/ci.yml", text("run: tenet check --base x\nrun: make\n"), text("run: tenet check --base x\nrun: make test\n"), false},
		"CI without Tenet":         {".github/workflows/ci.yml", text("run: make\n"), text("run: make test\n"), false},
		"pre-commit without":       {".pre-commit-config.yaml", text("entry: tenet hook pre-commit\n"), text("repos: []\n"), true},
		"instructions":             {".claude/CLAUDE.md", nil, text("hello"), false},
		"a skill":                  {".claude/skills/x/SKILL.md", nil, text("hello"), false},
		"a file with a like name":  {"src/settings.json", text("{}"), text("{\"a\":1}"), false},
		"settings of another tool": {".vscode/settings.json", text("{}"), text("{\"a\":1}"), false},
		"code about hooks":         {"src/hook.go", text(""), text("const p = `.claude/settings.json --no-verify`"), false},
	} {
		found := w.Judge([]Act{{Path: test.path, Before: test.before, After: test.after, Certain: true, Dir: w.dir}})
		if (len(found) > 0) != test.asks {
			t.Errorf("%s: %q", name, found)
		}
	}
	if found := w.Judge([]Act{{Path: ".claude/settings.json", Dir: w.dir}}); len(found) == 0 {
		t.Error("a change that is not known passes")
	}
}

func TestACommandWithAKnownEffectMayEditSettings(t *testing.T) {
	w := makeWorld(t)
	if found := w.run(`sed -i 's/opus/sonnet/' .claude/settings.json`); len(found) > 0 {
		t.Errorf("asks: %q", found)
	}
	for _, command := range []string{`sed -i 's/PreToolUse/Stop/' .claude/settings.json`, `sed -i 's/opus/sonnet/' .claude/settings.json; make`} {
		if len(w.run(command)) == 0 {
			t.Errorf("passes: %s", command)
		}
	}
}

func TestWordsInOtherLanguagesAreSearched(t *testing.T) {
	w := makeWorld(t)
	for text, asks := range map[string]bool{
		"Remove-Item .claude\\settings.json": true, "Set-Content tenet.yaml x": true, "git commit --no-verify": true, "$env:TENET_CONFIRM='yes'; git commit": true,
		"Get-Content .claude/settings.json": false, "Get-Content .claude/settings.json | Set-Content x; rm .claude/settings.json": true, "Get-ChildItem": false,
	} {
		if found := w.Judge([]Act{{Text: text, Dir: w.dir}}); (len(found) > 0) != asks {
			t.Errorf("%s: %q", text, found)
		}
	}
}

// TestAKilledProcessIsLookedAt holds where processes can be looked at by their ids.
func TestAKilledProcessIsLookedAt(t *testing.T) {
	w := makeWorld(t)
	program := filepath.Join(t.TempDir(), "sleeper")
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(sleep)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, b, 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	real, err := filepath.EvalSymlinks(program)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	id, err := json.Marshal(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Readlink("/proc/self/exe"); err == nil {
		w.Programs = append(w.Programs, real)
		if len(w.run("kill -9 "+string(id))) == 0 {
			t.Error("passes")
		}
	}
	if found := w.run("kill 1"); len(found) > 0 {
		t.Errorf("asks: %q", found)
	}
}

// TestScriptsThatRunThemselvesEnd holds for time too: each level would multiply the work.
func TestScriptsThatRunThemselvesEnd(t *testing.T) {
	w := makeWorld(t)
	if err := os.WriteFile(filepath.Join(w.dir, "x.sh"), []byte(strings.Repeat("sh x.sh\n", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if found := w.run("sh x.sh"); len(found) == 0 || time.Since(began) > time.Minute {
		t.Errorf("%q after %s", found, time.Since(began))
	}
}

func FuzzJudge(f *testing.F) {
	for _, name := range []string{"asks.txt", "passes.txt"} {
		for _, command := range lists(f, name) {
			f.Add(command)
		}
	}
	w := makeWorld(f)
	f.Fuzz(func(t *testing.T, text string) {
		w.Judge([]Act{{Command: text, Dir: w.dir}, {Text: text, Dir: w.dir}, {Path: text, Dir: w.dir, After: &text, Certain: true}, {Path: ".claude/settings.json", Dir: text, Before: &text, After: &text}})
		if script, err := shell.Parse(text); err == nil && len(script.Commands()) > 0 && len(text) < 10000 {
			if len(w.Judge([]Act{{Command: text + "\nrm .claude/settings.json", Dir: w.dir}})) == 0 {
				if after, err := shell.Parse(text + "\nrm .claude/settings.json"); err == nil && len(after.Commands()) == len(script.Commands())+1 && !strings.Contains(text, "cd") {
					t.Errorf("hides the removal: %q", text)
				}
			}
		}
	})
}

func BenchmarkJudge(b *testing.B) {
	w := makeWorld(b)
	for b.Loop() {
		w.run("cd src && git status && grep -rn foo . | head -5; git commit -m x && sed -i s/a/b/ app.py")
	}
}
