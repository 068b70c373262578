package relay

import (
	"bytes"
	"encoding/json"
	"regexp"

	"github.com/go-json-experiment/json/jsontext"

	"tenet/internal/gateway"
	"tenet/internal/rule"
)

// Limits of messages.
const (
	// MaxMessage is the most bytes of a message or batch of a client.
	MaxMessage = 16 << 20
	// maxAnswer is the most bytes of a message of a server.
	maxAnswer = 64 << 20
	maxBatch  = 50   // messages in a batch
	maxID     = 1024 // bytes of the id of a request
)

// Error codes of JSON-RPC.
const (
	codeParse   = -32700
	codeInvalid = -32600
	// codeRefused is for requests other than tools/call that do not pass, which have no other way to say so.
	codeRefused = -32090
)

// message is one message of JSON-RPC.
type message struct {
	raw    json.RawMessage
	id     string // key of the id; empty for notifications
	idJSON json.RawMessage
	method string // empty for responses
	params json.RawMessage
	result json.RawMessage // of a response that is no error
}

// response reports whether the message answers a request.
func (m *message) response() bool { return m.method == "" }

// request reports whether the message asks for a response.
func (m *message) request() bool { return m.method != "" && m.id != "" }

// wholeNumber is the form of an id that is a number. Others have several spellings, by which two ids could seem different here and equal
// elsewhere.
var wholeNumber = regexp.MustCompile(`^(0|-?[1-9][0-9]{0,17})$`)

// parse reads one message strictly: a message that another program may read in another way is an error. The returned message has the id of a
// request that is wrong, where it is readable.
func parse(raw []byte) (message, error) {
	m := message{raw: bytes.TrimSpace(raw)}
	o, err := gateway.ReadObject(m.raw, "jsonrpc", "id", "method", "params", "result", "error")
	if err != nil {
		m.guessID()
		return m, err
	}
	if id, ok := o["id"]; ok {
		if m.id, err = key(id); err != nil {
			return m, err
		}
		m.idJSON = id
	}
	var version string
	if json.Unmarshal(o["jsonrpc"], &version) != nil || version != "2.0" {
		return m, rule.Errorf(rule.CodeInvalid, "jsonrpc is not \"2.0\"")
	}
	method, asks := o["method"]
	_, hasResult := o["result"]
	_, hasError := o["error"]
	switch {
	case asks && !hasResult && !hasError:
		if json.Unmarshal(method, &m.method) != nil || m.method == "" {
			return m, rule.Errorf(rule.CodeInvalid, "the method is not a text")
		}
		m.params = o["params"]
	case !asks && hasResult != hasError && (m.id != "" || hasError):
		m.result = o["result"]
	default:
		return m, rule.Errorf(rule.CodeInvalid, "it is neither a request nor a response")
	}
	return m, nil
}

// guessID reads the id of a message that cannot be read otherwise, so that somebody gets an answer.
func (m *message) guessID() {
	var p struct {
		ID json.RawMessage `json:"id"`
	}
	if json.Unmarshal(m.raw, &p) != nil {
		return
	}
	if id, err := key(p.ID); err == nil && id != "" {
		m.id, m.idJSON = id, p.ID
	}
}

// key returns the key of an id: equal for equal ids, however they are spelled.
func key(id []byte) (string, error) {
	id = bytes.TrimSpace(id)
	switch {
	case len(id) > maxID:
		return "", rule.Errorf(rule.CodeInvalid, "the id has %d bytes; at most %d are allowed", len(id), maxID)
	case wholeNumber.Match(id):
		return "#" + string(id), nil
	case len(id) > 0 && id[0] == '"':
		var s string
		if err := json.Unmarshal(id, &s); err == nil {
			return "=" + s, nil
		}
	case string(id) == "null": // of an error that answers what could not be read
		return "", nil
	}
	return "", rule.Errorf(rule.CodeInvalid, "the id is neither a text nor a whole number")
}

// split returns the messages of a batch, or the only one. Batches in batches are an error of [parse].
func split(raw []byte) ([]json.RawMessage, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || raw[0] != '[' {
		return []json.RawMessage{raw}, nil
	}
	var list []json.RawMessage
	if !jsontext.Value(raw).IsValid() || json.Unmarshal(raw, &list) != nil {
		return nil, rule.Errorf(rule.CodeInvalid, "the batch is not valid JSON")
	}
	if len(list) == 0 || len(list) > maxBatch {
		return nil, rule.Errorf(rule.CodeInvalid, "the batch has %d messages; 1 to %d are allowed", len(list), maxBatch)
	}
	return list, nil
}

// oneLine returns a message without line breaks, as a stream of lines needs it.
func oneLine(raw []byte) []byte {
	if bytes.IndexByte(raw, '\n') < 0 && bytes.IndexByte(raw, '\r') < 0 {
		return raw
	}
	v := jsontext.Value(bytes.Clone(raw))
	if v.Compact() != nil {
		return nil
	}
	return v
}

// failure is an error response. A nil id is that of a message whose id is not known.
func failure(id json.RawMessage, code int, text string, data map[string]any) []byte {
	type fault struct {
		Code    int            `json:"code"`
		Message string         `json:"message"`
		Data    map[string]any `json:"data,omitempty"`
	}
	if id == nil {
		id = json.RawMessage("null")
	}
	return encode(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   fault           `json:"error"`
	}{"2.0", id, fault{code, text, data}})
}

// success is a response with a result.
func success(id json.RawMessage, result any) []byte {
	return encode(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  any             `json:"result"`
	}{"2.0", id, result})
}

func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("relay: a message must encode as JSON: " + err.Error())
	}
	return bytes.TrimSpace(b.Bytes())
}

// metaRaw returns a member of _meta of parameters; nil where it is absent.
func metaRaw(params []byte, name string) json.RawMessage {
	var p struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	if len(params) == 0 || !bytes.Contains(params, []byte("_meta")) || json.Unmarshal(params, &p) != nil {
		return nil
	}
	return p.Meta[name]
}

// metaOf returns a member of _meta that is a text; empty where it is none.
func metaOf(params []byte, name string) string {
	var s string
	if json.Unmarshal(metaRaw(params, name), &s) != nil {
		return ""
	}
	return s
}
