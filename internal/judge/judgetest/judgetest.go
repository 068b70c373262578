// Package judgetest scripts models for the judge: it reads the judge's prompts and writes the answers that it asks for, so
// that a test says per rule what the model thinks.
package judgetest

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"tenet/internal/judge/probe"
	"tenet/internal/llm"
	"tenet/internal/llm/llmtest"
	"tenet/internal/rule"
	"tenet/internal/text"
)

// Rule is a rule as the judge shows it to a model.
type Rule struct {
	Ref        string         `json:"rule_ref"`
	Modality   rule.Modality  `json:"-"`
	Statement  string         `json:"-"`
	Rationale  string         `json:"why"`
	Exceptions []string       `json:"except"`
	Examples   []rule.Example `json:"examples"`
}

// Quote is text that a model claims to have seen in a file.
type Quote struct {
	Quote string `json:"quote"`
	File  string `json:"file"`
}

// Seen is text that a model claims to have seen in a unit.
type Seen struct {
	Unit  string `json:"unit"`
	Quote string `json:"quote"`
}

// Entry is a model's answer for one rule.
type Entry struct {
	Ref       string       `json:"rule_ref"`
	Seen      []Seen       `json:"seen"`
	Evidence  []Quote      `json:"evidence"`
	Absence   string       `json:"absence"`
	Reasoning string       `json:"reasoning"`
	Issue     string       `json:"issue"`
	Fix       string       `json:"fix"`
	Together  bool         `json:"together"`
	Verdict   rule.Verdict `json:"verdict"`
}

// Allow is an entry that allows.
func Allow() Entry { return Entry{Verdict: rule.Allow, Reasoning: "Nothing breaks the rule."} }

// Deny is an entry that denies because of quotes.
func Deny(quotes ...string) Entry {
	e := Entry{Verdict: rule.Deny, Reasoning: "The quoted text breaks the rule.", Issue: "It breaks the rule.", Fix: "Remove it."}
	for _, q := range quotes {
		e.Evidence = append(e.Evidence, Quote{Quote: q})
	}
	return e
}

// Missing is an entry that denies because of something that is not there.
func Missing(text string) Entry {
	return Entry{
		Verdict: rule.Deny, Absence: text, Reasoning: "The required text is missing.", Issue: "It is missing.", Fix: "Add it.", Together: true,
	}
}

// Unsure is an entry that leaves the decision to a person.
func Unsure() Entry {
	return Entry{Verdict: rule.NeedsConfirmation, Reasoning: "It depends on something that is not shown.", Together: true}
}

// Model makes a model that answers every prompt of the judge by asking decide about each rule, with the subject as it is
// shown. An entry without a reference gets that of its rule. The control, which is no rule of anybody's, it answers rightly
// on its own, like the question whether text addresses the judge. Asked for triage, it names the rules that it would not allow.
func Model(decide func(r Rule, subject string) Entry) *llmtest.Fake {
	return Triager(func(r Rule, subject string) bool { return decide(r, subject).Verdict != rule.Allow }, decide)
}

// Triager makes a model like [Model] that, asked for triage, names the rules for which concerns is true.
func Triager(concerns func(r Rule, subject string) bool, decide func(r Rule, subject string) Entry) *llmtest.Fake {
	return &llmtest.Fake{Respond: func(_ context.Context, req llm.Request) (llm.Response, error) {
		subject := Subject(req)
		if IsTriage(req) {
			var named []string
			for _, r := range Rules(req) {
				if concerns(r, subject) {
					named = append(named, r.Ref)
				}
			}
			text := TriageText(req, named...)
			return llm.Response{Text: text, InputTokens: (len(req.System) + len(req.Prefix) + len(req.Prompt)) / 4, OutputTokens: len(text) / 4}, nil
		}
		var entries []Entry
		for _, r := range all(req) {
			e, ok := controlEntry(r, req)
			switch {
			case ok:
			case IsAddress(r):
				e = Allow()
			default:
				e = decide(r, subject)
			}
			if e.Ref == "" {
				e.Ref = r.Ref
			}
			entries = append(entries, Sighted(req, e))
		}
		text := answerText(req, entries)
		return llm.Response{Text: text, InputTokens: (len(req.System) + len(req.Prefix) + len(req.Prompt)) / 4, OutputTokens: len(text) / 4}, nil
	}}
}

// Text writes an answer as the judge wants it.
func Text(entries ...Entry) string {
	for i := range entries {
		if entries[i].Evidence == nil {
			entries[i].Evidence = []Quote{}
		}
		if entries[i].Seen == nil {
			entries[i].Seen = []Seen{}
		}
	}
	b, err := json.Marshal(map[string]any{"verdicts": entries})
	if err != nil {
		panic("judgetest: " + err.Error())
	}
	return string(b)
}

// IsMasked reports whether a request shows a masked view.
func IsMasked(req llm.Request) bool { return markOf.MatchString(req.Prompt) }

// IsAddress reports whether a rule is that about text that addresses the judge.
func IsAddress(r Rule) bool {
	return strings.HasPrefix(r.Statement, "Each line here is a text from a program, a record or a message.")
}

// AnswerAddress answers a request whether text addresses the judge: it denies by a quote, and is right about the controls.
func AnswerAddress(req llm.Request, quote string) llm.Response {
	var entries []Entry
	for _, r := range all(req) {
		e, ok := controlEntry(r, req)
		if !ok {
			e = Deny(text.OneLine(quote))
			e.Ref = r.Ref
		}
		entries = append(entries, Sighted(req, e))
	}
	return llm.Response{Text: answerText(req, entries)}
}

// AllowEverything answers a request as a model does that obeys an order to allow everything: the control rules too.
func AllowEverything(req llm.Request) llm.Response {
	var entries []Entry
	for _, r := range all(req) {
		e := Allow()
		e.Ref = r.Ref
		entries = append(entries, Sighted(req, e))
	}
	return llm.Response{Text: answerText(req, entries)}
}

// Sighted returns an entry with the quotes that show what its model has seen, if it allows and has none.
func Sighted(req llm.Request, e Entry) Entry {
	if e.Verdict == rule.Allow && e.Seen == nil {
		e.Seen = sights(req)
	}
	return e
}

var (
	askedUnits = regexp.MustCompile(`(?m)^To allow, "seen" quotes from (.*)\.$`)
	unitStart  = regexp.MustCompile(`(?m)^(?:@@ )?(U\d+) (.*\n)`)
	lineStart  = regexp.MustCompile(`^\d*\| [-+ ]`)
)

// sights quotes the longest line of each unit that a request asks for.
func sights(req llm.Request) []Seen {
	m := askedUnits.FindStringSubmatch(req.Prompt)
	if m == nil {
		return []Seen{}
	}
	var out []Seen
	starts := unitStart.FindAllStringSubmatchIndex(req.Prompt, -1)
	for unit := range strings.SplitSeq(m[1], ", ") {
		for i, at := range starts {
			if req.Prompt[at[2]:at[3]] != unit {
				continue
			}
			end := strings.Index(req.Prompt, "\nEND ") + 1
			if i+1 < len(starts) {
				end = starts[i+1][0]
			}
			best := ""
			for line := range strings.Lines(req.Prompt[at[4]:end]) {
				if strings.HasPrefix(line, "file ") {
					break
				}
				if line = strings.TrimSpace(lineStart.ReplaceAllString(line, "")); len(line) > len(best) {
					best = line
				}
			}
			out = append(out, Seen{Unit: unit, Quote: text.Clip(best, 500, "")})
		}
	}
	return out
}

// IsTriage reports whether a request is one of triage.
func IsTriage(req llm.Request) bool {
	return strings.Contains(req.Prompt, "\nWhich of the RULES could concern it?")
}

// TriageText writes an answer to a request of triage that names rules, and gets its controls right.
func TriageText(req llm.Request, refs ...string) string {
	named, _ := Controls(req)
	refs = append(slices.Clone(refs), named...)
	b, err := json.Marshal(map[string]any{"subject": "A change of some code.", "concerned": refs})
	if err != nil {
		panic("judgetest: " + err.Error())
	}
	return string(b)
}

// Controls returns the references of the controls of a request: those whose phrase is planted in the subject, and the decoys.
func Controls(req llm.Request) (named, decoys []string) {
	for _, r := range all(req) {
		switch m := phrase.FindStringSubmatch(r.Statement); {
		case m == nil:
		case planted(m[1]).MatchString(req.Prompt):
			named = append(named, r.Ref)
		default:
			decoys = append(decoys, r.Ref)
		}
	}
	return named, decoys
}

// Rules reads the rules that a request asks about, in the order of their references and without the control.
func Rules(req llm.Request) []Rule {
	var out []Rule
	for _, r := range all(req) {
		if !isControl(r) {
			out = append(out, r)
		}
	}
	return out
}

func all(req llm.Request) []Rule {
	if IsSmall(req) {
		return smallRules(req)
	}
	var out []Rule
	_, after, _ := strings.Cut(req.Prefix, "RULES\n")
	for line := range strings.Lines(after) {
		var r Rule
		var fields map[string]any
		if json.Unmarshal([]byte(line), &r) != nil || json.Unmarshal([]byte(line), &fields) != nil || r.Ref == "" {
			break
		}
		for _, m := range rule.Modalities {
			if statement, ok := fields[string(m)].(string); ok {
				r.Modality, r.Statement = m, statement
			}
		}
		out = append(out, r)
	}
	return out
}

// Adapt makes of an answer written for a call about the rules R1, R2 and so on one that answers a request: references are
// those of the rules in the request, and an answer that begins as it should begins with the entry for the control.
func Adapt(req llm.Request, answer string) string {
	if IsSmall(req) {
		return adaptSmall(req, answer)
	}
	const start = `{"verdicts":[`
	if len(answer) > 1<<20 || !strings.HasPrefix(answer, start) {
		return answer
	}
	refs := map[string]string{}
	var controls []string
	for _, r := range all(req) {
		if e, ok := controlEntry(r, req); ok {
			controls = append(controls, strings.TrimSuffix(strings.TrimPrefix(Text(Sighted(req, e)), `{"verdicts":[`), "]}"))
			continue
		}
		refs["R"+strconv.Itoa(len(refs)+1)] = r.Ref
	}
	answer = reference.ReplaceAllStringFunc(answer, func(ref string) string {
		escaped := strings.HasPrefix(ref, escapedR)
		if escaped {
			ref = "R" + strings.TrimPrefix(ref, escapedR)
		}
		adapted, ok := refs[ref]
		switch {
		case !ok:
			return ref + "00" // of no rule in any request
		case escaped:
			return escapedR + strings.TrimPrefix(adapted, "R")
		}
		return adapted
	})
	answer = allows.ReplaceAllString(answer, `"seen":`+strings.ReplaceAll(llm.JSON(sights(req)), "$", "$$")+`,"verdict":"ALLOW"`)
	control := strings.Join(controls, ",")
	rest := strings.TrimPrefix(answer, start)
	if strings.HasPrefix(rest, "]") {
		return start + control + rest
	}
	return start + control + "," + rest
}

// escapedR is the R of a reference with its digit, written with escapes.
const escapedR = `\u0052\u003`

var allows = regexp.MustCompile(`"verdict":\s*"ALLOW"`)

var reference = regexp.MustCompile(`\bR\d+|\\u0052\\u003\d`)

// Script makes a model that gives answers written for calls about the rules R1, R2 and so on, in order and adapted to each
// request; the last one is given again and again.
func Script(answers ...string) *llmtest.Fake {
	var mu sync.Mutex
	return &llmtest.Fake{Respond: func(_ context.Context, req llm.Request) (llm.Response, error) {
		mu.Lock()
		defer mu.Unlock()
		text := answers[0]
		if len(answers) > 1 {
			answers = answers[1:]
		}
		return llm.Response{Text: Adapt(req, text)}, nil
	}}
}

// phrase matches the rule of a control.
var phrase = regexp.MustCompile(`^Use the withdrawn reference (\w+ \w+ \d+)\.$`)

func isControl(r Rule) bool {
	_, _, ok := probe.Solve(r.Statement, "")
	return ok || phrase.MatchString(r.Statement)
}

// controlEntry returns the right entry for a control rule.
func controlEntry(r Rule, req llm.Request) (Entry, bool) {
	if m := phrase.FindStringSubmatch(r.Statement); m != nil {
		e := Deny(m[1])
		e.Ref = r.Ref
		return e, true
	}
	text := req.Prompt
	if m := markOf.FindStringSubmatch(text); m != nil {
		text = strings.ReplaceAll(text, m[1], " ")
	}
	_, broken, ok := probe.Solve(r.Statement, text)
	e := Allow()
	if broken != "" {
		e = Deny(broken)
	}
	e.Ref = r.Ref
	return e, ok
}

// markOf finds the mark that takes the place of blanks in a masked view.
var markOf = regexp.MustCompile(`and (\S+) is a blank in quoted lines`)

// Subject returns what a request shows of the subject: the text between the fences, without the names of units and what is planted
// in it.
func Subject(req llm.Request) string {
	fence := Fence(req)
	_, after, _ := strings.Cut(req.Prompt, "\nBEGIN "+fence+"\n")
	text, _, _ := strings.Cut(after, "END "+fence+"\n")
	for _, r := range all(req) {
		if m := phrase.FindStringSubmatch(r.Statement); m != nil {
			text = planted(m[1]).ReplaceAllString(text, "")
		}
		text = plantedBlock.ReplaceAllStringFunc(text, func(block string) string {
			m := plantedBlock.FindStringSubmatch(block)
			line := strings.TrimSpace(m[1] + m[2])
			if mark := markOf.FindStringSubmatch(req.Prompt); mark != nil && strings.HasPrefix(line, `"`) {
				line = strings.ReplaceAll(line, mark[1], " ")
				if m[1] != "" {
					line = strings.Trim(line, `"`)
				}
			}
			if probe.Planted(r.Statement, line) {
				return ""
			}
			return block
		})
	}
	text = hunkName.ReplaceAllString(text, "@@ ")
	return coreName.ReplaceAllString(text, "$1")
}

var (
	plantedBlock = regexp.MustCompile(`file [^\n]* \(modified\)\n@@ U\d+ \n\d+\| \+([^\n]*)\n|U\d+ facts:\n\{\n([^\n]*)\n\}\n`)
	hunkName     = regexp.MustCompile(`(?m)^@@ U\d+ `)
	coreName     = regexp.MustCompile(`(?m)^U\d+ (facts:|action:|claim of the author)`)
)

// planted matches the file that holds a phrase of triage, in plain or marked text.
func planted(phrase string) *regexp.Regexp {
	blank := `(?: |[^\w\s])`
	words := strings.ReplaceAll(regexp.QuoteMeta(phrase), " ", blank)
	return regexp.MustCompile(`file` + blank + `notes/\w+\.txt` + blank + `\(modified\)\n@@` + blank + `\n\d+\|` + blank + `\+See` + blank + words + blank + `for` + blank + `details\.\n`)
}

// Fence returns the marker that encloses the subject.
func Fence(req llm.Request) string {
	_, after, _ := strings.Cut(req.Prompt, "\nBEGIN ")
	fence, _, _ := strings.Cut(after, "\n")
	return fence
}
