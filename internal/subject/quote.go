package subject

import (
	"regexp"
	"strings"
	"unicode"

	"tenet/internal/text"
)

// readings returns the texts that a quote may mean, the most literal first.
func readings(quote string) []string {
	if len(quote) > maxQuote {
		return nil
	}
	lines := strings.Split(strings.ReplaceAll(quote, "\r\n", "\n"), "\n")
	for len(lines) > 0 && strings.TrimSpace(lines[0]) == "" {
		lines = lines[1:]
	}
	for len(lines) > 0 && strings.TrimSpace(lines[len(lines)-1]) == "" {
		lines = lines[:len(lines)-1]
	}
	var out []string
	for _, variant := range [][]string{lines, unmarked(lines), unnumbered(lines), unmarked(unnumbered(lines)), unnumbered(unmarked(lines))} {
		text := strings.Join(variant, "\n")
		if longEnough(text) {
			out = append(out, text)
		}
	}
	return out
}

// longEnough reports whether a text has enough characters to prove something.
func longEnough(text string) bool {
	n := 0
	for _, r := range text {
		if !unicode.IsSpace(r) {
			if n++; n == MinQuote {
				return true
			}
		}
	}
	return false
}

// unmarked reads lines as a piece of a diff: without the marks of added and context lines, and without deleted lines, which
// are not in the new text, unless all are deleted. It returns nil if some line has no mark or none is + or -.
func unmarked(lines []string) []string {
	var current, deleted []string
	marked := false
	for _, l := range lines {
		switch {
		case strings.HasPrefix(l, "+"):
			current, marked = append(current, l[1:]), true
		case strings.HasPrefix(l, "-"):
			deleted, marked = append(deleted, l[1:]), true
		case l == "" || strings.HasPrefix(l, " "):
			current = append(current, strings.TrimPrefix(l, " "))
		default:
			return nil
		}
	}
	switch {
	case !marked:
		return nil
	case len(current) == 0:
		return deleted
	}
	return current
}

// gutter matches the number before a line of a listing, such as "  12| " or "12: ".
var gutter = regexp.MustCompile(`^[ \t]*L?[0-9]{1,7}[ \t]*[|:\x{2502}\x{2192}\t] ?`)

// unnumbered returns lines without their numbers. It returns nil if some line has none.
func unnumbered(lines []string) []string {
	var out []string
	for _, l := range lines {
		at := gutter.FindStringIndex(l)
		switch {
		case at != nil:
			out = append(out, l[at[1]:])
		case strings.TrimSpace(l) == "":
			out = append(out, "")
		default:
			return nil
		}
	}
	return out
}

// appendSquashed appends the squashed form of s to dst.
func appendSquashed(dst []byte, s string) []byte {
	begun := len(dst)
	for field := range strings.FieldsSeq(s) {
		if len(dst) > begun {
			dst = append(dst, ' ')
		}
		dst = append(dst, field...)
	}
	return dst
}

// Contains reports whether the text of the subject outside of files contains a quote: the action, the intent, the strings
// among the facts, or the facts as JSON with sorted keys, on one line or indented. Runs of white space are equal. A quote
// with fewer than [MinQuote] characters must be the whole of one of these texts.
func (s *Subject) Contains(quote string) bool {
	content := text.OneLine(quote)
	if content == "" || len(quote) > maxQuote {
		return false
	}
	short := !longEnough(content)
	in := func(whole string) bool {
		whole = text.OneLine(whole)
		return whole == content || !short && strings.Contains(whole, content)
	}
	if in(s.Action) || in(s.Intent) {
		return true
	}
	if len(s.Facts) == 0 {
		return false
	}
	return anyString(s.Facts, in) || in(factsJSON(s.Facts, "")) || in(factsJSON(s.Facts, "  ")) || in(spacedJSON(factsJSON(s.Facts, "")))
}

// anyString reports whether in holds for a string in a value of facts.
func anyString(v any, in func(string) bool) bool {
	switch v := v.(type) {
	case string:
		return in(v)
	case []any:
		for _, inner := range v {
			if anyString(inner, in) {
				return true
			}
		}
	case map[string]any:
		for _, inner := range v {
			if anyString(inner, in) {
				return true
			}
		}
	}
	return false
}

// spacedJSON puts a blank after every colon and comma of compact JSON that is not in a string.
func spacedJSON(compact string) string {
	var b strings.Builder
	quoted := false
	for i := 0; i < len(compact); i++ {
		c := compact[i]
		b.WriteByte(c)
		switch {
		case quoted && c == '\\':
			i++
			b.WriteByte(compact[i])
		case c == '"':
			quoted = !quoted
		case !quoted && (c == ':' || c == ','):
			b.WriteByte(' ')
		}
	}
	return b.String()
}
