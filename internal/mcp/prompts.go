package mcp

import (
	"context"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// prompts are the tasks that users start by name.
func (s *server) prompts(m *mcp.Server) {
	add := func(name, title, description, text string, args ...*mcp.PromptArgument) {
		m.AddPrompt(&mcp.Prompt{Name: name, Title: title, Description: description, Arguments: args},
			func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
				filled := text
				for _, a := range args {
					filled = strings.ReplaceAll(filled, "{"+a.Name+"}", strings.TrimSpace(req.Params.Arguments[a.Name]))
				}
				return &mcp.GetPromptResult{Description: description, Messages: []*mcp.PromptMessage{
					{Role: "user", Content: &mcp.TextContent{Text: strings.TrimSpace(filled)}},
				}}, nil
			})
	}
	add("review_change", "Review my change by the rules", "Judges the working tree's change by the organisation's rules and mends what they object to.",
		`Review my uncommitted change by our rules.

1. Get the whole diff (git diff HEAD) and pass it to the tool evaluate_diff, uncut.
2. For each DENY finding: explain it to me in a sentence and mend the code; then evaluate again. Stop after three rounds.
3. For each NEEDS_CONFIRMATION finding: show it to me and ask. Never decide it yourself.
4. If the tool fails, say that the change is not cleared.`)
	add("before_acting", "Check an action by the rules", "Asks whether an action is allowed before it is taken.",
		`I want you to do this: {action}

First check it with the tool check_action, described concretely. Do it only if the verdict is ALLOW. With NEEDS_CONFIRMATION ask me; with DENY tell me
which rule forbids it and what would be allowed. If the tool fails, do not do it.`,
		&mcp.PromptArgument{Name: "action", Description: "What is to be done.", Required: true})
	add("rules_for_task", "Rules for a task", "Gathers the rules that a task has to keep before it is begun.",
		`Before you begin with this task, gather the rules that it has to keep: {task}

Use search_rules for its topics and list_applicable_rules for the files you expect to change; use explain_rule where a rule is unclear. List the rules with their
slugs in a short checklist, the binding ones first, and keep to it.`,
		&mcp.PromptArgument{Name: "task", Description: "What is to be done.", Required: true})
	add("propose_rule", "Propose a rule", "Turns a wish into a draft of a rule.",
		`I wish for a rule: {wish}

Look with search_rules whether there is one already. If not, word one duty that can be measured, try it with try_rule on one sample that breaks it and one that keeps
it, show me the wording, and after I agree store it with propose_rule. It stays a draft until a person approves it.`,
		&mcp.PromptArgument{Name: "wish", Description: "What the rule should demand.", Required: true})
}
