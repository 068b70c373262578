package mcp_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tenet/internal/app"
	"tenet/internal/client"
	"tenet/internal/mcp"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// bearer sends a key with every request.
type bearer struct{ key string }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if b.key != "" {
		r.Header.Set("Authorization", "Bearer "+b.key)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// over is a session with a node over the network.
func over(t testing.TB, a *app.App, path, key string) *sdk.ClientSession {
	t.Helper()
	return connect(t, &sdk.StreamableClientTransport{
		Endpoint: "http://" + a.Addr() + path, HTTPClient: &http.Client{Transport: bearer{key}}, DisableStandaloneSSE: true,
	})
}

// makeKey makes a key in process, as the local administrator.
func makeKey(t testing.TB, a *app.App, role, project string) string {
	t.Helper()
	made, err := client.Call(t.Context(), inside(t, a), op.CreateKey, wire.CreateKey{Name: role, Role: role, ProjectID: project})
	if err != nil {
		t.Fatal(err)
	}
	return made.Secret
}

func TestOverHTTPAToolMayDoWhatTheKeyMay(t *testing.T) {
	a := newNode(t, map[string]string{})
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	makeKey(t, a, "admin", "*")
	viewer, evaluator, reviewer := makeKey(t, a, "viewer", "default"), makeKey(t, a, "evaluator", "default"), makeKey(t, a, "reviewer", "default")
	facts := map[string]any{"facts": map[string]any{"amount": 25000, "approvers": 1}}
	draft := map[string]any{"statement": "Code must not print."}
	for _, tt := range []struct {
		key, tool string
		args      map[string]any
		may       bool
	}{
		{viewer, "search_rules", map[string]any{"query": "eval"}, true},
		{viewer, "evaluate_facts", facts, false},
		{evaluator, "evaluate_facts", facts, true},
		{evaluator, "propose_rule", draft, false},
		{reviewer, "propose_rule", draft, true},
	} {
		res, err := over(t, a, "/mcp", tt.key).CallTool(t.Context(), &sdk.CallToolParams{Name: tt.tool, Arguments: tt.args})
		if err != nil {
			t.Fatal(err)
		}
		if res.IsError == tt.may || !tt.may && !strings.Contains(words(res), "may not do this") {
			t.Errorf("%s: %s", tt.tool, words(res))
		}
	}
	// Each request goes by its own key: a session that was begun with a strong one lends it to nobody.
	read, err := over(t, a, "/mcp", reviewer).ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "tenet://rules/PY-001"})
	if err != nil || !strings.Contains(read.Contents[0].Text, "PY-001") {
		t.Errorf("a resource: %v", err)
	}
	for what, tt := range map[string]struct {
		key, path string
		headers   map[string]string
		status    int
	}{
		"no key":                   {"", "/mcp", nil, 401},
		"a wrong key":              {"tnt_" + strings.Repeat("x", 43), "/mcp", nil, 401},
		"another project":          {viewer, "/mcp?project_id=pay", nil, 403},
		"a page of another origin": {viewer, "/mcp", map[string]string{"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}, 403},
		"an unknown parameter":     {viewer, "/mcp?project=pay", nil, 422},
		"a project by header":      {viewer, "/mcp", map[string]string{"X-Tenet-Project": "pay"}, 200},
		"a proxy on this machine":  {viewer, "/mcp", map[string]string{"Host": "tenet.example.com"}, 200},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+a.Addr()+tt.path,
			strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_rules","arguments":{"query":"eval"}}}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		for name, value := range tt.headers {
			r.Header.Set(name, value)
		}
		r.Host = r.Header.Get("Host")
		res, err := (&http.Client{Transport: bearer{tt.key}}).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if res.StatusCode != tt.status {
			t.Errorf("%s: %d, want %d: %s", what, res.StatusCode, tt.status, body)
		}
		if tt.status == 200 && !strings.Contains(string(body), "PY-001") {
			t.Errorf("%s: the header was believed: %s", what, body)
		}
	}
}

func TestOverHTTPMessagesAreBounded(t *testing.T) {
	c := empty(t)
	server := httptest.NewServer(mcp.Handler(mcp.Config{MaxBody: 20_000, Client: func(http.Header) (*client.Client, error) { return c, nil }}))
	defer server.Close()
	const one = `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"search_rules","arguments":{"query":"eval"}}}`
	batch := func(n int) string {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprintf(one, i)
		}
		return " \n[" + strings.Join(list, ",") + "]"
	}
	for name, tt := range map[string]struct {
		body   string
		status int
		want   string
	}{
		"one message":       {"\n " + fmt.Sprintf(one, 1), 200, `"id":1`},
		"a batch":           {batch(50), 200, `"id":49`},
		"a long batch":      {batch(51), 413, "at most 50"},
		"a giant batch":     {batch(1000), 413, "20000 bytes"},
		"a giant message":   {fmt.Sprintf(one, 1) + strings.Repeat(" ", 20_000), 413, "20000 bytes"},
		"arguments twice":   {strings.Replace(fmt.Sprintf(one, 1), `"arguments"`, `"arguments":{"query":"exec"},"arguments"`, 1), 400, `names "arguments" twice`},
		"method twice":      {"[" + strings.Replace(fmt.Sprintf(one, 1), `"method"`, `"method":"ping","\u006dethod"`, 1) + "]", 400, `names "method" twice`},
		"half a batch":      {"[" + fmt.Sprintf(one, 1), 400, ""},
		"an empty batch":    {"[]", 400, ""},
		"nothing":           {"", 400, ""},
		"nothing but space": {"  \n", 400, ""},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, strings.NewReader(tt.body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if res.StatusCode != tt.status || !strings.Contains(string(body), tt.want) {
			t.Errorf("%s: %d, want %d: %.300s", name, res.StatusCode, tt.status, body)
		}
	}
}

func TestMCPMayBeSwitchedOff(t *testing.T) {
	a := newNode(t, map[string]string{"mcp": "false"})
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+a.Addr()+"/mcp", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusNotFound {
		t.Errorf("status %d", res.StatusCode)
	}
}

// BenchmarkToolCallOverHTTP is a call over the network, with its evaluation.
func BenchmarkToolCallOverHTTP(b *testing.B) {
	a := newNode(b, map[string]string{})
	if err := a.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	s := over(b, a, "/mcp", "")
	args := map[string]any{"facts": map[string]any{"amount": 25000, "approvers": 1}}
	for b.Loop() {
		res, err := s.CallTool(b.Context(), &sdk.CallToolParams{Name: "evaluate_facts", Arguments: args})
		if err != nil || res.IsError {
			b.Fatal(err, words(res))
		}
	}
}
