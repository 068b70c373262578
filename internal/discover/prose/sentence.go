package prose

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"tenet/internal/blocks"
)

// maxSentence is the longest sentence that Find reads, in bytes; a longer one is a [Gap].
const maxSentence = 4000

// sentences cuts the text of a block into sentences, as places in it.
func sentences(text string) [][2]int {
	var out [][2]int
	from, parens := 0, 0
	quotes := strings.Count(text, `"`)%2 == 0
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '`':
			if end := blocks.CodeEnd(text, i); end > 0 {
				i = end - 1
			}
		case '"':
			quoted = quotes && !quoted
		case '\n':
			if i > 0 && text[i-1] == ':' && !demands(tokenize(text[max(from, i-200):i])) {
				out = append(out, [2]int{from, i})
				from, parens, quoted = i, 0, false
			}
		case '(':
			parens++
		case ')':
			parens = max(parens-1, 0)
		case '.', '!', '?':
			end := closers(text, i+1)
			if parens > 0 && !strings.Contains(text[i+1:end], ")") || quoted && !strings.Contains(text[i+1:end], `"`) || !ends(text, i, end) {
				parens = max(parens-strings.Count(text[i+1:end], ")"), 0)
				if quoted && strings.Contains(text[i+1:end], `"`) {
					quoted = false
				}
				i = end - 1
				continue
			}
			out = append(out, [2]int{from, end})
			from, parens, quoted = end, 0, false
			i = end - 1
		}
	}
	return trimmed(text, append(out, [2]int{from, len(text)}))
}

// closers returns the index after the marks between the end of a sentence and the space.
func closers(text string, i int) int {
	for i < len(text) {
		r, size := utf8.DecodeRuneInString(text[i:])
		if !strings.ContainsRune("\"')]*_”’.!?", r) {
			break
		}
		i += size
	}
	return i
}

// ends reports whether a sentence ends with the sign at i, behind whose closers the text goes on at next.
func ends(text string, i, next int) bool {
	if next == len(text) {
		return true
	}
	if c := text[next]; c != ' ' && c != '\n' && c != '\t' {
		return false
	}
	r, _ := utf8.DecodeRuneInString(strings.TrimLeft(text[next:], " \n\t\"'“‘(*_[<"))
	if !unicode.IsUpper(r) && !unicode.IsDigit(r) && r != '`' && r != '{' && r < 0x2190 {
		return false
	}
	if text[i] != '.' {
		return true
	}
	from := i
	for from > 0 && text[from-1] > ' ' && i-from < 12 && !strings.ContainsRune("(\"'*_", rune(text[from-1])) {
		from--
	}
	word := strings.ToLower(text[from : i+1])
	initial := len(word) == 2 && text[from] >= 'A' && text[from] <= 'Z'
	number := strings.Trim(word, "0123456789.") == "" && (from == 0 || text[from-1] == '\n')
	if word == "etc." && unicode.IsUpper(r) {
		return true
	}
	return !abbreviations[word] && !initial && !number
}

// maxLine is the longest line, in bytes, that can be a sentence without a full stop.
const maxLine = 120

// lineSentences reads a text whose lines are sentences without full stops; nil if it is not such a text.
func lineSentences(text string) [][2]int {
	if !strings.Contains(text, "\n") {
		return nil
	}
	var out [][2]int
	at, open := 0, 0
	for line := range strings.Lines(text) {
		l := strings.TrimSpace(line)
		first, _ := utf8.DecodeRuneInString(strings.TrimLeft(l, "*_\"'`"))
		if len(l) > maxLine || !unicode.IsUpper(first) && !unicode.IsDigit(first) {
			return nil
		}
		if !strings.ContainsAny(l[len(l)-1:], ".!?:;*") {
			open++
		}
		out = append(out, [2]int{at, at + len(line)})
		at += len(line)
	}
	if open*2 < len(out) {
		return nil
	}
	return trimmed(text, out)
}

// trimmed takes white space off both ends of places, and leaves out those that are empty.
func trimmed(text string, list [][2]int) [][2]int {
	out := list[:0]
	for _, p := range list {
		s := text[p[0]:p[1]]
		from := p[0] + len(s) - len(strings.TrimLeft(s, " \t\n"))
		to := p[1] - (len(s) - len(strings.TrimRight(s, " \t\n")))
		if from < to {
			out = append(out, [2]int{from, to})
		}
	}
	return out
}
