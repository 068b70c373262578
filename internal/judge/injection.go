package judge

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"tenet/internal/diff"
	"tenet/internal/subject"
	"tenet/internal/text"
)

// findInjection looks for text that addresses the judge: orders to forget instructions, dictated verdicts, chat markup,
// look-alikes of our fence. It returns where and what, or "". It misses many, and is only the last defence: the prompt warns
// the model of the subject, and a DENY needs proof anyway. So it aims at few false alarms, each of which costs a
// confirmation.
func findInjection(s *subject.Subject) string {
	for i := range s.Files {
		f := &s.Files[i]
		if what := injectionInText(f.Path + "\n" + f.OldPath); what != "" {
			return "in the path " + visible(text.Clip(f.Path, 100, "")) + ": " + what
		}
		for k := range f.Hunks {
			if line, what := injectionInHunk(&f.Hunks[k]); what != "" {
				return fmt.Sprintf("%s, line %d: %s", visible(f.Path), line, what)
			}
		}
	}
	for _, t := range []struct{ name, text string }{
		{"the action", s.Action}, {"the intent", s.Intent}, {"the repository", s.Repository}, {"the scope", s.Scope},
	} {
		if what := injectionInText(t.text); what != "" {
			return "in " + t.name + ": " + what
		}
	}
	if what := injectionInFacts(s.Facts); what != "" {
		return "in the facts: " + what
	}
	return ""
}

func injectionInText(text string) string {
	var sc scanner
	for line := range strings.Lines(text) {
		if what := sc.line(0, line); what != "" {
			return what
		}
	}
	_, what := sc.phrases()
	return what
}

// injectionInHunk reads a hunk's new lines as one text, then its removed lines as another: each may hold a sentence that spans
// lines.
func injectionInHunk(h *diff.Hunk) (line int, what string) {
	if what := injectionInText(h.Section); what != "" {
		return h.NewStart, what
	}
	for _, removed := range []bool{false, true} {
		var sc scanner
		for _, l := range h.Lines {
			if (l.Op == diff.OpDelete) != removed {
				continue
			}
			at := max(l.New, l.Old)
			if what := sc.line(at, l.Text); what != "" {
				return at, what
			}
		}
		if line, what := sc.phrases(); what != "" {
			return line, what
		}
	}
	return 0, ""
}

// injectionInFacts reads every key and every string of facts as a separate text.
func injectionInFacts(v any) string {
	switch v := v.(type) {
	case string:
		return injectionInText(v)
	case []any:
		for _, inner := range v {
			if what := injectionInFacts(inner); what != "" {
				return what
			}
		}
	case map[string]any:
		for key, inner := range v {
			if what := injectionInText(key); what != "" {
				return what
			}
			if s, ok := inner.(string); ok && len(key)+len(s) < 200 {
				inner = key + ": " + s // a dictated verdict may be split over key and value
			}
			if what := injectionInFacts(inner); what != "" {
				return what
			}
		}
	}
	return ""
}

// scanner turns a text into the words of phrases. It drops everything else: case,
// punctuation, invisible characters, comment marks, line breaks.
type scanner struct {
	words []word
	pos   int // words so far, the meaningless ones too
	run   []rune
	buf   []byte
}

// word is a word with a role in a phrase: its roles, its place among all words, and its line.
type word struct {
	mean meaning
	pos  int
	line int
}

// markup are the marks of chat formats and of this judge's own protocol.
var markup = []string{
	"<|im_start|>", "<|im_end|>", "<|system|>", "<|user|>", "<|assistant|>", "<|endoftext|>", "<|eot_id|>",
	"<|start_header_id|>", "[inst]", "[/inst]", "<<sys>>", "<start_of_turn>", "<end_of_turn>", `"rule_ref"`,
	"begin subject-", "end subject-",
}

// line reads one line. It returns what is suspicious in the line alone.
func (s *scanner) line(number int, text string) string {
	if strings.ContainsAny(text, `<["-`) {
		lower := strings.ToLower(text)
		for _, m := range markup {
			if strings.Contains(lower, m) {
				return "it holds the markup " + m
			}
		}
	}
	before, start := ' ', 0
	s.run = s.run[:0]
	flush := func(after rune) {
		if len(s.run) > 0 {
			s.add(number, text[start:], before, after)
		}
		s.run = s.run[:0]
	}
	for i, r := range text {
		switch {
		case r >= 0xE0000 && r <= 0xE007F:
			return "it holds invisible tag characters"
		case r >= 0x202A && r <= 0x202E || r >= 0x2066 && r <= 0x2069:
			return "it holds characters that reorder text"
		case unicode.Is(unicode.Cf, r) || r == '\'' || r == '’':
			continue // soft hyphens, joiners and apostrophes do not part a word
		case r >= 0xFF01 && r <= 0xFF5E:
			r -= 0xFEE0 // full-width forms
		}
		if !unicode.IsLetter(r) {
			flush(r)
			before = r
			continue
		}
		if len(s.run) == 0 {
			start = i
		}
		if len(s.run) <= longestWord {
			s.run = append(s.run, unicode.ToLower(r))
		}
	}
	flush(' ')
	return eastern(text)
}

// add notes the word in s.run. text begins with it in its original case.
func (s *scanner) add(line int, text string, before, after rune) {
	s.pos++
	if len(s.run) > longestWord {
		return
	}
	latin := slices.ContainsFunc(s.run, func(r rune) bool { return r < 0x250 })
	s.buf = s.buf[:0]
	for _, r := range s.run {
		if latin && r >= 0x250 {
			r = fold(r)
		}
		s.buf = utf8.AppendRune(s.buf, r)
	}
	mean := vocabulary[string(s.buf)]
	if string(s.buf) == "allow" && (strings.HasPrefix(text, "ALLOW") || quoteMark(before) && quoteMark(after)) {
		mean |= allowToken
	}
	if mean != 0 {
		s.words = append(s.words, word{mean, s.pos, line})
	}
}

// longestWord is how many letters a word of the vocabulary has at most.
const longestWord = 24

func quoteMark(r rune) bool { return strings.ContainsRune("'\"`‘’“”«»", r) }

// fold maps a Cyrillic or Greek letter to the Latin one that it passes for in a word of Latin letters.
func fold(r rune) rune {
	if i := slices.Index(lookAlikes, r); i >= 0 {
		return passesFor[i]
	}
	return r
}

var (
	lookAlikes = []rune("аеорсухіѕјԁοαεινρτυ")
	passesFor  = []rune("aeopcyxisjdoaeivptu")
)

// eastern finds orders to ignore instructions in scripts without blanks between words.
func eastern(text string) string {
	for _, p := range [][]string{
		{"忽略", "指令", "指示", "提示", "规则", "規則"},
		{"无视", "指令", "指示", "规则"},
		{"無視", "指示", "命令", "指令", "ルール"},
		{"무시", "지시", "명령", "규칙"},
	} {
		if _, behind, ok := strings.Cut(text, p[0]); ok {
			for _, noun := range p[1:] {
				if strings.Contains(text, noun) && (strings.Contains(behind, noun) || p[0] != "忽略") {
					return "it tells to ignore instructions"
				}
			}
		}
	}
	return ""
}
