// Package hook implements the hook protocols of coding agents: it reads the payload about an edit or a command, returns the question
// to judge, and writes the answer as the tool expects it. Payloads are data: nothing in them changes how
// Tenet judges them.
package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"tenet/internal/gateway"
	"tenet/internal/hook/guard"
	"tenet/internal/rule"
	"tenet/internal/subject"
)

// MaxPayload is the most bytes that a tool may send to its hook.
const MaxPayload = 16 << 20

// MaxAction is the most characters of a command or a tool call: the limit of a quick evaluation.
const MaxAction = 5000

// Decision is the answer of a hook to its tool.
type Decision string

// Decisions. Ask leaves the decision to the person at the tool.
const (
	Allow Decision = "allow"
	Ask   Decision = "ask"
	Deny  Decision = "deny"
)

// Answer is a decision with its reason.
type Answer struct {
	Decision Decision
	// Reason is for the person and the agent; empty for a plain Allow. An Allow with a reason must be visible: Tenet could not
	// judge something, and the fail mode lets it pass.
	Reason string
	// Approved means that Tenet judged all rules that apply, at least one, and that the subject keeps each. An Allow without it
	// is no approval.
	Approved bool
	// Unknown says in words what Tenet does not know of the effect of a command or call. An answer with it is never an approval.
	Unknown []string
	// Uncovered says that no rule covers the call, where that alone is no reason to ask or deny; empty otherwise. The tool's own
	// permissions decide then.
	Uncovered string
}

// Question is the question of a tool to its hook.
type Question struct {
	// Event is the tool's name for the moment of the question; empty if the payload lacks it.
	Event string
	// Skip means that the question has nothing to judge, such as a tool that only reads a file.
	Skip bool
	// Note is a remark to show with every answer.
	Note string
	// Action is a command, or a call of a tool of the agent itself in words. Diff and Files are a change; for a command or call, they are
	// the files that it leaves, as far as that could be worked out.
	Action string
	// Calls is a call of a tool of an MCP server, judged as a gateway judges it. An agent that does not separate the names of server and tool leaves
	// several readings, and the strictest answer counts.
	Calls []gateway.Call
	Diff  string
	Files []subject.InputFile
	Mode  rule.Mode
	// Dir is the folder the tool works in; empty if the payload lacks it.
	Dir string
	// Unknown says in words what could not be worked out of the effect of a command or call.
	Unknown []string
	// Agent is the tool that asks, and Session its session, which the record of the evaluation names; empty if unknown.
	Agent, Session string
	// Acts lists the intended commands and edits for the guard of Tenet's own walls, also where the question cannot be judged.
	Acts []guard.Act
}

// Reader reads a payload. Its error says in words why Tenet cannot judge it; the question then has the event, if the payload
// does, so that the answer has the right form.
type Reader func(payload []byte) (Question, error)

// object is a JSON object by its exact keys. A struct would also accept keys in another letter case, by which an agent could
// show the hook another command than the one that its tool runs.
type object map[string]json.RawMessage

// thePayload names the payload itself in errors.
const thePayload = "the payload of the tool"

// readObject refuses names that occur twice, at any depth: the tool may act on the other value. Its error says what it read.
func readObject(what string, b []byte) (object, error) {
	if !json.Valid(b) {
		return nil, fmt.Errorf("%s is not a JSON object", what)
	}
	if !jsontext.Value(b).IsValid(jsontext.AllowInvalidUTF8(true)) {
		return nil, fmt.Errorf("%s names something twice in one object", what)
	}
	var o object
	if err := json.Unmarshal(b, &o); err != nil || o == nil {
		return nil, fmt.Errorf("%s is not a JSON object", what)
	}
	return o, nil
}

// text returns a field that holds a string; false if it is absent or of another type.
func (o object) text(key string) (string, bool) {
	var s *string
	if json.Unmarshal(o[key], &s) != nil || s == nil {
		return "", false
	}
	return *s, true
}

// first returns the first of several fields that holds a string.
func (o object) first(keys ...string) (string, bool) {
	for _, key := range keys {
		if s, ok := o.text(key); ok {
			return s, true
		}
	}
	return "", false
}

// raw returns the JSON of a field, or that in the string that it holds.
func (o object) raw(key string) []byte {
	if s, ok := o.text(key); ok {
		return []byte(s)
	}
	return o[key]
}

// inner returns a field that holds an object, or a string with the JSON of one.
func (o object) inner(key string) (object, error) {
	return readObject(key, o.raw(key))
}

// action asks about a command or call.
func (q *Question) action(format string, args ...any) error {
	q.Action = strings.TrimSpace(fmt.Sprintf(format, args...))
	if n := len([]rune(q.Action)); n > MaxAction {
		return fmt.Errorf("the command has %d characters, and at most %d can be judged", n, MaxAction)
	}
	return nil
}

// call asks about a call of a tool of the agent itself that is not a command.
func (q *Question) call(name string, in object) error {
	b, err := json.Marshal(in)
	if err != nil {
		return err
	}
	return q.action("Call the tool %s with %s", name, b)
}

// decode reads a field of any form.
func decode(raw json.RawMessage, v any) error {
	if len(raw) == 0 {
		return errors.New("the field is missing")
	}
	return json.Unmarshal(raw, v)
}

// eventOf returns the event of a payload that readObject refuses, for the form of the answer alone; empty if the payload is no JSON object, or gives
// different ones. keys are the names that the tool has for it.
func eventOf(payload []byte, keys ...string) string {
	d := jsontext.NewDecoder(bytes.NewReader(payload), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if open, err := d.ReadToken(); err != nil || open.Kind() != '{' {
		return ""
	}
	event := ""
	for d.PeekKind() == '"' {
		token, err := d.ReadToken()
		if err != nil {
			return ""
		}
		name := token.String()
		value, err := d.ReadValue()
		if err != nil {
			return ""
		}
		if !slices.Contains(keys, name) {
			continue
		}
		var one string
		if json.Unmarshal(value, &one) != nil || event != "" && one != event {
			return ""
		}
		event = one
	}
	if end, err := d.ReadToken(); err != nil || end.Kind() != '}' {
		return ""
	}
	return event
}

// SessionOf returns the session that a payload names, by the name that each tool has for it; empty without one.
func SessionOf(payload []byte) string {
	o, err := readObject(thePayload, payload)
	if err != nil {
		return ""
	}
	session, _ := o.first("session_id", "sessionId", "conversation_id", "trajectory_id")
	return session
}

// list returns a field that holds strings.
func (o object) list(key string) ([]string, bool) {
	var list []string
	if json.Unmarshal(o[key], &list) != nil {
		return nil, false
	}
	return list, true
}
