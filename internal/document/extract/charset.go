package extract

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// wide reports whether data begins with the byte order mark of UTF-16.
func wide(data []byte) bool {
	return bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff"))
}

// decode makes text of bytes: UTF-16 or UTF-8 with a byte order mark, UTF-8, and everything else as Windows-1252, which includes
// Latin-1. Line ends become \n.
func decode(data []byte) string {
	fallback := transform.Transformer(charmap.Windows1252.NewDecoder())
	if utf8.Valid(data) {
		fallback = unicode.UTF8.NewDecoder()
	}
	decoded, _, err := transform.Bytes(unicode.BOMOverride(fallback), data)
	if err != nil { // they map every byte, so this does not happen
		decoded = bytes.ToValidUTF8(data, []byte("\uFFFD"))
	}
	return strings.ReplaceAll(strings.ReplaceAll(string(decoded), "\r\n", "\n"), "\r", "\n")
}
