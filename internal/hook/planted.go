package hook

import (
	"encoding/json"
	"path/filepath"
	"strings"
)

// Call is an act in the form in which an agent asks its hook.
type Call struct {
	// Payload holds the bytes that the agent sends.
	Payload []byte
	// Act says in words what the agent would do.
	Act string
}

// Planted returns a forbidden act at an event of an agent, which the guard of Tenet's own walls stops whatever rules there are, and a
// harmless one. It is false for events that can stop nothing.
func Planted(tool, event, dir string) (forbidden, harmless Call, ok bool) {
	const bad, good = "git commit --no-verify -m planted", "git status"
	settings, notes := filepath.Join(dir, ".claude", "settings.json"), filepath.Join(dir, "tenet-planted.txt")
	command := func(name string, form func(in map[string]any) map[string]any) (Call, Call, bool) {
		return Call{encoded(form(map[string]any{name: bad, "cwd": dir})), bad}, Call{encoded(form(map[string]any{name: good, "cwd": dir})), good}, true
	}
	write := func(form func(path, content string) map[string]any) (Call, Call, bool) {
		return Call{encoded(form(settings, "{}")), "emptying .claude/settings.json"}, Call{encoded(form(notes, "hello\n")), "writing a file of text"}, true
	}
	agent := func(name string) func(in map[string]any) map[string]any {
		return func(in map[string]any) map[string]any {
			return map[string]any{"hook_event_name": event, "cwd": dir, "session_id": "tenet-hook-test", "tool_name": name, "tool_input": in}
		}
	}
	cascade := func(in map[string]any) map[string]any {
		return map[string]any{"agent_action_name": event, "trajectory_id": "tenet-hook-test", "tool_info": in}
	}
	switch tool + " " + event {
	case "claude-code PreToolUse", "codex PreToolUse":
		return command("command", agent("Bash"))
	case "gemini BeforeTool":
		return command("command", agent("run_shell_command"))
	case "copilot preToolUse", "copilot PreToolUse":
		return command("command", func(in map[string]any) map[string]any {
			return map[string]any{"sessionId": "tenet-hook-test", "cwd": dir, "toolName": "bash", "toolArgs": in}
		})
	case "windsurf pre_run_command":
		return command("command_line", cascade)
	case "windsurf pre_write_code":
		return write(func(path, content string) map[string]any {
			return cascade(map[string]any{"file_path": path, "content": content})
		})
	case "windsurf pre_mcp_tool_use":
		return write(func(path, content string) map[string]any {
			return cascade(map[string]any{"mcp_server_name": filesystem, "mcp_tool_name": "write_file", "mcp_tool_arguments": map[string]any{"path": path, "content": content}})
		})
	case "cursor beforeShellExecution":
		return command("command", func(in map[string]any) map[string]any {
			in["hook_event_name"] = event
			return in
		})
	case "cursor beforeMCPExecution":
		return write(func(path, content string) map[string]any {
			return map[string]any{"hook_event_name": event, "cwd": dir, "tool_name": "write_file", "tool_input": map[string]any{"path": path, "content": content}}
		})
	case "cursor preToolUse":
		return write(func(path, content string) map[string]any {
			return agent("Write")(map[string]any{"file_path": path, "content": content})
		})
	}
	return Call{}, Call{}, false
}

func encoded(v any) []byte { return []byte(strings.TrimSuffix(encode(v), "\n")) }

// Result returns the decision in an answer to an agent, as the agent reads it: what is neither a denial nor a question lets the act pass.
func Result(tool, stdout, stderr string, code int) Decision {
	var answer struct {
		Flat    Decision        `json:"permissionDecision"`
		Cursor  Decision        `json:"permission"`
		Output  *claudeDecision `json:"hookSpecificOutput"`
		Gemini  Decision        `json:"decision"`
		Message string          `json:"reason"`
	}
	if json.Unmarshal([]byte(stdout), &answer) != nil {
		answer.Flat = "" // an agent reads nothing from it
	}
	said := Allow
	switch tool {
	case "claude-code":
		if answer.Output != nil {
			said = answer.Output.Decision
		}
	case "cursor":
		said = answer.Cursor
	case "copilot":
		said = answer.Flat
	case "gemini":
		said = answer.Gemini
	}
	switch {
	case code == 2 && (tool != "codex" || strings.TrimSpace(stderr) != ""), code != 0 && (tool == "copilot" || tool == "cursor"), said == Deny:
		return Deny
	case said == Ask:
		return Ask
	}
	return Allow
}
