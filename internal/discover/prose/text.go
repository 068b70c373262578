package prose

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Decode makes text of the bytes of a file: UTF-16 with a byte order mark, or UTF-8, in which what is invalid is replaced.
// Binary data, which holds a NUL, is not text.
func Decode(data []byte) (text string, ok bool) {
	s := string(data)
	if rest, marked := strings.CutPrefix(s, "\xef\xbb\xbf"); marked {
		s = rest
	} else if len(s) >= 2 && (s[:2] == "\xff\xfe" || s[:2] == "\xfe\xff") {
		s = decode16(s[2:], s[0] == '\xfe')
	}
	if strings.IndexByte(s, 0) >= 0 {
		return "", false
	}
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	if strings.IndexByte(s, '\r') >= 0 && !strings.Contains(s, "\n") {
		s = strings.ReplaceAll(s, "\r", "\n") // line ends of old
	}
	return s, true
}

func decode16(s string, bigEndian bool) string {
	units := make([]uint16, len(s)/2)
	for i := range units {
		a, b := uint16(s[2*i]), uint16(s[2*i+1])
		if bigEndian {
			a, b = b, a
		}
		units[i] = a | b<<8
	}
	return string(utf16.Decode(units))
}

// maxMatter bounds front matter, in bytes.
const maxMatter = 64 << 10

// FrontMatter takes off the settings that stand before a text between two lines of ---. first is the line that rest begins at.
func FrontMatter(text string) (matter, rest string, first int) {
	opening, after, ok := strings.Cut(text, "\n")
	if !ok || strings.TrimRight(opening, " \t\r") != "---" {
		return "", text, 1
	}
	line, at := 2, 0
	for l := range strings.Lines(after) {
		if strings.TrimRight(l, " \t\r\n") == "---" {
			return after[:at], after[at+len(l):], line + 1
		}
		if at += len(l); at > maxMatter {
			break
		}
		line++
	}
	return "", text, 1
}

// plain takes the marks out of text: emphasis, links, tags. What stands in backquotes stays.
func plain(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		n, keep := inline(s, i)
		b.WriteString(keep)
		i += n
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// inline reads one piece of marked text at i: how long it is, and what of it people see.
func inline(s string, i int) (n int, keep string) {
	switch c := s[i]; c {
	case '`':
		if end := codeEnd(s, i); end > 0 {
			return end - i, s[i:end]
		}
	case '\\':
		if i+1 < len(s) && strings.IndexByte("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", s[i+1]) >= 0 {
			return 2, s[i+1 : i+2]
		}
	case '*', '_', '~':
		if n := run(s[i:min(len(s), i+maxRun)], c); c != '~' && flanks(s, i, n) || c == '~' && n == 2 {
			return n, ""
		}
	case '!':
		if i+1 < len(s) && s[i+1] == '[' && linkEnd(s, i+1) > 0 {
			return 1, ""
		}
	case '[':
		if close := linkEnd(s, i); close > 0 {
			return 1, ""
		}
	case ']':
		if end := targetEnd(s, i); end > 0 {
			return end - i, ""
		}
	case '<':
		if end := tagEnd(s, i); end > 0 {
			return end - i, " "
		}
	}
	_, size := utf8.DecodeRuneInString(s[i:])
	return size, s[i : i+size]
}

// run is how often c stands at the start of s.
func run(s string, c byte) int {
	n := 0
	for n < len(s) && s[n] == c {
		n++
	}
	return n
}

// flanks reports whether a run of * or _ is a mark of emphasis: at the edge of a word, and not alone.
func flanks(s string, i, n int) bool {
	before, after := i > 0 && wordByte(s[i-1]), i+n < len(s) && wordByte(s[i+n])
	if s[i] == '_' && before && after || n > 3 {
		return false
	}
	space := func(k int) bool { return k < 0 || k >= len(s) || s[k] == ' ' || s[k] == '\t' || s[k] == '\n' }
	return !space(i-1) || !space(i+n)
}

func wordByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= utf8.RuneSelf
}

// maxInline is how far the end of code, a link or a tag is looked for, in bytes.
const maxInline = 1000

// maxRun is how many backquotes, or brackets in brackets, mean something.
const maxRun = 8

// codeEnd is behind the backquotes that end the code at i; 0 if none do.
func codeEnd(s string, i int) int {
	n := run(s[i:min(len(s), i+maxRun)], '`')
	if n == maxRun {
		return 0
	}
	for k, stop := i+n, min(len(s), i+n+maxInline); k < stop; k++ {
		if s[k] == '`' {
			m := run(s[k:min(len(s), k+maxRun)], '`')
			if m == n {
				return k + m
			}
			k += m - 1
		}
	}
	return 0
}

// linkEnd is where the text of a link that begins at i ends; 0 if it is none.
func linkEnd(s string, i int) int {
	depth := 0
	for k, stop := i, min(len(s), i+maxInline); k < stop; k++ {
		switch s[k] {
		case '[':
			if depth++; depth > maxRun {
				return 0
			}
		case ']':
			if depth--; depth == 0 {
				if targetEnd(s, k) > 0 {
					return k
				}
				return 0
			}
		}
	}
	return 0
}

// targetEnd is behind the target of a link whose text ends at i; 0 if there is none.
func targetEnd(s string, i int) int {
	if i+1 >= len(s) || s[i+1] != '(' && s[i+1] != '[' {
		return 0
	}
	opens, closes, depth := s[i+1], byte(')'), 0
	if opens == '[' {
		closes = ']'
	}
	for k, stop := i+1, min(len(s), i+maxInline); k < stop; k++ {
		switch s[k] {
		case opens:
			if depth++; depth > maxRun {
				return 0
			}
		case closes:
			if depth--; depth == 0 {
				return k + 1
			}
		case '\n':
			if k+1 < len(s) && s[k+1] == '\n' {
				return 0
			}
		}
	}
	return 0
}

// tagEnd is behind a tag or a comment of HTML at i; 0 if it is none.
func tagEnd(s string, i int) int {
	if strings.HasPrefix(s[i:], "<!--") {
		if end := strings.Index(s[i:min(len(s), i+4*maxInline)], "-->"); end > 0 {
			return i + end + 3
		}
		return 0
	}
	k := i + 1
	if k < len(s) && s[k] == '/' {
		k++
	}
	if k >= len(s) || !(s[k] >= 'a' && s[k] <= 'z' || s[k] >= 'A' && s[k] <= 'Z') {
		return 0
	}
	for name := k; k < len(s) && (wordByte(s[k]) || s[k] == '-'); k++ {
		if k-name > 20 {
			return 0
		}
	}
	end := strings.IndexByte(s[k:min(len(s), k+maxInline)], '>')
	if end < 0 || end > 0 && s[k] != ' ' && s[k] != '/' {
		return 0
	}
	return k + end + 1
}
