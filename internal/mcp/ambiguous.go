package mcp

import (
	"bytes"
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// errTwice is the error for a message with two readings.
const errTwice = "a message names %q twice, so that two programs may read it differently; nothing was decided, which is NOT a permission"

// twice returns a name that a message, or one of a batch of them, holds twice in itself or in its parameters: the protocol's implementation
// takes the last, another program may take the first. What is deeper belongs to the tools, which refuse it themselves. Text that is no JSON has
// none: the protocol's implementation refuses it.
func twice(body []byte) (name string, found bool) {
	for _, part := range batch(body) {
		params, name, found := members(part)
		if !found && params != nil {
			_, name, found = members(params)
		}
		if found {
			return name, true
		}
	}
	return "", false
}

// batch returns the messages of a body, unread; none of a batch that is no JSON.
func batch(body []byte) (parts []json.RawMessage) {
	if body = bytes.TrimSpace(body); len(body) == 0 || body[0] != '[' {
		return []json.RawMessage{body}
	}
	if json.Unmarshal(body, &parts) != nil {
		return nil
	}
	return parts
}

// members reads an object up to a name that it holds twice, and returns what it holds as params.
func members(object []byte) (params []byte, name string, found bool) {
	dec := jsontext.NewDecoder(bytes.NewReader(object), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if begin, err := dec.ReadToken(); err != nil || begin.Kind() != '{' {
		return nil, "", false
	}
	seen := map[string]bool{}
	for dec.PeekKind() == '"' {
		token, err := dec.ReadToken()
		if err != nil {
			break
		}
		name = token.String()
		if seen[name] {
			return nil, name, true
		}
		seen[name] = true
		value, err := dec.ReadValue()
		if err != nil {
			break
		}
		if name == "params" {
			params = value.Clone()
		}
	}
	return params, "", false
}

// invalidRequest is the code of JSON-RPC for a message that is no request.
const invalidRequest = -32600

// refusals are answers to the requests among messages, a line each.
func refusals(list []jsonrpc.Message, why string) []byte {
	var out []byte
	for _, m := range list {
		r, ok := m.(*jsonrpc.Request)
		if !ok || !r.IsCall() {
			continue
		}
		if line, err := jsonrpc.EncodeMessage(&jsonrpc.Response{ID: r.ID, Error: &jsonrpc.Error{Code: invalidRequest, Message: why}}); err == nil {
			out = append(append(out, line...), '\n')
		}
	}
	return out
}
