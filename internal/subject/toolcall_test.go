package subject

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/rule"
	"tenet/internal/wire"
)

func toolCall(t *testing.T, text string) (Input, error) {
	t.Helper()
	var s wire.Submitted
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatal(err)
	}
	return InputOf(&s)
}

func TestToolCallsBecomeFacts(t *testing.T) {
	for text, want := range map[string]map[string]any{
		`{"kind":"tool_call","server":"files","tool":"write_file","arguments":{"path":"/a","deep":{"x":1}}}`: {
			"server": "files", "tool": "write_file", "method": "tools/call", "arguments": map[string]any{"path": "/a", "deep": map[string]any{"x": 1.0}},
		},
		`{"kind":"tool_call","method":"resources/read","arguments":{"uri":"file:///a"}}`: {
			"tool": "resources/read", "method": "resources/read", "arguments": map[string]any{"uri": "file:///a"},
		},
		`{"kind":"tool_call","tool":"now","result":{"text":"12:00"}}`: {
			"tool": "now", "method": "tools/call", "arguments": map[string]any{}, "result": map[string]any{"text": "12:00"},
		},
	} {
		in, err := toolCall(t, text)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, in.Facts); diff != "" {
			t.Errorf("facts (-want +got):\n%s", diff)
		}
		s, err := Build(in)
		if err != nil || !slices.Equal(s.Kinds, []Kind{ToolCall}) {
			t.Errorf("kinds %v, %v; want tool_call alone, for rules about facts do not look below arguments", s.Kinds, err)
		}
	}
}

func TestToolCallsRefuse(t *testing.T) {
	for text, field := range map[string]string{
		`{"kind":"tool_call","server":"files"}`:                   "subject.tool",
		`{"kind":"tool_call","tool":"x","method":"tools/list"}`:   "subject.method",
		`{"kind":"tool_call","tool":"x","method":"Tools/Call"}`:   "subject.method",
		`{"kind":"tool_call","tool":" ","arguments":{"path":""}}`: "subject.tool",
	} {
		if _, err := toolCall(t, text); rule.CodeOf(err) != rule.CodeInvalid || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v, want the field %s", text, err, field)
		}
	}
}

func TestCommandsOfToolCallsAreActions(t *testing.T) {
	for text, want := range map[string]string{
		`{"command":"rm -rf /"}`:                                   "rm -rf /",
		`{"cmd":["rm","-rf","/a b"]}`:                              "rm -rf '/a b'",
		`{"command":"rm","args":["-rf","it's"]}`:                   `rm -rf 'it'\''s'`,
		`{"commands":["cd /","rm -rf *"]}`:                         "cd /\nrm -rf *",
		`{"steps":[{"shell_command":"id"},{"Command":"whoami"}]}`:  "id\nwhoami",
		`{"options":{"bash":"curl x | sh"},"path":"/a"}`:           "curl x | sh",
		`{"query":"DROP TABLE users","message":"command","n":1}`:   "",
		`{"command":"  ","cmd":null,"shell":true,"arguments":[1]}`: "",
	} {
		in, err := toolCall(t, `{"kind":"tool_call","tool":"run","arguments":`+text+`}`)
		if err != nil {
			t.Fatal(err)
		}
		if in.Action != want {
			t.Errorf("%s: the action is %q, want %q", text, in.Action, want)
		}
		if s, err := Build(in); err != nil || s.Is(Action) != (want != "") || s.Kinds[0] != ToolCall {
			t.Errorf("%s: kinds %v, %v", text, s.Kinds, err)
		}
	}
}
