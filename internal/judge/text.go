package judge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"tenet/internal/llm"
)

// visible makes characters readable that a reader would not see, or that would move others: controls, line
// separators, bidirectional overrides, zero-width and tag characters become \u{...}. Tabs stay.
func visible(s string) string {
	plain := true
	for i := range len(s) {
		if c := s[i]; c >= utf8.RuneSelf || c < ' ' && c != '\t' || c == 0x7f {
			plain = false
			break
		}
	}
	if plain {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if r != '\t' && llm.Hidden(r) {
			fmt.Fprintf(&b, `\u{%x}`, r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// indentedJSON renders facts as the subject package searches them: sorted keys, two blanks, nothing escaped for HTML.
func indentedJSON(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return ""
	}
	return strings.TrimSuffix(b.String(), "\n")
}
