// Package hook speaks the languages of the tools that ask before they act: it reads what Claude Code and Cursor tell a hook
// about an edit or a command, says what is to be judged, and writes the answer as the tool expects it. Payloads are data:
// nothing in them changes how they are judged.
package hook

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"tenet/internal/rule"
	"tenet/internal/subject"
)

// MaxPayload is how many bytes a tool may send to its hook.
const MaxPayload = 16 << 20

// MaxAction is how many characters a command or a tool call may have to be judged: the limit of a quick evaluation.
const MaxAction = 5000

// Decision is what a hook tells its tool.
type Decision string

// Decisions. Ask leaves it to the person at the tool.
const (
	Allow Decision = "allow"
	Ask   Decision = "ask"
	Deny  Decision = "deny"
)

// Answer is a decision with its reason.
type Answer struct {
	Decision Decision
	// Reason is why, for the person and the agent; empty for a plain Allow. An Allow with a reason is one that must be seen:
	// something could not be judged, and the fail mode lets it pass.
	Reason string
	// Kept says that rules were judged, all that apply, and that each is kept. An Allow without it is no approval.
	Kept bool
}

// Question is what a tool asks its hook.
type Question struct {
	// Event is the tool's name for the moment it asks at; empty if the payload does not even tell that.
	Event string
	// Skip says that there is nothing to judge, such as when a file is only read.
	Skip bool
	// Note is told with the answer, whatever that is.
	Note string
	// Action is a command or tool call in words. Diff and Files are a change; for a command, Files are what it writes.
	Action string
	Diff   string
	Files  []subject.InputFile
	Mode   rule.Mode
	// Dir is the folder the tool works in; empty if it does not say.
	Dir string
}

// Reader reads a payload. Its error says in words why nothing can be judged; the question then tells the event, if that is
// known, so that the answer has the right form.
type Reader func(payload []byte) (Question, error)

// object is a JSON object by its exact keys. A struct would also take keys in another letter case, by which an agent could show
// the hook another command than the one that its tool runs.
type object map[string]json.RawMessage

func readObject(b []byte) (object, error) {
	var o object
	if err := json.Unmarshal(b, &o); err != nil || o == nil {
		return nil, fmt.Errorf("what the tool sent is not a JSON object")
	}
	return o, nil
}

// text is a field that holds a string; false if it is absent or something else.
func (o object) text(key string) (string, bool) {
	var s *string
	if json.Unmarshal(o[key], &s) != nil || s == nil {
		return "", false
	}
	return *s, true
}

// first is the first of several fields that holds a string.
func (o object) first(keys ...string) (string, bool) {
	for _, key := range keys {
		if s, ok := o.text(key); ok {
			return s, true
		}
	}
	return "", false
}

// inner is a field that holds an object, or a string that holds one.
func (o object) inner(key string) (object, error) {
	raw := []byte(o[key])
	if s, ok := o.text(key); ok {
		raw = []byte(s)
	}
	in, err := readObject(raw)
	if err != nil {
		return nil, fmt.Errorf("%s is not a JSON object", key)
	}
	return in, nil
}

// action makes the question about a command or call.
func (q *Question) action(format string, args ...any) error {
	q.Action = strings.TrimSpace(fmt.Sprintf(format, args...))
	if n := len([]rune(q.Action)); n > MaxAction {
		return fmt.Errorf("the command has %d characters, and at most %d can be judged", n, MaxAction)
	}
	return nil
}

// call makes the question about a call of somebody else's tool.
func (q *Question) call(name string, in object) error {
	b, err := json.Marshal(in)
	if err != nil {
		return err
	}
	return q.action("Call the tool %s with %s", name, b)
}

// quiet reports whether a tool does nothing that is judged: it reads, plans, or talks to the person.
func quiet(list []string, name string) bool { return slices.Contains(list, name) }

// list is a field that holds strings.
func (o object) list(key string) ([]string, bool) {
	var list []string
	if json.Unmarshal(o[key], &list) != nil {
		return nil, false
	}
	return list, true
}
