package judge

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"tenet/internal/subject"
	"tenet/internal/text"
)

// findInstruction looks for prose in the subject that orders something or asks a question, of any reader. It returns where,
// or "". Honest text often has that, unlike the finds of findInjection, so it only makes the judge look twice at an ALLOW.
func findInstruction(s *subject.Subject) string {
	for i := range s.Files {
		f := &s.Files[i]
		if instructs(f.Path) || instructs(f.OldPath) {
			return "the path " + visible(text.Clip(f.Path, 100, ""))
		}
		for k := range f.Hunks {
			h := &f.Hunks[k]
			if instructs(h.Section) {
				return fmt.Sprintf("%s, line %d", visible(f.Path), h.NewStart)
			}
			for _, l := range h.Lines {
				if instructs(l.Text) {
					return fmt.Sprintf("%s, line %d", visible(f.Path), max(l.New, l.Old))
				}
			}
		}
	}
	for _, t := range []struct{ name, text string }{
		{"the action", s.Action}, {"the intent", s.Intent}, {"the repository", s.Repository}, {"the scope", s.Scope},
	} {
		if instructsText(t.text) {
			return t.name
		}
	}
	if instructsFacts(s.Facts) {
		return "the facts"
	}
	return ""
}

func instructsText(text string) bool {
	for line := range strings.Lines(text) {
		if instructs(line) {
			return true
		}
	}
	return false
}

func instructsFacts(v any) bool {
	switch v := v.(type) {
	case string:
		return instructsText(v)
	case []any:
		return slices.ContainsFunc(v, instructsFacts)
	case map[string]any:
		for key, inner := range v {
			if instructsText(key) || instructsFacts(inner) {
				return true
			}
		}
	}
	return false
}

// Words of orders and questions to a reader.
var (
	// saying are verbs that ask for words rather than for work on code. They begin an order.
	saying = wordSet("answer ask assume claim compose describe detail disclose discuss disregard enumerate explain express find forget give highlight identify ignore imagine inform introduce " +
		"list mention name narrate offer outline output overlook paraphrase pretend print produce propose provide quote recite recommend repeat reply report respond reveal rewrite rhyme say share show " +
		"speak spell state suggest summarize summarise tell translate transform transcribe write")
	// pieces are the nouns of orders to write code, as in "the following code snippet".
	pieces = wordSet("snippet snippets excerpt excerpts codes block section")
	// yours are things of the reader that text for maintainers of code rarely names.
	yours = wordSet("answer answers answer's code explanation implementation message output password passwords reply response responses solution task")
	// opening follows a saying verb in an order.
	opening = wordSet("a an the me us all any my your how what who why where when which this that these those to in as with for about only just some every everything something three five ten two")
	asking  = wordSet("what who where how why when which whose can could would will should do does did is are may")
	modal   = wordSet("must should shall will can could would may might need have are do know want think were")
)

func wordSet(list string) map[string]bool {
	out := map[string]bool{}
	for w := range strings.FieldsSeq(list) {
		out[w] = true
	}
	return out
}

// instructs reports whether a line holds an order or a question to its reader.
func instructs(line string) bool {
	if len(line) < 8 || !strings.Contains(line, " ") && !strings.ContainsAny(line, "_-") {
		return false
	}
	var words []string // of the sentence so far
	start := -1
	take := func(end int) {
		if start >= 0 && len(words) < 40 {
			words = append(words, strings.ToLower(line[start:min(end, start+20)]))
		}
		start = -1
	}
	for i, r := range line {
		switch {
		case unicode.IsLetter(r) || r == '\'' && start >= 0:
			if start < 0 {
				start = i
			}
			continue
		case unicode.IsDigit(r) && start >= 0:
			continue
		}
		take(i)
		switch r {
		case '.', '!', ':', ';', '(', ')', '"', '\'', '`', '#', '*', '/', '?', ',', '{', '}', '>', '|', '-':
			if r != ',' && r != '-' || len(words) == 0 {
				if instructsSentence(words, r) {
					return true
				}
				words = words[:0]
			}
		}
	}
	take(len(line))
	return instructsSentence(words, '.')
}

// instructsSentence judges one sentence by its words and the mark that ends it.
func instructsSentence(words []string, end rune) bool {
	for len(words) > 0 && (words[0] == "please" || words[0] == "and" || words[0] == "then" || words[0] == "now" || words[0] == "also" || words[0] == "just") {
		if words[0] == "please" && len(words) > 2 {
			return true
		}
		words = words[1:]
	}
	if len(words) < 3 {
		return false
	}
	if saying[words[0]] && opening[words[1]] || end == '?' && asking[words[0]] {
		return true
	}
	piece := false
	for i, w := range words {
		next := ""
		if i+1 < len(words) {
			next = words[i+1]
		}
		piece = piece || pieces[next] && (w == "code" || w == "subsequent")
		switch {
		case w == "you" && modal[next], w == "your" && (yours[next] || i > 0 && saying[words[i-1]]), next == "you" && asking[w]:
			return true
		}
	}
	return piece
}
