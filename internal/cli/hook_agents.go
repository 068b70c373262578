package cli

import (
	"context"

	"tenet/internal/hook"
)

type codexHook struct{ hookFlags }

func (codexHook) Help() string {
	return `Edits and commands that break a rule are stopped with exit code 2 and the reason on stderr. Codex cannot ask at a hook, so what needs
confirmation is stopped too.

` + hookHelp + `
Example:

    tenet hook install codex`
}

func (k *codexHook) Run(ctx context.Context, s *session) error {
	event, a := k.answer(ctx, s, "codex", hook.Codex)
	return s.reply(hook.WriteCodex(event, a))
}

type geminiHook struct{ hookFlags }

func (geminiHook) Help() string {
	return `Answers BeforeTool. What breaks a rule is stopped with exit code 2 and the reason on stderr. Gemini CLI cannot ask at a hook, so what needs
confirmation is stopped too.

` + hookHelp + `
Example:

    tenet hook install gemini`
}

func (k *geminiHook) Run(ctx context.Context, s *session) error {
	event, a := k.answer(ctx, s, "gemini", hook.Gemini)
	return s.reply(hook.WriteGemini(event, a))
}

type copilotHook struct{ hookFlags }

func (copilotHook) Help() string {
	return `Answers preToolUse of Copilot's command line, of its cloud agent, and of VS Code: deny, or ask. The cloud agent takes ask for a denial.

` + hookHelp + `
Example:

    tenet hook install copilot`
}

func (k *copilotHook) Run(ctx context.Context, s *session) error {
	event, a := k.answer(ctx, s, "copilot", hook.Copilot)
	return s.reply(hook.WriteCopilot(event, a))
}

type windsurfHook struct{ hookFlags }

func (windsurfHook) Help() string {
	return `Answers pre_run_command, pre_write_code and pre_mcp_tool_use. What breaks a rule is stopped with exit code 2 and the reason on stderr.
Windsurf cannot ask at a hook, so what needs confirmation is stopped too.

` + hookHelp + `
Example:

    tenet hook install windsurf`
}

func (k *windsurfHook) Run(ctx context.Context, s *session) error {
	event, a := k.answer(ctx, s, "windsurf", hook.Windsurf)
	return s.reply(hook.WriteWindsurf(event, a))
}
