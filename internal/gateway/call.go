// Package gateway turns requests of the Model Context Protocol into subjects of evaluations, and evaluations into answers: whether a call
// passes, and the text of a refusal. Every gateway uses it, so that one verdict holds for all of them.
package gateway

import (
	"bytes"
	"encoding/json"
	"html"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"

	"tenet/internal/charset"
	"tenet/internal/rule"
	"tenet/internal/wire"
)

// MaxName is the most bytes that the name of a server or a tool may have.
const MaxName = 200

// Methods are the methods of MCP that are evaluated.
var Methods = []string{wire.CallTool, wire.ReadResource, wire.GetPrompt}

// fields are the parameters of the methods. Those beside the name, the arguments and the uri belong to the protocol: progress, tasks, and the
// answers to what a server has asked in the middle of a call.
var fields = map[string][]string{
	wire.CallTool:     {"name", "arguments", "_meta", "task", "inputResponses", "requestState"},
	wire.ReadResource: {"uri", "_meta", "inputResponses", "requestState"},
	wire.GetPrompt:    {"name", "arguments", "_meta", "inputResponses", "requestState"},
}

// Evaluated reports whether requests of a method are evaluated. It is true for other spellings too, such as Tools/Call, tools.call, tools%2Fcall and
// one with a space behind it: some servers take them for the method, and [Parse] refuses them.
func Evaluated(method string) bool {
	if slices.Contains(Methods, method) {
		return true
	}
	method, ok := decoded(method)
	plain := letters(method)
	return !ok || slices.ContainsFunc(Methods, func(m string) bool { return plain == letters(m) })
}

// maxPasses bounds how often decoded undoes escapes.
const maxPasses = 8

// decoded returns a method without the escapes of addresses, HTML and JSON; false if they were applied more often than maxPasses, which is an attack.
func decoded(method string) (string, bool) {
	for range maxPasses {
		plain := html.UnescapeString(percent.ReplaceAllStringFunc(method, func(escape string) string {
			code, _ := strconv.ParseUint(escape[1:], 16, 8) // two hexadecimal digits
			return string([]byte{byte(code)})
		}))
		var text string
		if strings.Contains(plain, `\`) && json.Unmarshal([]byte(`"`+plain+`"`), &text) == nil {
			plain = text
		}
		if plain == method {
			return method, true
		}
		method = plain
	}
	return method, false
}

// percent matches an escape of an address.
var percent = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)

// letters returns the letters of a method in lower case, those of wide and other forms as plain ones.
func letters(method string) string {
	var b strings.Builder
	for _, r := range method {
		if form := charset.ASCIIForm(r); form != "" {
			b.WriteString(form)
		} else if unicode.IsLetter(r) {
			b.WriteRune(r)
		}
	}
	return rule.FoldCase(b.String())
}

// Call is a request to an MCP server that is evaluated: a call of a tool, or a resource or a prompt that is asked for.
type Call struct {
	// Server is the name under which rules know the server. The gateway's configuration gives it, not the server.
	Server string
	// Method is one of [Methods].
	Method string
	// Tool is the name of the tool; for other methods, the method.
	Tool string
	// Arguments is a JSON object: that of the tool, or the uri of the resource, or the name and the arguments of the prompt.
	Arguments json.RawMessage
	// Result is the result of the call as [ResultOf] gives it; nil before the call.
	Result any
}

// Parse reads the parameters of a request. The error is of code invalid and means that a server may read the request in another way than
// rules would, or reads what no rule sees: a name that occurs twice or in another letter case, a missing name, arguments that are no object, a
// parameter that is not one of the method. Such a request must not pass, whatever the fail mode.
func Parse(server, method string, params []byte) (Call, error) {
	c := Call{Server: server, Method: method, Tool: method}
	if len(bytes.TrimSpace(params)) == 0 {
		params = []byte("{}")
	}
	named, err := ReadObject(params, "name", "arguments", "uri", "_meta")
	if err != nil {
		return c, rule.Errorf(rule.CodeInvalid, "the parameters of %s: %v", method, err)
	}
	for _, given := range slices.Sorted(maps.Keys(named)) {
		if of, ok := fields[method]; ok && !slices.Contains(of, given) {
			return c, rule.Errorf(rule.CodeInvalid, "%s has no parameter %q, so rules would not see it; put it into arguments or _meta", method, given)
		}
	}
	switch method {
	case wire.CallTool:
		if c.Tool, err = name(named, "name"); err != nil {
			return c, err
		}
		c.Arguments, err = arguments(named)
	case wire.ReadResource:
		var uri string
		if json.Unmarshal(named["uri"], &uri) != nil || strings.TrimSpace(uri) == "" {
			return c, rule.Errorf(rule.CodeInvalid, "resources/read has no uri")
		}
		c.Arguments, err = json.Marshal(map[string]string{"uri": uri})
	case wire.GetPrompt:
		var prompt string
		if prompt, err = name(named, "name"); err != nil {
			return c, err
		}
		var of json.RawMessage
		if of, err = arguments(named); err != nil {
			return c, err
		}
		c.Arguments, err = json.Marshal(map[string]any{"name": prompt, "arguments": of})
	default:
		return c, rule.Errorf(rule.CodeInvalid, "%q is no method that can be evaluated; use one of %s, spelled like this", method, strings.Join(Methods, ", "))
	}
	return c, err
}

// Subject returns the subject of a submission of kind tool_call.
func (c *Call) Subject() (json.RawMessage, error) {
	if len(c.Server) > MaxName {
		return nil, rule.Errorf(rule.CodeInvalid, "the name of the server has %d bytes; at most %d are allowed", len(c.Server), MaxName)
	}
	return json.Marshal(struct {
		Kind      wire.SubjectKind `json:"kind"`
		Server    string           `json:"server,omitempty"`
		Tool      string           `json:"tool"`
		Method    string           `json:"method"`
		Arguments json.RawMessage  `json:"arguments,omitempty"`
		Result    any              `json:"result,omitempty"`
	}{wire.ToolCall, c.Server, c.Tool, c.Method, c.Arguments, c.Result})
}

// String names the call in a sentence.
func (c *Call) String() string {
	switch {
	case c.Method != wire.CallTool:
		return c.Method + " of " + c.Server
	case c.Server == "":
		return c.Tool
	}
	return c.Server + "/" + c.Tool
}

// ReadObject reads a JSON object in which no name occurs twice, at any depth, and no name differs from one of names by letter case alone:
// some servers would read that too. The error is of code invalid.
func ReadObject(text []byte, names ...string) (map[string]json.RawMessage, error) {
	if !valid(text) {
		return nil, rule.Errorf(rule.CodeInvalid, "it is not valid JSON in UTF-8, or an object in it has a name twice")
	}
	var o map[string]json.RawMessage
	if json.Unmarshal(text, &o) != nil || o == nil {
		return nil, rule.Errorf(rule.CodeInvalid, "it is not a JSON object")
	}
	for given := range o {
		for _, n := range names {
			if given != n && strings.EqualFold(given, n) {
				return nil, rule.Errorf(rule.CodeInvalid, "it holds %q, which some servers read as %s; write %s", given, n, n)
			}
		}
	}
	return o, nil
}

// valid reports whether a text is JSON in UTF-8 in which no object has a name twice.
func valid(text []byte) bool { return jsontext.Value(text).IsValid() }

func name(o map[string]json.RawMessage, key string) (string, error) {
	var s string
	switch {
	case json.Unmarshal(o[key], &s) != nil || strings.TrimSpace(s) == "":
		return "", rule.Errorf(rule.CodeInvalid, "the parameters have no %s", key)
	case len(s) > MaxName:
		return "", rule.Errorf(rule.CodeInvalid, "the %s has %d bytes; at most %d are allowed", key, len(s), MaxName)
	}
	return s, nil
}

// arguments returns the arguments of a call; an empty object where they are absent or null.
func arguments(o map[string]json.RawMessage) (json.RawMessage, error) {
	raw := bytes.TrimSpace(o["arguments"])
	if len(raw) == 0 || string(raw) == "null" {
		return json.RawMessage("{}"), nil
	}
	if raw[0] != '{' {
		return nil, rule.Errorf(rule.CodeInvalid, "the arguments are not a JSON object")
	}
	return raw, nil
}
