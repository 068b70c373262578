package subject

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// readings lists the texts that a quote may mean, the most literal first.
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
		if telling(text) {
			out = append(out, text)
		}
	}
	return out
}

// telling reports whether a text has enough in it to prove something.
func telling(text string) bool {
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
// are not in the new text, unless there are no others. It returns nil where some line bears no mark or none is + or -.
func unmarked(lines []string) []string {
	var kept, deleted []string
	marked := false
	for _, l := range lines {
		switch {
		case strings.HasPrefix(l, "+"):
			kept, marked = append(kept, l[1:]), true
		case strings.HasPrefix(l, "-"):
			deleted, marked = append(deleted, l[1:]), true
		case l == "" || strings.HasPrefix(l, " "):
			kept = append(kept, strings.TrimPrefix(l, " "))
		default:
			return nil
		}
	}
	switch {
	case !marked:
		return nil
	case len(kept) == 0:
		return deleted
	}
	return kept
}

// gutter matches the number in front of a line of a listing, such as "  12| " or "12: ".
var gutter = regexp.MustCompile(`^[ \t]*L?[0-9]{1,7}[ \t]*[|:\x{2502}\x{2192}\t] ?`)

// unnumbered takes line numbers off. It returns nil where some line has none.
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

// squash makes every run of white space one blank and drops it at the ends.
func squash(s string) string { return strings.Join(strings.Fields(s), " ") }

// appendSquashed appends the squashed form of s to dst.
func appendSquashed(dst []byte, s string) []byte {
	pending := false
	begun := len(dst)
	for i := 0; i < len(s); {
		size, space := 1, false
		if c := s[i]; c < utf8.RuneSelf {
			space = c == ' ' || '\t' <= c && c <= '\r'
		} else {
			var r rune
			r, size = utf8.DecodeRuneInString(s[i:])
			space = unicode.IsSpace(r)
		}
		if space {
			pending = len(dst) > begun
		} else {
			if pending {
				dst = append(dst, ' ')
				pending = false
			}
			dst = append(dst, s[i:i+size]...)
		}
		i += size
	}
	return dst
}

// Contains reports whether a quote stands in the text of the subject that belongs to no file: the action, the intent, the
// strings among the facts, or the facts as JSON with sorted keys, on one line or indented. Runs of white space are equal. A
// quote with fewer than [MinQuote] characters is found only if it is the whole of one of these texts.
func (s *Subject) Contains(quote string) bool {
	text := squash(quote)
	if text == "" || len(quote) > maxQuote {
		return false
	}
	short := !telling(text)
	in := func(whole string) bool {
		whole = squash(whole)
		return whole == text || !short && strings.Contains(whole, text)
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

// spacedJSON puts a blank behind every colon and comma of compact JSON that is not in a string.
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
