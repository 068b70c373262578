package extauthz

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"google.golang.org/grpc/codes"

	"tenet/internal/client"
	"tenet/internal/gateway"
)

func request(method, path, body string, extensions map[string]string) *authv3.CheckRequest {
	return &authv3.CheckRequest{Attributes: &authv3.AttributeContext{
		ContextExtensions: extensions,
		Request: &authv3.AttributeContext_Request{Http: &authv3.AttributeContext_HttpRequest{
			Method: method, Host: "api.example.com", Path: path, RawBody: []byte(body), Headers: map[string]string{"content-type": "application/json"},
		}},
	}}
}

func TestOnlyAClearAllowPasses(t *testing.T) {
	answer := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			var sent struct {
				Subject struct {
					Kind string `json:"kind"`
				} `json:"subject"`
			}
			_ = json.NewDecoder(r.Body).Decode(&sent)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, strings.ReplaceAll(body, "SENT", sent.Subject.Kind))
		}
	}
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_file"}}`
	for name, c := range map[string]struct {
		api    http.Handler
		passes bool
	}{
		"allow":             {answer(200, `{"evaluation_id":"x","overall_verdict":"ALLOW","subject_kind":"SENT","rule_verdicts":[]}`), true},
		"deny":              {answer(200, `{"evaluation_id":"x","overall_verdict":"DENY","subject_kind":"SENT","rule_verdicts":[]}`), false},
		"rules left out":    {answer(200, `{"evaluation_id":"x","overall_verdict":"ALLOW","subject_kind":"SENT","rule_verdicts":[],"coverage":{"rules_cut":1}}`), false},
		"nothing":           {answer(200, `{}`), false},
		"half an answer":    {answer(200, `{"overall_verdict":"ALLOW","rule_ver`), false},
		"a wrong key":       {answer(401, `{"title":"Credentials","code":"unauthenticated","detail":"no such key"}`), false},
		"an internal error": {answer(500, "boom"), false},
		"a page":            {answer(200, "<html>"), false},
		"a panic":           {http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("boom") }), false},
		"no client":         {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := &service{cfg: Config{Logger: slog.New(slog.DiscardHandler), Client: func(context.Context) (*client.Client, error) {
				if c.api == nil {
					return nil, errors.New("secret of the operator")
				}
				return client.New("http://localhost", "", &http.Client{Transport: client.InProcess(c.api)})
			}}}
			for _, in := range []*authv3.CheckRequest{
				request("GET", "/", "", nil), request("POST", "/mcp", call, map[string]string{protocolKey: "mcp"}), request("POST", "/mcp", call, nil),
			} {
				out, err := s.Check(t.Context(), in)
				if err != nil || (out.GetStatus().GetCode() == int32(codes.OK)) != c.passes || (out.GetOkResponse() != nil) != c.passes {
					t.Errorf("%v %v", out, err)
				}
				if body := out.GetDeniedResponse().GetBody(); strings.Contains(body, "secret of") || strings.Contains(body, "boom") {
					t.Errorf("the client reads %s", body)
				}
			}
		})
	}
}

// A number of a body that would become another when a rule reads it is not examined.
func TestNumbersOfABodyThatAreNotKept(t *testing.T) {
	for body, kept := range map[string]bool{`{"amount":1000.0000000000000000001}`: false, `{"a":[{"b":1e-400}]}`: false, `{"amount":1000.10}`: true} {
		x, err := read(request("POST", "/pay", body, nil))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := x.bodyFact(); (err == nil) != kept {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// FuzzNoCallIsOverlooked looks for bodies that a server may read as a call and that pass without a question.
func FuzzNoCallIsOverlooked(f *testing.F) {
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","Method":"tools/call"}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"tools/call"}`,
		`[{"jsonrpc":"2.0","method":"ping","id":1},{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"x"}}]`,
		`{"jsonrpc":"2.0","id":1,"method":"tools\u002fcall","params":{"name":"x"}}`,
		` {"jsonrpc":"2.0","id":1,"result":{},"method":"resources/read","params":{"uri":"a:b"}} `,
		`{"jsonrpc":"2.0","id":1,"method":"ping"}{"jsonrpc":"2.0","id":1,"method":"tools/call"}`,
	} {
		f.Add(body, "/mcp?a=b")
	}
	f.Fuzz(func(t *testing.T, body, path string) {
		x, err := read(request("POST", path, body, map[string]string{protocolKey: "mcp"}))
		if err != nil {
			return
		}
		q, err := x.questions(nil)
		if err != nil || len(q.calls) > 0 {
			return
		}
		// The reader of the standard library takes names in any letter case, and the last of two.
		type loose struct{ Method any }
		var one loose
		var list []loose
		if json.Unmarshal([]byte(body), &list) != nil && json.Unmarshal([]byte(body), &one) == nil {
			list = []loose{one}
		}
		for _, m := range list {
			if method, ok := m.Method.(string); ok && gateway.Evaluated(method) {
				t.Errorf("%q passes without a question, and is a call of %s", body, method)
			}
		}
	})
}

func FuzzFactsOfRequests(f *testing.F) {
	f.Add("GET", "/a/b?c=d&c=e", "")
	f.Add("POST", "/a/%2E%2e/b", `{"a":[1,{"b":null}]}`)
	f.Add("POST", "/a;x=1/..;y/b", "a=b&c")
	f.Fuzz(func(t *testing.T, method, path, body string) {
		x, err := read(request(method, path, body, nil))
		if err != nil {
			return
		}
		facts, err := x.facts([]string{"content-type"})
		if err != nil {
			return
		}
		if _, err := json.Marshal(facts); err != nil {
			t.Error(err)
		}
		if p, _ := facts["path"].(string); p != "*" && (!strings.HasPrefix(p, "/") || strings.Contains(p, "/../") || strings.HasSuffix(p, "/..") || strings.Contains(p, "//")) {
			t.Errorf("%q is the path %q", path, p)
		}
	})
}
