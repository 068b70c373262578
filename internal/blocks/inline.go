package blocks

import (
	"strings"
	"unicode/utf8"

	"tenet/internal/text"
)

// Plain removes the marks of emphasis, links and tags from s. Code keeps its backquotes.
func Plain(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		n, keep := Inline(s, i)
		b.WriteString(keep)
		i += n
	}
	return text.OneLine(b.String())
}

// Inline reads one piece of marked text at i. It returns the length of the piece and the part of it that people see.
func Inline(s string, i int) (n int, keep string) {
	switch c := s[i]; c {
	case '`':
		if end := CodeEnd(s, i); end > 0 {
			if end < len(s) && s[end] == '_' && (end+1 == len(s) || !WordByte(s[end+1])) {
				return end - i + run(s[end:min(len(s), end+2)], '_'), shown(s[i:end])
			}
			return end - i, s[i:end]
		}
	case '\\':
		if i+1 < len(s) && strings.IndexByte("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", s[i+1]) >= 0 {
			return 2, s[i+1 : i+2]
		}
		if i+1 < len(s) && s[i+1] == '\n' { // a line that is broken by hand
			return 2, " "
		}
	case ':':
		if open := roleEnd(s, i); open > 0 {
			if end := CodeEnd(s, open); end > 0 {
				return end - i, shown(s[open:end])
			}
		}
	case '*', '_', '~':
		if n := run(s[i:min(len(s), i+maxRun)], c); c != '~' && flanks(s, i, n) || c == '~' && n == 2 {
			return n, ""
		}
	case '!':
		if i+1 < len(s) && s[i+1] == '[' && labelEnd(s, i+1) > 0 {
			return 1, ""
		}
	case '[':
		if close := labelEnd(s, i); close > 0 {
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

// roleEnd returns the index of the backquote behind a role of reStructuredText, such as :ref:, at i; 0 if s has none there.
func roleEnd(s string, i int) int {
	k := i + 1
	for k < len(s) && k-i < 40 && (s[k] >= 'a' && s[k] <= 'z' || s[k] >= 'A' && s[k] <= 'Z' || k > i+1 && strings.IndexByte(":-+_.", s[k]) >= 0) {
		k++
	}
	if k < len(s) && s[k] == '`' && k > i+2 && s[k-1] == ':' && (i == 0 || !WordByte(s[i-1])) {
		return k
	}
	return 0
}

// shown returns the text of a link of reStructuredText between backquotes, without its target.
func shown(s string) string {
	s = strings.Trim(s, "`")
	if at := strings.LastIndexByte(s, '<'); at > 0 && strings.HasSuffix(s, ">") {
		s = strings.TrimSpace(s[:at])
	}
	return strings.TrimPrefix(s, "~")
}

// run returns how often s begins with c.
func run(s string, c byte) int {
	n := 0
	for n < len(s) && s[n] == c {
		n++
	}
	return n
}

// flanks reports whether a run of * or _ is a mark of emphasis: at the edge of a word, and not alone.
func flanks(s string, i, n int) bool {
	before, after := i > 0 && WordByte(s[i-1]), i+n < len(s) && WordByte(s[i+n])
	if s[i] == '_' && before && after || n > 3 {
		return false
	}
	space := func(k int) bool { return k < 0 || k >= len(s) || s[k] == ' ' || s[k] == '\t' || s[k] == '\n' }
	return !space(i-1) || !space(i+n)
}

// maxInline bounds the search for the end of code, a link or a tag, in bytes.
const maxInline = 1000

// maxRun bounds runs of backquotes and the nesting of brackets.
const maxRun = 8

// CodeEnd returns the index after the backquotes that end the code at i; 0 if none do.
func CodeEnd(s string, i int) int {
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

// LinkEnd returns the index after the link that begins at i, with its target; 0 if s has no link there.
func LinkEnd(s string, i int) int {
	if end := labelEnd(s, i); end > 0 {
		return targetEnd(s, end)
	}
	return 0
}

// labelEnd returns the index of the bracket that ends the text of the link at i; 0 if s has no link there.
func labelEnd(s string, i int) int {
	if end := closing(s, i, '[', ']'); end > 0 && targetEnd(s, end) > 0 {
		return end
	}
	return 0
}

// targetEnd returns the index after the target of a link whose text ends at i; 0 if it has none.
func targetEnd(s string, i int) int {
	end := closing(s, i+1, '(', ')')
	if end == 0 {
		end = closing(s, i+1, '[', ']')
	}
	return end + min(end, 1)
}

// closing returns the index of the bracket that closes the one at i; 0 if none does or s has none there.
func closing(s string, i int, opens, closes byte) int {
	if i >= len(s) || s[i] != opens {
		return 0
	}
	depth := 0
	for k := i; k < min(len(s), i+maxInline); k++ {
		switch s[k] {
		case opens:
			if depth++; depth > maxRun {
				return 0
			}
		case closes:
			if depth--; depth == 0 {
				return k
			}
		}
	}
	return 0
}

// blank reports whether what is between < and > is a blank to fill in, such as Your Company, and no tag.
func blank(name string) bool {
	return strings.Contains(name, " ") && name[0] >= 'A' && name[0] <= 'Z' && !strings.ContainsAny(name, "=/{\"'")
}

// tagEnd returns the index after the tag or comment of HTML at i; 0 if s has none there.
func tagEnd(s string, i int) int {
	if strings.HasPrefix(s[i:], "<!--") {
		if end := strings.Index(s[i:min(len(s), i+4*maxInline)], "-->"); end > 0 {
			return i + end + 3
		}
		return 0
	}
	end := strings.IndexByte(s[i:min(len(s), i+maxInline)], '>')
	if end < 0 {
		return 0
	}
	name := strings.TrimPrefix(s[i+1:i+end], "/")
	if blank(name) {
		return 0
	}
	if n := strings.IndexAny(name, " /"); n >= 0 {
		name = name[:n]
	}
	other := func(r rune) bool { return r != '-' && r < utf8.RuneSelf && !WordByte(byte(r)) }
	if name == "" || len(name) > 20 || strings.IndexByte("-0123456789", name[0]) >= 0 || strings.ContainsFunc(name, other) {
		return 0
	}
	return i + end + 1
}
