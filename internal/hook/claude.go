package hook

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tenet/internal/rule"
)

// claudeQuiet are the tools of Claude Code that change nothing outside the conversation: they read, plan, or talk to the
// person. The tools of the agents that it starts call the hook too.
var claudeQuiet = []string{
	"Read", "Glob", "Grep", "LS", "LSP", "NotebookRead", "TodoRead", "TodoWrite", "Task", "Agent", "TaskCreate", "TaskGet", "TaskList",
	"TaskOutput", "TaskStop", "TaskUpdate", "CronCreate", "CronDelete", "CronList", "ExitWorktree", "ScheduleWakeup", "SendMessage", "BashOutput", "KillBash", "KillShell", "AskUserQuestion", "EnterPlanMode", "ExitPlanMode",
	"ListMcpResourcesTool", "ReadMcpResourceTool", "Skill", "SlashCommand", "ToolSearch",
}

// claudeAfter are the events about a use of a tool at which its hook has been asked before.
var claudeAfter = []string{"PermissionRequest", "PermissionDenied", "PostToolUseFailure", "PostToolBatch", "Notification"}

const (
	preToolUse  = "PreToolUse"
	postToolUse = "PostToolUse"
)

// Claude reads a payload of Claude Code.
func Claude(payload []byte) (Question, error) {
	o, err := readObject(thePayload, payload)
	if err != nil {
		return Question{Event: eventOf(payload, "hook_event_name", "hookEventName")}, err
	}
	q := Question{Mode: rule.Preflight}
	q.Event, _ = o.text("hook_event_name")
	q.Dir, _ = o.text("cwd")
	if _, ofCode := o.text("hookEventName"); ofCode && q.Event == "" { // VS Code runs the hooks of Claude Code too, with its own payloads
		return Copilot(payload)
	}
	switch q.Event {
	case preToolUse:
	case postToolUse:
		q.Mode = rule.Posthoc
	case "":
		return q, errors.New("the payload has no hook_event_name")
	default:
		if _, uses := o["tool_input"]; uses && !slices.Contains(claudeAfter, q.Event) {
			return q, fmt.Errorf("the event %q is unknown to Tenet", q.Event)
		}
		q.Skip, q.Note = true, fmt.Sprintf("nothing is judged at the event %s; set the hook for PreToolUse", q.Event)
		return q, nil
	}
	name, _ := o.text("tool_name")
	if slices.Contains(claudeQuiet, name) {
		q.Skip = true
		return q, nil
	}
	in, err := o.inner("tool_input")
	if err != nil {
		return q, err
	}
	switch name {
	case "Bash", "PowerShell", "Monitor":
		return q, q.command(name, in)
	case "Edit", "MultiEdit", "Write":
		return q, q.claudeEdit(name, o, in)
	case "NotebookEdit":
		return q, q.cell(in)
	case "WebFetch", "WebSearch", "EnterWorktree":
		q.unsure("the effect of " + name + " is not known")
		return q, q.call(name, in)
	case "":
		return q, errors.New("the payload has no tool_name")
	}
	if strings.HasPrefix(name, mcpPrefix) {
		if err := foreign(&q, name, in, o.raw("tool_input")); err != nil || q.Mode != rule.Posthoc {
			return q, err
		}
		return q, answered(&q, o["tool_response"])
	}
	return q, unknown(&q, name, in)
}

// claudeEdit asks about an edit before or after the tool makes it.
func (q *Question) claudeEdit(tool string, o, in object) error {
	name, ok := in.text("file_path")
	if !ok {
		return errors.New("the edit names no file_path")
	}
	f := q.place(name)
	if q.Mode == rule.Posthoc {
		before := ""
		if answer, err := o.inner("tool_response"); err == nil {
			if before, ok = answer.text("originalFile"); !ok {
				return q.whole(f)
			}
		}
		return q.changed(f, before)
	}
	if tool == "Write" {
		content, ok := in.text("content")
		if !ok {
			return errors.New("the tool Write names no content")
		}
		return q.write(f, content)
	}
	edits, err := readEdits(in)
	if err != nil {
		return err
	}
	return q.edit(f, edits)
}

// cell asks about a cell of a notebook. Its lines count within the cell: those of the notebook's file are JSON.
func (q *Question) cell(in object) error {
	name, ok := in.text("notebook_path")
	if !ok {
		return errors.New("the edit names no notebook_path")
	}
	f := q.place(name)
	if mode, _ := in.text("edit_mode"); mode == "delete" {
		return q.action("Delete a cell of the notebook %s", f.path)
	}
	source, ok := in.text("new_source")
	if !ok {
		return errors.New("the edit names no new_source")
	}
	q.fragment(f, source)
	return nil
}

type claudeDecision struct {
	Event    string   `json:"hookEventName"`
	Decision Decision `json:"permissionDecision,omitempty"`
	Reason   string   `json:"permissionDecisionReason,omitempty"`
	Context  string   `json:"additionalContext,omitempty"`
}

type claudeAnswer struct {
	Decision string          `json:"decision,omitempty"`
	Reason   string          `json:"reason,omitempty"`
	Message  string          `json:"systemMessage,omitempty"`
	Output   *claudeDecision `json:"hookSpecificOutput,omitempty"`
}

// WriteClaude returns the answer to Claude Code: its stdout, its stderr, and the exit code. A denial uses both ways of the
// protocol: exit code 2 with the reason on stderr, and JSON. For an Allow the answer is empty, and Claude Code asks the person
// according to its own settings; with approve it does not ask about an approved answer. Nothing is approved whose whole effect is
// not known.
func WriteClaude(event string, a Answer, approve bool) (stdout, stderr string, code int) {
	var out claudeAnswer
	switch {
	case event == postToolUse && a.Decision == Deny:
		out = claudeAnswer{Decision: "block", Reason: a.Reason}
	case event == postToolUse && a.Reason != "":
		out = claudeAnswer{Message: a.Reason, Output: &claudeDecision{Event: postToolUse, Context: a.Reason}}
	case event == postToolUse:
		return "", "", 0
	case a.Decision != Allow:
		out.Output = &claudeDecision{Event: preToolUse, Decision: a.Decision, Reason: a.Reason}
	case approve && event == preToolUse && a.Approved && len(a.Unknown) == 0:
		out.Output = &claudeDecision{Event: preToolUse, Decision: Allow}
	case a.Reason != "":
		out.Message = a.Reason
	case a.Uncovered != "":
		return "", a.Uncovered + "\n", 0
	default:
		return "", "", 0
	}
	if a.Decision == Deny {
		stderr, code = a.Reason+"\n", 2
	}
	return encode(out), stderr, code
}

func encode(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic("hook: an answer must encode as JSON: " + err.Error())
	}
	return string(b) + "\n"
}
