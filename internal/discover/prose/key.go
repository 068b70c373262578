package prose

import (
	"strings"
	"unicode"

	"tenet/internal/blocks"
	"tenet/internal/rule"
	"tenet/internal/text"
)

// keys are the words in capitals that say before a rule how much it binds. The longer ones come first.
var keys = []struct {
	word     string
	modality rule.Modality
}{
	{"MUST NOT", rule.MustNot},
	{"SHALL NOT", rule.MustNot},
	{"SHOULD NOT", rule.Should},
	{"MUST", rule.Must},
	{"SHALL", rule.Must},
	{"SHOULD", rule.Should},
	{"FORBIDDEN", rule.MustNot},
	{"PROHIBITED", rule.MustNot},
	{"REQUIRED", rule.Must},
	{"MANDATORY", rule.Must},
	{"RECOMMENDED", rule.Should},
}

// keyed reads a text that begins with a word in capitals which says how much the rest binds: "FORBIDDEN: global state", "[MUST] use HTTPS".
// The statement has the word without its marks.
func keyed(raw string) (r reading, statement string, ok bool) {
	s := strings.TrimLeft(raw, "*_[({` ")
	for _, k := range keys {
		rest, ok := strings.CutPrefix(s, k.word)
		if !ok || rest == "" || blocks.WordByte(rest[0]) {
			continue
		}
		body := strings.TrimLeft(strings.TrimPrefix(rest, "`"), "*_])}: ")
		if body == "" || len(rest) == len(body) || rest[0] == ' ' && strings.TrimLeft(raw, "*_") == s { // "MUST be", which is read as a sentence
			return reading{}, "", false
		}
		if t := tokenize(body); len(t) == 0 {
			return reading{}, "", false
		}
		sign := ": "
		if k.word[0] == 'S' || strings.HasPrefix(k.word, "MUST") {
			sign = " "
		}
		return reading{modality: k.modality, means: ByBinding, phrase: strings.ToLower(k.word)}, k.word + sign + body, true
	}
	return reading{}, "", false
}

// heading reads a heading that begins with how much it binds, as some standards have them: "{MUST} use HTTPS", and in instructions one that
// forbids or prefers: "Don't mock the clock".
func (f *finder) heading(i int) {
	b := &f.list[i]
	if t := tokenize(unnumbered(b.Text)); f.genre == Instructions && len(t) > 2 && f.tongue == nil && !strings.HasSuffix(b.Text, "?") {
		c := place{genre: f.genre}
		if r, ok := order(t, c); ok && (r.means == ByNegation || advising[r.phrase]) {
			f.out = append(f.out, f.norm(i, b.Text, b.Line, r, c))
			return
		}
	}
	if r, statement, ok := keyed(unnumbered(b.Text)); ok && f.tongue == nil {
		n := f.norm(i, b.Text, b.Line, r, place{genre: f.genre})
		n.Statement = clean(blocks.Plain(statement))
		f.out = append(f.out, n)
	}
}

// binding reports whether a sentence has a word that binds in capitals, as in RFC 2119, among words that are not: then it is a rule, whatever
// its heading says. A sentence that is in capitals throughout, as in licences, shows nothing.
func binding(raw string) bool {
	bound, small, large := false, 0, 0
	for word := range strings.FieldsSeq(raw) {
		switch word = strings.Trim(word, "*_`.,;:()[]\"“”"); {
		case word == "MUST" || word == "SHALL" || word == "SHOULD":
			bound = true
		case word == "NOT":
		case capitals(word):
			large++
		case strings.ContainsFunc(word, unicode.IsLower):
			small++
		}
	}
	return bound && small > large
}

// levels are the words in capitals that texts of rules explain.
var levels = text.Words("MUST SHALL SHOULD MAY REQUIRED RECOMMENDED OPTIONAL")

// interprets reports whether a sentence says how words in capitals are to be read, with or without quotation marks: "The key words MUST and
// SHOULD are to be interpreted as described in RFC 2119".
func interprets(raw string) bool {
	if !strings.Contains(raw, "MUST") && !strings.Contains(raw, "SHALL") && !strings.Contains(raw, "SHOULD") {
		return false
	}
	t := tokenize(raw)
	listed, explained, last := false, false, -1
	for i := range t {
		word := strings.Trim(raw[t[i].start:t[i].end], "`*_")
		switch w := t[i].low; {
		case levels[word]:
			listed = listed || last >= 0 || speaksOf(at(t, i-1)) && spokenOf(at(t, i+1))
			last = i
		case word == "NOT", w == "and", w == "or":
		case w == "interpreted" || w == "understood" || w == "rfc" || w == "rfc2119" || w == "bcp" || w == "bcp14" || is(t, i, "read", "as") || is(t, i, "defined", "in") || is(t, i, "described", "in"):
			explained, last = true, -1
		default:
			last = -1
		}
	}
	return listed && explained
}

// speaksOf reports whether a word says that the next one is spoken of: "the term MUST".
func speaksOf(w string) bool {
	switch w {
	case "word", "words", "keyword", "keywords", "term", "terms", "verb", "verbs":
		return true
	}
	return false
}

// spokenOf reports whether a word goes on behind one that is spoken of: "The term MUST is ...", not "Terms MUST be ...".
func spokenOf(w string) bool {
	switch w {
	case "is", "are", "in", "must", "should", "shall", "has", "means":
		return true
	}
	return false
}
