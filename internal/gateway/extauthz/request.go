package extauthz

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"mime"
	"net"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"tenet/internal/rule"
)

// Keys of the context extensions by which a route says how its requests are judged.
const (
	protocolKey = "tenet_protocol" // mcp, http, or absent
	serverKey   = "tenet_server"   // name of the MCP server; absent means the host
)

// protocol is the content of the requests of a route.
type protocol string

const (
	anything protocol = ""     // HTTP, which may carry MCP
	onlyMCP  protocol = "mcp"  // MCP and nothing else
	onlyHTTP protocol = "http" // HTTP, whatever the body looks like
)

// exchange is an HTTP request that a proxy asks about.
type exchange struct {
	protocol protocol
	server   string // name of the MCP server
	method   string
	scheme   string
	host     string // in lower case, with a port if it has one
	path     string // without escapes
	query    url.Values
	headers  map[string]string // names in lower case
	body     []byte            // nil if the proxy sent none
}

// maxActionPath bounds the path in the words of an action, in bytes. The facts have the whole path.
const maxActionPath = 2000

// read reads the attributes of a request. The error is invalid where they contradict themselves or have more than one reading.
func read(req *authv3.CheckRequest) (*exchange, error) {
	attributes := req.GetAttributes()
	http := attributes.GetRequest().GetHttp()
	if http == nil || http.GetMethod() == "" {
		return nil, rule.Errorf(rule.CodeInvalid, "the proxy sent no HTTP request; ask about HTTP, not about connections")
	}
	x := &exchange{method: strings.ToUpper(http.GetMethod()), scheme: strings.ToLower(http.GetScheme()), headers: map[string]string{}}
	extensions := attributes.GetContextExtensions()
	x.protocol = protocol(extensions[protocolKey])
	if !slices.Contains([]protocol{anything, onlyMCP, onlyHTTP}, x.protocol) {
		return nil, rule.Errorf(rule.CodeInvalid, "the context extension %s is %q; use mcp or http, or leave it out", protocolKey, string(x.protocol))
	}
	x.addHeaders(http)
	for _, text := range []string{x.method, x.scheme, http.GetHost(), http.GetPath(), extensions[serverKey]} {
		if !utf8.ValidString(text) || strings.IndexFunc(text, unicode.IsControl) >= 0 {
			return nil, rule.Errorf(rule.CodeInvalid, "the request line or the host holds control characters or is not UTF-8")
		}
	}
	if x.host = strings.ToLower(strings.TrimSuffix(http.GetHost(), ".")); x.host == "" {
		return nil, rule.Errorf(rule.CodeInvalid, "the request names no host")
	}
	if x.server = extensions[serverKey]; x.server == "" {
		x.server = hostname(x.host)
	}
	if err := x.setPath(http.GetPath(), http.GetQuery()); err != nil {
		return nil, err
	}
	return x, x.setBody(http)
}

// addHeaders takes the headers in either form in which a proxy sends them.
func (x *exchange) addHeaders(http *authv3.AttributeContext_HttpRequest) {
	for _, name := range slices.Sorted(maps.Keys(http.GetHeaders())) {
		x.addHeader(name, http.GetHeaders()[name])
	}
	for _, h := range http.GetHeaderMap().GetHeaders() {
		value := h.GetValue()
		if value == "" {
			value = string(h.GetRawValue())
		}
		x.addHeader(h.GetKey(), value)
	}
}

func (x *exchange) addHeader(name, value string) {
	name = strings.ToLower(name)
	if before, ok := x.headers[name]; ok {
		value = before + ", " + value
	}
	x.headers[name] = strings.ToValidUTF8(value, "\uFFFD")
}

// setPath takes the path and the query. It refuses a path that servers read in different ways: rules would judge another path than
// the one that is served.
func (x *exchange) setPath(target, query string) error {
	if target == "*" && x.method == "OPTIONS" {
		x.path = target
		return nil
	}
	path, inPath, _ := strings.Cut(target, "?")
	if query != "" && inPath != "" && query != inPath {
		return rule.Errorf(rule.CodeInvalid, "the proxy sent two different queries")
	}
	path, _, _ = strings.Cut(path, "#")
	plain, err := url.PathUnescape(path)
	if err != nil || !strings.HasPrefix(path, "/") {
		return rule.Errorf(rule.CodeInvalid, "the path is not one of a URL")
	}
	escaped := strings.ToLower(path)
	for _, ambiguous := range []string{"%2f", "%5c", "%25", "\\"} {
		if strings.Contains(escaped, ambiguous) {
			return rule.Errorf(rule.CodeInvalid, "the path has an escaped slash, backslash or percent sign, which servers read in different ways")
		}
	}
	if strings.Contains(plain, "//") || !utf8.ValidString(plain) || strings.IndexFunc(plain, unicode.IsControl) >= 0 {
		return rule.Errorf(rule.CodeInvalid, "the path has an empty segment or a control character; let the proxy merge slashes")
	}
	for segment := range strings.SplitSeq(plain, "/") {
		if name, _, _ := strings.Cut(segment, ";"); name == "." || name == ".." {
			return rule.Errorf(rule.CodeInvalid, "the path has a segment %q; let the proxy normalize paths", name)
		}
	}
	x.path = plain
	if inPath == "" {
		inPath = query
	}
	if x.query, err = url.ParseQuery(inPath); err != nil {
		return rule.Errorf(rule.CodeInvalid, "the query of the path is malformed")
	}
	return nil
}

// setBody takes the body, and refuses one of which the proxy sent a part.
func (x *exchange) setBody(http *authv3.AttributeContext_HttpRequest) error {
	body := http.GetRawBody()
	if text := http.GetBody(); len(body) == 0 {
		body = []byte(text)
	} else if text != "" && text != string(body) {
		return rule.Errorf(rule.CodeInvalid, "the proxy sent two different bodies")
	}
	if len(body) == 0 {
		return nil
	}
	if x.headers["x-envoy-auth-partial-body"] == "true" || http.GetSize() > int64(len(body)) {
		return rule.Errorf(rule.CodeTooLarge, "the proxy sent a part of the body; raise max_request_bytes, and do not allow partial messages")
	}
	if encoding := x.headers["content-encoding"]; encoding != "" && !strings.EqualFold(encoding, "identity") {
		return rule.Errorf(rule.CodeInvalid, "the body is compressed (%s) and cannot be examined", clip(encoding))
	}
	x.body = body
	return nil
}

// facts returns the facts of the request: its method, scheme, host, path, query and body, and the headers of that choice.
func (x *exchange) facts(headers []string) (map[string]any, error) {
	facts := map[string]any{"method": x.method, "host": hostname(x.host), "path": x.path}
	if x.scheme != "" {
		facts["scheme"] = x.scheme
	}
	if len(x.query) > 0 {
		facts["query"] = fields(x.query)
	}
	chosen := map[string]any{}
	for _, name := range headers {
		if value, ok := x.headers[name]; ok {
			chosen[name] = value
		}
	}
	if len(chosen) > 0 {
		facts["headers"] = chosen
	}
	if x.body == nil {
		return facts, nil
	}
	body, err := x.bodyFact()
	if err != nil {
		return nil, err
	}
	facts["body"] = body
	return facts, nil
}

// bodyFact is the body as a value: that of JSON, the fields of a form, or text.
func (x *exchange) bodyFact() (any, error) {
	media, _, _ := mime.ParseMediaType(x.headers["content-type"])
	switch {
	case media == "application/json" || strings.HasSuffix(media, "+json") || bytes.HasPrefix(bytes.TrimSpace(x.body), []byte("{")):
		var value any
		if err := json.Unmarshal(x.body, &value); err != nil {
			return nil, rule.Errorf(rule.CodeInvalid, "the body is not JSON with one reading: %s", flaw(err))
		}
		if lost, found := rule.LostNumber(x.body); found {
			return nil, rule.Errorf(rule.CodeInvalid, "the body holds %s, which a 64-bit number does not keep, so it cannot be examined", clip(lost))
		}
		return value, nil
	case media == "application/x-www-form-urlencoded":
		values, err := url.ParseQuery(string(x.body))
		if err != nil {
			return nil, rule.Errorf(rule.CodeInvalid, "the body is not a form with one reading")
		}
		return fields(values), nil
	case !utf8.Valid(x.body) || bytes.IndexByte(x.body, 0) >= 0:
		return nil, rule.Errorf(rule.CodeInvalid, "the body is not text (%s) and cannot be examined", clip(media))
	default:
		return string(x.body), nil
	}
}

// fields are the values of a query or a form: a text, or a list where a name has several.
func fields(values url.Values) map[string]any {
	out := make(map[string]any, len(values))
	for name, texts := range values {
		if len(texts) == 1 {
			out[name] = texts[0]
			continue
		}
		list := make([]any, len(texts))
		for i, text := range texts {
			list[i] = text
		}
		out[name] = list
	}
	return out
}

// action says in words what the request does.
func (x *exchange) action() string {
	path := x.path
	if len(path) > maxActionPath {
		path = strings.ToValidUTF8(path[:maxActionPath], "") + "..."
	}
	return fmt.Sprintf("Send the HTTP request %s %s%s", x.method, x.host, path)
}

// hostname is a host without its port.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil && name != "" {
		return name
	}
	return host
}

// clip bounds a text from outside for a message.
func clip(text string) string {
	const longest = 100
	if len(text) > longest {
		return strings.ToValidUTF8(text[:longest], "") + "..."
	}
	return text
}

// flaw says what is wrong with JSON.
func flaw(err error) string {
	if at, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return clip(at.Err.Error())
	}
	return clip(err.Error())
}
