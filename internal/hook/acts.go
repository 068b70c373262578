package hook

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"tenet/internal/hook/guard"
	"tenet/internal/report"
	"tenet/internal/rule"
)

// ParseSelf reads the setting of what a hook answers to an act that would take Tenet's own walls out: ask or deny. Nothing lets it pass.
func ParseSelf(s string) (Decision, error) {
	d, ok := rule.Parse(strings.TrimSpace(s), []Decision{Ask, Deny})
	if !ok {
		return Deny, rule.Errorf(rule.CodeInvalid, "hook_self: %q is none of ask and deny", s)
	}
	return d, nil
}

// Guarded returns the answer to acts that would take Tenet's own walls out, by what the guard has found.
func Guarded(found []string, d Decision) Answer {
	if len(found) == 0 {
		return Answer{Decision: Allow}
	}
	for i, line := range found {
		found[i] = report.Line(line, maxLine)
	}
	how := "To do it on purpose, a person who agrees says so now."
	if d == Deny {
		how = "To do it on purpose, a person does it by hand, outside of the agent."
	}
	return Answer{Decision: d, Reason: "Tenet: this would change what keeps the rules here, so a person decides.\n- " + strings.Join(found, "\n- ") + "\n" + how}
}

// Unread returns the answer to input that Tenet does not understand: that of the fail mode, but never Allow.
func Unread(why string, m FailModes) Answer {
	a := Failed(why, m)
	if a.Decision == Allow {
		a.Decision = Ask
		a.Reason += " Input that Tenet does not understand never passes unasked."
	}
	return a
}

// place returns the file of a name, and notes that the tool changes it, in a way that is not known until touches says it.
func (q *Question) place(name string) file {
	f := place(q.Dir, name)
	q.Acts = append(q.Acts, guard.Act{Path: f.disk, Dir: folder(q.Dir)})
	return f
}

// touches notes the contents of a file before and after; nil where it is missing.
func (q *Question) touches(f file, before, after *string) {
	for i := range q.Acts {
		if a := &q.Acts[i]; a.Path == f.disk {
			a.Before, a.After, a.Certain = before, after, true
		}
	}
}

// unknown asks about a tool that Tenet does not know, by the commands and paths in its arguments.
func unknown(q *Question, name string, in object) error {
	q.fields(name, in)
	return fmt.Errorf("the tool %q is unknown to Tenet, which cannot judge its effect", name)
}

// The names that tools have for a command, a program, and a path. They are compared without _ and -, in lower case.
var (
	commandNames = []string{"command", "cmd", "commandline", "shellcommand", "bash", "shell", "args", "argv", "commands"}
	programNames = []string{"code", "script", "program", "javascript", "python", "query", "patch", "input", "diff"}
	pathNames    = []string{
		"path", "filepath", "file", "filename", "relativepath", "targetfile", "notebookpath", "absolutepath", "uri", "destination", "dest", "source", "to", "from",
		"newpath", "oldpath", "target", "dir", "directory", "folder", "dirpath", "paths", "files", "filepaths", "output", "outputpath",
	}
)

var (
	readsOnly = regexp.MustCompile(`(?i)^(.*__)?(read|get|list|search|grep|find|view|stat|show|glob|tree|describe|fetch|head|cat)`)
	changes   = regexp.MustCompile(`(?i)(replace|write|edit|delete|remove|move|rename|set|update|create|put|save|apply|exec|run|insert|append|copy)`)
)

// Bounds of the arguments of a call that are searched for acts.
const (
	maxFields     = 500
	maxFieldDepth = 20
)

// fields notes the commands and paths in the arguments of a call.
func (q *Question) fields(tool string, in object) {
	reads := readsOnly.MatchString(tool) && !changes.MatchString(tool)
	left, over := maxFields, false
	var walk func(key string, v any, depth int)
	note := func(key, text string) {
		key = strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(key))
		switch {
		case strings.TrimSpace(text) == "":
		case slices.Contains(commandNames, key):
			q.Acts = append(q.Acts, guard.Act{Command: text, Dir: folder(q.Dir)})
		case slices.Contains(programNames, key) && !reads:
			q.Acts = append(q.Acts, guard.Act{Text: text, Dir: folder(q.Dir)})
		case slices.Contains(pathNames, key) && !reads:
			q.Acts = append(q.Acts, guard.Act{Path: place(q.Dir, strings.TrimPrefix(text, "file://")).disk, Dir: folder(q.Dir)})
		}
	}
	walk = func(key string, v any, depth int) {
		if left--; left < 0 || depth > maxFieldDepth {
			if over {
				return
			}
			over = true
			q.Acts = append(q.Acts, guard.Act{Unread: "a call with so many arguments"})
			return
		}
		switch v := v.(type) {
		case string:
			note(key, v)
		case []any:
			var words []string
			for _, inner := range v {
				walk(key, inner, depth+1)
				if word, ok := inner.(string); ok {
					words = append(words, word)
				}
			}
			note(key, strings.Join(words, " "))
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(v)) {
				walk(name, v[name], depth+1)
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(in)) {
		var v any
		if json.Unmarshal(in[key], &v) == nil {
			walk(key, v, 0)
		}
	}
}
