package hook

import (
	"errors"
	"fmt"
	"strings"

	"tenet/internal/rule"
)

// Windsurf reads a payload of Windsurf's Cascade.
func Windsurf(payload []byte) (Question, error) {
	q, o, err := agentCall(payload)
	if err != nil {
		return q, err
	}
	what, isBefore := strings.CutPrefix(q.Event, "pre_")
	isAfter := false
	if !isBefore {
		if what, isAfter = strings.CutPrefix(q.Event, "post_"); !isAfter {
			return q, fmt.Errorf("the event %q is unknown to Tenet", q.Event)
		}
	}
	if what == "read_code" || what == "user_prompt" || isAfter && what != "write_code" && what != "run_command" && what != "mcp_tool_use" {
		q.Skip = true
		return q, nil
	}
	if isAfter {
		q.Mode = rule.Posthoc
	}
	info, err := o.inner("tool_info")
	if err != nil {
		return q, err
	}
	if dir, ok := info.text("cwd"); ok {
		q.Dir = dir
	}
	switch what {
	case "run_command":
		command, err := info.command()
		if err != nil {
			return q, err
		}
		return q, q.run("", command)
	case "write_code":
		if isAfter {
			return q, q.cursorEdited(info)
		}
		return q, q.tool(what, info)
	case "mcp_tool_use":
		name, ok := info.text("mcp_tool_name")
		if !ok {
			return q, errors.New("the payload has no mcp_tool_name")
		}
		server, _ := info.text("mcp_server_name")
		in, err := info.inner("mcp_tool_arguments")
		if err != nil {
			return q, err
		}
		return q, q.remote([]remoteName{{server, name}}, in, info.raw("mcp_tool_arguments"))
	}
	q.fields(what, info)
	return q, fmt.Errorf("the event %q is unknown to Tenet", q.Event)
}

// WriteWindsurf returns the answer to Windsurf: its stdout, its stderr, and the exit code. After an action it stops nothing.
func WriteWindsurf(event string, a Answer) (stdout, stderr string, code int) {
	if strings.HasPrefix(event, "post_") {
		if a.Reason != "" {
			stderr = a.Reason + "\n"
		}
		return "", stderr, 0
	}
	return blocked("Windsurf", a)
}
