package hook

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// copilotTools are the tools of Copilot, in its command line, in its cloud agent and in VS Code.
var copilotTools = toolset{
	quiet: []string{
		"view", "glob", "grep", "rg", "task", "ask_user", "report_intent", "update_todo", "list_bash", "read_bash", "list_powershell", "read_powershell", "read_agent",
		"list_agents", "show_file", "fetch_copilot_cli_documentation", "Read", "Glob", "Grep", "Agent", "Task", "TodoWrite", "AskUserQuestion", "read_file", "list_dir",
		"file_search", "grep_search", "semantic_search", "get_errors", "manage_todo_list", "get_changed_files", "list_code_usages", "test_search", "think",
		"get_terminal_output", "terminal_last_command", "terminal_selection", "runSubagent", "copilot_getNotebookSummary", "read_notebook_cell_output", "get_search_view_results",
	},
	shells:  []string{"bash", "powershell", "Bash", "run_in_terminal", "runInTerminal", "runTerminalCommand"},
	writes:  []string{"create", "Write", "create_file", "createFile"},
	edits:   []string{"edit", "Edit", "replace_string_in_file", "MultiEdit"},
	patches: []string{"apply_patch"},
	calls:   []string{"web_fetch", "web_search", "WebFetch", "WebSearch", "fetch_webpage", "open_simple_browser", "github_repo", "store_memory"},
}

// Copilot reads a payload of Copilot: in the form of its command line and its cloud agent, or in that of VS Code.
func Copilot(payload []byte) (Question, error) {
	q, o, err := agentCall(payload)
	if err != nil {
		return q, err
	}
	name, named := o.first("toolName", "tool_name")
	if q.Event != "" && q.Event != preToolUse && q.Event != "preToolUse" {
		if named && q.Event != postToolUse {
			return q, fmt.Errorf("the event %q is unknown to Tenet", q.Event)
		}
		q.Skip = true
		return q, nil
	}
	if _, after := o["toolResult"]; after {
		q.Skip = true
		return q, nil
	}
	if !named {
		return q, errors.New("the payload names no tool")
	}
	key := "tool_input"
	if _, ok := o["toolArgs"]; ok {
		key = "toolArgs"
	}
	if patch, ok := o.text(key); ok && name == "apply_patch" {
		if !json.Valid([]byte(patch)) {
			return q, q.patch(patch)
		}
	}
	in, err := o.inner(key)
	if err != nil {
		return q, err
	}
	if name == "multi_replace_string_in_file" {
		return q, replaced(&q, in)
	}
	if name == "insert_edit_into_file" { // its text leaves out what stays
		file, hasFile := in.first(pathFields...)
		text, hasText := in.first(contentFields...)
		if !hasFile || !hasText {
			return q, errors.New("the edit names no file and text")
		}
		q.fragment(q.place(file), text)
		return q, nil
	}
	if name == "str_replace_editor" {
		if what, _ := in.text("command"); what == "view" {
			q.Skip = true
			return q, nil
		}
		return q, q.tool(name, in)
	}
	if strings.Contains(name, "-") || strings.HasPrefix(name, "mcp_") { // of an MCP server: none of its own has such a name
		return q, foreign(&q, name, in, o.raw(key))
	}
	return q, q.use(copilotTools, name, in, o.raw(key))
}

// replaced asks about edits of several files.
func replaced(q *Question, in object) error {
	var list []object
	if decode(in["replacements"], &list) != nil || len(list) == 0 {
		return errors.New("replacements is not a list of edits")
	}
	byFile := map[string][]edit{}
	var names []string
	for _, one := range list {
		name, ok := one.first(pathFields...)
		if !ok {
			return errors.New("an edit names no file")
		}
		e, err := editOf(one)
		if err != nil {
			return err
		}
		if _, seen := byFile[name]; !seen {
			names = append(names, name)
			q.place(name)
		}
		byFile[name] = append(byFile[name], e)
	}
	for _, name := range names {
		if err := q.edit(place(q.Dir, name), byFile[name]); err != nil {
			return err
		}
	}
	q.Skip = q.Diff == "" && len(q.Files) == 0
	return nil
}

// copilotAnswer has the decision where the command line of Copilot reads it, and where VS Code does.
type copilotAnswer struct {
	Decision Decision        `json:"permissionDecision,omitempty"`
	Reason   string          `json:"permissionDecisionReason,omitempty"`
	Message  string          `json:"systemMessage,omitempty"`
	Output   *claudeDecision `json:"hookSpecificOutput,omitempty"`
}

// WriteCopilot returns the answer to Copilot: its stdout, its stderr, and the exit code. Its cloud agent takes Ask for a denial.
func WriteCopilot(_ string, a Answer) (stdout, stderr string, code int) {
	switch {
	case a.Decision != Allow:
		return encode(copilotAnswer{a.Decision, a.Reason, "", &claudeDecision{Event: preToolUse, Decision: a.Decision, Reason: a.Reason}}), "", 0
	case a.Reason != "":
		return encode(copilotAnswer{Message: a.Reason}), "", 0
	case a.Uncovered != "":
		return "", a.Uncovered + "\n", 0
	}
	return "", "", 0
}
