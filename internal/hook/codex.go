package hook

import "fmt"

// codexTools are the tools of Codex that call its hooks.
var codexTools = toolset{
	quiet:   []string{"update_plan", "view_image", "Read", "read_file", "list_dir", "grep_files", "request_user_input", "list_mcp_resources", "read_mcp_resource"},
	shells:  []string{"Bash", "shell", "local_shell", "exec_command", "unified_exec", "shell_command"},
	patches: []string{"apply_patch"},
	writes:  []string{"Write"}, edits: []string{"Edit"},
	calls: []string{"web_search", "WebSearch", "WebFetch"},
}

// Codex reads a payload of Codex.
func Codex(payload []byte) (Question, error) {
	q, o, err := agentCall(payload)
	if err != nil {
		return q, err
	}
	switch q.Event {
	case preToolUse:
	case postToolUse, "PermissionRequest":
		q.Skip, q.Note = true, "nothing is judged at the event "+q.Event
		return q, nil
	default:
		if _, uses := o["tool_input"]; uses || q.Event == "" {
			return q, fmt.Errorf("the event %q is unknown to Tenet", q.Event)
		}
		q.Skip = true
		return q, nil
	}
	in, err := o.inner("tool_input")
	if err != nil {
		return q, err
	}
	name, _ := o.text("tool_name")
	return q, q.use(codexTools, name, in, o.raw("tool_input"))
}

// WriteCodex returns the answer to Codex: its stdout, its stderr, and the exit code. Codex takes every answer but exit code 2 with a reason, or
// a denial with one, for a pass, Ask included.
func WriteCodex(_ string, a Answer) (stdout, stderr string, code int) { return blocked("Codex", a) }
