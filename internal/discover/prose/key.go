package prose

import (
	"strings"

	"tenet/internal/blocks"
	"tenet/internal/rule"
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
