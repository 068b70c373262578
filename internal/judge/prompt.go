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
const PromptVersion = "v2"

//go:embed prompts
var prompts embed.FS

var (
	systemText      = mustRead("system.txt")
	answerSchema    = json.RawMessage(mustRead("schema.json"))
	rulesTemplate   = template.Must(template.New("rules").Parse(mustRead("rules.tmpl")))
	subjectTemplate = template.Must(template.New("subject").Parse(mustRead("subject.tmpl")))
)

func mustRead(name string) string {
	b, err := prompts.ReadFile("prompts/" + PromptVersion + "/" + name)
	if err != nil {
		panic("judge: a prompt template is not embedded: " + err.Error())
	}
	return string(b)
}

// ruleLine is a rule as the model sees it: JSON, so that a statement cannot pass for another rule, with the modality as the
// name of the statement.
func ruleLine(ref string, m rule.Modality, statement string, rest any) string {
	line := `{"rule_ref":"` + ref + `","` + string(m) + `":` + plainJSON(statement)
	if more := strings.TrimPrefix(plainJSON(rest), "{"); more != "}" {
		return line + "," + more
	}
	return line + "}"
}

// ruleRest is what else a rule tells the model.
type ruleRest struct {
	Rationale  string         `json:"why,omitempty"`
	Exceptions []string       `json:"except,omitempty"`
	Examples   []rule.Example `json:"examples,omitempty"`
}

// question is what one call asks.
type question struct {
	purpose string
	group   *group
	part    int   // of the group
	members []int // rules, in the order of their references
}

// prompt renders a question. What stays the same from part to part comes first: system text, then rules; the subject is
// last.
func (h *hearing) prompt(q question) (llm.Request, control) {
	c := h.control(q)
	view := struct {
		Part, Parts                  int
		Fence, Others, Mark, Subject string
	}{Part: q.part + 1, Parts: len(q.group.parts), Others: q.group.others}
	p := q.group.parts[q.part]
	if q.purpose == CallConfirm {
		p.units = h.docket.turned(p.units)
	}
	view.Subject = h.docket.text(p, c.block(), c.place)
	if q.purpose == CallRecheck {
		view.Mark = c.mark
		view.Subject = marked(view.Subject, c.mark)
	}
	view.Fence = h.fence(q, view.Subject)
	var b strings.Builder
	render(&b, subjectTemplate, view)
	tokens := h.j.cfg.MaxOutputTokens
	if tokens <= 0 {
		tokens = 1500 + 400*len(q.members)
	}
	return llm.Request{
		System: systemText, Prefix: h.rulesText(q.members, c), Prompt: b.String(), Schema: answerSchema, SchemaName: "verdicts",
		MaxOutputTokens: tokens,
	}, c
}

// rulesText renders rules and the control among them.
func (h *hearing) rulesText(members []int, c control) string {
	lines := make([]string, 0, len(members)+1)
	for n := range len(members) + 1 {
		if n == c.index {
			lines = append(lines, ruleLine(ref(n), rule.MustNot, c.statement(), ruleRest{}))
			continue
		}
		r := h.rules[members[c.member(n)]]
		lines = append(lines, ruleLine(ref(n), r.Modality, r.Statement, ruleRest{r.Rationale, r.Exceptions, r.Examples}))
	}
	var b strings.Builder
	render(&b, rulesTemplate, lines)
	return b.String()
}

func render(b *strings.Builder, t *template.Template, view any) {
	if err := t.Execute(b, view); err != nil {
		panic("judge: a prompt template does not render: " + err.Error())
	}
}

// ref is the short name of the n-th rule of a call, counted from 0.
func ref(n int) string { return "R" + strconv.Itoa(n+1) }

// nonceOf makes the nonce of a request. It is keyed with random bytes of this process, so no author can know what is made
// from it, and it follows from the request, so that equal requests make equal prompts.
func (j *Judge) nonceOf(seed [32]byte) (nonce [32]byte) {
	mac := hmac.New(sha256.New, j.secret[:])
	mac.Write(seed[:])
	mac.Sum(nonce[:0])
	return nonce
}

// derive makes random bytes for one use from the nonce.
func (h *hearing) derive(use string, numbers ...int) []byte {
	mac := hmac.New(sha256.New, h.nonce[:])
	mac.Write([]byte(use))
	for _, n := range numbers {
		mac.Write([]byte{0})
		mac.Write([]byte(strconv.Itoa(n)))
	}
	return mac.Sum(nil)
}

// fence is the marker around the text of a part. A marker that the text holds by chance is not used.
func (h *hearing) fence(q question, text string) string {
	for n := 0; ; n++ {
		marker := "SUBJECT-" + hex.EncodeToString(h.derive("fence "+q.purpose, q.part, n)[:8])
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
	for _, s := range []string{req.System, req.Prefix, req.Prompt, string(req.Schema)} {
		sum.Write([]byte(s))
		sum.Write([]byte{0})
	}
	return hex.EncodeToString(sum.Sum(nil))
}
