package judge

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"tenet/internal/subject"
)

// orders looks for prose in the subject that tells somebody to do something or asks a question, whoever is meant. It
// returns where, or "". Unlike what suspect finds, this is common in honest text, so it only has an ALLOW looked at twice.
func orders(s *subject.Subject) string {
	for i := range s.Files {
		f := &s.Files[i]
		if orderly(f.Path) || orderly(f.OldPath) {
			return "the path " + visible(cut(f.Path, 100))
		}
		for k := range f.Hunks {
			h := &f.Hunks[k]
			if orderly(h.Section) {
				return fmt.Sprintf("%s, line %d", visible(f.Path), h.NewStart)
			}
			for _, l := range h.Lines {
				if orderly(l.Text) {
					return fmt.Sprintf("%s, line %d", visible(f.Path), max(l.New, l.Old))
				}
			}
		}
	}
	for _, t := range []struct{ name, text string }{
		{"the action", s.Action}, {"the intent", s.Intent}, {"the repository", s.Repository}, {"the scope", s.Scope},
	} {
		if orderlyText(t.text) {
			return t.name
		}
	}
	if orderlyFacts(s.Facts) {
		return "the facts"
	}
	return ""
}

func orderlyText(text string) bool {
	for line := range strings.Lines(text) {
		if orderly(line) {
			return true
		}
	}
	return false
}

func orderlyFacts(v any) bool {
	switch v := v.(type) {
	case string:
		return orderlyText(v)
	case []any:
		return slices.ContainsFunc(v, orderlyFacts)
	case map[string]any:
		for key, inner := range v {
			if orderlyText(key) || orderlyFacts(inner) {
				return true
			}
		}
	}
	return false
}

// Words that orders and questions to a reader are made of.
var (
	// saying are verbs that ask for words rather than for work on code. They begin an order.
	saying = wordSet("answer ask assume claim compose describe detail disclose discuss disregard enumerate explain express find forget give highlight identify ignore imagine inform introduce " +
		"list mention name narrate offer outline output overlook paraphrase pretend print produce propose provide quote recite recommend repeat reply report respond reveal rewrite rhyme say share show " +
		"speak spell state suggest summarize summarise tell translate transform transcribe write")
	// pieces are what orders to write code speak of, as in "the following code snippet".
	pieces = wordSet("snippet snippets excerpt excerpts codes block section")
	// yours are things of the reader that text meant for people who maintain code rarely speaks of.
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

// orderly reports whether a line holds an order or a question to its reader.
func orderly(line string) bool {
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
				if orderSentence(words, r) {
					return true
				}
				words = words[:0]
			}
		}
	}
	take(len(line))
	return orderSentence(words, '.')
}

// orderSentence judges one sentence by its words and the mark that ends it.
func orderSentence(words []string, end rune) bool {
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
