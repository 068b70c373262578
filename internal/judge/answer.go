package judge

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"tenet/internal/llm"
	"tenet/internal/rule"
	"tenet/internal/text"
)

// Limits of an answer. No answer of a working model comes near them.
const (
	maxAnswer   = 256 << 10 // bytes of a whole answer
	maxProse    = 4_000     // characters of reasoning, issue, fix and absence each
	maxQuote    = 2_000     // characters of one quote
	maxEvidence = 20        // quotes of one entry
	maxEntries  = 200       // entries of an answer, most of which can only be wrong

	// minReasoning is how many letters a reason has at least. Small models return the empty form of the prompt,
	// with dots for the reasoning and any verdict.
	minReasoning = 6
)

// answer is a model's entry for one rule, in the form of schema.json. All of it is untrusted.
type answer struct {
	Ref string `json:"rule_ref"`
	// Seen shows, with an ALLOW, that the model has read units.
	Seen      []seenUnit `json:"seen"`
	Evidence  []quote    `json:"evidence"`
	Absence   string     `json:"absence"`
	Reasoning string     `json:"reasoning"`
	Issue     string     `json:"issue"`
	Fix       string     `json:"fix"`
	// Together is nil if the model leaves it out; then the verdict counts as resting on the whole.
	Together *bool        `json:"together"`
	Verdict  rule.Verdict `json:"verdict"`
}

// seenUnit is a quote from a unit of the subject, by its name.
type seenUnit struct {
	Unit  string `json:"unit"`
	Quote string `json:"quote"`
}

type quote struct {
	Quote string `json:"quote"`
	File  string `json:"file"`
}

// parseAnswer reads the answer to a call about n rules. For each rule it returns either its entry or a fault that says why
// it has no usable one. It is strict: an entry counts only if it is complete, the only one about its rule, and in one
// well-formed JSON object with nothing around it. A fault of one entry does not affect the others.
func parseAnswer(text string, n int) (answers []*answer, faults []string) {
	answers, faults = make([]*answer, n), make([]string, n)
	all := func(fault string) ([]*answer, []string) {
		for i := range n {
			answers[i], faults[i] = nil, fault
		}
		return answers, faults
	}
	switch {
	case len(text) > maxAnswer:
		return all(fmt.Sprintf("the answer has %d bytes", len(text)))
	case !utf8.ValidString(text):
		return all("the answer is not valid UTF-8")
	}
	entries, rest, form := cutEntries(text)
	if form == malformed {
		return all("the answer is not one JSON object with a list of verdicts")
	}
	for i := range n {
		faults[i] = "the answer has no entry for it"
	}
	spoil := func(i int, fault string) { answers[i], faults[i] = nil, fault }
	seen := make([]bool, n)
	for _, entry := range entries {
		a, fault := parseEntry(entry)
		if a == nil {
			spoilNamed(entry, n, func(i int) { seen[i] = true; spoil(i, fault) })
			continue
		}
		i, ok := refIndex(a.Ref, n)
		switch {
		case !ok: // about no rule of the call
		case seen[i]:
			spoil(i, "the answer has more than one entry for it")
		case fault != "":
			seen[i] = true
			spoil(i, fault)
		default:
			seen[i] = true
			answers[i], faults[i] = a, ""
		}
	}
	if form == truncated {
		spoilNamed(rest, n, func(i int) { spoil(i, "the answer breaks off within its entry") })
	}
	return answers, faults
}

// parseEntry reads one entry. A nil answer means that even its rule is unclear; an answer with a fault is unusable.
func parseEntry(content string) (*answer, string) {
	var a answer
	// Names in any case: an entry with "verdict" and "Verdict" says two things.
	if err := json.Unmarshal([]byte(content), &a, json.MatchCaseInsensitiveNames(true)); err != nil {
		return nil, "its entry is not what was asked for"
	}
	return &a, checkEntry(&a)
}

// checkEntry cleans the texts of an entry and returns why it cannot be used; "" if it can.
func checkEntry(a *answer) string {
	tooLong := func(s string, limit int) bool { return len(s) > limit && utf8.RuneCountInString(s) > limit }
	for _, s := range []string{a.Absence, a.Reasoning, a.Issue, a.Fix} {
		if tooLong(s, maxProse) {
			return fmt.Sprintf("its entry has a text of more than %d characters", maxProse)
		}
	}
	if len(a.Evidence) > maxEvidence {
		return fmt.Sprintf("its entry has more than %d quotes", maxEvidence)
	}
	if len(a.Seen) > maxEvidence {
		return fmt.Sprintf("its entry quotes from more than %d units", maxEvidence)
	}
	for _, s := range a.Seen {
		if tooLong(s.Quote, maxQuote) || tooLong(s.Unit, maxQuote) {
			return fmt.Sprintf("its entry has a quote of more than %d characters", maxQuote)
		}
	}
	quoted := false
	for _, q := range a.Evidence {
		if tooLong(q.Quote, maxQuote) || tooLong(q.File, maxQuote) {
			return fmt.Sprintf("its entry has a quote of more than %d characters", maxQuote)
		}
		quoted = quoted || strings.TrimSpace(q.Quote) != ""
	}
	a.Absence, a.Reasoning, a.Issue, a.Fix = llm.Clean(a.Absence), llm.Clean(a.Reasoning), llm.Clean(a.Issue), llm.Clean(a.Fix)
	switch a.Verdict {
	case rule.Allow:
		if (quoted || a.Absence != "") && objects(a.Issue) {
			return "its entry allows and objects to something at once"
		}
	case rule.NeedsConfirmation:
	case rule.Deny:
		if !quoted && a.Absence == "" {
			return "its entry denies without evidence"
		}
	default:
		return fmt.Sprintf("its entry has the verdict %q", text.Clip(llm.Clean(string(a.Verdict)), 40, ""))
	}
	if letters(a.Reasoning) < minReasoning {
		return "its entry gives no reasoning"
	}
	return ""
}

// objects reports whether the issue of an entry names one, instead of saying that there is none.
func objects(issue string) bool {
	if letters(issue) < minReasoning {
		return false
	}
	first := strings.FieldsFunc(strings.ToLower(issue), func(r rune) bool { return !unicode.IsLetter(r) })[0]
	return !slices.Contains([]string{"no", "none", "not", "nothing", "n", "na", "null"}, first)
}

// letters counts the letters of s.
func letters(s string) int {
	n := 0
	for _, r := range s {
		if unicode.IsLetter(r) {
			n++
		}
	}
	return n
}

// refIndex returns the index of a reference such as R3, exactly as it was given to the model.
func refIndex(s string, n int) (int, bool) {
	for i := range n {
		if s == ref(i) {
			return i, true
		}
	}
	return 0, false
}

// spoilNamed calls spoil for every rule that text names. It is for text too broken to know its rule: asking again is better
// than to believe another entry for the same rule. Escapes may spell a reference, so they name all.
func spoilNamed(text string, n int, spoil func(i int)) {
	escaped := strings.Contains(text, `\u00`)
	for i := range n {
		if escaped || names(text, ref(i)) {
			spoil(i)
		}
	}
}

// names reports whether text holds word with no letter or digit next to it.
func names(text, word string) bool {
	for at := 0; ; {
		k := strings.Index(text[at:], word)
		if k < 0 {
			return false
		}
		from, to := at+k, at+k+len(word)
		if (from == 0 || !wordByte(text[from-1])) && (to == len(text) || !wordByte(text[to])) {
			return true
		}
		at = to
	}
}

func wordByte(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}
