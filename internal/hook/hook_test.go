package hook

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tenet/internal/diff"
	"tenet/internal/rule"
	"tenet/internal/subject"
)

// project makes a repository with one file and returns its folder.
func project(t *testing.T, name, content string) string {
	t.Helper()
	dir := t.TempDir()
	for path, text := range map[string]string{".git/HEAD": "ref: refs/heads/main\n", name: content} {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// claude makes a payload in the form that Claude Code sends.
func claude(t *testing.T, event, dir, tool string, input, more map[string]any) []byte {
	t.Helper()
	p := map[string]any{
		"session_id": "00000000-0000-4000-8000-000000000000", "transcript_path": "/tmp/t.jsonl", "cwd": dir, "permission_mode": "default",
		"hook_event_name": event, "tool_name": tool, "tool_input": input, "tool_use_id": "toolu_01",
	}
	maps.Copy(p, more)
	b, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// added are the added lines of a question's diff and files, as "path:line text".
func added(t *testing.T, q Question) []string {
	t.Helper()
	s, err := subject.Build(subject.Input{Diff: q.Diff, Files: q.Files})
	if err != nil {
		t.Fatalf("the question is no subject: %v\n%s", err, q.Diff)
	}
	var list []string
	for _, f := range s.Files {
		for _, h := range f.Hunks {
			for _, l := range h.Lines {
				if l.Op == diff.OpAdd {
					list = append(list, f.Path+":"+string(rune('0'+l.New))+" "+l.Text)
				}
			}
		}
	}
	return list
}

const five = "one\ntwo\nthree\nfour\nfive\n"

func TestEditsOfClaudeCodeBecomeDiffsWithTheLinesOfTheFile(t *testing.T) {
	const odd = "src/a \"b\"\té.py"
	for _, test := range []struct {
		name, tool string
		input      map[string]any
		want       []string
	}{
		{"an edit", "Edit", map[string]any{"old_string": "three\nfour", "new_string": "three\nnew\nfour"}, []string{"4 new"}},
		{"an edit of all places", "Edit", map[string]any{"old_string": "e\n", "new_string": "E\n", "replace_all": true}, []string{"1 onE", "3 threE", "5 fivE"}},
		{"several edits, one on top of the other", "MultiEdit", map[string]any{"edits": []any{
			map[string]any{"old_string": "two", "new_string": "2\n3"}, map[string]any{"old_string": "3\n", "new_string": "III\n"},
		}}, []string{"2 2", "3 III"}},
		{"a file that is written again", "Write", map[string]any{"content": "one\ntwo\nthree\nfour\nlast"}, []string{"5 last"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := project(t, odd, five)
			test.input["file_path"] = filepath.Join(dir, odd)
			q, err := Claude(claude(t, "PreToolUse", dir, test.tool, test.input, nil))
			if err != nil {
				t.Fatal(err)
			}
			path := strings.ReplaceAll(odd, "\t", "\uFFFD") // as every diff with such a path is read
			var want []string
			for _, w := range test.want {
				want = append(want, path+":"+w)
			}
			if got := added(t, q); strings.Join(got, "|") != strings.Join(want, "|") {
				t.Errorf("adds %q, want %q", got, want)
			}
		})
	}
}

func TestAnEditIsJudgedInItsFileOrNotAtAll(t *testing.T) {
	dir := project(t, "a.py", "one\r\nf(x)\r\n")
	input := map[string]any{"file_path": filepath.Join(dir, "a.py"), "old_string": "one\nf", "new_string": "two\neval"}
	q, err := Claude(claude(t, "PreToolUse", dir, "Edit", input, nil))
	if err != nil || strings.Join(added(t, q), "|") != "a.py:1 two|a.py:2 eval(x)" {
		t.Errorf("with other line ends, asks %+v, %v", q, err)
	}
	input["old_string"] = "nowhere"
	if q, err = Claude(claude(t, "PreToolUse", dir, "Edit", input, nil)); err == nil || !strings.Contains(err.Error(), "does not fit") {
		t.Errorf("an edit that does not fit asks %+v", q)
	}
}

func TestALinkDoesNotHideTheFileItLeadsTo(t *testing.T) {
	dir := project(t, "src/a.py", "one\n")
	for link, target := range map[string]string{"notes.txt": "src/a.py", "other": "src", "new.txt": "src/new.py", "loop": "loop"} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"notes.txt": "notes.txt:1 x|src/a.py:1 x", "other/a.py": "other/a.py:1 x|src/a.py:1 x", "other/n/b.py": "other/n/b.py:1 x|src/n/b.py:1 x",
		"new.txt": "new.txt:1 x|src/new.py:1 x", "src/../src/a.py": "src/a.py:1 x",
	} {
		q, err := Claude(claude(t, "PreToolUse", dir, "Write", map[string]any{"file_path": name, "content": "x\n"}, nil))
		if err != nil || strings.Join(added(t, q), "|") != want {
			t.Errorf("%s asks %+v, %v; want %s", name, q, err, want)
		}
	}
	if q, err := Claude(claude(t, "PreToolUse", dir, "Write", map[string]any{"file_path": "loop/x", "content": "x\n"}, nil)); err == nil {
		t.Errorf("a link to itself asks %+v", q)
	}
}

func TestNewFilesNotebooksAndFilesOutsideOfARepository(t *testing.T) {
	dir := t.TempDir()
	q, err := Claude(claude(t, "PreToolUse", dir, "Write", map[string]any{"file_path": filepath.Join(dir, "n/new.py"), "content": "x\ny\n"}, nil))
	if err != nil || strings.Join(added(t, q), "|") != "n/new.py:1 x|n/new.py:2 y" {
		t.Errorf("a new file asks %+v, %v", q, err)
	}
	q, err = Claude(claude(t, "PreToolUse", dir, "NotebookEdit", map[string]any{"notebook_path": filepath.Join(dir, "a.ipynb"), "new_source": "x"}, nil))
	if err != nil || strings.Join(added(t, q), "|") != "a.ipynb:1 x" || q.Note == "" {
		t.Errorf("a cell asks %+v, %v", q, err)
	}
	q, err = Claude(claude(t, "PreToolUse", dir, "Write", map[string]any{"file_path": "/elsewhere/x.py", "content": "x\n"}, nil))
	if err != nil || strings.Join(added(t, q), "|") != "elsewhere/x.py:1 x" {
		t.Errorf("a file outside asks %+v, %v", q, err)
	}
}

func TestAfterTheEditTheFileIsHeldAgainstWhatItWas(t *testing.T) {
	dir := project(t, "a.py", "one\nnew\ntwo\n")
	input := map[string]any{"file_path": filepath.Join(dir, "a.py"), "old_string": "one", "new_string": "one\nnew"}
	q, err := Claude(claude(t, "PostToolUse", dir, "Edit", input, map[string]any{"tool_response": map[string]any{"originalFile": "one\ntwo\n"}}))
	if err != nil || q.Mode != rule.Posthoc || strings.Join(added(t, q), "|") != "a.py:2 new" {
		t.Errorf("asks %+v, %v", q, err)
	}
	q, err = Claude(claude(t, "PostToolUse", dir, "Edit", input, map[string]any{"tool_response": map[string]any{}}))
	if err != nil || len(added(t, q)) != 3 || q.Note == "" {
		t.Errorf("without what it was, asks %+v, %v", q, err)
	}
	b, _ := json.Marshal(map[string]any{
		"hook_event_name": "afterFileEdit", "workspace_roots": []string{dir}, "file_path": filepath.Join(dir, "a.py"),
		"edits": []any{map[string]any{"old_string": "one\n", "new_string": "one\nnew\n"}},
	})
	q, err = Cursor(b)
	if err != nil || q.Mode != rule.Posthoc || strings.Join(added(t, q), "|") != "a.py:2 new" {
		t.Errorf("Cursor asks %+v, %v", q, err)
	}
}

func TestCommandsAndCallsAreActions(t *testing.T) {
	for _, test := range []struct {
		payload string
		read    Reader
		want    string
	}{
		{`{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"git push --force"}}`, Claude, "git push --force"},
		{`{"hook_event_name":"PreToolUse","tool_name":"Monitor","tool_input":{"command":"tail -f x"}}`, Claude, "tail -f x"},
		{`{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"rm -rf /","Command":"ls"}}`, Claude, "rm -rf /"},
		{`{"hook_event_name":"PreToolUse","tool_name":"WebFetch","tool_input":{"url":"http://h"}}`, Claude, `Call the tool WebFetch with {"url":"http://h"}`},
		{`{"hook_event_name":"beforeShellExecution","command":"npm publish","cwd":"/x"}`, Cursor, "npm publish"},
		{`{"hook_event_name":"beforeReadFile","file_path":"/p/.env","content":"A=1","workspace_roots":["/p"]}`, Cursor, "Read the file .env"},
		{`{"hook_event_name":"preToolUse","tool_name":"Delete","tool_input":{"path":"/p/a.txt"},"cwd":"/p"}`, Cursor, "Delete the file a.txt"},
	} {
		q, err := test.read([]byte(test.payload))
		if err != nil || q.Action != test.want || q.Skip {
			t.Errorf("%s\nasks about %q (%v), want %q", test.payload, q.Action, err, test.want)
		}
	}
}

func TestWhatACommandWritesIntoFilesIsJudgedAsSuch(t *testing.T) {
	dir := project(t, "a.py", "one\n")
	for command, want := range map[string]string{
		"cat > a.py <<'EOF'\nx\ny\nEOF\nls":                                 "a.py:1 x|a.py:2 y",
		"cat <<EOF >>'b c.py'\nx\nEOF":                                      "b c.py:1 x",
		"mkdir -p n; cat <<-\"E O\" | tee -a n/b.py >/dev/null\n\tx\n\tE O": "n/b.py:1 x",
		"cat <<A > a.py && cat <<B > b.py\nx\nA\ny\nB":                      "a.py:1 x|b.py:1 y",
		"cd x; echo \"y = 1\" > a.py":                                       "a.py:1 y = 1",
		`printf 'x\ny\n' >> a.py`:                                           "a.py:2 x|a.py:3 y",
		"apply_patch <<'E'\n*** Begin Patch\n*** Update File: a.py\n@@\n-one\n+two\n*** Add File: b.py\n+x\n*** End Patch\nE": "a.py:1 two|b.py:1 x",
		"cat > a.py <<EOF\nx":                                   "a.py:1 x", // the shell ends it as well
		"n=$((1 << 2))\ncat > a.py <<'EOF'\nx\nEOF":             "a.py:1 x",
		"((n <<= 2)); cat > a.py <<EOF\n2\nEOF":                 "a.py:1 2",
		"echo \"1 << two\"\nlet m=n<<two\ncat <<E > a.py\nx\nE": "a.py:1 x",
		"n=$(( (1<<2) + (3<<4) )); tee a.py <<E\n4\nE":          "a.py:1 4",
		"cat <<EOF 2>a.py\nx\nEOF":                              "", "grep x <<< y > a.py": "", "echo hi 2>&1": "", "ls > a.py": "", "echo x > /dev/null": "", "a <<EOF\nx\nEOF": "",
	} {
		q, err := Claude(claude(t, "PreToolUse", dir, "Bash", map[string]any{"command": command}, nil))
		if got := strings.Join(added(t, q), "|"); err != nil || q.Action != command || got != want {
			t.Errorf("%q asks about %q and %q, %v; want %q", command, q.Action, got, err, want)
		}
	}
}

func TestWhatIsNotUnderstoodIsAnError(t *testing.T) {
	long, _ := json.Marshal(map[string]any{
		"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": map[string]any{"command": strings.Repeat("x", MaxAction+1)},
	})
	for _, payload := range []string{
		"", "{", "null", "[]", `"x"`, `{}`, `{"hook_event_name":7}`, `{"hook_event_name":"PreToolUse"}`,
		`{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{}}`,
		`{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":["a"]}}`,
		`{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"Command":"ls"}}`,
		`{"hook_event_name":"PreToolUse","tool_name":"Teleport","tool_input":{}}`,
		`{"hook_event_name":"PreToolUse","tool_name":"Edit","tool_input":{"file_path":"/x"}}`,
		`{"hook_event_name":"PreToolUse","tool_name":"Write","tool_input":{"file_path":"/dev/null","content":"x"}}`,
		`{"hook_event_name":"preToolUse","tool_name":"Teleport","tool_input":{}}`,
		`{"hook_event_name":"afterFileEdit","file_path":"/no/such/file","edits":[{"old_string":"a","new_string":"b"}]}`,
		string(long),
	} {
		read := Claude
		if strings.Contains(payload, `"preToolUse"`) || strings.Contains(payload, "afterFileEdit") {
			read = Cursor
		}
		if q, err := read([]byte(payload)); err == nil {
			t.Errorf("%.100s is taken for %+v", payload, q)
		}
	}
}

func TestReadingAndPlanningIsNotJudged(t *testing.T) {
	for payload, read := range map[string]Reader{
		`{"hook_event_name":"PreToolUse","tool_name":"Read","tool_input":{"file_path":"/x"}}`:           Claude,
		`{"hook_event_name":"preToolUse","tool_name":"Grep","tool_input":{}}`:                           Cursor,
		`{"hook_event_name":"beforeSubmitPrompt","prompt":"x"}`:                                         Cursor,
		`{"hook_event_name":"preToolUse","tool_name":"MCP:query","tool_input":{},"cwd":"/somewhere/x"}`: Cursor,
	} {
		if q, err := read([]byte(payload)); err != nil || !q.Skip {
			t.Errorf("%s is %+v, %v", payload, q, err)
		}
	}
}

func FuzzPayloads(f *testing.F) {
	for _, seed := range []string{
		`{"hook_event_name":"PreToolUse","tool_name":"Edit","tool_input":{"file_path":"hook.go","old_string":"package hook","new_string":"x"}}`,
		`{"hook_event_name":"PreToolUse","tool_name":"MultiEdit","tool_input":{"file_path":"none","edits":[{"old_string":"","new_string":"x"}]}}`,
		`{"hook_event_name":"beforeMCPExecution","tool_name":"q","tool_input":"{}"}`,
		`{"hook_event_name":"preToolUse","tool_name":"Write","tool_input":{"path":"a\u0000b","contents":"\ud800"}}`,
		`{"hook_event_name":"afterFileEdit","file_path":"hook.go","edits":[{"old_string":"a","new_string":"b"}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		for _, read := range []Reader{Claude, Cursor} {
			q, err := read(payload)
			if err != nil || q.Skip {
				continue
			}
			if q.Action == "" && len(q.Calls) == 0 && q.Diff == "" && len(q.Files) == 0 {
				t.Fatalf("%q asks about nothing and is not skipped", payload)
			}
			if q.Diff != "" {
				if _, err := subject.Build(subject.Input{Diff: q.Diff}); err != nil {
					t.Fatalf("%q gives a diff that cannot be read: %v\n%s", payload, err, q.Diff)
				}
			}
		}
	})
}

// A name that occurs twice has two readings, of which the tool may take the other one.
func TestNamesThatOccurTwiceAreNotRead(t *testing.T) {
	dir := project(t, "app.py", "a = 1\n")
	folder, err := json.Marshal(dir)
	if err != nil {
		t.Fatal(err)
	}
	head := `{"hook_event_name":"PreToolUse","cwd":` + string(folder) + `,`
	for _, rest := range []string{
		`"tool_name":"Write","tool_name":"Read","tool_input":{"file_path":"c.py","content":"eval(x)"}}`,
		`"tool_name":"Write","tool_input":{"file_path":"c.py","content":"eval(x)"},"tool_input":{"file_path":"c.py","content":"a"}}`,
		`"tool_name":"Write","tool_input":{"file_path":"c.py","content":"eval(x)","content":"a"}}`,
		`"tool_name":"MultiEdit","tool_input":{"file_path":"app.py","edits":[{"old_string":"a","new_string":"eval(a)","new_string":"b"}]}}`,
		`"tool_name":"Bash","tool_input":{"command":"rm -rf /","command":"ls"}}`,
	} {
		for name, read := range map[string]Reader{"claude": Claude, "codex": Codex, "copilot": Copilot, "cursor": Cursor, "gemini": Gemini, "windsurf": Windsurf} {
			if q, err := read([]byte(head + rest)); err == nil {
				t.Errorf("%s reads %s as %+v", name, rest, q)
			}
		}
	}
	// A text that is no Unicode, such as half of a pair of surrogates, is no reason to ask.
	if _, err := Claude([]byte(head + `"tool_name":"Write","tool_input":{"file_path":"c.py","content":"\ud800"}}`)); err != nil {
		t.Error(err)
	}
}

// An answer has the form of its event, also where the payload is not read.
func TestAPayloadThatIsNotReadHasItsEvent(t *testing.T) {
	const twice = `"tool_name":"Bash","tool_name":"Read","tool_input":{},"n":[1,{"hook_event_name":"x"}]}`
	for _, test := range []struct{ payload, want string }{
		{`{"hook_event_name":"PostToolUse",` + twice, "PostToolUse"},
		{`{"hook_event_name":"PostToolUse","hook_event_name":"PostToolUse",` + twice, "PostToolUse"},
		{`{"hook_event_name":"PreToolUse","hook_event_name":"PostToolUse",` + twice, ""}, // of another form
		{`{"hook_event_name":7,` + twice, ""},
		{`{"hook_event_name":"PostToolUse","a":{"b":1,"b":2}}`, "PostToolUse"},
		{`{"hook_event_name":"PostToolUse",`, ""},
		{`["hook_event_name","PostToolUse"]`, ""},
	} {
		for name, read := range map[string]Reader{"claude": Claude, "codex": Codex, "copilot": Copilot, "cursor": Cursor, "gemini": Gemini, "windsurf": Windsurf} {
			if q, err := read([]byte(test.payload)); err == nil || q.Event != test.want {
				t.Errorf("%s: the event of %s is %q (%v), want %q", name, test.payload, q.Event, err, test.want)
			}
		}
	}
	if q, _ := Claude([]byte(`{"hookEventName":"PostToolUse","a":1,"a":2}`)); q.Event != "PostToolUse" {
		t.Errorf("the event of VS Code is %q", q.Event)
	}
	stdout, _, _ := WriteCursor("afterFileEdit", Unread("twice", FailModes{}))
	q, err := Cursor([]byte(`{"hook_event_name":"afterFileEdit","a":1,"a":2}`))
	if err == nil {
		t.Fatal("it is read")
	}
	if got, _, _ := WriteCursor(q.Event, Unread("twice", FailModes{})); got != stdout {
		t.Errorf("after an edit the answer is %s, want %s", got, stdout)
	}
}

// A string with JSON is refused for what is wrong with it.
func TestJSONInAStringIsRefusedForItsFault(t *testing.T) {
	const patch = `*** Begin Patch\n*** Add File: a.py\n+x\n*** End Patch`
	for _, test := range []struct {
		read          Reader
		payload, want string
	}{
		{Claude, `{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":"{\"command\":\"ls\",\"command\":\"rm x\"}"}`, "tool_input names something twice in one object"},
		{Claude, `{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":"ls"}`, "tool_input is not a JSON object"},
		{Copilot, `{"toolName":"apply_patch","toolArgs":"{\"input\":\"a\",\"input\":\"b\"}"}`, "toolArgs names something twice in one object"},
		{Copilot, `{"toolName":"apply_patch","toolArgs":"[]"}`, "toolArgs is not a JSON object"},
		{Copilot, `{"toolName":"apply_patch","toolArgs":"` + patch + `"}`, ""},
	} {
		got := ""
		if _, err := test.read([]byte(test.payload)); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s: error %q, want %q", test.payload, got, test.want)
		}
	}
}
