package pin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
)

// hidden lists, in words, the kinds of characters of a definition that a reader does not see and a model does.
func hidden(text []byte) []string {
	var v any
	if json.Unmarshal(text, &v) != nil {
		return nil
	}
	found := map[rune]int{}
	walk(v, func(s string) {
		for _, r := range s {
			if unseen(r) {
				found[r]++
			}
		}
	})
	var first rune
	n := 0
	for r, times := range found {
		if n += times; first == 0 || r < first {
			first = r
		}
	}
	switch {
	case n == 0:
		return nil
	case n == 1:
		return []string{fmt.Sprintf("it holds a hidden character, %U", first)}
	}
	return []string{fmt.Sprintf("it holds %d hidden characters, such as %U", n, first)}
}

// Shown returns a definition with the characters that a reader would not see by their numbers.
func Shown(definition []byte) string {
	var b strings.Builder
	var v any
	text := string(definition)
	if out := new(bytes.Buffer); json.Unmarshal(definition, &v) == nil {
		e := json.NewEncoder(out) // escapes in JSON hide characters too
		e.SetEscapeHTML(false)
		if e.Encode(v) == nil {
			text = strings.TrimSpace(out.String())
		}
	}
	for _, r := range text {
		if unseen(r) {
			fmt.Fprintf(&b, "<%U>", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

func walk(v any, visit func(string)) {
	switch v := v.(type) {
	case string:
		visit(v)
	case []any:
		for _, inner := range v {
			walk(inner, visit)
		}
	case map[string]any:
		for name, inner := range v {
			visit(name)
			walk(inner, visit)
		}
	}
}

// unseen reports whether a character has no picture: controls, marks of direction, characters without width, tags, and selectors of
// variants beyond those that emoji use.
func unseen(r rune) bool {
	switch {
	case r == '\n' || r == '\r' || r == '\t':
		return false
	case r >= 0xFE00 && r <= 0xFE0D, r >= 0xE0100 && r <= 0xE01EF, r == 0x115F, r == 0x1160, r == 0x3164, r == 0xFFA0, r == 0x2800:
		return true
	}
	return !unicode.IsGraphic(r)
}
