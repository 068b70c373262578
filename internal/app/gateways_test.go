package app_test

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"

	"tenet/internal/app"
	"tenet/internal/client"
	"tenet/internal/gateway/extmcp/extmcppb"
	"tenet/internal/judge/judgetest"
	"tenet/internal/rule"
	"tenet/internal/store/litetest"
	"tenet/internal/wire"
)

// gatewayRules are about tool calls of the server files and about requests to the host api.
func gatewayRules() []*wire.RuleFile {
	of := func(slug, kind, when, cel string) wire.RuleInput {
		return wire.RuleInput{
			Slug: new(slug), Statement: slug + " holds.", Modality: rule.Must, Severity: rule.High, Status: rule.Effective,
			AppliesTo: &rule.AppliesTo{Kinds: []string{kind}}, Check: &rule.Check{When: when, CEL: cel, Message: "it leaves the folder", Fix: "stay below /srv"},
		}
	}
	return []*wire.RuleFile{{Rules: []wire.RuleInput{
		of("FILES-1", "tool_call", "facts.server == 'files' && facts.tool in ['read_file', 'write_file'] && !has(facts.result)", "facts.arguments.path.startsWith('/srv/')"),
		of("FILES-2", "tool_call", "facts.method == 'resources/read'", "facts.arguments.uri.startsWith('file:///srv/')"),
		of("FILES-3", "tool_call", "has(facts.result)", "!facts.result.text.contains('BEGIN PRIVATE KEY')"),
		of("HTTP-1", "action", "has(facts.host) && facts.host == 'api.example.com'", "facts.method != 'DELETE' && (!has(facts.body) || facts.body.amount <= 100.0)"),
		of("HTTP-2", "action", "has(facts.headers) && 'x-tenant' in facts.headers", "facts.headers['x-tenant'] == 'acme'"),
	}}}
}

// gateways is a node that answers gateways, with a connection to it.
type gateways struct {
	*testing.T
	node  *app.App
	mcp   extmcppb.ExtMcpClient
	authz authv3.AuthorizationClient
	conn  *grpc.ClientConn
}

func serveGateways(t *testing.T, settings map[string]string) *gateways {
	t.Helper()
	all := map[string]string{"data": litetest.Dir(t), "grpc_listen": "127.0.0.1:0", "grpc_headers": "x-tenant, Content-Type"}
	maps.Copy(all, settings)
	g := &gateways{T: t, node: node(t, app.Options{Rules: gatewayRules(), NoCases: true}, all)}
	if err := g.node.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	conn, err := grpc.NewClient(g.node.GRPCAddr(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	g.conn, g.mcp, g.authz = conn, extmcppb.NewExtMcpClient(conn), authv3.NewAuthorizationClient(conn)
	return g
}

// A caller in the process of the node takes the value of an answer in place of its JSON, and misses nothing by it.
func TestAnAnswerInThisProcessIsThatOfItsJSON(t *testing.T) {
	n := node(t, app.Options{Rules: gatewayRules(), NoCases: true}, map[string]string{"data": litetest.Dir(t)})
	taken := false
	c, err := client.New("http://localhost", "", &http.Client{Transport: client.InProcess(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.Handler().ServeHTTP(takes{w, &taken}, r)
	}))})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]rule.Verdict{"/srv/a": rule.Allow, "/etc/passwd": rule.Deny} {
		subject := json.RawMessage(`{"kind":"tool_call","server":"files","tool":"read_file","method":"tools/call","arguments":{"path":"` + path + `"}}`)
		taken = false
		a, err := c.Submit(t.Context(), client.Submit{Subject: subject, Mode: rule.Preflight})
		if err != nil || a.OverallVerdict != want || !taken {
			t.Fatalf("%s: %+v, %v; taken as a value: %t", path, a, err, taken)
		}
		text, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		var read wire.SubmissionAnswer
		if err := json.Unmarshal(text, &read); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&read, a); diff != "" {
			t.Errorf("%s (-by JSON +as a value):\n%s", path, diff)
		}
	}
	if _, err := c.Submit(t.Context(), client.Submit{Subject: json.RawMessage(`{"kind":"tool_call"}`)}); rule.CodeOf(err) != rule.CodeInvalid {
		t.Errorf("a call without a tool: %v", err)
	}
}

// takes notes whether an answer was taken as a value.
type takes struct {
	http.ResponseWriter

	taken *bool
}

func (w takes) TakeValue(v any) bool {
	*w.taken = w.ResponseWriter.(interface{ TakeValue(v any) bool }).TakeValue(v)
	return *w.taken
}

// call asks about a request of MCP, and returns the refusal; nil if it passes.
func (g *gateways) call(ctx context.Context, method, params string, servers ...string) *extmcppb.AuthorizationError {
	g.Helper()
	in := &extmcppb.McpRequest{Method: method, ServiceNames: servers, Headers: []*extmcppb.McpHeader{{Key: "x-bytes", Value: []byte{0xff}}}}
	if params != "" {
		in.McpRequest = []byte(params)
	}
	out, err := g.mcp.CheckRequest(ctx, in)
	if err != nil {
		g.Fatalf("%s %s: %v", method, params, err)
	}
	if out.GetResult() == nil || (out.GetPass() == nil) == (out.GetError() == nil) {
		g.Fatalf("%s %s: the answer is neither a permission nor a refusal: %v", method, params, out)
	}
	return out.GetError()
}

func TestExtMcpAnswersByTheRules(t *testing.T) {
	t.Parallel()
	g := serveGateways(t, nil)
	const denied, invalid = extmcppb.AuthorizationError_PERMISSION_DENIED, extmcppb.AuthorizationError_INVALID
	for _, c := range []struct {
		name, method, params string
		servers              []string
		code                 extmcppb.AuthorizationError_Code // for a refusal
		says                 string                           // empty: it passes
	}{
		{"kept", "tools/call", `{"name":"read_file","arguments":{"path":"/srv/a"}}`, []string{"files"}, 0, ""},
		{"broken", "tools/call", `{"name":"write_file","arguments":{"path":"/etc/passwd"}}`, []string{"files"}, denied, "FILES-1"},
		{"covered by no rule", "tools/call", `{"name":"format_disk"}`, []string{"files"}, denied, "No rule covers this tool"},
		{"a fact that the rule needs is missing", "tools/call", `{"name":"read_file","arguments":{}}`, []string{"files"}, denied, "needs confirmation"},
		{"a resource", "resources/read", `{"uri":"file:///srv/b"}`, []string{"files"}, 0, ""},
		{"a resource elsewhere", "resources/read", `{"uri":"file:///etc/shadow"}`, []string{"files"}, denied, "FILES-2"},
		{"a prompt", "prompts/get", `{"name":"review"}`, []string{"files"}, denied, "No rule covers"},
		{"what calls nothing", "tools/list", "", []string{"files", "git"}, 0, ""},
		{"no method", "", "", []string{"files"}, invalid, "no method"},
		{"two servers", "tools/call", `{"name":"read_file","arguments":{"path":"/srv/a"}}`, []string{"files", "git"}, invalid, "2 servers"},
		{"no server", "tools/call", `{"name":"read_file","arguments":{"path":"/srv/a"}}`, nil, invalid, "0 servers"},
		{"two readings", "tools/call", `{"name":"read_file","name":"write_file","arguments":{"path":"/srv/a"}}`, []string{"files"}, invalid, "twice"},
		{"garbage", "tools/call", "\x00\xff{", []string{"files"}, invalid, "JSON"},
		{"no object", "tools/call", `["read_file"]`, []string{"files"}, invalid, "object"},
	} {
		t.Run(c.name, func(t *testing.T) {
			refused := g.call(t.Context(), c.method, c.params, c.servers...)
			switch {
			case c.says == "" && refused != nil:
				t.Errorf("it is refused: %v", refused)
			case c.says != "" && refused == nil:
				t.Error("it passes")
			case c.says != "" && (refused.GetCode() != c.code || !strings.Contains(refused.GetReason(), c.says)):
				t.Errorf("it is refused by %v", refused)
			}
		})
	}
	refused := g.call(t.Context(), "tools/call", `{"name":"write_file","arguments":{"path":"/etc/passwd"}}`, "files")
	var data struct {
		Verdict      rule.Verdict `json:"verdict"`
		EvaluationID string       `json:"evaluation_id"`
	}
	if err := json.Unmarshal(refused.GetMcpError(), &data); err != nil || data.Verdict != rule.Deny {
		t.Fatalf("the error's data are %s: %v", refused.GetMcpError(), err)
	}
	var record wire.EvaluationRecord
	if code := ask(t, g.node, http.MethodGet, "/api/v1/evaluations/"+data.EvaluationID, "", &record); code != http.StatusOK || record.Evaluation.OverallVerdict != rule.Deny {
		t.Errorf("the record of the refusal: status %d, %s", code, record.Evaluation.OverallVerdict)
	}
}

func TestGatewaysSayForWhomTheyAsk(t *testing.T) {
	t.Parallel()
	g := serveGateways(t, nil)
	ctx := metadata.AppendToOutgoingContext(t.Context(), "tenet-agent", "codex", "tenet-on-behalf-of", "nobody")
	values, err := structpb.NewStruct(map[string]any{"on_behalf_of": "ann@example.com", "session": "s-1", "agent": "claude-code", "other": 7})
	if err != nil {
		t.Fatal(err)
	}
	in := &extmcppb.McpRequest{Method: "tools/call", ServiceNames: []string{"files"}, McpRequest: []byte(`{"name":"read_file","arguments":{"path":"/srv/a"}}`), MetadataContext: values}
	out, err := g.mcp.CheckRequest(ctx, in)
	if err != nil || out.GetPass() == nil {
		t.Fatalf("%v %v", out, err)
	}
	passes, answer := g.check(ctx, proxied("GET", "api.example.com", "/", "", nil, nil))
	if !passes {
		t.Fatal(answer)
	}
	for id, want := range map[string]rule.Identity{
		out.GetMetadata().GetFields()["evaluation_id"].GetStringValue():           {Person: "ann@example.com", Agent: "claude-code", Session: "s-1"},
		answer.GetDynamicMetadata().GetFields()["evaluation_id"].GetStringValue(): {Person: "nobody", Agent: "codex"},
	} {
		var record wire.EvaluationRecord
		if code := ask(t, g.node, http.MethodGet, "/api/v1/evaluations/"+id, "", &record); code != http.StatusOK || record.Evaluation.Identity == nil {
			t.Fatalf("status %d", code)
		}
		if got := record.Evaluation.Identity; got.Person != want.Person || got.Agent != want.Agent || got.Session != want.Session || !got.Claims("person") {
			t.Errorf("the record names %+v, want %+v", got, want)
		}
	}
	in.MetadataContext.Fields["agent"] = structpb.NewNumberValue(7)
	if out, err := g.mcp.CheckRequest(ctx, in); err != nil || out.GetError().GetCode() != extmcppb.AuthorizationError_INVALID {
		t.Errorf("an agent that is no text: %v %v", out, err)
	}
}

func TestExtMcpEvaluatesResults(t *testing.T) {
	t.Parallel()
	g := serveGateways(t, nil)
	for text, passes := range map[string]bool{
		`{"content":[{"type":"text","text":"hello"}]}`:                      true,
		`{"content":[{"type":"text","text":"-----BEGIN PRIVATE KEY----"}]}`: false,
		`{"content":"`: false,
	} {
		out, err := g.mcp.CheckResponse(t.Context(), &extmcppb.McpResponse{Method: "tools/call", ServiceNames: []string{"files"}, McpResponse: []byte(text)})
		if err != nil {
			t.Fatal(err)
		}
		if (out.GetPass() != nil) != passes || (out.GetError() == nil) != passes {
			t.Errorf("%s: %v", text, out)
		}
	}
	out, err := g.mcp.CheckResponse(t.Context(), &extmcppb.McpResponse{Method: "tools/list", ServiceNames: []string{"files", "git"}, McpResponse: []byte(`{"tools":[]}`)})
	if err != nil || out.GetPass() == nil {
		t.Errorf("a list of tools: %v %v", out, err)
	}
}

// proxied is a question of a proxy about an HTTP request.
func proxied(method, host, path, body string, headers, extensions map[string]string) *authv3.CheckRequest {
	return &authv3.CheckRequest{Attributes: &authv3.AttributeContext{
		ContextExtensions: extensions,
		Request: &authv3.AttributeContext_Request{Http: &authv3.AttributeContext_HttpRequest{
			Method: method, Host: host, Path: path, Scheme: "https", Headers: headers, Body: body, Size: int64(len(body)),
		}},
	}}
}

func (g *gateways) check(ctx context.Context, in *authv3.CheckRequest) (passes bool, out *authv3.CheckResponse) {
	g.Helper()
	out, err := g.authz.Check(ctx, in)
	if err != nil {
		g.Fatal(err)
	}
	passes = out.GetStatus().GetCode() == int32(codes.OK)
	if passes == (out.GetOkResponse() == nil) || passes == (out.GetDeniedResponse() != nil) || out.GetErrorResponse() != nil {
		g.Fatalf("the answer contradicts itself: %v", out)
	}
	return passes, out
}

func TestExtAuthzAnswersByTheRules(t *testing.T) {
	t.Parallel()
	g := serveGateways(t, nil)
	const host = "api.example.com"
	const kept = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"/srv/a"}}}`
	const broken = `{"jsonrpc":"2.0","id":"b","method":"tools/call","params":{"name":"write_file","arguments":{"path":"/etc/passwd"}}}`
	files := map[string]string{"tenet_protocol": "mcp", "tenet_server": "files"}
	post := func(body string, extensions map[string]string) *authv3.CheckRequest {
		return proxied("POST", host, "/mcp", body, map[string]string{"content-type": "application/json"}, extensions)
	}
	part := post(kept[:60], files)
	part.Attributes.Request.Http.Size = int64(len(kept))
	raw := post("", files)
	raw.Attributes.Request.Http.RawBody = []byte(kept)
	compressed := proxied("POST", host, "/pay", "", map[string]string{"content-encoding": "gzip"}, nil)
	compressed.Attributes.Request.Http.RawBody = []byte("\x1f\x8b")
	binary := proxied("POST", host, "/pay", "", nil, nil)
	binary.Attributes.Request.Http.RawBody = []byte("\xff\x00")
	mapped := proxied("GET", "web.example.com", "/", "", nil, nil)
	mapped.Attributes.Request.Http.HeaderMap = &corev3.HeaderMap{Headers: []*corev3.HeaderValue{{Key: "X-Tenant", RawValue: []byte("acme")}}}
	for _, c := range []struct {
		name   string
		in     *authv3.CheckRequest
		status int    // for a refusal; 0 if it passes
		says   string // the body of a refusal
	}{
		{"an action", proxied("GET", host, "/users?x=1", "", nil, nil), 0, ""},
		{"an action that breaks a rule", proxied("delete", "API.example.com:443", "/users/1", "", nil, nil), 403, "HTTP-1"},
		{"an action that no rule covers", proxied("GET", "other.example.com", "/", "", nil, nil), 403, "confirmation"},
		{"a body that keeps the rule", proxied("POST", host, "/pay", `{"amount":100}`, map[string]string{"content-type": "application/json"}, nil), 0, ""},
		{"a body that breaks it", proxied("POST", host, "/pay", `{"amount":101}`, map[string]string{"content-type": "application/json"}, nil), 403, "HTTP-1"},
		{"a body with two readings", proxied("POST", host, "/pay", `{"amount":1,"amount":101}`, nil, nil), 400, "one reading"},
		{"a compressed body", compressed, 400, "compressed"},
		{"a body that is no text", binary, 400, "not text"},
		{"a chosen header", proxied("GET", "web.example.com", "/", "", map[string]string{"x-tenant": "acme"}, nil), 0, ""},
		{"the other form of headers", mapped, 0, ""},
		{"a header with another value", proxied("GET", host, "/", "", map[string]string{"x-tenant": "evil"}, nil), 403, "HTTP-2"},
		{"a path with dots", proxied("GET", host, "/a/%2e%2e/b", "", nil, nil), 400, "normalize"},
		{"an escaped slash", proxied("GET", host, "/a%2fb", "", nil, nil), 400, "escaped slash"},
		{"two slashes", proxied("GET", host, "//a", "", nil, nil), 400, "merge slashes"},
		{"no request", &authv3.CheckRequest{}, 400, "no HTTP request"},
		{"no host", proxied("GET", "", "/", "", nil, nil), 400, "no host"},
		{"an unknown protocol", proxied("GET", host, "/", "", nil, map[string]string{"tenet_protocol": "MCP2"}), 400, "tenet_protocol"},

		{"a call", post(kept, files), 0, ""},
		{"a call in bytes", raw, 0, ""},
		{"a call that breaks a rule", post(broken, files), 200, `"id":"b"`},
		{"one of a batch", post("["+kept+","+broken+"]", files), 200, `[{"jsonrpc":"2.0","id":7`},
		{"a call that no rule covers", post(`{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"x"}}`, files), 200, `"code":-32001`},
		{"a call that waits for no answer", post(`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"x"}}`, files), 403, "confirmation"},
		{"a message that calls nothing", post(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, files), 0, ""},
		{"an answer of the client", post(`{"jsonrpc":"2.0","id":1,"result":{}}`, files), 0, ""},
		{"the stream of a session", proxied("GET", host, "/mcp", "", nil, files), 0, ""},
		{"a body that is missing", post("", files), 400, "with_request_body"},
		{"a part of a body", part, 413, "max_request_bytes"},
		{"two methods", post(`{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"tools/call","params":{"name":"x"}}`, files), 400, "MCP"},
		{"a method in another case", post(`{"jsonrpc":"2.0","id":1,"method":"tools/list","Method":"tools/call","params":{"name":"x"}}`, files), 400, "Method"},
		{"garbage", post(`hello`, files), 400, "MCP"},
		{"nested batches", post("[["+kept+"]]", files), 400, "MCP"},
		{"an empty batch", post("[]", files), 400, "batch"},
		{"a long batch", post("["+strings.Repeat(kept+",", 50)+kept+"]", files), 400, "batch"},
		{"a body with another method", proxied("PUT", host, "/mcp", kept, nil, files), 400, "PUT"},

		{"a call where nobody says that there is MCP", post(kept, map[string]string{"tenet_server": "files"}), 403, "HTTP-1"},
		{"a broken call there", post(broken, map[string]string{"tenet_server": "files"}), 200, "FILES-1"},
		{"a call on a route of HTTP", post(broken, map[string]string{"tenet_protocol": "http"}), 403, "HTTP-1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			passes, out := g.check(t.Context(), c.in)
			if passes != (c.status == 0) {
				t.Fatalf("passes: %v, %v", passes, out)
			}
			if d := out.GetDeniedResponse(); !passes && (int(d.GetStatus().GetCode()) != c.status || !strings.Contains(d.GetBody(), c.says)) {
				t.Errorf("refused with %v: %s", d.GetStatus().GetCode(), d.GetBody())
			}
		})
	}
	_, out := g.check(t.Context(), post(broken, files))
	var answer struct {
		Result struct {
			IsError bool
			Content []struct{ Text string }
		}
	}
	if err := json.Unmarshal([]byte(out.GetDeniedResponse().GetBody()), &answer); err != nil || !answer.Result.IsError || !strings.Contains(answer.Result.Content[0].Text, "stay below /srv") {
		t.Errorf("a model reads %s: %v", out.GetDeniedResponse().GetBody(), err)
	}
	_, out = g.check(t.Context(), post(kept, files))
	if h := out.GetOkResponse().GetHeaders(); len(h) != 1 || h[0].GetHeader().GetKey() != "x-tenet-evaluation-id" || out.GetDynamicMetadata().GetFields()["evaluation_id"].GetStringValue() != h[0].GetHeader().GetValue() {
		t.Errorf("the server behind the proxy gets %v", out)
	}
}

func TestGatewaysNeedAKeyWhereTheAPIDoes(t *testing.T) {
	t.Parallel()
	g := serveGateways(t, nil)
	made := func(role string) (secret string) {
		var key wire.CreatedKey
		if code := ask(t, g.node, http.MethodPost, "/api/v1/keys?project_id=*", `{"name":"`+role+`","role":"`+role+`"}`, &key); code != http.StatusCreated {
			t.Fatalf("status %d", code)
		}
		return key.Secret
	}
	const kept = `{"name":"read_file","arguments":{"path":"/srv/a"}}`
	if refused := g.call(t.Context(), "tools/call", kept, "files"); refused != nil {
		t.Fatalf("without any key in force it is refused: %v", refused)
	}
	made("admin")
	evaluator, viewer := made("evaluator"), made("viewer")
	for name, c := range map[string]struct {
		pairs  []string
		passes bool
	}{
		"no key":            {nil, false},
		"a key":             {[]string{"authorization", "Bearer " + evaluator}, true},
		"its other form":    {[]string{"x-api-key", evaluator}, true},
		"both":              {[]string{"x-api-key", evaluator, "authorization", "bearer " + evaluator}, true},
		"two keys":          {[]string{"x-api-key", viewer, "authorization", "Bearer " + evaluator}, false},
		"the header twice":  {[]string{"authorization", "Bearer " + evaluator, "authorization", "Bearer " + viewer}, false},
		"another scheme":    {[]string{"authorization", "Basic " + evaluator}, false},
		"a wrong key":       {[]string{"authorization", "Bearer tnt_wrong"}, false},
		"too small a role":  {[]string{"x-api-key", viewer}, false},
		"an absent project": {[]string{"x-api-key", evaluator, "tenet-project", "nowhere"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := metadata.AppendToOutgoingContext(t.Context(), c.pairs...)
			refused := g.call(ctx, "tools/call", kept, "files")
			if (refused == nil) != c.passes {
				t.Errorf("ExtMcp: %v", refused)
			}
			passes, out := g.check(ctx, proxied("GET", "api.example.com", "/", "", nil, nil))
			if passes != c.passes {
				t.Errorf("ext_authz: %v", out)
			}
			if body := out.GetDeniedResponse().GetBody(); strings.Contains(body+refused.GetReason(), "tnt_") {
				t.Errorf("the refusal shows a key: %s %v", body, refused)
			}
		})
	}
}

func TestGatewaysFailClosed(t *testing.T) {
	t.Parallel()
	g := serveGateways(t, map[string]string{"max_body": "100000"})
	huge := `{"name":"read_file","arguments":{"path":"/srv/` + strings.Repeat("a", 200_000) + `"}}`
	if refused := g.call(t.Context(), "tools/call", huge, "files"); refused.GetCode() != extmcppb.AuthorizationError_RESOURCE_EXHAUSTED {
		t.Errorf("a call beyond max_body: %.300v", refused)
	}
	if passes, out := g.check(t.Context(), proxied("POST", "api.example.com", "/", `"`+strings.Repeat("a", 200_000)+`"`, nil, nil)); passes || out.GetDeniedResponse().GetStatus().GetCode() != 413 {
		t.Errorf("a body beyond max_body: %.300v", out)
	}
	_, err := g.mcp.CheckRequest(t.Context(), &extmcppb.McpRequest{Method: "tools/call", McpRequest: make([]byte, 4<<20)})
	if status.Code(err) != codes.ResourceExhausted {
		t.Errorf("a question beyond all bounds: %v", err)
	}
	if err := g.conn.Invoke(t.Context(), "/agentgateway.dev.ext_mcp.ExtMcp/CheckRequest", &garbage{}, &extmcppb.McpRequestResult{}, grpc.ForceCodec(garbage{})); err == nil {
		t.Error("bytes that are no message have an answer")
	}

	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if out, err := g.mcp.CheckRequest(cancelled, &extmcppb.McpRequest{Method: "tools/call"}); status.Code(err) != codes.Canceled {
		t.Errorf("a cancelled question: %v %v", out, err)
	}
	if refused := g.call(t.Context(), "tools/call", `{"name":"read_file","arguments":{"path":"/srv/a"}}`, "files"); refused != nil {
		t.Errorf("after all of this, a good call is refused: %v", refused)
	}

	health := grpc_health_v1.NewHealthClient(g.conn)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if h, err := health.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{}); err == nil && h.GetStatus() == grpc_health_v1.HealthCheckResponse_SERVING {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("the node is not healthy: %v %v", h, err)
		}
	}
}

// garbage is a codec whose messages are bytes that nobody can read.
type garbage struct{}

func (garbage) Marshal(any) ([]byte, error) { return []byte{0xff, 0xff, 0xff}, nil }
func (garbage) Unmarshal([]byte, any) error { return nil }
func (garbage) Name() string                { return "proto" }

func TestAGatewayGetsARefusalBeforeItsTimeIsUp(t *testing.T) {
	t.Parallel()
	m := judgetest.Model(opinion)
	m.Delay = time.Minute
	a := node(t, app.Options{Model: m, Rules: openRules(1, rule.High)}, map[string]string{"data": litetest.Dir(t), "grpc_listen": "127.0.0.1:0"})
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	conn, err := grpc.NewClient(a.GRPCAddr(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // the answer comes a second before
	defer cancel()
	out, err := extmcppb.NewExtMcpClient(conn).CheckRequest(ctx, &extmcppb.McpRequest{
		Method: "tools/call", ServiceNames: []string{"files"}, McpRequest: []byte(`{"name":"read_file","arguments":{"path":"/srv/a"}}`),
	})
	if err != nil || out.GetError() == nil {
		t.Errorf("with a model that takes too long: %v %v", out, err)
	}
}

func TestGatewaysListenWhereTheyAreTold(t *testing.T) {
	t.Parallel()
	off := node(t, app.Options{}, map[string]string{"data": litetest.Dir(t), "no_seed": "true"})
	if err := off.Start(t.Context()); err != nil || off.GRPCAddr() != "" {
		t.Errorf("by default it listens on %q: %v", off.GRPCAddr(), err)
	}
	here := node(t, app.Options{}, map[string]string{"data": litetest.Dir(t), "no_seed": "true", "grpc_listen": "0"})
	if err := here.Start(t.Context()); err != nil || !strings.HasPrefix(here.GRPCAddr(), "127.0.0.1:") {
		t.Errorf("a port alone is on %q: %v", here.GRPCAddr(), err)
	}
	open := node(t, app.Options{}, map[string]string{"data": litetest.Dir(t), "no_seed": "true", "grpc_listen": ":0"})
	if err := open.Start(t.Context()); rule.CodeOf(err) != rule.CodeInvalid || !strings.Contains(err.Error(), "tenet keys create") {
		t.Errorf("listening for others without a key: %v", err)
	}
}
