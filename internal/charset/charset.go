// Package charset reads bytes as text whatever their encoding is, and recognises media (images, fonts, sound, video) by their
// content. What it cannot read for certain it refuses: a text that was read in the wrong encoding hides what it says.
package charset

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// Decode reads bytes as text. The name is that of the encoding: UTF-8, UTF-16LE, UTF-16BE, UTF-32LE, UTF-32BE or Windows-1252,
// which includes Latin-1. A byte order mark is no part of the text. NUL characters, which tools ignore in comments and shells
// everywhere, are left out.
//
// Decode returns false for bytes that are no text, and for those that two encodings read as different texts, such as program
// text after the byte order mark of UTF-16: a reader could be shown one of them and an interpreter run the other.
func Decode(b []byte) (text, name string, ok bool) {
	if rest, marked := bytes.CutPrefix(b, []byte("\xef\xbb\xbf")); marked && utf8.Valid(rest) {
		b = rest
	}
	if text, name, marked, ok := decodeMarked(b); marked {
		return text, name, ok
	}
	if bytes.IndexByte(b, 0) < 0 && utf8.Valid(b) {
		return string(b), "UTF-8", plausible(string(b))
	}
	for _, w := range wides {
		if text, found, ok := w.guess(b); found {
			return text, w.name, ok
		}
	}
	b = bytes.ReplaceAll(b, []byte{0}, nil)
	if utf8.Valid(b) {
		return string(b), "UTF-8", plausible(string(b))
	}
	text = windows1252(b)
	return text, "Windows-1252", plausible(text)
}

// decodeMarked reads bytes that begin with the byte order mark of a wide encoding.
func decodeMarked(b []byte) (text, name string, marked, ok bool) {
	for _, w := range wides { // UTF-32 first: its mark in little endian begins with that of UTF-16
		rest, found := bytes.CutPrefix(b, w.mark)
		if !found || w.size == 4 && len(b)%4 != 0 {
			continue
		}
		text, ok = w.decode(rest)
		return text, w.name, true, ok && plausible(text) && !w.readsNarrow(rest, true)
	}
	return "", "", false, false
}

// plausible reports whether a decoded text reads like one: hardly any control characters, and of characters that replace or
// mean nothing.
func plausible(text string) bool {
	odd, total := 0, 0
	for _, r := range text {
		total++
		if isOdd(r) {
			odd++
		}
	}
	return odd*100 <= total
}

// isOdd reports whether texts do not have a character: a control character other than white space, backspace and escape, a
// character of private use, or none at all. U+FFFD is not odd: a text that went through JSON has it for its other bytes.
func isOdd(r rune) bool {
	switch {
	case r < ' ':
		return !strings.ContainsRune("\t\n\v\f\r\b\x1b", r)
	case r < 0x7f, r == utf8.RuneError:
		return false
	}
	return r == 0x7f || unicode.In(r, unicode.Cc, unicode.Co) || r&0xfffe == 0xfffe || 0xfdd0 <= r && r <= 0xfdef
}

// windows1252 reads every byte as one character. The five bytes that mean nothing become control characters, which
// [plausible] counts.
func windows1252(b []byte) string {
	var out strings.Builder
	out.Grow(len(b) + len(b)/8)
	for _, c := range b {
		out.WriteRune(Byte(c))
	}
	return out.String()
}

// Byte returns the character of one byte in Windows-1252; for the five bytes without one, the control character of Latin-1.
func Byte(c byte) rune {
	if r := charmap.Windows1252.DecodeByte(c); r != utf8.RuneError {
		return r
	}
	return rune(c)
}

// Line returns a line of text as UTF-8. Bytes that are not UTF-8 are read as Windows-1252 if the line is plausible then, else
// replaced by U+FFFD.
func Line(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var out strings.Builder
	out.Grow(len(s) + 8)
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			if r = Byte(s[i]); isOdd(r) {
				return strings.ToValidUTF8(s, "\uFFFD")
			}
		} else if isOdd(r) {
			return strings.ToValidUTF8(s, "\uFFFD")
		}
		out.WriteRune(r)
		i += size
	}
	return out.String()
}
