package check

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"tenet/internal/charset"
)

// Some characters hide words from a pattern and not from the program that runs the text, or its reader: characters without width inside a word,
// spaces beyond ASCII, line ends other than \n, and other forms of ASCII letters and digits, such as wide and mathematical ones, which Python
// takes for the letters in names. So do escapes of ASCII characters, such as \u0065, which Java, JavaScript and C# read in names and most
// languages in texts, and the quotes around the lines of a notebook. A text with any of them has a second reading without them, which patterns
// search too.

// charKind says what a character becomes in the second reading.
type charKind uint8

const (
	plainChar charKind = iota
	invisible          // left out
	lineEnd            // ends a line
	space              // an ASCII space
	variant            // the ASCII letters and digits that it is a form of
)

func kindOfChar(r rune) charKind {
	switch {
	case r == '\n' || r == '\t' || r >= ' ' && r < 0x7F:
		return plainChar
	case r == '\r', r == '\v', r == '\f', r >= 0x1C && r <= 0x1E, r == 0x85, r == 0x2028, r == 0x2029:
		return lineEnd
	case r == utf8.RuneError:
		return plainChar
	case unicode.Is(unicode.Zs, r):
		return space
	case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector):
		return invisible
	case charset.ASCIIForm(r) != "":
		return variant
	}
	return plainChar
}

// plain reports whether a text has no character that its second reading lacks.
func plain(s string) bool {
	beyond := false
	for i := 0; i < len(s); i++ {
		if c := s[i]; c == '\\' {
			reads, n := backslash(s[i:])
			if len(reads) != n {
				return false
			}
			i += n - 1
		} else if c >= utf8.RuneSelf {
			beyond = true
		} else if c < ' ' && c != '\n' && c != '\t' || c == 0x7F {
			return false
		}
	}
	if beyond {
		for _, r := range s {
			if r >= utf8.RuneSelf && kindOfChar(r) != plainChar {
				return false
			}
		}
	}
	return true
}

// backslash returns how the backslash that a text begins with reads, with what belongs to it, and the length of both: the character of an escape,
// two backslashes, of which the second begins no escape, or itself.
func backslash(s string) (reads string, n int) {
	if c, n := escaped(s); n > 0 {
		return string(rune(c)), n
	}
	if len(s) > 1 && s[1] == '\\' {
		return s[:2], 2
	}
	return s[:1], 1
}

// escaped returns the printable ASCII character whose escape a text begins with, and the length of the escape: \uXXXX, of which Java takes more than
// one u, \UXXXXXXXX, \u{X} or \xXX. The length is 0 if the text begins with none.
func escaped(s string) (c byte, n int) {
	if len(s) < 4 {
		return 0, 0
	}
	digits := 4
	switch n = 2; s[1] {
	case 'x':
		digits = 2
	case 'U':
		digits = 8
	case 'u':
		for n < len(s) && s[n] == 'u' {
			n++
		}
	default:
		return 0, 0
	}
	end := n + digits
	braces := n < len(s) && s[n] == '{'
	if braces {
		n++
		if end = n + strings.IndexByte(s[n:min(len(s), n+maxBraced+1)], '}'); end < n {
			return 0, 0
		}
	}
	if end > len(s) {
		return 0, 0
	}
	code, err := strconv.ParseUint(s[n:end], 16, 32)
	if err != nil || code < ' ' || code > '~' {
		return 0, 0
	}
	if braces {
		end++
	}
	return byte(code), end
}

// maxBraced bounds the digits of an escape in braces.
const maxBraced = 8

// unescaped returns a line with the characters of its escapes.
func unescaped(line string) string {
	at := strings.IndexByte(line, '\\')
	if at < 0 {
		return line
	}
	var b strings.Builder
	for at >= 0 {
		reads, n := backslash(line[at:])
		b.WriteString(line[:at])
		b.WriteString(reads)
		line = line[at+n:]
		at = strings.IndexByte(line, '\\')
	}
	b.WriteString(line)
	return b.String()
}

// reread returns a line in its second reading, with \n for line ends.
func reread(line string) string {
	var b strings.Builder
	for _, r := range unescaped(line) {
		switch kindOfChar(r) {
		case invisible:
		case lineEnd:
			b.WriteByte('\n')
		case space:
			b.WriteByte(' ')
		case variant:
			b.WriteString(charset.ASCIIForm(r))
		case plainChar:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// readAgain returns the second reading of a text, nil if it is the same. Lines that it splits are there once more in one piece, with
// spaces for the line ends.
func readAgain(t *content) *content {
	notebook := isNotebook(t.path)
	if !notebook && plain(t.body) {
		return nil
	}
	var w textWriter
	var origin []int32
	add := func(i int, line string, adjacent bool) {
		w.add(line, int(t.lines[i].number), 0, t.lines[i].added, adjacent)
		origin = append(origin, int32(i))
	}
	var joined []int
	if notebook {
		for _, c := range cellLines(t) {
			add(c.line, strings.ReplaceAll(reread(c.text), "\n", " "), c.adjacent)
		}
	}
	for i := range t.lines {
		first, split := true, false
		for part := range strings.SplitSeq(reread(t.line(i)), "\n") {
			add(i, part, !first || t.lines[i].adjacent)
			split = !first
			first = false
		}
		if split {
			joined = append(joined, i)
		}
	}
	for _, i := range joined {
		add(i, strings.ReplaceAll(reread(t.line(i)), "\n", " "), false)
	}
	w.text.body = w.body.String()
	w.text.index()
	w.text.of, w.text.origin = t, origin
	return &w.text
}
