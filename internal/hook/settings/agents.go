package settings

// stops makes the shell turn every failure of a command, such as a missing program, into exit code 2: the agents treat most other codes as a
// pass. The shell's own message on stderr is the reason that Codex wants with it.
func stops(command string) string { return command + " || exit 2" }

// removeOf removes the hooks of Tenet for a tool.
func removeOf(tool string) func(old []byte, program string) ([]byte, error) {
	return func(old []byte, program string) ([]byte, error) { return removeVersioned(old, mark{tool, program}) }
}

type codexGroup struct {
	Hooks []claudeHook `json:"hooks"`
}

// addCodex names no matcher, which means every tool.
func addCodex(old []byte, command string) ([]byte, error) {
	group := codexGroup{[]claudeHook{{"command", stops(command), timeLimit}}}
	return addJSON(old, nil, mark{"codex", programOf(command)}, []entry{{"PreToolUse", group}})
}

// geminiMatcher is a regular expression for every tool.
const geminiMatcher = ".*"

// addGemini gives the time limit in milliseconds.
func addGemini(old []byte, command string) ([]byte, error) {
	group := claudeGroup{geminiMatcher, []claudeHook{{"command", stops(command), timeLimit * 1000}}}
	return addJSON(old, nil, mark{"gemini", programOf(command)}, []entry{{"BeforeTool", group}})
}

type copilotHook struct {
	Type    string `json:"type"`
	Bash    string `json:"bash"`
	Timeout int    `json:"timeoutSec"`
}

func addCopilot(old []byte, command string) ([]byte, error) {
	return addJSON(old, []byte("{\n  \"version\": 1\n}\n"), mark{"copilot", programOf(command)}, []entry{
		{"preToolUse", copilotHook{"command", stops(command), timeLimit}},
	})
}

type windsurfHook struct {
	Command string `json:"command"`
	Show    bool   `json:"show_output"`
}

func addWindsurf(old []byte, command string) ([]byte, error) {
	hook := windsurfHook{stops(command), true}
	return addJSON(old, nil, mark{"windsurf", programOf(command)}, []entry{
		{"pre_run_command", hook}, {"pre_write_code", hook}, {"pre_mcp_tool_use", hook},
	})
}
