package settings

import (
	"bytes"
	"strings"
	"testing"
)

const command = "tenet --server https://x hook "

// TestUninstallLeavesTheFileAsItWas holds for files in whatever form they are.
func TestUninstallLeavesTheFileAsItWas(t *testing.T) {
	for name, test := range map[string]struct {
		format Format
		tool   string
		files  []string
	}{
		"Claude Code": {Claude, "claude-code", []string{
			"{\n  \"model\": \"opus\",\n  \"permissions\": {\"allow\": [\"Bash(ls:*)\"]}\n}\n",
			"{\"b\":1,\"a\":2}",
			"{\r\n\t\"b\": 1\r\n}\r\n",
			"{\n    // mine\n    \"z\": 1, // last\n    // end\n}\n",
			"{\n  \"a\": 1,\n}\n",
			"{\n  \"hooks\": {\n    \"PreToolUse\": [\n      {\"matcher\": \"Bash\", \"hooks\": [{\"type\": \"command\", \"command\": \"mine.sh\"}]}\n    ]\n  },\n  \"x\": 1\n}\n",
			"{\n  \"hooks\": {\n    \"Stop\": [\n      {\"hooks\": [{\"type\": \"command\", \"command\": \"mine.sh\"}]}, // keep\n    ],\n  },\n}\n",
		}},
		"Cursor": {Cursor, "cursor", []string{
			"{\n  \"version\": 1,\n  \"hooks\": {\n    \"afterFileEdit\": [{ \"command\": \"./format.sh\" }]\n  }\n}\n",
			"{\"version\":1,\"hooks\":{\"stop\":[{\"command\":\"a\"}]}}\n",
		}},
		"pre-commit": {PreCommit, "pre-commit", []string{
			"# ours\nrepos:\n- repo: https://x\n  rev: v1 # pinned\n  hooks: [{id: a}]\n\nfail_fast: true\n",
			"default_stages: [commit]\nrepos: # all\n    # first\n    - repo: local\n      hooks:\n        - id: x\n",
			"repos:\r\n  - repo: local\r\n    hooks: []\r\n",
		}},
		"Codex":    {Codex, "codex", []string{"{\n  \"hooks\": {\n    \"Stop\": [{ \"hooks\": [{ \"type\": \"command\", \"command\": \"x\" }] }]\n  }\n}\n"}},
		"Gemini":   {Gemini, "gemini", []string{"{\n  // mine\n  \"model\": {\"name\": \"x\"}\n}\n"}},
		"Copilot":  {Copilot, "copilot", []string{"{\n  \"version\": 1,\n  \"hooks\": {\n    \"sessionStart\": [{ \"type\": \"command\", \"bash\": \"x\" }]\n  }\n}\n"}},
		"Windsurf": {Windsurf, "windsurf", []string{"{\n  \"hooks\": {\n    \"pre_read_code\": [{ \"command\": \"x\" }]\n  }\n}\n"}},
		"git": {Git, "git", []string{
			"#!/bin/bash -e\nmake lint\nexit 0\n",
			"#!/usr/bin/env zsh\n",
		}},
	} {
		for _, file := range test.files {
			added, err := test.format.Add([]byte(file), command+test.tool)
			if err != nil {
				t.Errorf("%s: %q: %v", name, file, err)
				continue
			}
			if !bytes.Contains(added, []byte(command+test.tool)) {
				t.Errorf("%s: %q becomes %q", name, file, added)
			}
			if again, err := test.format.Add(added, command+test.tool); err != nil || !bytes.Equal(again, added) {
				t.Errorf("%s: to add it again makes %q of %q (%v)", name, again, added, err)
			}
			newer, err := test.format.Add(added, "/opt/tenet hook "+test.tool)
			if err != nil || bytes.Contains(newer, []byte("https://x hook")) || !bytes.Contains(newer, []byte("/opt/tenet")) {
				t.Errorf("%s: to add another makes %q (%v)", name, newer, err)
			}
			if left, err := test.format.Remove(newer, ""); err != nil || string(left) != file {
				t.Errorf("%s: leaves %q (%v), was %q", name, left, err, file)
			}
			if left, err := test.format.Remove([]byte(file), ""); err != nil || string(left) != file {
				t.Errorf("%s: takes out what is not Tenet's: %q (%v)", name, left, err)
			}
		}
		added, err := test.format.Add(nil, command+test.tool)
		if err != nil {
			t.Fatal(err)
		}
		if left, err := test.format.Remove(added, ""); err != nil || left != nil {
			t.Errorf("%s: of a file of its own, %q is left (%v)", name, left, err)
		}
	}
}

func TestMalformedFilesAreLeftAlone(t *testing.T) {
	for name, test := range map[string]struct {
		format Format
		files  []string
	}{
		"Claude Code": {Claude, []string{"{", "[]", "nope", `{"hooks": []}`, `{"hooks": {"PreToolUse": {}}}`, `{"hooks": {}, "hooks": {}}`}},
		"Cursor":      {Cursor, []string{`{"hooks": {"preToolUse": 1}}`}},
		"pre-commit":  {PreCommit, []string{"repos: []\n", "a: [\n", "- x\n", "x: 1\n", "repos:\n  a: 1\n", beginMark + "\nrepos:\n"}},
		"git":         {Git, []string{"#!/usr/bin/python3\nprint()\n", "make lint\n", "\x7fELF\x00", "#!\n", "#!/bin/sh\n" + endMark + "\n"}},
	} {
		for _, file := range test.files {
			if added, err := test.format.Add([]byte(file), "tenet hook x"); err == nil || !strings.Contains(err.Error(), "left alone") {
				t.Errorf("%s: %q becomes %q (%v)", name, file, added, err)
			}
		}
	}
}

func TestHooksOfOtherProgramsStay(t *testing.T) {
	for tool, format := range map[string]Format{"claude-code": Claude, "cursor": Cursor} {
		other := `{"hooks": {"preToolUse": [{"command": "/opt/other hook ` + tool + `"}, {"command": "tenet hook ` + tool + `-next"}], "PreToolUse": [{"hooks": [{"command": "ruler hook ` + tool + ` || exit 2"}]}]}}`
		added, err := format.Add([]byte(other), "'/opt/my rules/check' hook "+tool)
		if err != nil || !bytes.Contains(added, []byte("/opt/other hook")) || !bytes.Contains(added, []byte("ruler hook")) || !bytes.Contains(added, []byte("-next")) {
			t.Errorf("%s: to add it makes %s (%v)", tool, added, err)
		}
		if again, err := format.Add(added, "'/opt/my rules/check' hook "+tool); err != nil || !bytes.Equal(again, added) {
			t.Errorf("%s: to add it again makes %s (%v)", tool, again, err)
		}
		if left, err := format.Remove(added, ""); err != nil || !bytes.Equal(left, added) {
			t.Errorf("%s: takes out a program of another name: %s (%v)", tool, left, err)
		}
		if left, err := format.Remove(added, "/opt/my rules/check"); err != nil || string(left) != other {
			t.Errorf("%s: to take it out leaves %s (%v)", tool, left, err)
		}
	}
}

func TestTheCommandOfClaudeCodeCannotFailOpen(t *testing.T) {
	added, err := Claude.Add(nil, "tenet hook claude-code")
	if err != nil || !bytes.Contains(added, []byte(`"tenet hook claude-code || exit 2"`)) {
		t.Errorf("a program that is not there would pass: %s (%v)", added, err)
	}
	if !bytes.Contains(added, []byte(`"matcher": "*"`)) {
		t.Errorf("a tool that is not known yet would pass: %s", added)
	}
	if added, err = Cursor.Add(nil, "tenet hook cursor"); err != nil || bytes.Count(added, []byte(`"failClosed": true`)) != 4 {
		t.Errorf("a program that is not there would pass: %s (%v)", added, err)
	}
}

func TestTheCommandsOfOtherAgentsCannotFailOpen(t *testing.T) {
	for tool, format := range map[string]Format{"codex": Codex, "gemini": Gemini, "copilot": Copilot, "windsurf": Windsurf} {
		added, err := format.Add(nil, "tenet hook "+tool)
		if err != nil || !bytes.Contains(added, []byte(`"tenet hook `+tool+` || exit 2"`)) {
			t.Errorf("%s: a program that is not there would pass: %s (%v)", tool, added, err)
		}
		hooks, err := Hooks(added)
		if err != nil || len(hooks) == 0 || !strings.HasPrefix(hooks[0].Command, "tenet hook "+tool) {
			t.Errorf("%s: is not found again: %+v (%v)", tool, hooks, err)
		}
		if why := Taken(added, []byte("{}")); why == "" {
			t.Errorf("%s: goes unseen", tool)
		}
	}
}

func FuzzTaken(f *testing.F) {
	f.Add([]byte(`{"hooks":{"PreToolUse":[{"hooks":[{"command":"tenet hook claude-code"}]}]}}`), []byte(`{"disableAllHooks": 1}`))
	f.Fuzz(func(t *testing.T, before, after []byte) {
		if Taken(before, before) != "" {
			if _, err := Hooks(before); err == nil {
				t.Errorf("%q takes something out of itself", before)
			}
		}
		hooks, err := Hooks(before)
		left, errAfter := Hooks(after)
		if err == nil && len(hooks) > len(left) && (errAfter != nil || Taken(before, after) == "") && Taken(before, after) == "" {
			t.Errorf("%q loses hooks to %q", before, after)
		}
	})
}

func FuzzSettings(f *testing.F) {
	for _, seed := range []string{
		"{\n  \"a\": 1 // x\n}\n", `{"hooks":{"PreToolUse":[{"hooks":[{"command":"tenet hook claude-code"}]},]}}`,
		"repos:\n  - repo: local\n", "#!/bin/sh\nexit\n", beginMark + "\n" + endMark,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		for tool, format := range map[string]Format{
			"claude-code": Claude, "cursor": Cursor, "pre-commit": PreCommit, "git": Git, "codex": Codex, "gemini": Gemini, "copilot": Copilot, "windsurf": Windsurf,
		} {
			added, err := format.Add(file, "tenet hook "+tool)
			if err != nil {
				continue
			}
			if again, err := format.Add(added, "tenet hook "+tool); err != nil || !bytes.Equal(again, added) {
				t.Fatalf("%q becomes %q and then %q (%v)", file, added, again, err)
			}
			if _, err := format.Remove(added, ""); err != nil {
				t.Fatalf("%q cannot be undone: %v", added, err)
			}
		}
	})
}
