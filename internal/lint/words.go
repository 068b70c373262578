package lint

import (
	"strings"
	"unicode"

	"tenet/internal/rule"
)

// vague are words and phrases that say how much or how well without a measure. The list is our own, after the ambiguity
// lists that requirements engineering uses (such as ISO/IEC/IEEE 29148, 5.2.7: superlatives, subjective language, vague
// pronouns, ambiguous adverbs and adjectives, open-ended terms, comparative phrases, loopholes).
var vague = phrases(
	"appropriate", "appropriately", "adequate", "adequately", "sufficient", "sufficiently", "reasonable", "reasonably", "suitable",
	"suitably", "proper", "properly", "timely", "promptly", "as soon as possible", "regularly", "periodically", "significant",
	"significantly", "substantial", "user-friendly", "user friendly", "easy to use", "efficient", "efficiently", "robust",
	"flexible", "seamless", "state of the art", "best practice", "best practices", "industry standard", "clean", "good quality",
	"high quality", "well written", "sensible", "sensibly", "meaningful", "excessive", "excessively", "minimal", "etc", "and so on",
	"and the like", "and so forth",
)

// escapes are phrases that excuse a violation.
var escapes = phrases(
	"where possible", "if possible", "when possible", "whenever possible", "as far as possible", "as much as possible",
	"where appropriate", "as appropriate", "if appropriate", "when appropriate", "where applicable", "as applicable", "if necessary",
	"where necessary", "as necessary", "when necessary", "as needed", "if needed", "when needed", "if feasible", "where feasible",
	"where practical", "where practicable", "if practical", "to the extent possible", "to the extent practical", "try to",
	"best effort", "best efforts", "strive to", "aim to", "ideally", "generally", "usually", "normally", "typically", "preferably",
)

// dangling are references to what a judge does not see.
var dangling = phrases(
	"see above", "see below", "as above", "as described above", "as mentioned above", "the above", "the following section", "as described below",
	"mentioned earlier", "previous section", "this document", "this section", "this page", "the table below", "the list below",
)

// binding has the modality of each normative word. The words and their force are those of RFC 2119 and of the drafting rules of
// laws and standards (ISO/IEC Directives, Part 2, clause 7).
var binding = map[string]rule.Modality{
	"must": rule.Must, "shall": rule.Must, "required": rule.Must, "mandatory": rule.Must, "obliged": rule.Must,
	"should": rule.Should, "recommended": rule.Should, "ought": rule.Should, "encouraged": rule.Should,
	"may": rule.May, "optional": rule.May, "can": rule.May,
}

// forbidding words demand or forbid without a word of [binding].
var forbidding = set("never", "forbidden", "prohibited", "disallowed", "banned", "unacceptable", "don't", "dont", "avoid", "refrain", "no", "not", "cannot", "can't", "without", "nobody", "none", "only", "disallows", "forbids", "prohibits", "requires", "enforces")

// negative words negate their neighbour.
var negative = set("not", "no", "never", "without", "none", "nobody", "nothing", "cannot", "don't", "mustn't", "shouldn't", "can't", "unless")

func set(words ...string) map[string]bool {
	out := make(map[string]bool, len(words))
	for _, w := range words {
		out[w] = true
	}
	return out
}

// phrases splits phrases into words, longest first within a first word, so that the longest match wins.
func phrases(list ...string) map[string][][]string {
	out := map[string][][]string{}
	for _, p := range list {
		words := strings.Fields(p)
		at := out[words[0]]
		i := 0
		for i < len(at) && len(at[i]) >= len(words) {
			i++
		}
		out[words[0]] = append(at[:i:i], append([][]string{words}, at[i:]...)...)
	}
	return out
}

// word is a word of a statement, in lower case, with its place in bytes.
type word struct {
	text       string
	start, end int
	// first reports whether the word begins a sentence or a clause after a semicolon.
	first bool
	// code reports whether the word is in backquotes: it names something and says nothing itself.
	code bool
}

// statement is a text with its words.
type statement struct {
	text  string
	words []word
}

// wordLength is about how many bytes a word of a statement has, with what is between it and the next.
const wordLength = 6

// read splits a text into words. Text in backquotes or quotation marks is cited, not said.
func read(text string) *statement {
	s := &statement{text: text, words: make([]word, 0, len(text)/wordLength+1)}
	first, code := true, false
	start := -1
	flush := func(end int) {
		if start >= 0 {
			s.words = append(s.words, word{text: strings.ToLower(text[start:end]), start: start, end: end, first: first, code: code})
			first, start = false, -1
		}
	}
	for i, r := range text {
		switch {
		case r == '`' || r == '"' || r == '“' || r == '”':
			flush(i)
			code = !code
		case unicode.IsLetter(r) || unicode.IsDigit(r) || (start >= 0 && joins(r)):
			if start < 0 {
				start = i
			}
		default:
			flush(i)
			if ends(text, i, r) {
				first = true
			}
		}
	}
	flush(len(text))
	return s
}

func joins(r rune) bool { return r == '-' || r == '\'' || r == '’' || r == '_' }

// ends reports whether the sign at i ends a sentence: a full stop within a name or number does not.
func ends(text string, i int, r rune) bool {
	switch r {
	case ';', '!', '?', '\n', ':':
		return true
	case '.':
		return i+1 == len(text) || unicode.IsSpace(rune(text[i+1]))
	}
	return false
}

// find returns the first occurrence of each phrase that the statement says.
func (s *statement) find(list map[string][][]string) []string {
	var out []string
	for i := 0; i < len(s.words); i++ {
		if n := s.matches(list, i); n > 0 {
			out = append(out, s.text[s.words[i].start:s.words[i+n-1].end])
			i += n - 1
		}
	}
	return out
}

// matches returns the length in words of the longest phrase of the list at i.
func (s *statement) matches(list map[string][][]string, i int) int {
	if s.words[i].code {
		return 0
	}
next:
	for _, p := range list[s.words[i].text] {
		if i+len(p) > len(s.words) {
			continue
		}
		for k, w := range p {
			if s.words[i+k].text != w {
				continue next
			}
		}
		return len(p)
	}
	return 0
}
