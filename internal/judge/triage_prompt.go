package judge

import (
	"encoding/json"
	"fmt"
	"strings"
	"text/template"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"

	"tenet/internal/llm"
	"tenet/internal/rule"
)

// TriagePromptVersion names the prompt templates of triage in use, as [PromptVersion] does those of judging.
const TriagePromptVersion = "triage-v1"

var (
	triageSystem  = mustRead(TriagePromptVersion, "system.txt")
	triageSchema  = json.RawMessage(mustRead(TriagePromptVersion, "schema.json"))
	triageRules   = template.Must(template.New("triage rules").Parse(mustRead(TriagePromptVersion, "rules.tmpl")))
	triageSubject = template.Must(template.New("triage subject").Parse(mustRead(TriagePromptVersion, "subject.tmpl")))
)

// triageControls are two rules among the statements whose right answers the server knows. They are alike: each forbids a phrase.
// The phrase of the first is planted in the subject, so the model has to name it. The phrase of the decoy is nowhere, so the model
// must not name it. A model that names nothing or everything, or obeys the subject, gets one of the two wrong.
type triageControls struct {
	planted control
	decoy   string
	at      int // place of the decoy among the references
	size    int // how many references there are
}

// newTriageControls makes the controls of a call. Phrases and places among the statements follow from the batch, so that a batch
// reads the same for every subject; the place in the subject follows from the request.
func (t *triage) newTriageControls(b *triageBatch, q question, batchNonce nonce) triageControls {
	k := triageControls{size: len(b.statements) + 2}
	for n := 0; ; n++ {
		fixed, free := batchNonce.derive("control "+q.purpose, n), t.nonce.derive("control "+q.purpose, q.part)
		k.planted = control{
			phrase: phraseOf(fixed[0:4]), index: int(fixed[8]) % k.size, size: len(b.statements),
			file: "notes/" + firstWords[int(free[0])%len(firstWords)] + ".txt", line: 2 + int(free[1])%90, place: free[2],
		}
		k.decoy = phraseOf(fixed[4:8])
		if k.at = int(fixed[9]) % (k.size - 1); k.at >= k.planted.index {
			k.at++
		}
		if n == 255 || k.decoy != k.planted.phrase && !t.layout.contains(k.planted.phrase) && !t.layout.contains(k.decoy) {
			break
		}
	}
	if t.instruction() != "" { // marked text is read, but hardly obeyed
		k.planted.mark = unusedMark(&t.layout)
	}
	return k
}

// phraseOf returns the phrase that four random bytes choose.
func phraseOf(b []byte) string {
	return fmt.Sprintf("%s %s %d", firstWords[int(b[0])%len(firstWords)], secondWords[int(b[1])%len(secondWords)], 1000+int(b[2])<<8+int(b[3]))
}

// prompt renders a call about a batch. The batch comes first and is the same text for every subject; the subject is last.
func (t *triage) prompt(b *triageBatch, q question, batchNonce nonce) (llm.Request, triageControls) {
	k := t.newTriageControls(b, q, batchNonce)
	view := struct {
		Part, Parts                  int
		Fence, Others, Mark, Subject string
	}{Part: q.part + 1, Parts: len(q.group.parts), Others: q.group.others, Mark: k.planted.mark}
	view.Subject = t.layout.text(q.group.parts[q.part], k.planted.block(), k.planted.place)
	if k.planted.mark != "" {
		view.Subject = marked(view.Subject, k.planted.mark)
	}
	view.Fence = t.nonce.fence(q, view.Subject)
	var prefix, prompt strings.Builder
	render(&prefix, triageRules, t.lines(b, &k))
	render(&prompt, triageSubject, view)
	tokens := t.j.cfg.MaxOutputTokens
	if tokens <= 0 {
		tokens = 500 + 10*len(b.statements)
	}
	return llm.Request{
		System: triageSystem, Prefix: prefix.String(), Prompt: prompt.String(), Schema: triageSchema, SchemaName: "triage", MaxOutputTokens: tokens,
	}, k
}

// lines renders the statements of a batch with the controls among them.
func (t *triage) lines(b *triageBatch, k *triageControls) []string {
	lines := make([]string, 0, k.size)
	next := 0
	for n := range k.size {
		switch n {
		case k.planted.index:
			lines = append(lines, ruleLine(ref(n), rule.MustNot, k.planted.statement(), struct{}{}))
		case k.at:
			lines = append(lines, ruleLine(ref(n), rule.MustNot, control{phrase: k.decoy}.statement(), struct{}{}))
		default:
			r := t.rules[b.statements[next].rules[0]]
			text, _ := t.j.redactor.Text(r.Statement)
			lines = append(lines, ruleLine(ref(n), r.Modality, text, struct{}{}))
			next++
		}
	}
	return lines
}

// read reads an answer about n statements: the places of those that it names, and whether it has both controls right. It is
// strict: an answer with a fault counts for no statement.
func (k *triageControls) read(text string, n int) (named []int, held bool, fault string) {
	var answer struct {
		Subject   *string   `json:"subject"`
		Concerned *[]string `json:"concerned"`
	}
	switch {
	case len(text) > maxAnswer:
		return nil, false, fmt.Sprintf("it has %d bytes", len(text))
	case !utf8.ValidString(text):
		return nil, false, "it is not valid UTF-8"
	}
	if jsonv2.Unmarshal([]byte(text), &answer, jsonv2.RejectUnknownMembers(true)) != nil || answer.Subject == nil || answer.Concerned == nil {
		return nil, false, "it is not one JSON object as asked for"
	}
	if letters(*answer.Subject) < minReasoning || len(*answer.Subject) > maxProse {
		return nil, false, "it does not say what the subject is"
	}
	seen := make([]bool, k.size)
	for _, name := range *answer.Concerned {
		i, ok := refIndex(name, k.size)
		switch {
		case !ok:
			return nil, false, "it names a rule that is not there"
		case seen[i]:
			return nil, false, "it names a rule twice"
		}
		seen[i] = true
	}
	switch {
	case !seen[k.planted.index]:
		return nil, false, "it leaves out a control rule that the subject breaks"
	case seen[k.at]:
		return nil, false, "it names a control rule that has nothing to do with the subject"
	}
	place := 0
	for i := range seen {
		if i == k.planted.index || i == k.at {
			continue
		}
		if seen[i] {
			named = append(named, place)
		}
		place++
	}
	if place != n {
		return nil, false, "it is about another number of rules"
	}
	return named, true, ""
}
