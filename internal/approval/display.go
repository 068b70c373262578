package approval

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"tenet/internal/rule"
	"tenet/internal/wire"
)

// deceiving are characters that show nothing although Unicode counts them among letters and marks.
var deceiving = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x034f, Hi: 0x034f, Stride: 1},
		{Lo: 0x115f, Hi: 0x1160, Stride: 1},
		{Lo: 0x17b4, Hi: 0x17b5, Stride: 1},
		{Lo: 0x180b, Hi: 0x180f, Stride: 1},
		{Lo: 0x2800, Hi: 0x2800, Stride: 1},
		{Lo: 0x3164, Hi: 0x3164, Stride: 1},
		{Lo: 0xfe00, Hi: 0xfe0f, Stride: 1},
		{Lo: 0xffa0, Hi: 0xffa0, Stride: 1},
	},
	R32: []unicode.Range32{{Lo: 0xe0000, Hi: 0xe0fff, Stride: 1}},
}

// hidden reports whether people cannot see a character, or take it for another: controls except the end of a line and the tab, formats such as
// the direction of text, spaces other than the usual one, and private or unassigned places.
func hidden(r rune) bool {
	switch {
	case r == '\n' || r == '\t' || r == ' ':
		return false
	case r < utf8.RuneSelf:
		return r < ' ' || r == 0x7f
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Z, deceiving) || !unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S)
}

// Visible returns a text with the characters that people cannot see written as ⟨U+202E⟩, and bytes that are not UTF-8 as ⟨0xFF⟩, and how
// many there were. Nothing is left out.
func Visible(text string) (visible string, marks int) {
	var b strings.Builder
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, "⟨0x%02X⟩", text[i])
			marks++
		case hidden(r):
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
			marks++
		default:
			b.WriteString(text[i : i+size])
		}
		i += size
	}
	if marks == 0 {
		return text, 0
	}
	return b.String(), marks
}

// visibleLine is a text on one line, with what people cannot see written out.
func visibleLine(text string) string {
	line, _ := Visible(strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\t' || r == ' ' }), " "))
	return line
}

// Display writes a subject as texts for people: complete, and with what people cannot see written out.
func Display(s *wire.RecordedSubject) ([]wire.ApprovalText, error) {
	list := []wire.ApprovalText{}
	add := func(name, text string) {
		if text == "" {
			return
		}
		name, _ = Visible(name)
		text, marks := Visible(text)
		list = append(list, wire.ApprovalText{Name: name, Text: text, Marks: marks})
	}
	add("action", s.Action)
	if len(s.Facts) > 0 {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		if err := enc.Encode(s.Facts); err != nil {
			return nil, fmt.Errorf("approval: facts: %w", err)
		}
		add("facts", strings.TrimSuffix(b.String(), "\n"))
	}
	add("diff", s.Diff)
	for i := range s.Files {
		f := &s.Files[i]
		switch {
		case f.Content != nil && *f.Content == "":
			list = append(list, wire.ApprovalText{Name: visibleLine(f.Path), Text: ""})
		case f.Content != nil:
			add(f.Path, *f.Content)
		case f.ContentBase64 != nil:
			add(f.Path+" (base64)", *f.ContentBase64)
		default:
			add(f.Path, "(only its path is known)")
		}
		if f.Incomplete != "" {
			add(f.Path+", left out", f.Incomplete)
		}
	}
	add("intent", s.Intent)
	add("repository", s.Repository)
	add("scope", s.Scope)
	return list, nil
}

// effect says in words what follows from an approval.
func effect(a *rule.Approval) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s may do exactly this ", visibleLine(a.Requester))
	switch {
	case a.Uses == 1:
		b.WriteString("once")
	case a.Uses > 1:
		fmt.Fprintf(&b, "%d times", a.Uses)
	default:
		b.WriteString("any number of times")
	}
	if a.ValidUntil != nil {
		b.WriteString(" until " + a.ValidUntil.UTC().Format("2006-01-02 15:04 UTC"))
	} else {
		fmt.Fprintf(&b, " within %d hours of the approval", int(rule.DefaultApprovalTime.Hours()))
	}
	if a.Change != nil {
		b.WriteString(": the change of the federation shown here, for the reason shown here. A changed rule needs another approval.")
		return b.String()
	}
	b.WriteString(": an evaluation of the same subject is then ALLOW")
	switch n := len(a.Rules); {
	case n > 0:
		fmt.Fprintf(&b, ", if nothing but the %s listed here asks for confirmation and none denies it", plural(n, "rule"))
	case a.Uncovered:
		b.WriteString(" although no rule covers it, if none denies it by then")
	}
	b.WriteString(". A changed subject or rule needs another approval.")
	return b.String()
}

func plural(n int, noun string) string {
	if n == 1 {
		return noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
