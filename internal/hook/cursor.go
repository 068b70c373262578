package hook

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"tenet/internal/gateway"
	"tenet/internal/rule"
)

// cursorQuiet are the tools of Cursor that change nothing outside the conversation, and the shell, which has the event
// beforeShellExecution.
var cursorQuiet = []string{"Read", "Grep", "Glob", "LS", "List", "Search", "SemanticSearch", "Task", "TodoWrite", "Shell"}

// cursorAsks are the events at which Cursor can ask the person. At the others before an action, Ask becomes a denial that says
// so.
var cursorAsks = []string{"beforeShellExecution", "beforeMCPExecution"}

// cursorOther are the events before something that is no action of the agent.
var cursorOther = []string{"beforeSubmitPrompt", "beforeTabFileRead"}

// cursorBefore are all events before an action.
var cursorBefore = []string{"beforeShellExecution", "beforeMCPExecution", "beforeReadFile", "preToolUse"}

// Cursor reads a payload of Cursor.
func Cursor(payload []byte) (Question, error) {
	o, err := readObject(thePayload, payload)
	if err != nil {
		return Question{Event: eventOf(payload, "hook_event_name")}, err
	}
	q := Question{Mode: rule.Preflight}
	q.Event, _ = o.text("hook_event_name")
	if q.Dir, _ = o.text("cwd"); q.Dir == "" {
		q.Dir = o.root()
	}
	switch q.Event {
	case "beforeShellExecution":
		return q, q.command("", o)
	case "beforeMCPExecution":
		name, ok := o.text("tool_name")
		if !ok {
			return q, errors.New("the payload has no tool_name")
		}
		in, err := o.inner("tool_input")
		if err != nil {
			return q, err
		}
		server, ok := o.first("url", "command")
		if words := strings.Fields(server); ok && len(words) > 0 {
			server = gateway.ServerName(words[0], words[1:])
		}
		return q, q.remote([]remoteName{{server, name}}, in, o.raw("tool_input"))
	case "beforeReadFile":
		name, ok := o.text("file_path")
		if !ok {
			return q, errors.New("the payload has no file_path")
		}
		return q, q.action("Read the file %s", place(q.Dir, name).path)
	case "afterFileEdit":
		return q, q.cursorEdited(o)
	case "preToolUse":
		return q, q.cursorTool(o)
	case "":
		return q, errors.New("the payload has no hook_event_name")
	}
	if strings.HasPrefix(q.Event, "before") && !slices.Contains(cursorOther, q.Event) {
		return q, fmt.Errorf("the event %q is unknown to Tenet", q.Event)
	}
	q.Skip, q.Note = true, fmt.Sprintf("nothing is judged at the event %s", q.Event)
	return q, nil
}

// root returns the first folder that Cursor has open.
func (o object) root() string {
	roots, ok := o.list("workspace_roots")
	if !ok || len(roots) == 0 {
		return ""
	}
	return roots[0]
}

// cursorEdited asks about an edit that Cursor has made.
func (q *Question) cursorEdited(o object) error {
	q.Mode = rule.Posthoc
	name, ok := o.text("file_path")
	if !ok {
		return errors.New("the payload has no file_path")
	}
	edits, err := readEdits(o)
	if err != nil {
		return err
	}
	f := q.place(name)
	now, err := f.read()
	if err != nil {
		return err
	}
	if before, ok := undo(now, edits); ok {
		return q.changed(f, before)
	}
	return q.whole(f)
}

// cursorTool asks about a use of a tool.
func (q *Question) cursorTool(o object) error {
	tool, _ := o.text("tool_name")
	if slices.Contains(cursorQuiet, tool) || strings.HasPrefix(tool, "MCP:") { // which has the event beforeMCPExecution
		q.Skip = true
		return nil
	}
	in, err := o.inner("tool_input")
	if err != nil {
		return err
	}
	name, named := in.first("file_path", "path", "target_file")
	switch tool {
	case "Write", "Edit", "StrReplace", "TabWrite":
	case "Delete":
		f := q.place(name)
		was := ""
		q.touches(f, &was, nil)
		return q.action("Delete the file %s", f.path)
	default:
		return unknown(q, tool, in)
	}
	if !named {
		return errors.New("the edit names no file_path")
	}
	f := q.place(name)
	if content, ok := in.first("content", "contents", "file_text"); ok {
		return q.write(f, content)
	}
	edits, err := readEdits(in)
	if err != nil {
		return err
	}
	return q.edit(f, edits)
}

// cursorAnswer has each message under its present name and under that of Cursor 1.7.
type cursorAnswer struct {
	Permission  Decision `json:"permission,omitempty"`
	Continue    *bool    `json:"continue,omitempty"`
	UserMessage string   `json:"user_message,omitempty"`
	AgentMess   string   `json:"agent_message,omitempty"`
	UserOld     string   `json:"userMessage,omitempty"`
	AgentOld    string   `json:"agentMessage,omitempty"`
}

// WriteCursor returns the answer to Cursor: its stdout, its stderr, and the exit code. After an action the reason goes to
// stderr, which Cursor shows in its log of hooks.
func WriteCursor(event string, a Answer) (stdout, stderr string, code int) {
	if event == "beforeSubmitPrompt" {
		yes := true
		return encode(cursorAnswer{Continue: &yes}), "", 0
	}
	if event != "" && !slices.Contains(cursorBefore, event) && (!strings.HasPrefix(event, "before") || slices.Contains(cursorOther, event)) {
		if a.Reason != "" {
			stderr = a.Reason + "\n"
		}
		return "{}\n", stderr, 0
	}
	if a.Decision == Allow && len(a.Unknown) > 0 && slices.Contains(cursorAsks, event) { // allow would be an approval
		a.Decision = Ask
		a.Reason = strings.TrimSpace(a.Reason + "\nTenet has no objection, and does not know the whole effect: " + strings.Join(a.Unknown, "; ") + ".")
	}
	if a.Decision == Allow && a.Uncovered != "" && slices.Contains(cursorAsks, event) {
		a.Decision, a.Reason = Ask, strings.TrimSpace(a.Reason+"\n"+a.Uncovered)
	}
	if a.Decision == Ask && !slices.Contains(cursorAsks, event) {
		a.Decision = Deny
		a.Reason += "\nCursor cannot ask at this point, so the answer is a denial. A person who agrees can do it by hand."
	}
	return encode(cursorAnswer{
		Permission: a.Decision, UserMessage: a.Reason, AgentMess: a.Reason, UserOld: a.Reason, AgentOld: a.Reason,
	}), "", 0
}
