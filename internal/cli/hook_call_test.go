package cli

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// submissions is a server that denies everything and keeps the subjects that it is asked about.
type submissions struct {
	mu       sync.Mutex
	subjects []string
}

func (s *submissions) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Subject jsontext.Value `json:"subject"`
	}
	b, err := io.ReadAll(r.Body)
	if err == nil && r.URL.Path == "/api/v1/submissions" && json.Unmarshal(b, &in) == nil && in.Subject.Canonicalize() == nil {
		s.mu.Lock()
		s.subjects = append(s.subjects, string(in.Subject))
		s.mu.Unlock()
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"evaluation_id":"e","overall_verdict":"DENY","rules_evaluated":1,"mode":"preflight","subject_kind":"tool_call",
		"rule_verdicts":[{"rule_id":"r","rule_slug":"T-1","rule_statement":"No.","severity":"HIGH","modality":"MUST","enforcement":"enforce","verdict":"DENY","decided_by":"check"}],
		"violations":[{"rule_id":"r","rule_slug":"T-1","rule_statement":"No.","severity":"HIGH","modality":"MUST","enforcement":"enforce","verdict":"DENY","decided_by":"check"}]}`)
}

func (s *submissions) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := s.subjects
	s.subjects = nil
	return taken
}

// TestHooksAndTheGatewayAskTheSame holds for every agent that names the server: one call, one subject, and so one verdict.
func TestHooksAndTheGatewayAskTheSame(t *testing.T) {
	asked := &submissions{}
	server := httptest.NewServer(asked)
	defer server.Close()
	dir := t.TempDir()
	quote := func(s string) string { b, _ := json.Marshal(s); return string(b) }
	for _, call := range []struct{ tool, arguments string }{
		{"query", `{"sql":"drop table x"}`},
		{"write_file", `{"path":"/etc/passwd","content":"<a>&\u2028 ä"}`},
		{"run", `{"command":"rm","args":["-rf","/"],"env":{"A":null}}`},
		{"transfer", `{"amount":9007199254740993,"rate":1.10e2,"deep":[[{"x":[]}]]}`},
		{"now", `{}`},
		{"a__b", `{"method":"tools/call","tool":"other","server":"other","arguments":{"server":"x"}}`},
	} {
		code, out, errs := run(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":`+quote(call.tool)+`,"arguments":`+call.arguments+`}}`+"\n",
			"gateway", "mcp", "--server", server.URL, "--name", "db", "--no-pins", "--to", "cat")
		want := asked.take()
		if len(want) != 1 || !strings.Contains(out, "T-1") {
			t.Fatalf("%s: the gateway exits with %d, asks %q, answers %s and %s", call.tool, code, want, out, errs)
		}
		for agent, payload := range map[string]string{
			"claude-code": `{"hook_event_name":"PreToolUse","cwd":` + quote(dir) + `,"tool_name":` + quote("mcp__db__"+call.tool) + `,"tool_input":` + call.arguments + `}`,
			"codex":       `{"hook_event_name":"PreToolUse","cwd":` + quote(dir) + `,"tool_name":` + quote("mcp__db__"+call.tool) + `,"tool_input":` + call.arguments + `}`,
			"gemini":      `{"hook_event_name":"BeforeTool","cwd":` + quote(dir) + `,"tool_name":` + quote("db__"+call.tool) + `,"mcp_context":{"server_name":"db","tool_name":` + quote(call.tool) + `},"tool_input":` + call.arguments + `}`,
			"windsurf":    `{"agent_action_name":"pre_mcp_tool_use","tool_info":{"mcp_server_name":"db","mcp_tool_name":` + quote(call.tool) + `,"mcp_tool_arguments":` + call.arguments + `}}`,
			"cursor":      `{"hook_event_name":"beforeMCPExecution","cwd":` + quote(dir) + `,"tool_name":` + quote(call.tool) + `,"tool_input":` + quote(call.arguments) + `,"command":"npx -y db-mcp-server@2 /srv"}`,
		} {
			code, out, errs := run(t, payload, "hook", agent, "--server", server.URL, "--timeout", "20s")
			got := asked.take()
			if len(got) == 0 || got[0] != want[0] {
				t.Errorf("%s asks about %s\n%q, the gateway about\n%q", agent, call.tool, got, want)
			}
			if said := out + errs; !strings.Contains(said, "T-1") || code == 0 && !strings.Contains(out, `"permission":"deny"`) {
				t.Errorf("%s exits with %d, prints %s and %s", agent, code, out, errs)
			}
			if call.tool == "a__b" && strings.Contains(payload, "mcp__db__a__b") && len(got) != 2 {
				t.Errorf("%s asks about %q; mcp__db__a__b has two readings", agent, got)
			}
		}
	}
}

// TestACallThatReadsInTwoWaysIsNotJudged holds as it does for the gateway.
func TestACallThatReadsInTwoWaysIsNotJudged(t *testing.T) {
	asked := &submissions{}
	server := httptest.NewServer(asked)
	defer server.Close()
	for _, payload := range []string{
		`{"hook_event_name":"PreToolUse","cwd":"/","tool_name":"mcp__db__query","tool_input":{"sql":"select 1","sql":"drop table x"}}`,
		`{"hook_event_name":"PreToolUse","cwd":"/","tool_name":"mcp__db__query","tool_input":{"deep":{"a":1,"a":2}}}`,
		`{"hook_event_name":"PreToolUse","cwd":"/","tool_name":"mcp__a__b__c__d__e__f__g__h__i__j__k","tool_input":{}}`,
	} {
		code, out, errs := run(t, payload, "hook", "claude-code", "--server", server.URL, "--fail", "open")
		if got := asked.take(); len(got) != 0 || code != 0 || !strings.Contains(out, `"permissionDecision":"ask"`) {
			t.Errorf("%s: exits with %d, asks %q, prints %s and %s", payload, code, got, out, errs)
		}
	}
}
