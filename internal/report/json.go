package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// writeJSON writes any value as indented JSON that is safe to look at: invisible and control characters, which the
// encoder leaves in strings as they are, become \u escapes. To a JSON reader nothing changes.
func writeJSON(b *bytes.Buffer, v any) error {
	var raw bytes.Buffer
	enc := json.NewEncoder(&raw)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("encode report: %w", err)
	}
	text := raw.Bytes()
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		switch {
		case r < 0x7f || unicode.IsGraphic(r):
			b.Write(text[:n])
		case r <= 0xffff:
			fmt.Fprintf(b, `\u%04x`, r)
		default:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(b, `\u%04x\u%04x`, high, low)
		}
		text = text[n:]
	}
	return nil
}
