package extauthz

import (
	"bytes"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"tenet/internal/rule"
)

// maxBatch is how many messages a body may hold.
const maxBatch = 50

// message is a message of JSON-RPC.
type message struct {
	id     jsontext.Value // nil if it has none
	method string         // empty for an answer
	params jsontext.Value
}

// messages reads a body as messages of JSON-RPC, in the order of the body. It refuses what another reader could take for other
// messages: names that occur twice, or differ from those of JSON-RPC in letter case.
func messages(body []byte) (list []message, batch bool, err error) {
	parts := []jsontext.Value{body}
	if batch = bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")); batch {
		parts = nil
		if err := json.Unmarshal(body, &parts); err != nil {
			return nil, batch, notMCP("%s", flaw(err))
		}
		if len(parts) == 0 || len(parts) > maxBatch {
			return nil, batch, notMCP("a batch of %d messages; 1 to %d are allowed", len(parts), maxBatch)
		}
	}
	for _, part := range parts {
		m, err := readMessage(part)
		if err != nil {
			return nil, batch, err
		}
		list = append(list, m)
	}
	return list, batch, nil
}

// members are the members of messages of JSON-RPC.
var members = []string{"jsonrpc", "id", "method", "params", "result", "error"}

func readMessage(text jsontext.Value) (message, error) {
	var fields map[string]jsontext.Value
	if err := json.Unmarshal(text, &fields); err != nil {
		return message{}, notMCP("%s", flaw(err))
	}
	for name := range fields {
		if !slices.Contains(members, name) && slices.ContainsFunc(members, func(m string) bool { return strings.EqualFold(m, name) }) {
			return message{}, notMCP("it has a member %q", name)
		}
	}
	m := message{params: fields["params"]}
	var version string
	if err := json.Unmarshal(orNull(fields["jsonrpc"]), &version); err != nil || version != "2.0" {
		return message{}, notMCP(`it has no member jsonrpc with the value "2.0"`)
	}
	if id := fields["id"]; id != nil {
		if kind := id.Kind(); kind != '"' && kind != '0' {
			return message{}, notMCP("its id is not a text or a number")
		}
		m.id = id
	}
	method, isCall := fields["method"]
	switch {
	case isCall:
		if err := json.Unmarshal(method, &m.method); err != nil || m.method == "" {
			return message{}, notMCP("its method is not a text")
		}
	case m.id == nil || fields["result"] == nil && fields["error"] == nil:
		return message{}, notMCP("it is neither a request nor an answer")
	}
	return m, nil
}

// orNull is a value that can be read where there is none.
func orNull(v jsontext.Value) jsontext.Value {
	if v == nil {
		return jsontext.Value("null")
	}
	return v
}

func notMCP(format string, args ...any) error {
	return rule.Errorf(rule.CodeInvalid, "the body is not a message of MCP: "+format, args...)
}
