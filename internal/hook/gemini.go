package hook

import (
	"fmt"
	"path/filepath"
)

// geminiTools are the tools of Gemini CLI.
var geminiTools = toolset{
	quiet: []string{
		"read_file", "read_many_files", "list_directory", "glob", "search_file_content", "grep_search", "write_todos", "get_internal_docs", "ask_user",
		"enter_plan_mode", "exit_plan_mode", "activate_skill", "codebase_investigator", "cli_help",
	},
	shells: []string{"run_shell_command"},
	writes: []string{"write_file"}, edits: []string{"replace", "edit"},
	calls: []string{"web_fetch", "google_web_search", "save_memory"},
}

// Gemini reads a payload of Gemini CLI.
func Gemini(payload []byte) (Question, error) {
	q, o, err := agentCall(payload)
	if err != nil {
		return q, err
	}
	if q.Event != "BeforeTool" {
		if _, uses := o["tool_input"]; q.Event == "" || uses && q.Event != "AfterTool" {
			return q, fmt.Errorf("the event %q is unknown to Tenet", q.Event)
		}
		q.Skip = true
		return q, nil
	}
	in, err := o.inner("tool_input")
	if err != nil {
		return q, err
	}
	if dir, ok := in.first("dir_path", "directory"); ok {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(q.Dir, dir)
		}
		q.Dir = dir
	}
	name, _ := o.text("tool_name")
	if _, remote := o["mcp_context"]; remote && name != "" {
		full := remoteName{tool: name}
		if of, err := o.inner("mcp_context"); err == nil {
			full.server, _ = of.text("server_name")
			if tool, ok := of.text("tool_name"); ok && tool != "" { // without the prefix that sets tools of the same name apart
				full.tool = tool
			}
		}
		return q, q.remote([]remoteName{full}, in, o.raw("tool_input"))
	}
	return q, q.use(geminiTools, name, in, o.raw("tool_input"))
}

// WriteGemini returns the answer to Gemini CLI: its stdout, its stderr, and the exit code.
func WriteGemini(_ string, a Answer) (stdout, stderr string, code int) {
	return blocked("Gemini CLI", a)
}
