package search

import (
	"embed"
	"encoding/json"
	"strconv"
	"strings"
	"text/template"

	"tenet/internal/llm"
	"tenet/internal/rule"
)

// promptVersion names the prompt templates in use. A template is never edited: a change gets a new folder.
const promptVersion = "v1"

//go:embed prompts
var prompts embed.FS

var (
	queriesSystem   = mustRead("queries_system.txt")
	queriesSchema   = json.RawMessage(mustRead("queries_schema.json"))
	relevanceSystem = mustRead("relevance_system.txt")
	relevanceSchema = json.RawMessage(mustRead("relevance_schema.json"))
	userTemplate    = template.Must(template.New("user").Parse(mustRead("user.tmpl")))
)

func mustRead(name string) string {
	b, err := prompts.ReadFile("prompts/" + promptVersion + "/" + name)
	if err != nil {
		panic("search: a prompt template is not embedded: " + err.Error())
	}
	return string(b)
}

// queriesPrompt asks for queries about a situation.
func queriesPrompt(facts string) llm.Request {
	return llm.Request{
		System: queriesSystem, Prompt: render(nil, facts), Schema: queriesSchema, SchemaName: "queries", MaxOutputTokens: 1000,
	}
}

// relevancePrompt asks how relevant rules are to a situation. The rule at 0 is R1.
func relevancePrompt(rules []promptRule, facts string) llm.Request {
	return llm.Request{
		System: relevanceSystem, Prompt: render(rules, facts), Schema: relevanceSchema, SchemaName: "relevance",
		MaxOutputTokens: 1000 + 150*len(rules),
	}
}

// render fills the user's turn: rules first, the description last.
func render(rules []promptRule, facts string) string {
	view := struct {
		Rules              []string
		Fence, Facts, Refs string
	}{Fence: llm.Fence("SITUATION", facts), Facts: facts}
	refs := make([]string, len(rules))
	for i, r := range rules {
		refs[i] = r.Ref
		view.Rules = append(view.Rules, llm.JSON(r))
	}
	view.Refs = strings.Join(refs, ", ")
	var b strings.Builder
	if err := userTemplate.Execute(&b, view); err != nil {
		panic("search: the prompt template does not render: " + err.Error())
	}
	return b.String()
}

// maxPromptStatement bounds the bytes of a statement that the model is shown: the first sentences say what a rule is about.
const maxPromptStatement = 1000

// promptRule is a rule as the model sees it. It is shown as JSON, so that a statement cannot pass for another rule.
type promptRule struct {
	Ref       string        `json:"rule_ref"`
	Modality  rule.Modality `json:"modality"`
	Statement string        `json:"statement"`
	Scope     []string      `json:"scope,omitempty"`
}

// ref is the short name of the n-th rule of a prompt, counted from 0.
func ref(n int) string { return "R" + strconv.Itoa(n+1) }
