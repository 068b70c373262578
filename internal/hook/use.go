package hook

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"tenet/internal/hook/guard"
	"tenet/internal/rule"
	"tenet/internal/shell"
)

// toolset are the tools of an agent, by what they do.
type toolset struct {
	// quiet tools change nothing outside of the conversation.
	quiet []string
	// shells take a command.
	shells []string
	// writes take the whole content of a file, edits a text and its replacement, patches a patch in the form of apply_patch.
	writes, edits, patches []string
	// calls are other tools, whose effect is judged as the words of the call.
	calls []string
}

// Names that agents have for the fields of their tools.
var (
	pathFields    = []string{"file_path", "filePath", "path", "target_file", "notebook_path"}
	contentFields = []string{"content", "contents", "file_text", "fileText", "code"}
	oldFields     = []string{"old_string", "oldString", "old_str", "oldText"}
	newFields     = []string{"new_string", "newString", "new_str", "newText"}
	commandFields = []string{"command", "command_line", "cmd"}
	patchFields   = []string{"command", "input", "patch"}
)

// use asks about a use of a tool, with its arguments and their JSON.
func (q *Question) use(t toolset, name string, in object, raw []byte) error {
	switch {
	case name == "":
		return errors.New("the payload names no tool")
	case slices.Contains(t.quiet, name):
		q.Skip = true
		return nil
	case slices.Contains(t.shells, name):
		command, err := in.command()
		if err != nil {
			return err
		}
		return q.run(strings.Replace(name, "powershell", "PowerShell", 1), command)
	case slices.Contains(t.patches, name):
		patch, ok := in.first(patchFields...)
		if !ok {
			return fmt.Errorf("the tool %s names no patch", name)
		}
		return q.patch(patch)
	case slices.Contains(t.writes, name), slices.Contains(t.edits, name):
		return q.tool(name, in)
	case slices.Contains(t.calls, name):
		q.fields(name, in)
		q.unsure("the effect of " + name + " is not known")
		return q.call(name, in)
	}
	if strings.HasPrefix(name, mcpPrefix) {
		return foreign(q, name, in, raw)
	}
	return unknown(q, name, in)
}

// tool asks about a write or an edit of a file.
func (q *Question) tool(name string, in object) error {
	path, ok := in.first(pathFields...)
	if !ok {
		return fmt.Errorf("the tool %s names no file", name)
	}
	f := q.place(path)
	edits, err := editsOf(in)
	if err == nil {
		return q.edit(f, edits)
	}
	if content, ok := in.first(contentFields...); ok {
		return q.write(f, content)
	}
	return err
}

// command returns the command of a call, which may be a list of words.
func (o object) command() (string, error) {
	if command, ok := o.first(commandFields...); ok && strings.TrimSpace(command) != "" {
		return command, nil
	}
	for _, key := range commandFields {
		if words, ok := o.list(key); ok && len(words) > 0 {
			for i, w := range words {
				words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
			}
			return strings.Join(words, " "), nil
		}
	}
	return "", errors.New("the payload has no command")
}

// editsOf returns the edits of a call, under any of the names that agents have for them.
func editsOf(in object) ([]edit, error) {
	for _, key := range []string{"edits", "replacements"} {
		raw, ok := in[key]
		if !ok {
			continue
		}
		var list []object
		if json.Unmarshal(raw, &list) != nil || len(list) == 0 {
			return nil, fmt.Errorf("%s is not a list of edits", key)
		}
		var edits []edit
		for _, one := range list {
			e, err := editOf(one)
			if err != nil {
				return nil, err
			}
			edits = append(edits, e)
		}
		return edits, nil
	}
	e, err := editOf(in)
	return []edit{e}, err
}

func editOf(o object) (e edit, err error) {
	var hasOld, hasNew bool
	e.old, hasOld = o.first(oldFields...)
	e.new, hasNew = o.first(newFields...)
	if !hasOld || !hasNew {
		return e, errors.New("the edit has no old and new text")
	}
	var times float64
	if raw, ok := o["expected_replacements"]; ok && json.Unmarshal(raw, &times) == nil && times > 1 {
		e.all = true
	}
	for _, key := range []string{"replace_all", "allow_multiple", "replaceAll"} {
		if raw, ok := o[key]; ok && json.Unmarshal(raw, &e.all) != nil {
			return e, fmt.Errorf("%s is not true or false", key)
		}
	}
	return e, nil
}

// patchEnd ends the here-document by which a patch is followed as the shell program that would apply it.
const patchEnd = "END-OF-THE-PATCH"

// patchHeads begin the lines of a patch that name a file.
var patchHeads = []string{"*** Update File: ", "*** Add File: ", "*** Delete File: ", "*** Move to: "}

// patch asks about a patch in the form of apply_patch. Its names may be absolute, so it is followed from the root of the file system.
func (q *Question) patch(text string) error {
	start := len(q.Acts)
	var script strings.Builder
	script.WriteString("apply_patch <<'" + patchEnd + "'\n")
	for line := range strings.Lines(strings.TrimRight(text, "\n")) {
		if strings.TrimSpace(line) == patchEnd {
			return errors.New("the patch cannot be read")
		}
		for _, head := range patchHeads {
			if name, ok := strings.CutPrefix(strings.TrimSpace(line), head); ok {
				f := q.place(strings.TrimSpace(name))
				line = head + strings.TrimPrefix(filepath.ToSlash(f.disk), "/") + "\n"
			}
		}
		script.WriteString(line)
	}
	script.WriteString("\n" + patchEnd + "\n")
	if len(q.Acts) == start {
		q.Acts = append(q.Acts, guard.Act{Text: text, Dir: folder(q.Dir)})
		return errors.New("the patch names no file")
	}
	parsed, err := shell.Parse(script.String())
	switch {
	case err != nil:
		return fmt.Errorf("the patch cannot be read: %w", err)
	case filepath.Separator != '/':
		return errors.New("the folder of the patch is not known")
	}
	e := parsed.Effect(shell.Disk{}, "/")
	if len(e.Unknown) > 0 {
		return fmt.Errorf("the effect of the patch is not known: %s", e.Unknown[0])
	}
	for i := range e.Files {
		f := &e.Files[i]
		q.effect(f, place(folder(q.Dir), f.Path).paths())
		if f.Kind == shell.Regular {
			q.touches(file{disk: f.Path}, f.Before, f.After)
		}
	}
	q.Skip = len(q.Files) == 0 && q.Diff == ""
	return nil
}

// agentCall is the part of a payload that Codex, Gemini CLI and Copilot share with Claude Code.
func agentCall(payload []byte) (q Question, o object, err error) {
	q.Mode = rule.Preflight
	names := []string{"hook_event_name", "hookEventName", "agent_action_name"}
	if o, err = readObject(thePayload, payload); err != nil {
		q.Event = eventOf(payload, names...)
		return q, nil, err
	}
	q.Event, _ = o.first(names...)
	q.Dir, _ = o.text("cwd")
	return q, o, nil
}

// blocked returns the answer to agents whose hooks can only stop a tool, by exit code 2 with the reason on stderr: nobody can be asked, so
// Ask stops it too.
func blocked(agent string, a Answer) (stdout, stderr string, code int) {
	if a.Decision == Ask {
		a.Decision = Deny
		a.Reason += "\n" + agent + " cannot ask at this point, so the answer is a denial. A person who agrees can do it by hand."
	}
	if a.Decision == Deny {
		return "", strings.TrimSpace(a.Reason) + "\n", 2
	}
	if a.Reason != "" {
		return encode(claudeAnswer{Message: a.Reason}), "", 0
	}
	if a.Uncovered != "" {
		return "", a.Uncovered + "\n", 0
	}
	return "", "", 0
}
