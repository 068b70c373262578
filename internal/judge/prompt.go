package judge

import (
	"crypto/hmac"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"tenet/internal/llm"
	"tenet/internal/norm"
	"tenet/internal/rule"
)

// PromptVersion names the prompt templates in use. Verdicts given under different versions are not the same verdicts, so
// nobody edits a template: a change gets a new folder and a new version.
const PromptVersion = "v4"

//go:embed prompts
var prompts embed.FS

var (
	systemText      = mustRead(PromptVersion, "system.txt")
	answerSchema    = json.RawMessage(mustRead(PromptVersion, "schema.json"))
	rulesTemplate   = template.Must(template.New("rules").Parse(mustRead(PromptVersion, "rules.tmpl")))
	subjectTemplate = template.Must(template.New("subject").Parse(mustRead(PromptVersion, "subject.tmpl")))
)

func mustRead(version, name string) string {
	b, err := prompts.ReadFile("prompts/" + version + "/" + name)
	if err != nil {
		panic("judge: a prompt template is not embedded: " + err.Error())
	}
	return string(b)
}

// ruleLine is a rule as the model sees it: JSON, so that a statement cannot pass for another rule, with the modality as the
// name of the statement. A prohibition in the statement's own words is named MUST, or the model would read two negations.
func ruleLine(ref string, m rule.Modality, statement string, rest any) string {
	line := `{"rule_ref":"` + ref + `","` + string(norm.Stated(statement, m)) + `":` + llm.JSON(statement)
	if more := strings.TrimPrefix(llm.JSON(rest), "{"); more != "}" {
		return line + "," + more
	}
	return line + "}"
}

// ruleRest holds what the model sees of a rule in addition to its statement.
type ruleRest struct {
	Rationale  string         `json:"why,omitempty"`
	Exceptions []string       `json:"except,omitempty"`
	Examples   []rule.Example `json:"examples,omitempty"`
}

// question holds what one call asks.
type question struct {
	purpose string
	group   *group
	part    int    // of the group
	members []int  // rules, in the order of their references
	key     string // of the call among those of its decision
}

// prompt renders a question. Texts that parts share come first: system text, then rules; the subject is last.
func (d *decision) prompt(q question) (llm.Request, *expected) {
	x := newExpected(d, q)
	if d.plan.small() {
		r := d.rules[q.members[0]]
		return smallPrompt(d, q, x, smallRule(r.Modality, d.clean(r.Statement), restOf(d, r))), x
	}
	view := struct {
		Part, Parts                        int
		Fence, Others, Mark, Subject, Seen string
	}{Part: q.part + 1, Parts: len(q.group.parts), Others: q.group.others, Subject: x.text, Mark: x.mark, Seen: x.asked()}
	view.Fence = d.nonce.fence(q, view.Subject)
	var b strings.Builder
	render(&b, subjectTemplate, view)
	tokens := d.j.cfg.MaxOutputTokens
	if tokens <= 0 {
		tokens = 1500 + 450*(len(q.members)+len(x.probes))
	}
	return llm.Request{
		System: systemText, Prefix: d.rulesText(q.members, x), Prompt: b.String(), Schema: answerSchema, SchemaName: "verdicts",
		MaxOutputTokens: tokens,
	}, x
}

// rulesText renders rules with the control rules among them.
func (d *decision) rulesText(members []int, x *expected) string {
	lines := make([]string, 0, x.size)
	next := 0
	for n := range x.size {
		if p := x.probe(n); p != nil {
			lines = append(lines, ruleLine(ref(n), p.Modality, p.Statement, ruleRest{}))
			continue
		}
		r := d.rules[members[next]]
		next++
		lines = append(lines, ruleLine(ref(n), r.Modality, d.clean(r.Statement), restOf(d, r)))
	}
	var b strings.Builder
	render(&b, rulesTemplate, lines)
	return b.String()
}

// restOf returns what a model sees of a rule in addition to its statement.
func restOf(d *decision, r *rule.Rule) ruleRest {
	rest := ruleRest{d.clean(r.Rationale), slices.Clone(r.Exceptions), slices.Clone(r.Examples)}
	for i := range rest.Exceptions {
		rest.Exceptions[i] = d.clean(rest.Exceptions[i])
	}
	for i := range rest.Examples {
		rest.Examples[i].Input, rest.Examples[i].Note = d.clean(rest.Examples[i].Input), d.clean(rest.Examples[i].Note)
	}
	return rest
}

// clean returns a text of a rule without secrets.
func (d *decision) clean(text string) string {
	text, _ = d.j.redactor.Text(text)
	return text
}

func render(b *strings.Builder, t *template.Template, view any) {
	if err := t.Execute(b, view); err != nil {
		panic("judge: a prompt template does not render: " + err.Error())
	}
}

// ref is the short name of the n-th rule of a call, counted from 0.
func ref(n int) string { return "R" + strconv.Itoa(n+1) }

// nonceOf makes the nonce of a request. Random bytes of this process key it, so no author can know what follows from it. It
// depends on the request alone, so that equal requests make equal prompts.
func (j *Judge) nonceOf(seed [32]byte) (n nonce) {
	mac := hmac.New(sha256.New, j.secret[:])
	mac.Write(seed[:])
	mac.Sum(n[:0])
	return n
}

// nonce makes the random parts of prompts.
type nonce [32]byte

// derive returns random bytes for one use.
func (n nonce) derive(use string, numbers ...int) []byte {
	mac := hmac.New(sha256.New, n[:])
	mac.Write([]byte(use))
	for _, n := range numbers {
		mac.Write([]byte{0})
		mac.Write([]byte(strconv.Itoa(n)))
	}
	return mac.Sum(nil)
}

// fence returns the marker around the text of a part: one that the text does not contain by chance.
func (n nonce) fence(q question, text string) string {
	for i := 0; ; i++ {
		marker := "SUBJECT-" + hex.EncodeToString(n.derive("fence "+q.purpose, q.part, i)[:8])
		if i == 255 || !strings.Contains(text, marker) {
			return marker
		}
	}
}

func promptHash(req llm.Request) string {
	sum := sha256.New()
	for _, s := range []string{req.System, req.Prefix, req.Prompt, string(req.Schema)} {
		sum.Write([]byte(s))
		sum.Write([]byte{0})
	}
	return hex.EncodeToString(sum.Sum(nil))
}
