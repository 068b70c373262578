package search

import (
	"bytes"
	"crypto/rand"
	"embed"
	"encoding/hex"
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
	}{Fence: fence(facts), Facts: facts}
	refs := make([]string, len(rules))
	for i, r := range rules {
		refs[i] = r.Ref
		view.Rules = append(view.Rules, r.json())
	}
	view.Refs = strings.Join(refs, ", ")
	var b strings.Builder
	if err := userTemplate.Execute(&b, view); err != nil {
		panic("search: the prompt template does not render: " + err.Error())
	}
	return b.String()
}

// maxPromptStatement bounds the bytes of a statement that the model is shown: the first sentences tell what a rule is about.
const maxPromptStatement = 1000

// promptRule is a rule as the model sees it. It is shown as JSON, so that a statement cannot pass for another rule.
type promptRule struct {
	Ref       string        `json:"rule_ref"`
	Modality  rule.Modality `json:"modality"`
	Statement string        `json:"statement"`
	Scope     []string      `json:"scope,omitempty"`
}

func (r promptRule) json() string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r); err != nil {
		panic("search: a rule must encode as JSON: " + err.Error())
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// ref is the short name of the n-th rule of a prompt, counted from 0.
func ref(n int) string { return "R" + strconv.Itoa(n+1) }

// fence is a marker that whoever wrote the text cannot have known.
func fence(text string) string {
	for {
		var b [12]byte
		_, _ = rand.Read(b[:]) // never fails
		if marker := "SITUATION-" + hex.EncodeToString(b[:]); !strings.Contains(text, marker) {
			return marker
		}
	}
}

// cut shortens s to at most n bytes without splitting a character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "")
}
