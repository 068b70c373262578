package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"tenet/internal/hook/guard"
)

// toolCall is a payload of Claude Code.
func toolCall(t *testing.T, dir, tool string, input map[string]any) string {
	t.Helper()
	b, err := json.Marshal(map[string]any{"hook_event_name": "PreToolUse", "cwd": dir, "tool_name": tool, "tool_input": input})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestHooksGuardTheirOwnWalls holds whatever rules there are: here none forbids anything of it.
func TestHooksGuardTheirOwnWalls(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, ".claude"), 0o700); err != nil {
		t.Fatal(err)
	}
	const hooked = `{"model": "a", "hooks": {"PreToolUse": [{"matcher": "*", "hooks": [{"type": "command", "command": "tenet hook claude-code || exit 2"}]}]}}`
	if err := os.WriteFile(filepath.Join(dir, ".claude", "settings.json"), []byte(hooked), 0o600); err != nil {
		t.Fatal(err)
	}
	settings := filepath.Join(dir, ".claude", "settings.json")
	for name, test := range map[string]struct {
		tool  string
		input map[string]any
		says  string
	}{
		"emptied settings":      {"Write", map[string]any{"file_path": settings, "content": "{}"}, "removes Tenet's hook at PreToolUse"},
		"an edit of them":       {"Edit", map[string]any{"file_path": settings, "old_string": "PreToolUse", "new_string": "Stop"}, "removes Tenet's hook"},
		"several edits":         {"MultiEdit", map[string]any{"file_path": settings, "edits": []any{map[string]any{"old_string": "*", "new_string": "x"}}}, "removes Tenet's hook"},
		"an edit that fits not": {"Edit", map[string]any{"file_path": settings, "old_string": "nowhere", "new_string": ""}, "Claude Code"},
		"a hook of git":         {"Write", map[string]any{"file_path": ".git/hooks/pre-commit", "content": "#!/bin/sh\n"}, "hooks of git"},
		"a cell":                {"NotebookEdit", map[string]any{"notebook_path": settings, "new_source": "x"}, "Claude Code"},
		"a command":             {"Bash", map[string]any{"command": "tenet hook uninstall claude-code --yes"}, "hook uninstall"},
		"no verification":       {"Bash", map[string]any{"command": "git commit -nm x"}, "skips the hooks"},
		"a confirmation":        {"Bash", map[string]any{"command": "TENET_CONFIRM=yes git commit"}, "TENET_CONFIRM"},
		"PowerShell":            {"PowerShell", map[string]any{"command": "Remove-Item .claude/settings.json"}, ".claude"},
		"an MCP server":         {"mcp__filesystem__write_file", map[string]any{"path": settings, "content": "{}"}, "removes Tenet's hook"},
		"another MCP server":    {"mcp__shell__run", map[string]any{"cmd": "rm -rf .claude"}, ".claude"},
		"a list of arguments":   {"mcp__shell__run", map[string]any{"argv": []any{"rm", "-rf", ".claude"}}, ".claude"},
		"a moved file":          {"mcp__filesystem__move_file", map[string]any{"source": settings, "destination": "/tmp/x"}, "Claude Code"},
		"an unknown tool":       {"Teleport", map[string]any{"target": map[string]any{"file_path": settings}}, "Claude Code"},
		"a long command":        {"Bash", map[string]any{"command": "rm .claude/settings.json #" + strings.Repeat("x", 9000)}, "Claude Code"},
	} {
		payload := toolCall(t, dir, test.tool, test.input)
		code, out, errs := runIn(t.Context(), t, payload, []string{"TENET_NO_SEED=true"}, "hook", "claude-code", "--approve", "--fail", "open")
		if code != 0 || !strings.Contains(out, `"permissionDecision":"ask"`) || !strings.Contains(out, test.says) {
			t.Errorf("%s: exits with %d, %s and %s", name, code, out, errs)
		}
		code, out, _ = runIn(t.Context(), t, payload, []string{"TENET_NO_SEED=true", "TENET_HOOK_SELF=deny"}, "hook", "claude-code", "--approve", "--fail", "open")
		if code != 2 || !strings.Contains(out, `"permissionDecision":"deny"`) {
			t.Errorf("%s: with hook_self=deny, exits with %d and %s", name, code, out)
		}
	}
	for name, payload := range map[string]string{
		"another model": toolCall(t, dir, "Edit", map[string]any{"file_path": settings, "old_string": `"a"`, "new_string": `"b"`}),
		"a reader":      toolCall(t, dir, "Read", map[string]any{"file_path": settings}),
		"cat":           toolCall(t, dir, "Bash", map[string]any{"command": "cat .claude/settings.json"}),
		"MCP reads":     toolCall(t, dir, "mcp__filesystem__read_file", map[string]any{"path": settings}),
	} {
		if code, out, errs := runIn(t.Context(), t, payload, []string{"TENET_NO_SEED=true"}, "hook", "claude-code"); code != 0 || strings.Contains(out, "permissionDecision") {
			t.Errorf("%s: exits with %d, %s and %s", name, code, out, errs)
		}
	}
	for payload, event := range map[string]string{
		`{"hook_event_name":"beforeShellExecution","cwd":"/","command":"git commit --no-verify -m x"}`:                                      "ask",
		`{"hook_event_name":"preToolUse","cwd":"/","tool_name":"Delete","tool_input":{"file_path":"/r/.cursor/hooks.json"}}`:                "deny",
		`{"hook_event_name":"preToolUse","cwd":"/","tool_name":"Write","tool_input":{"file_path":"/r/.cursor/hooks.json","content":"{}"}}`:  "deny",
		`{"hook_event_name":"beforeMCPExecution","tool_name":"write","tool_input":"{\"path\":\"/r/.cursor/hooks.json\",\"content\":\"\"}"}`: "ask",
	} {
		if code, out, errs := runIn(t.Context(), t, payload, []string{"TENET_NO_SEED=true"}, "hook", "cursor"); code != 0 || !strings.Contains(out, `"permission":"`+event+`"`) {
			t.Errorf("%s: exits with %d, %s and %s", payload, code, out, errs)
		}
	}
	if code, out, _ := runIn(t.Context(), t, pushes, []string{"TENET_HOOK_SELF=allow"}, "hook", "claude-code"); code != 2 || !strings.Contains(out, "hook_self") {
		t.Errorf("hook_self=allow: exits with %d and %s", code, out)
	}
}

// TestEveryCommandIsReadingOrAsks fails for a new command until somebody decides whether agents may run it unasked.
func TestEveryCommandIsReadingOrAsks(t *testing.T) {
	asks := map[string]bool{}
	for _, name := range []string{
		"conflicts mend", "retention set", "retention confirm", "retention withdraw", "holds place", "holds lift", "privacy forget",
		"conflicts mend", "review",
		"hook install", "hook uninstall", "waivers add", "waivers approve", "waivers revoke", "approvals approve", "approvals reject", "approvals withdraw", "policy set", "rules import", "rules apply", "nodes create",
		"nodes update", "nodes delete", "nodes attach", "nodes detach", "documents delete", "candidates approve", "candidates dismiss", "candidates merge", "candidates reopen", "candidates never-from", "candidates lift", "queue approve", "queue reject", "queue settle", "queue reopen", "queue take", "queue give", "queue aside", "conflicts confirm",
		"conflicts reject", "cases confirm", "cases delete", "snapshots gates", "snapshots approve", "snapshots deploy", "snapshots rollback", "alerts acknowledge",
		"alerts resolve", "webhooks create", "webhooks redeliver", "webhooks rotate", "webhooks enable", "webhooks disable", "webhooks delete", "keys create", "keys rotate", "keys set", "agents suspend", "agents resume", "rules approve-revision", "rules reject-revision", "rules withdraw-revision", "audit accept-corpus",
		"alerts resolve", "webhooks create", "webhooks redeliver", "webhooks rotate", "webhooks enable", "webhooks disable", "webhooks delete", "keys create", "rules approve-revision", "rules reject-revision", "rules withdraw-revision", "audit accept-corpus",
		"fleet pin", "fleet unpin", "fleet pause", "fleet resume", "fleet reread", "fleet forget", "bundle push", "edge",
		"gateway pins accept", "gateway pins forget",
		"alerts resolve", "webhooks create", "webhooks redeliver", "webhooks rotate", "webhooks enable", "webhooks disable", "webhooks delete", "keys create", "rules approve-revision", "rules reject-revision", "rules withdraw-revision", "audit accept-corpus", "audit rotate-key", "witness",
		"backup", "restore", "db migrate", "db distribute",
		"alerts resolve", "webhooks create", "webhooks redeliver", "webhooks rotate", "webhooks enable", "webhooks disable", "webhooks delete", "keys create", "rules approve-revision", "rules reject-revision", "rules withdraw-revision", "audit accept-corpus", "audit rotate-key", "privacy rotate-key", "witness",
		"backup", "restore", "db migrate",
		"keys revoke", "login", "logout", "rules new", "rules edit", "rules submit", "rules approve", "rules publish", "rules retire", "projects create", "projects edit", "waive", "cache prune", "cache clear", "cache forget", "jobs retry", "jobs cancel",
	} {
		asks[name] = true
	}
	parser, err := kong.New(&grammar{}, kong.NamedMapper("filled", kong.MapperFunc(filled)))
	if err != nil {
		t.Fatal(err)
	}
	leaves := parser.Model.Leaves(false)
	if len(leaves) < len(asks)+50 {
		t.Fatalf("%d commands", len(leaves))
	}
	for _, leaf := range leaves {
		name := strings.TrimPrefix(leaf.Path(), "tenet ")
		name = strings.Join(strings.Fields(strings.Split(name, "<")[0]), " ")
		name = strings.TrimSpace(strings.Split(name, "[")[0])
		if guard.Reads(name) == asks[name] {
			t.Errorf("%q: reads %t, asks %t", name, guard.Reads(name), asks[name])
		}
	}
}

func TestAChangeOfTheWallIsReported(t *testing.T) {
	diff := "--- a/.claude/settings.json\n+++ b/.claude/settings.json\n@@ -1 +1 @@\n-{\"a\":1}\n+{}\n" +
		"--- a/.github/workflows/ci.yml\n+++ b/.github/workflows/ci.yml\n@@ -1 +1 @@\n-  - run: tenet check --base main\n+  - run: make\n" +
		"--- a/.github/workflows/other.yml\n+++ b/.github/workflows/other.yml\n@@ -1 +1 @@\n-  - run: make\n+  - run: make all\n"
	_, _, errs := run(t, diff, "check")
	for _, says := range []string{"touches .claude/settings.json (the settings and hooks of Claude Code)", "touches .github/workflows/ci.yml (the line of Tenet in CI)"} {
		if !strings.Contains(errs, says) {
			t.Errorf("%q is missing in %s", says, errs)
		}
	}
	if strings.Contains(errs, "other.yml (") {
		t.Errorf("says too much: %s", errs)
	}
}
