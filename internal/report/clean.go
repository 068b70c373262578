package report

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

const tab = "    "

// clean makes s harmless on one line of a terminal or log: a tab becomes spaces, and everything that is neither a
// letter, mark, number, punctuation, symbol nor space becomes a visible escape such as \x1b or \u202e. That takes in
// terminal controls, line ends, marks that turn the direction of text, invisible characters, and invalid UTF-8.
func clean(s string) string {
	if !dirty(s) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case r == '\t':
			b.WriteString(tab)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case unicode.IsGraphic(r):
			b.WriteRune(r)
		case r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
		s = s[n:]
	}
	return b.String()
}

func dirty(s string) bool {
	for i, r := range s {
		if r >= ' ' && r < 0x7f {
			continue
		}
		if !unicode.IsGraphic(r) {
			return true
		}
		if r == utf8.RuneError {
			if _, n := utf8.DecodeRuneInString(s[i:]); n == 1 {
				return true
			}
		}
	}
	return false
}

// cleanLines splits a text of several lines, leaves out empty ones at both ends, and cleans each.
func cleanLines(s string) []string {
	lines := strings.Split(strings.Trim(strings.ReplaceAll(s, "\r\n", "\n"), "\r\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(clean(line), " ")
	}
	return lines
}

// cleanText is cleanLines as one string.
func cleanText(s string) string { return strings.Join(cleanLines(s), "\n") }

// headline is the first line of a text, cleaned and cut to so many characters.
func headline(s string, longest int) string {
	lines := cleanLines(s)
	line := []rune(lines[0])
	if len(line) > longest {
		return string(line[:longest-3]) + "..."
	}
	if len(lines) > 1 {
		return string(line) + " ..."
	}
	return string(line)
}

// Line writes a hostile text on one line, cleaned and cut to so many characters.
func Line(s string, longest int) string { return headline(strings.Join(cleanLines(s), " "), longest) }
