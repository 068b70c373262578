package judge

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
	"text/template"

	"tenet/internal/llm"
	"tenet/internal/rule"
)

// PromptVersion names the prompt templates in use. Verdicts given under different versions are not the same verdicts, so
// a template is never edited: a change gets a new folder and a new version.
const PromptVersion = "v1"

//go:embed prompts
var prompts embed.FS

var (
	systemText   = mustRead("system.txt")
	answerSchema = json.RawMessage(mustRead("schema.json"))
	userTemplate = template.Must(template.New("user").Parse(mustRead("user.tmpl")))
)

func mustRead(name string) string {
	b, err := prompts.ReadFile("prompts/" + PromptVersion + "/" + name)
	if err != nil {
		panic("judge: a prompt template is not embedded: " + err.Error())
	}
	return string(b)
}

// promptRule is a rule as the model sees it. It is shown as JSON so that a statement cannot pass for another rule.
type promptRule struct {
	Ref       string        `json:"rule_ref"`
	Modality  rule.Modality `json:"modality"`
	Statement string        `json:"statement"`
	Rationale string        `json:"rationale,omitempty"`
}

// prompt renders the request about members on a part. The rule at members[0] is R1. What stays the same comes first:
// system text, then rules; the subject is last.
func (h *hearing) prompt(part int, members []int, repair bool) llm.Request {
	view := struct {
		Rules         []string
		Part, Parts   int
		Fence         string
		Subject, Refs string
		Repair        bool
	}{
		Part: part + 1, Parts: len(h.docket.parts), Subject: h.docket.parts[part].text, Repair: repair,
		Fence: h.j.fence(h.hash, part, h.docket.parts[part].text),
	}
	refs := make([]string, len(members))
	for n, i := range members {
		r := h.rules[i]
		refs[n] = ref(n)
		view.Rules = append(view.Rules, plainJSON(promptRule{refs[n], r.Modality, r.Statement, r.Rationale}))
	}
	view.Refs = strings.Join(refs, ", ")
	var b strings.Builder
	if err := userTemplate.Execute(&b, view); err != nil {
		panic("judge: the prompt template does not render: " + err.Error())
	}
	tokens := h.j.cfg.MaxOutputTokens
	if tokens <= 0 {
		tokens = 1500 + 400*len(members)
	}
	return llm.Request{System: systemText, Prompt: b.String(), Schema: answerSchema, SchemaName: "verdicts", MaxOutputTokens: tokens}
}

// ref is the short name of the n-th rule of a call, counted from 0.
func ref(n int) string { return "R" + strconv.Itoa(n+1) }

// fence is the marker around a part. It is keyed with random bytes of this process, so no author can know it, and it
// follows from the request, so that equal requests make equal prompts. A marker that the text holds by chance is not used.
func (j *Judge) fence(request [32]byte, part int, text string) string {
	for n := byte(0); ; n++ {
		mac := hmac.New(sha256.New, j.fenceKey[:])
		mac.Write(request[:])
		mac.Write([]byte{byte(part), byte(part >> 8), n})
		marker := "SUBJECT-" + hex.EncodeToString(mac.Sum(nil)[:12])
		if n == 255 || !strings.Contains(text, marker) {
			return marker
		}
	}
}

// plainJSON renders v without escaping what only HTML needs escaped: the model quotes what it sees.
func plainJSON(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "null"
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func promptHash(req llm.Request) string {
	sum := sha256.New()
	for _, s := range []string{req.System, req.Prompt, string(req.Schema)} {
		sum.Write([]byte(s))
		sum.Write([]byte{0})
	}
	return hex.EncodeToString(sum.Sum(nil))
}
