// Package settings edits the files in which tools configure their hooks. An edit adds or removes the hooks of Tenet and changes
// no other byte: other keys, their order, comments, indentation. It refuses a file that it does not understand.
package settings

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"tenet/internal/rule"
)

// Format is the format in which a tool configures its hooks.
type Format struct {
	// Add returns the file with the hook that runs command, in place of an earlier hook of Tenet. Old is nil for a new file.
	Add func(old []byte, command string) ([]byte, error)
	// Remove returns the file without the hooks of Tenet, and without those that call program if it is not empty; nil if nothing
	// else is left.
	Remove func(old []byte, program string) ([]byte, error)
}

// The formats of the tools that Tenet has hooks for. Claude is .claude/settings.json, Cursor .cursor/hooks.json, PreCommit
// .pre-commit-config.yaml, Git the script hooks/pre-commit, Codex .codex/hooks.json, Gemini .gemini/settings.json, Copilot
// .github/hooks/tenet.json and Windsurf .windsurf/hooks.json.
var (
	Claude    = Format{addClaude, removeClaude}
	Cursor    = Format{addCursor, removeCursor}
	PreCommit = Format{addPreCommit, removeBlock}
	Git       = Format{addGit, removeGit}
	Codex     = Format{addCodex, removeOf("codex")}
	Gemini    = Format{addGemini, removeOf("gemini")}
	Copilot   = Format{addCopilot, removeOf("copilot")}
	Windsurf  = Format{addWindsurf, removeOf("windsurf")}
	// Transaction is the script hooks/reference-transaction.
	Transaction = Format{addTransaction, removeGit}
)

// timeLimit is the tool's limit for the hook in seconds. It is above the hook's own limit, so that the answer is the hook's.
const timeLimit = 30

func malformed(format string, args ...any) error {
	return rule.Errorf(rule.CodeInvalid, "the file is left alone: "+format, args...)
}

// mark distinguishes the hooks of Tenet for a tool from other hooks.
type mark struct {
	tool    string
	program string // a program that is Tenet under another name; empty for none
}

// is reports whether a command is a hook of Tenet: whether it calls a program whose name begins with tenet.
func (m mark) is(command string) bool {
	before, _, found := strings.Cut(command+" ", " hook "+m.tool+" ")
	if !found {
		return false
	}
	if m.program != "" && programOf(command) == m.program {
		return true
	}
	for word := range strings.FieldsSeq(before) {
		if strings.HasPrefix(strings.TrimLeft(word[strings.LastIndexAny(word, `/\`)+1:], `'"`), "tenet") {
			return true
		}
	}
	return false
}

// programOf returns the program that a command calls, without quotes.
func programOf(command string) string {
	if rest, ok := strings.CutPrefix(command, "'"); ok {
		program, _, _ := strings.Cut(rest, "' ")
		return strings.ReplaceAll(program, `'\''`, "'")
	}
	program, _, _ := strings.Cut(command, " ")
	return program
}

type claudeHook struct {
	Type    string `json:"type"`
	Command string `json:"command"`
	Timeout int    `json:"timeout"`
}

type claudeGroup struct {
	Matcher string       `json:"matcher"`
	Hooks   []claudeHook `json:"hooks"`
}

// claudeMatcher matches every tool: a tool of the next version of Claude Code must not pass without a question. The hook allows
// the tools that change nothing without judging them.
const claudeMatcher = "*"

// addClaude makes the shell turn every failure of the command, such as a missing program, into exit code 2: Claude Code treats
// every other code as Allow.
func addClaude(old []byte, command string) ([]byte, error) {
	group := claudeGroup{claudeMatcher, []claudeHook{{"command", command + " || exit 2", timeLimit}}}
	return addJSON(old, nil, mark{"claude-code", programOf(command)}, []entry{{"PreToolUse", group}})
}

func removeClaude(old []byte, program string) ([]byte, error) {
	return removeJSON(old, mark{"claude-code", program})
}

type cursorHook struct {
	Command    string `json:"command"`
	Matcher    string `json:"matcher,omitempty"`
	Timeout    int    `json:"timeout"`
	FailClosed bool   `json:"failClosed"`
}

func addCursor(old []byte, command string) ([]byte, error) {
	plain := cursorHook{command, "", timeLimit, true}
	return addJSON(old, []byte("{\n  \"version\": 1\n}\n"), mark{"cursor", programOf(command)}, []entry{
		{"beforeShellExecution", plain},
		{"beforeMCPExecution", plain},
		{"preToolUse", cursorHook{command, "Write|Delete", timeLimit, true}},
		{"afterFileEdit", plain},
	})
}

func removeCursor(old []byte, program string) ([]byte, error) {
	return removeVersioned(old, mark{"cursor", program})
}

// removeVersioned is removeJSON for a file that is empty with nothing but its version.
func removeVersioned(old []byte, m mark) ([]byte, error) {
	left, err := removeJSON(old, m)
	var rest map[string]json.RawMessage
	if err == nil && json.Unmarshal(left, &rest) == nil && len(rest) == 1 && rest["version"] != nil {
		return nil, nil
	}
	return left, err
}

// Marks enclose the lines of Tenet in files of lines.
const (
	beginMark = "# tenet: begin (tenet hook uninstall takes this out)"
	endMark   = "# tenet: end"
)

// cutBlock removes the lines from one mark to the other and returns their offset, or -1.
func cutBlock(text string) (rest string, at int, err error) {
	lines := strings.SplitAfter(text, "\n")
	from, to := -1, -1
	for i, line := range lines {
		switch strings.TrimSpace(line) {
		case beginMark:
			if from >= 0 {
				return "", 0, malformed("it has two lines %q", beginMark)
			}
			from = i
		case endMark:
			if from < 0 || to >= 0 {
				return "", 0, malformed("it has a line %q that ends nothing", endMark)
			}
			to = i
		}
	}
	if from < 0 {
		return text, -1, nil
	}
	if to < 0 {
		return "", 0, malformed("it has a line %q and none that ends what begins there", beginMark)
	}
	before := strings.Join(lines[:from], "")
	return before + strings.Join(lines[to+1:], ""), len(before), nil
}

func removeBlock(old []byte, _ string) ([]byte, error) {
	rest, _, err := cutBlock(string(old))
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(rest) == "repos:" {
		return nil, nil
	}
	return []byte(rest), nil
}

const shebang = "#!/bin/sh\n"

// addGit puts the hook first in a script, which may exit at any line.
func addGit(old []byte, command string) ([]byte, error) {
	if bytes.IndexByte(old, 0) >= 0 {
		return nil, malformed("it is a program, not a script; call `%s` from it yourself", command)
	}
	text, _, err := cutBlock(string(old))
	if err != nil {
		return nil, err
	}
	if text == "" {
		text = shebang
	}
	first, rest, _ := strings.Cut(text, "\n")
	words := strings.Fields(strings.TrimPrefix(first, "#!"))
	if !strings.HasPrefix(first, "#!") || len(words) == 0 || !isShell(words) {
		return nil, malformed("it is no shell script; call `%s` from it yourself", command)
	}
	return fmt.Appendf(nil, "%s\n%s\n%s || exit $?\n%s\n%s", first, beginMark, command, endMark, rest), nil
}

// addTransaction makes a script of its own: what git sends can be read once only. The hook reports, so its failure stops nothing.
func addTransaction(old []byte, command string) ([]byte, error) {
	rest, _, err := cutBlock(string(old))
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(strings.TrimPrefix(rest, shebang)) != "" {
		return nil, malformed("it has lines of its own; call `%s` from it yourself, with what git sends on stdin", command)
	}
	return fmt.Appendf(nil, "%s%s\n[ \"$1\" != committed ] || %s || :\n%s\n", shebang, beginMark, command, endMark), nil
}

// isShell reports whether a #! line names a shell that has the operator ||.
func isShell(words []string) bool {
	name := words[0]
	if strings.HasSuffix(name, "/env") && len(words) > 1 {
		name = words[1]
	}
	switch name[strings.LastIndexByte(name, '/')+1:] {
	case "sh", "bash", "dash", "ash", "ksh", "zsh":
		return true
	}
	return false
}

func removeGit(old []byte, _ string) ([]byte, error) {
	rest, at, err := cutBlock(string(old))
	if err != nil || (at >= 0 && rest == shebang) {
		return nil, err
	}
	return []byte(rest), nil
}
