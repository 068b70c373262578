package extract

import (
	"bytes"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// encoding is one that a byte order mark tells.
type encoding int

const (
	unmarked encoding = iota
	utf8Marked
	utf16le
	utf16be
)

// mark reads a byte order mark and returns its length.
func mark(data []byte) (encoding, int) {
	switch {
	case bytes.HasPrefix(data, []byte("\xef\xbb\xbf")):
		return utf8Marked, 3
	case bytes.HasPrefix(data, []byte("\xff\xfe")):
		return utf16le, 2
	case bytes.HasPrefix(data, []byte("\xfe\xff")):
		return utf16be, 2
	}
	return unmarked, 0
}

// decode makes text of bytes: UTF-16 with a byte order mark, UTF-8, and everything else as Windows-1252, of which Latin-1
// is a part. Line ends become \n.
func decode(data []byte) string {
	kind, n := mark(data)
	data = data[n:]
	var text string
	switch {
	case kind == utf16le || kind == utf16be:
		units := make([]uint16, len(data)/2)
		for i := range units {
			a, b := uint16(data[2*i]), uint16(data[2*i+1])
			if kind == utf16be {
				a, b = b, a
			}
			units[i] = a | b<<8
		}
		text = string(utf16.Decode(units))
	case utf8.Valid(data), kind == utf8Marked:
		text = strings.ToValidUTF8(string(data), "\uFFFD")
	default:
		decoded, err := charmap.Windows1252.NewDecoder().Bytes(data)
		if err != nil { // it maps every byte, so this does not happen
			decoded = bytes.ToValidUTF8(data, []byte("\uFFFD"))
		}
		text = string(decoded)
	}
	return strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
}
