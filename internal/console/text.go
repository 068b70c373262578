package console

import (
	"context"
	"fmt"
	"html"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/a-h/templ"
)

// Text that people, models or other systems have written is foreign: it may hold markup, characters that turn the direction of the
// text round them, characters that nobody sees, and lines of megabytes. The components below show all of it harmlessly: markup as
// text, what is invisible as a marked code point, and long lines folded.

// Bounds of what is shown at once, in bytes.
const (
	foldLine  = 2_000  // a longer line is folded
	foldHead  = 500    // of it shown before the fold
	cutText   = 64_000 // a longer text is cut: a page must stay readable, and the JSON has all
	briefText = 280    // of a text in a list
)

// foreign shows a text in a line of a page.
func foreign(s string) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		var b strings.Builder
		b.WriteString("<bdi>")
		writeLine(&b, s)
		b.WriteString("</bdi>")
		_, err := io.WriteString(w, b.String())
		return err
	})
}

// lines shows a text with its line breaks.
func lines(s string) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		var b strings.Builder
		cut := len(s) - cutText
		if cut > 0 {
			s = clipText(s, cutText)
		}
		b.WriteString(`<span class="lines">`)
		for i, line := range strings.Split(strings.TrimRight(s, "\n"), "\n") {
			if i > 0 {
				b.WriteByte('\n')
			}
			b.WriteString("<bdi>")
			writeLine(&b, strings.TrimSuffix(line, "\r"))
			b.WriteString("</bdi>")
		}
		b.WriteString("</span>")
		if cut > 0 {
			fmt.Fprintf(&b, `<span class="muted"> … %s more bytes, not shown here</span>`, grouped(int64(cut)))
		}
		_, err := io.WriteString(w, b.String())
		return err
	})
}

// brief shows the beginning of a text, for lists.
func brief(s string) templ.Component {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > briefText {
		s = clipText(s, briefText) + "…"
	}
	return foreign(s)
}

// writeLine writes a line as HTML, folded if it is long.
func writeLine(b *strings.Builder, s string) {
	if len(s) <= foldLine {
		writeText(b, s)
		return
	}
	before := clipText(s, foldHead)
	rest := s[len(before):]
	b.WriteString(`<span>`)
	writeText(b, before)
	shown := clipText(rest, cutText)
	fmt.Fprintf(b, `</span><details class="fold"><summary>%s more bytes in this line</summary>`, grouped(int64(len(rest))))
	writeText(b, shown)
	if len(shown) < len(rest) {
		fmt.Fprintf(b, ` … %s more bytes, not shown here`, grouped(int64(len(rest)-len(shown))))
	}
	b.WriteString(`</details>`)
}

// writeText writes a text as HTML with what is invisible marked.
func writeText(b *strings.Builder, s string) {
	from := 0
	for i, r := range s {
		size := utf8.RuneLen(r)
		if r == utf8.RuneError {
			_, size = utf8.DecodeRuneInString(s[i:])
		}
		if !hidden(r) && (r != utf8.RuneError || size > 1) {
			continue
		}
		b.WriteString(html.EscapeString(s[from:i]))
		name := fmt.Sprintf("U+%04X", r)
		if r == utf8.RuneError {
			name = fmt.Sprintf("byte %02X", s[i])
		}
		fmt.Fprintf(b, `<span class="cp" title="%s">%s</span>`, html.EscapeString(nameOf(r)), name)
		from = i + size
	}
	b.WriteString(html.EscapeString(s[from:]))
}

// visible is a text with what is invisible marked, for attributes and titles.
func visible(s string) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(s, "\uFFFD") {
		if hidden(r) {
			fmt.Fprintf(&b, "[U+%04X]", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// hidden reports whether a character shows nothing, or changes how the others are shown.
func hidden(r rune) bool {
	switch {
	case r == '\n' || r == '\t' || r == ' ':
		return false
	case r < 0x20 || r >= 0x7f && r < 0xa0:
		return true
	case r < 0x300:
		return r == 0xa0 || r == 0xad
	case unicode.Is(unicode.Cf, r), unicode.Is(unicode.Zs, r), unicode.Is(unicode.Zl, r), unicode.Is(unicode.Zp, r), unicode.Is(unicode.Co, r),
		unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r), unicode.Is(unicode.Variation_Selector, r):
		return true
	}
	return r == 0x2800 // the blank pattern of Braille
}

// names of the characters that turn direction, the ones that attacks use most.
var names = map[rune]string{
	0x202a: "left-to-right embedding", 0x202b: "right-to-left embedding", 0x202c: "pop directional formatting", 0x202d: "left-to-right override",
	0x202e: "right-to-left override", 0x2066: "left-to-right isolate", 0x2067: "right-to-left isolate", 0x2068: "first strong isolate",
	0x2069: "pop directional isolate", 0x200e: "left-to-right mark", 0x200f: "right-to-left mark", 0x061c: "Arabic letter mark",
	0x200b: "zero-width space", 0x200c: "zero-width non-joiner", 0x200d: "zero-width joiner", 0xfeff: "byte order mark", 0x00a0: "no-break space",
	0x00ad: "soft hyphen", 0x2060: "word joiner", 0x1b: "escape", 0x00: "NUL", 0x0d: "carriage return", utf8.RuneError: "not UTF-8",
}

func nameOf(r rune) string {
	if name, ok := names[r]; ok {
		return name
	}
	return "invisible character"
}

// clipText is the beginning of a text, at most n bytes of it, without half a character.
func clipText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// grouped writes a number with its thousands apart: 12,345.
func grouped(n int64) string {
	digits := fmt.Sprint(n)
	sign := ""
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// counted returns a number and the word for it: the singular for one, else the plural.
func counted(n int64, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return grouped(n) + " " + more
}
