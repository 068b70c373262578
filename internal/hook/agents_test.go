package hook

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tenet/internal/gateway"
	"tenet/internal/hook/guard"
)

func asJSON(t testing.TB, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

type payload = map[string]any

// forms are how each agent asks about a command, a new content of a file and an edit.
func forms(dir string) map[string]struct {
	read                 Reader
	command, write, edit func(path, a, b string) payload
} {
	type form = struct {
		read                 Reader
		command, write, edit func(path, a, b string) payload
	}
	codex := func(tool string, in payload) payload {
		return payload{"session_id": "s", "turn_id": "t", "cwd": dir, "hook_event_name": "PreToolUse", "model": "gpt", "permission_mode": "default", "tool_name": tool, "tool_input": in, "tool_use_id": "u"}
	}
	gemini := func(tool string, in payload) payload {
		return payload{"session_id": "s", "transcript_path": "/t", "cwd": dir, "hook_event_name": "BeforeTool", "timestamp": "2026-11-22T00:00:00Z", "tool_name": tool, "tool_input": in}
	}
	cli := func(tool string, in payload) payload {
		text, err := json.Marshal(in)
		if err != nil {
			panic(err)
		}
		return payload{"sessionId": "s", "timestamp": 1, "cwd": dir, "toolName": tool, "toolArgs": string(text)}
	}
	code := func(tool string, in payload) payload {
		return payload{"sessionId": "s", "timestamp": "2026-11-22T00:00:00Z", "cwd": dir, "hookEventName": "PreToolUse", "tool_name": tool, "tool_input": in, "tool_use_id": "u"}
	}
	windsurf := func(event string, in payload) payload {
		return payload{"agent_action_name": event, "trajectory_id": "t", "execution_id": "e", "timestamp": "2026-11-22T00:00:00Z", "tool_info": in}
	}
	patch := func(kind string) func(path, a, b string) payload {
		return func(path, a, b string) payload {
			text := "*** Begin Patch\n*** " + kind + " File: " + path + "\n"
			if kind == "Update" {
				text += "@@\n-" + a + "\n"
			}
			return codex("apply_patch", payload{"command": text + "+" + b + "\n*** End Patch"})
		}
	}
	return map[string]form{
		"Codex": {Codex, func(_, a, _ string) payload { return codex("Bash", payload{"command": a}) }, patch("Add"), patch("Update")},
		"Gemini CLI": {
			Gemini, func(_, a, _ string) payload {
				return gemini("run_shell_command", payload{"command": a, "description": "x"})
			},
			func(path, _, b string) payload {
				return gemini("write_file", payload{"file_path": path, "content": b + "\n"})
			},
			func(path, a, b string) payload {
				return gemini("replace", payload{"file_path": path, "old_string": a, "new_string": b, "expected_replacements": 1})
			},
		},
		"Copilot's command line": {
			Copilot, func(_, a, _ string) payload { return cli("bash", payload{"command": a}) },
			func(path, _, b string) payload { return cli("create", payload{"path": path, "file_text": b + "\n"}) },
			func(path, a, b string) payload { return cli("edit", payload{"path": path, "old_str": a, "new_str": b}) },
		},
		"VS Code": {
			Copilot, func(_, a, _ string) payload {
				return code("run_in_terminal", payload{"command": a, "isBackground": false})
			},
			func(path, _, b string) payload {
				return code("create_file", payload{"filePath": path, "content": b + "\n"})
			},
			func(path, a, b string) payload {
				return code("multi_replace_string_in_file", payload{"replacements": []any{payload{"filePath": path, "oldString": a, "newString": b}}})
			},
		},
		"VS Code with the hook of Claude Code": {
			Claude, func(_, a, _ string) payload { return code("run_in_terminal", payload{"command": a}) },
			func(path, _, b string) payload {
				return code("create_file", payload{"filePath": path, "content": b + "\n"})
			},
			func(path, a, b string) payload {
				return code("replace_string_in_file", payload{"filePath": path, "oldString": a, "newString": b})
			},
		},
		"Windsurf": {
			Windsurf, func(_, a, _ string) payload {
				return windsurf("pre_run_command", payload{"command_line": a, "cwd": dir})
			},
			func(path, _, b string) payload {
				return windsurf("pre_write_code", payload{"file_path": path, "edits": []any{payload{"old_string": "", "new_string": b + "\n"}}})
			},
			func(path, a, b string) payload {
				return windsurf("pre_write_code", payload{"file_path": path, "edits": []any{payload{"old_string": a, "new_string": b}}})
			},
		},
	}
}

func TestEveryAgentsCommandsAndEditsAreJudged(t *testing.T) {
	dir := project(t, "src/a.txt", five)
	for name, form := range forms(dir) {
		for what, test := range map[string]struct {
			payload payload
			want    []string
		}{
			"a new file": {form.write(filepath.Join(dir, "src", "b.txt"), "", "new"), []string{"src/b.txt:1 new"}},
			"an edit":    {form.edit(filepath.Join(dir, "src", "a.txt"), "three", "III"), []string{"src/a.txt:3 III"}},
			"a command":  {form.command("", "echo x > src/c.txt", ""), []string{"src/c.txt:1 x"}},
		} {
			q, err := form.read(asJSON(t, test.payload))
			if err != nil {
				t.Errorf("%s: %s: %v", name, what, err)
				continue
			}
			if got := added(t, q); !slices.Equal(got, test.want) || q.Skip {
				t.Errorf("%s: %s: %q, want %q", name, what, got, test.want)
			}
		}
		if q, err := form.read(asJSON(t, form.command("", "git push --force", ""))); err != nil || q.Action != "git push --force" {
			t.Errorf("%s: asks about %q (%v)", name, q.Action, err)
		}
	}
}

func TestEveryAgentsWallsAreGuarded(t *testing.T) {
	dir := project(t, ".claude/settings.json", `{"hooks":{"PreToolUse":[{"hooks":[{"command":"tenet hook claude-code"}]}]}}`+"\n")
	g := &guard.Guard{}
	path := filepath.Join(dir, ".claude", "settings.json")
	for name, form := range forms(dir) {
		for what, p := range map[string]payload{
			"a new content": form.write(path, "", "{}"), "an edit": form.edit(path, "PreToolUse", "Stop"), "an edit that does not fit": form.edit(path, "nowhere", ""),
			"a command": form.command("", "git commit --no-verify -m x", ""), "a removal": form.command("", "rm -rf .claude", ""),
		} {
			q, _ := form.read(asJSON(t, p)) // what is not understood asks anyway
			if found := g.Judge(q.Acts); len(found) == 0 {
				t.Errorf("%s: %s passes: %+v", name, what, q.Acts)
			}
		}
		q, err := form.read(asJSON(t, form.command("", "cat .claude/settings.json", "")))
		if found := g.Judge(q.Acts); err != nil || len(found) > 0 {
			t.Errorf("%s: reading asks: %q (%v)", name, found, err)
		}
	}
}

// agents are all readers with their writers.
var agents = map[string]struct {
	read  Reader
	write func(event string, a Answer) (string, string, int)
	// stopped reports whether an answer stops the tool.
	stopped func(stdout string, code int) bool
}{
	"claude-code": {Claude, func(e string, a Answer) (string, string, int) { return WriteClaude(e, a, true) }, asksOrDenies},
	"cursor":      {Cursor, WriteCursor, asksOrDenies},
	"codex":       {Codex, WriteCodex, func(_ string, code int) bool { return code == 2 }},
	"gemini":      {Gemini, WriteGemini, func(_ string, code int) bool { return code == 2 }},
	"copilot":     {Copilot, WriteCopilot, asksOrDenies},
	"windsurf":    {Windsurf, WriteWindsurf, func(_ string, code int) bool { return code == 2 }},
}

func asksOrDenies(stdout string, code int) bool {
	return code == 2 || strings.Contains(stdout, `"ask"`) || strings.Contains(stdout, `"deny"`)
}

func TestInputThatIsNotUnderstoodIsStopped(t *testing.T) {
	for name, agent := range agents {
		for _, text := range []string{
			"", "null", "[]", "{}", "{", "\x00", `"x"`, `{"hook_event_name": 1}`, `{"hook_event_name":"PreToolUse"}`, `{"hook_event_name":"PreToolUse","tool_name":"Teleport","tool_input":{}}`,
			`{"hook_event_name":"BeforeTool","tool_name":"teleport","tool_input":{"command":"ls"}}`, `{"hook_event_name":"Unheard","tool_name":"Bash","tool_input":{"command":"ls"}}`,
			`{"toolName":"teleport","toolArgs":"{}"}`, `{"toolName":"bash","toolArgs":"nope"}`, `{"agent_action_name":"pre_teleport","tool_info":{}}`, `{"agent_action_name":"pre_run_command"}`,
			`{"hook_event_name":"beforeShellExecution"}`, `{"hook_event_name":"PreToolUse","tool_name":"apply_patch","tool_input":{"command":"nope"}}`,
		} {
			q, err := agent.read([]byte(text))
			if err == nil {
				if !q.Skip && q.Action == "" && len(q.Calls) == 0 && q.Diff == "" && len(q.Files) == 0 {
					t.Errorf("%s: asks nothing about %s", name, text)
				}
				continue
			}
			stdout, stderr, code := agent.write(q.Event, Unread(err.Error(), FailModes{"CRITICAL": Open, "HIGH": Open, "MEDIUM": Open, "LOW": Open}))
			if !agent.stopped(stdout, code) {
				t.Errorf("%s: %s passes: %s %s %d", name, text, stdout, stderr, code)
			}
			if code == 2 && stderr == "" {
				t.Errorf("%s: %s has no reason, which Codex takes for a pass", name, text)
			}
		}
	}
}

func TestToolsOfServersAreJudgedByTheirArguments(t *testing.T) {
	dir := project(t, "a.txt", five)
	for reader, p := range map[string]payload{
		"Codex":                  {"hook_event_name": "PreToolUse", "cwd": dir, "tool_name": "mcp__db__query", "tool_input": payload{"sql": "drop table x"}},
		"Gemini CLI":             {"hook_event_name": "BeforeTool", "cwd": dir, "tool_name": "query", "mcp_context": payload{"server_name": "db"}, "tool_input": payload{"sql": "drop table x"}},
		"Copilot's command line": {"cwd": dir, "toolName": "db-server-query", "toolArgs": `{"sql":"drop table x"}`},
		"VS Code":                {"cwd": dir, "hookEventName": "PreToolUse", "tool_name": "mcp_db_query", "tool_input": payload{"sql": "drop table x"}},
		"Windsurf":               {"agent_action_name": "pre_mcp_tool_use", "tool_info": payload{"mcp_server_name": "db", "mcp_tool_name": "query", "mcp_tool_arguments": payload{"sql": "drop table x"}}},
	} {
		q, err := forms(dir)[reader].read(asJSON(t, p))
		if err != nil || q.Action != "" || len(q.Unknown) == 0 || !slices.ContainsFunc(q.Calls, func(c gateway.Call) bool {
			return c.Tool == "query" && strings.HasPrefix(c.Server, "db") && string(c.Arguments) == `{"sql":"drop table x"}`
		}) {
			t.Errorf("%s: asks about %+v, unknown %q (%v)", reader, q.Calls, q.Unknown, err)
		}
	}
}

func TestAnswersOfAgentsThatCannotAsk(t *testing.T) {
	for _, name := range []string{"codex", "gemini", "windsurf"} {
		write := agents[name].write
		if stdout, stderr, code := write("pre_run_command", Answer{Decision: Ask, Reason: "look"}); stdout != "" || code != 2 || !strings.Contains(stderr, "look") || !strings.Contains(stderr, "cannot ask") {
			t.Errorf("%s: %q %q %d", name, stdout, stderr, code)
		}
		if stdout, stderr, code := write("pre_run_command", Answer{Decision: Allow}); stdout != "" || stderr != "" || code != 0 {
			t.Errorf("%s: %q %q %d", name, stdout, stderr, code)
		}
		if stdout, _, code := write("pre_run_command", Answer{Decision: Allow, Reason: "LOW"}); code != 0 || !strings.Contains(stdout, `"systemMessage":"LOW"`) {
			t.Errorf("%s: %q %d", name, stdout, code)
		}
	}
	stdout, _, code := WriteCopilot("", Answer{Decision: Ask, Reason: "look"})
	if code != 0 || !strings.Contains(stdout, `{"permissionDecision":"ask","permissionDecisionReason":"look","hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask"`) {
		t.Errorf("%s %d", stdout, code)
	}
}

func TestSelfIsNeverAllow(t *testing.T) {
	for _, word := range []string{"", "allow", "ASK!", "open"} {
		if d, err := ParseSelf(word); err == nil || d != Deny {
			t.Errorf("%q is %s (%v)", word, d, err)
		}
	}
	if a := Guarded([]string{"x"}, Ask); a.Decision != Ask || !strings.Contains(a.Reason, "- x") || a.Approved {
		t.Errorf("%+v", a)
	}
	if a := Guarded(nil, Deny); a.Decision != Allow {
		t.Errorf("%+v", a)
	}
}

// FuzzAgents holds for any input: no reader panics, and what cannot be read is stopped by every writer.
func FuzzAgents(f *testing.F) {
	dir := f.TempDir()
	for _, form := range forms(dir) {
		f.Add(asJSON(f, form.command("", "ls", "")))
		f.Add(asJSON(f, form.write("x", "", "y")))
		f.Add(asJSON(f, form.edit("x", "a", "b")))
	}
	for _, text := range []string{"{}", `{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"rm .claude/settings.json"}}`, `{"toolName":"apply_patch","toolArgs":"*** Begin Patch"}`} {
		f.Add([]byte(text))
	}
	g := &guard.Guard{Home: dir}
	if err := os.Chdir(dir); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if strings.Contains(string(b), "/dev") || strings.Contains(string(b), "/proc") {
			t.Skip("devices")
		}
		for name, agent := range agents {
			q, err := agent.read(b)
			found := g.Judge(q.Acts)
			a := Answer{Decision: Allow}
			if err != nil {
				a = Unread(err.Error(), FailModes{"CRITICAL": Open, "HIGH": Open, "MEDIUM": Open, "LOW": Open})
			}
			a = Stricter(Guarded(found, Ask), a)
			after := strings.HasPrefix(q.Event, "post_") || q.Event == postToolUse || name == "cursor" && q.Event != "" && !slices.Contains(cursorBefore, q.Event)
			stdout, _, code := agent.write(q.Event, a)
			if a.Decision != Allow && !after && !agent.stopped(stdout, code) {
				t.Errorf("%s: %q passes: %s (%s)", name, b, stdout, fmt.Sprint(err))
			}
			if strings.Contains(stdout, `"permissionDecision":"allow"`) {
				t.Errorf("%s: %q is approved", name, b)
			}
		}
	})
}

// TestCursorsUnknownEventsBeforeActionsAreDenied: an event that Tenet does not know may be the only one before an action.
func TestCursorsUnknownEventsBeforeActionsAreDenied(t *testing.T) {
	for event, want := range map[string]bool{"beforeFileWrite": true, "beforeSubmitPrompt": false, "beforeTabFileRead": false, "afterAgentResponse": false, "stop": false} {
		q, err := Cursor(asJSON(t, payload{"hook_event_name": event}))
		a := Answer{Decision: Allow}
		if err != nil {
			a = Unread(err.Error(), FailModes{})
		}
		stdout, _, _ := WriteCursor(q.Event, a)
		if got := asksOrDenies(stdout, 0); got != want {
			t.Errorf("%s: stopped is %t, want %t: %s", event, got, want, stdout)
		}
	}
}
