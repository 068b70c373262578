package llm

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"strings"
	"unicode"
)

// JSON encodes a value for a prompt: on one line, and without the escapes that only HTML needs, since a model quotes what it
// reads. It panics on a value that does not encode.
func JSON(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic("llm: a value of a prompt must encode as JSON: " + err.Error())
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Fence returns a marker with a random part, which the author of text cannot have known and text does not contain.
func Fence(name, text string) string {
	for {
		var b [12]byte
		_, _ = rand.Read(b[:]) // never fails
		if marker := name + "-" + hex.EncodeToString(b[:]); !strings.Contains(text, marker) {
			return marker
		}
	}
}

// Clean makes a model's text fit for people: valid, trimmed, without characters that steer a terminal or reorder text.
func Clean(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if Hidden(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "")))
}

// Hidden reports whether r is a control or format character or a line separator.
func Hidden(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) }

// Unfenced removes the code fence that many models put around JSON against their instructions.
func Unfenced(text string) string {
	text = strings.TrimSpace(text)
	body, ok := strings.CutPrefix(text, "```json")
	if !ok {
		body, ok = strings.CutPrefix(text, "```")
	}
	if end, closed := strings.CutSuffix(body, "```"); ok && closed {
		return end
	}
	return text
}
