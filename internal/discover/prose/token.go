package prose

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"tenet/internal/blocks"
)

// token is a word of a sentence, or code in it.
type token struct {
	low        string // in lower case; empty for code
	start, end int    // in the sentence
	// before is the strongest sign since the token before: ; : . ( , - or 0.
	before byte
	quoted bool // in quotation marks, so that it says nothing itself
	linked bool // the first word of a link
	upper  bool // begins with a capital letter
	caps   bool // in capital letters alone, two or more: IT, not It
}

// capitals reports whether a word is of capital letters alone, two or more.
func capitals(word string) bool {
	for i := range len(word) {
		if word[i] < 'A' || word[i] > 'Z' {
			return false
		}
	}
	return len(word) > 1
}

// tokenize cuts a sentence into tokens.
func tokenize(s string) []token {
	out := make([]token, 0, len(s)/5+1)
	start, before, quoted, linked := -1, byte(0), false, false
	double := strings.Count(s, `"`)%2 == 0
	flush := func(end int) {
		if start < 0 {
			return
		}
		for end > start+1 && (s[end-1] == '-' || s[end-1] == '\'') {
			end--
		}
		first, _ := utf8.DecodeRuneInString(s[start:])
		out = append(out, token{low: lower(s[start:end]), start: start, end: end, before: before, quoted: quoted, linked: linked, upper: unicode.IsUpper(first), caps: capitals(s[start:end])})
		start, before, linked = -1, 0, false
	}
	for i := 0; i < len(s); {
		n, keep := blocks.Inline(s, i)
		r, _ := utf8.DecodeRuneInString(keep)
		switch {
		case n > 1 && (s[i] == '`' || s[i] == ':'): // code, or a link whose words say nothing
			flush(i)
			out = append(out, token{start: i, end: i + n, before: before, quoted: quoted})
			before = 0
		case keep != "" && (unicode.IsLetter(r) || unicode.IsDigit(r) || start >= 0 && (r == '-' || r == '\'' || r == '’' || r == '_')):
			if start < 0 {
				start = i
			}
		default:
			flush(i)
			linked = linked || keep == "" && s[i] == '['
			switch r {
			case '"':
				quoted = double && !quoted
			case '“', '”':
				quoted = r == '“'
			}
			before = stronger(before, sign(r, s, i))
		}
		i += n
	}
	flush(len(s))
	return out
}

// sign returns how a character parts the clauses on both sides of it; 0 if it does not.
func sign(r rune, s string, i int) byte {
	switch r {
	case ';', ':', ',', '(', '|':
		return byte(r)
	case ')':
		return ','
	case '.', '!', '?':
		return '.'
	case '—', '–', '→':
		return '-'
	case '-':
		if i > 0 && i+1 < len(s) && s[i-1] == ' ' && s[i+1] == ' ' {
			return '-'
		}
	}
	return 0
}

// stronger returns the sign that parts more.
func stronger(a, b byte) byte {
	const order = "|;:.-(," // from the strongest
	if a == 0 || b != 0 && strings.IndexByte(order, b) < strings.IndexByte(order, a) {
		return b
	}
	return a
}

// lower returns a word in lower case, with the plain apostrophe.
func lower(s string) string {
	s = strings.ToLower(s)
	if strings.Contains(s, "’") {
		s = strings.ReplaceAll(s, "’", "'")
	}
	return s
}

// is reports whether the words of a phrase begin at i. The signs between them do not matter, but code does.
func is(t []token, i int, phrase ...string) bool {
	if i < 0 || i+len(phrase) > len(t) {
		return false
	}
	for k, w := range phrase {
		if t[i+k].low != w {
			return false
		}
	}
	return true
}

// at returns the word at i; empty beyond the ends.
func at(t []token, i int) string {
	if i < 0 || i >= len(t) {
		return ""
	}
	return t[i].low
}
