package gateway

import (
	"encoding/json"
	"strings"
	"testing"

	"tenet/internal/rule"
	"tenet/internal/wire"
)

func TestParse(t *testing.T) {
	for _, test := range []struct{ method, params, tool, arguments string }{
		{wire.CallTool, `{"name":"write","arguments":{"path":"/a"},"_meta":{"progressToken":1}}`, "write", `{"path":"/a"}`},
		{wire.CallTool, `{"name":"now"}`, "now", `{}`},
		{wire.CallTool, `{"name":"now","arguments":null}`, "now", `{}`},
		{wire.CallTool, `{"name":"big","arguments":{"n":9007199254740993}}`, "big", `{"n":9007199254740993}`},
		{wire.CallTool, `{"name":"now","task":{"ttl":60000},"inputResponses":{"q":{"action":"accept"}},"requestState":"s"}`, "now", `{}`},
		{wire.ReadResource, `{"uri":"file:///a","_meta":{"progressToken":"p"}}`, wire.ReadResource, `{"uri":"file:///a"}`},
		{wire.ReadResource, `{"uri":"file:///etc/passwd"}`, wire.ReadResource, `{"uri":"file:///etc/passwd"}`},
		{wire.GetPrompt, `{"name":"review","arguments":{"x":"y"}}`, wire.GetPrompt, `{"arguments":{"x":"y"},"name":"review"}`},
	} {
		c, err := Parse("files", test.method, []byte(test.params))
		if err != nil || c.Tool != test.tool || string(c.Arguments) != test.arguments || c.Server != "files" {
			t.Errorf("%s: %+v %s, %v", test.params, c, c.Arguments, err)
		}
	}
}

// What servers may read in several ways must not be evaluated in one of them.
func TestParseRefusesTwoReadings(t *testing.T) {
	for _, test := range []struct{ method, params string }{
		{wire.CallTool, `{"name":"read","name":"delete"}`},
		{wire.CallTool, `{"name":"read","Name":"delete"}`},
		{wire.CallTool, `{"name":"read","ARGUMENTS":{"path":"/"}}`},
		{wire.CallTool, `{"name":"read","arguments":{"path":"/a","path":"/b"}}`},
		{wire.CallTool, `{"name":"read","arguments":{"deep":[{"a":1,"a":2}]}}`},
		{wire.CallTool, `{"name":"read","arguments":[1]}`},
		{wire.CallTool, `{"name":"read","arguments":"{}"}`},
		{wire.CallTool, `{"name":["read"]}`},
		{wire.CallTool, `{"name":" "}`},
		{wire.CallTool, `{"name":"` + strings.Repeat("x", MaxName+1) + `"}`},
		{wire.CallTool, `{}`},
		{wire.CallTool, ``},
		{wire.CallTool, `null`},
		{wire.CallTool, `["read"]`},
		{wire.CallTool, "{\"name\":\"a\xff\"}"},
		{wire.ReadResource, `{"uri":""}`},
		{wire.ReadResource, `{"uri":"a","URI":"b"}`},
		{wire.GetPrompt, `{"arguments":{}}`},
		{wire.CallTool, `{"name":"read","args":{"path":"/"}}`},
		{wire.CallTool, `{"name":"read","arguments":{},"uri":"file:///etc/passwd"}`},
		{wire.ReadResource, `{"uri":"a","name":"delete"}`},
		{wire.ReadResource, `{"uri":"a","range":"all"}`},
		{wire.GetPrompt, `{"name":"review","uri":"a"}`},
		{"tools/list", `{"name":"x"}`},
		{"TOOLS/CALL", `{"name":"read"}`},
		{"tools/call ", `{"name":"read"}`},
	} {
		if c, err := Parse("s", test.method, []byte(test.params)); rule.CodeOf(err) != rule.CodeInvalid {
			t.Errorf("%s %s: %+v, %v", test.method, test.params, c, err)
		}
	}
}

// Some servers take other spellings of a method for it, and so such a request must not pass as one that is not evaluated.
func TestOtherSpellingsOfAMethodAreEvaluated(t *testing.T) {
	for _, method := range []string{
		"Tools/Call", " tools/call", "tools/call\n", "tools/call\x00", "tools\u200b/call", "RESOURCES/READ", "prompts/Get", "tool\u017f/call", "\uff54ools/call", "tools.call", "tools//call", "tools/call/", "tools-call", "toolsCall", "toolscall", "tools%2fcall", "tools%2Fcall", "tools%252Fcall", "%74ools/call", "tools%" + strings.Repeat("25", 20) + "2fcall", "tools%2fcall%", "tools&#47;call", "tools&sol;call", `tools\u002fcall`,
		`\u0074ools/call`,
	} {
		if !Evaluated(method) {
			t.Errorf("%q passes", method)
		}
	}
	for _, method := range []string{"tools/list", "tools/calls", "tasks/call", "tools%2flist", "tools/call%73", "x%y/z", `\x`, "", "notifications/initialized"} {
		if Evaluated(method) {
			t.Errorf("%q is refused", method)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{`{"name":"a","arguments":{}}`, `{"uri":"x"}`, `{"name":"a","Name":"b"}`, `[`, `{"name":"\ud800"}`} {
		f.Add(wire.CallTool, []byte(seed))
		f.Add(wire.ReadResource, []byte(seed))
	}
	f.Fuzz(func(t *testing.T, method string, params []byte) {
		c, err := Parse("server", method, params)
		if err != nil {
			if rule.CodeOf(err) != rule.CodeInvalid {
				t.Fatal(err)
			}
			return
		}
		text, err := c.Subject()
		if err != nil {
			t.Fatal(err)
		}
		var s wire.Submitted
		if err := json.Unmarshal(text, &s); err != nil || s.Kind != wire.ToolCall {
			t.Fatalf("%s is no subject: %v", text, err)
		}
	})
}

func TestResultOf(t *testing.T) {
	r, err := ResultOf([]byte(`{"content":[{"type":"text","text":"one"},{"type":"resource","resource":{"uri":"file:///x","text":"two"}},
		{"type":"resource","resource":{"uri":"file:///y","blob":"dGhyZWU="}},{"type":"image","mimeType":"text/plain","data":"iVBORw0KGgoAAAANSUhEUg=="}],
		"structuredContent":{"key":"four"},"isError":true}`))
	if err != nil || r.Text != "one\ntwo\nfile:///x\nfile:///y\nthree" || !r.Error || len(r.Media) != 1 || r.Structured.(map[string]any)["key"] != "four" {
		t.Errorf("%+v, %v", r, err)
	}
	r, err = ResultOf([]byte(`{"messages":[{"role":"user","content":{"type":"text","text":"hello"}}],"description":"d"}`))
	if err != nil || r.Text != "d\nhello" {
		t.Errorf("a prompt: %+v, %v", r, err)
	}
	r, err = ResultOf([]byte(`{"contents":[{"uri":"u","text":"content"}]}`))
	if err != nil || r.Text != "content\nu" {
		t.Errorf("a resource: %+v, %v", r, err)
	}
	for _, bad := range []string{
		`{"content":[{"type":"image","mimeType":"image/png","data":"AAAAAAA="}]}`, // no image, and no text
		`{"content":[],"content":[{"type":"text","text":"x"}]}`, `{"content":"x"}`, `[]`, `{"contents":[{"blob":"!"}]}`,
	} {
		if r, err := ResultOf([]byte(bad)); rule.CodeOf(err) != rule.CodeInvalid {
			t.Errorf("%s: %+v, %v", bad, r, err)
		}
	}
}

func TestRefusalNamesRuleAndStep(t *testing.T) {
	c := &Call{Server: "files", Method: wire.CallTool, Tool: "write\u202efile"}
	v := rule.RuleVerdict{
		RuleID: "x", RuleSlug: "MCP-001", RuleStatement: "Files must stay in the folder.", Severity: rule.High, Verdict: rule.Deny,
		DecidedBy: rule.ByCheck, Reasoning: "The path is /etc/passwd.", FixSuggestion: "Write below /srv.", Modality: rule.Must, Enforcement: rule.Enforce,
	}
	e := &rule.Evaluation{
		EvaluationID: "E-1", OverallVerdict: rule.Deny, RuleVerdicts: []rule.RuleVerdict{v}, Violations: []rule.RuleVerdict{v},
		RulesEvaluated: 1, RulesViolated: 1,
	}
	text := Refusal(c, e)
	for _, want := range []string{"was not carried out", "MCP-001", "Files must stay", "/etc/passwd", "Fix: Write below /srv.", "Do not try another way", "E-1", "write\uFFFDfile"} {
		if !strings.Contains(text, want) {
			t.Errorf("the refusal lacks %q:\n%s", want, text)
		}
	}
	if Passes(e) || Passes(nil) || Passes(&rule.Evaluation{OverallVerdict: rule.Allow}) {
		t.Error("a denial, no evaluation or half of one passes")
	}
	if text := Refusal(c, &rule.Evaluation{OverallVerdict: rule.Allow}); !strings.Contains(text, "no permission") {
		t.Errorf("half an evaluation: %s", text)
	}
}
