package extmcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"tenet/internal/client"
	"tenet/internal/gateway/extmcp"
	"tenet/internal/gateway/extmcp/extmcppb"
)

// asking returns a client of the service, which asks that API.
func asking(t *testing.T, api http.Handler) extmcppb.ExtMcpClient {
	t.Helper()
	server := grpc.NewServer()
	extmcp.Register(server, extmcp.Config{Client: func(context.Context) (*client.Client, error) {
		if api == nil {
			return nil, errors.New("secret of the operator")
		}
		return client.New("http://localhost", "", &http.Client{Transport: client.InProcess(api)})
	}})
	listener := bufconn.Listen(1 << 20)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	conn, err := grpc.NewClient("passthrough:///tenet", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return extmcppb.NewExtMcpClient(conn)
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
	for name, c := range map[string]struct {
		api    http.Handler
		passes bool
	}{
		"allow":             {answer(200, `{"evaluation_id":"x","overall_verdict":"ALLOW","subject_kind":"SENT","rule_verdicts":[]}`), true},
		"deny":              {answer(200, `{"evaluation_id":"x","overall_verdict":"DENY","subject_kind":"SENT","rule_verdicts":[]}`), false},
		"another subject":   {answer(200, `{"evaluation_id":"x","overall_verdict":"ALLOW","subject_kind":"document","rule_verdicts":[]}`), false},
		"rules left out":    {answer(200, `{"evaluation_id":"x","overall_verdict":"ALLOW","subject_kind":"SENT","rule_verdicts":[],"coverage":{"rules_cut":1}}`), false},
		"nothing":           {answer(200, `{}`), false},
		"half an answer":    {answer(200, `{"overall_verdict":"ALLOW","rule_ver`), false},
		"a contradiction":   {answer(200, `{"evaluation_id":"x","overall_verdict":"ALLOW","subject_kind":"SENT","rule_verdicts":[{"rule_id":"r","verdict":"DENY"}]}`), false},
		"a wrong key":       {answer(401, `{"title":"Credentials","code":"unauthenticated","detail":"no such key"}`), false},
		"an internal error": {answer(500, "boom"), false},
		"a page":            {answer(200, "<html>"), false},
		"a panic":           {http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("boom") }), false},
		"no client":         {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := asking(t, c.api)
			request, err := s.CheckRequest(t.Context(), &extmcppb.McpRequest{Method: "tools/call", ServiceNames: []string{"files"}, McpRequest: []byte(`{"name":"read_file"}`)})
			if err != nil || (request.GetPass() != nil) != c.passes || (request.GetError() == nil) != c.passes {
				t.Errorf("request: %v %v", request, err)
			}
			response, err := s.CheckResponse(t.Context(), &extmcppb.McpResponse{Method: "tools/call", ServiceNames: []string{"files"}, McpResponse: []byte(`{"content":[]}`)})
			if err != nil || (response.GetPass() != nil) != c.passes || (response.GetError() == nil) != c.passes {
				t.Errorf("response: %v %v", response, err)
			}
		})
	}
}
