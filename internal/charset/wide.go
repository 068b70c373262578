package charset

import (
	"encoding/binary"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// wide is an encoding with units of 2 or 4 bytes.
type wide struct {
	name  string
	mark  []byte // its byte order mark
	size  int    // of a unit, in bytes
	order binary.ByteOrder
}

// wides are the wide encodings, those of 4 bytes first.
var wides = []wide{
	{"UTF-32LE", []byte("\xff\xfe\x00\x00"), 4, binary.LittleEndian},
	{"UTF-32BE", []byte("\x00\x00\xfe\xff"), 4, binary.BigEndian},
	{"UTF-16LE", []byte("\xff\xfe"), 2, binary.LittleEndian},
	{"UTF-16BE", []byte("\xfe\xff"), 2, binary.BigEndian},
}

// decode reads all bytes. It returns false if they are not whole units or some unit is no character.
func (w *wide) decode(b []byte) (string, bool) {
	if len(b)%w.size != 0 {
		return "", false
	}
	var out strings.Builder
	out.Grow(len(b))
	for i := 0; i < len(b); i += w.size {
		r := w.unit(b[i:])
		if utf16.IsSurrogate(r) && w.size == 2 && i+4 <= len(b) {
			if r = utf16.DecodeRune(r, w.unit(b[i+2:])); r == utf8.RuneError {
				return "", false
			}
			i += 2
		}
		if !utf8.ValidRune(r) {
			return "", false
		}
		if r != 0 {
			out.WriteRune(r)
		}
	}
	return out.String(), true
}

func (w *wide) unit(b []byte) rune {
	if w.size == 2 {
		return rune(w.order.Uint16(b))
	}
	return rune(min(w.order.Uint32(b), unicode.MaxRune+1)) // which is no character
}

// guess reads bytes without a byte order mark. Texts have blanks and line ends, whose units have NULs in this order of bytes,
// and characters that are assigned; other bytes rarely have both.
func (w *wide) guess(b []byte) (string, bool) {
	if len(b) < 2*w.size {
		return "", false
	}
	text, ok := w.decode(b)
	if !ok || asciiRun(b) {
		return "", false
	}
	return text, utf8.RuneCountInString(text)*w.size >= len(b)/2 && isText(text)
}

// maxASCIIRun is how many printable ASCII bytes may follow one another in text of a wide encoding. An ideograph may well be two
// such bytes, four in a row hardly.
const maxASCIIRun = 7

// asciiRun reports whether bytes that a wide encoding reads as other characters hold a run of ASCII, which an
// interpreter that ignores the encoding reads.
func asciiRun(b []byte) bool {
	run := 0
	for _, c := range b {
		if run++; c < ' ' || c > '~' {
			run = 0
		}
		if run > maxASCIIRun {
			return true
		}
	}
	return false
}

// DecodeWide reads pieces of one text in a wide encoding, such as lines without their line ends. A byte order mark may begin any
// of them. It returns false unless all of them together are text in this encoding.
func DecodeWide(pieces []string, encoding string) ([]string, bool) {
	for _, w := range wides {
		if w.name != encoding {
			continue
		}
		out := make([]string, len(pieces))
		for i, s := range pieces {
			text, ok := w.decode([]byte(strings.TrimPrefix(s, string(w.mark))))
			if !ok || strings.ContainsAny(text, "\n") || asciiRun([]byte(s)) {
				return nil, false
			}
			out[i] = text
		}
		all := strings.Join(out, "\n")
		return out, isText(all)
	}
	return nil, false
}

// isText reports whether characters that were read in a wide encoding are those of a text: printable, and some of them Latin.
func isText(text string) bool {
	latin, total := 0, 0
	for _, r := range text {
		total++
		switch {
		case r < 0x100:
			latin++
		case !unicode.IsPrint(r) && !unicode.IsSpace(r) && !unicode.In(r, unicode.Cf):
			return false
		}
	}
	return latin*10 >= total && plausible(text)
}
