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
// and characters that are assigned; other bytes rarely have both. A text that reads as another one without its NULs is not ok.
func (w *wide) guess(b []byte) (text string, found, ok bool) {
	if len(b) < 2*w.size {
		return "", false, false
	}
	text, valid := w.decode(b)
	if !valid || asciiRun(b) || utf8.RuneCountInString(text)*w.size < len(b)/2 || !isText(text) {
		return "", false, false
	}
	return text, true, !w.readsNarrow(b, false)
}

// maxASCIIRun is how many printable ASCII bytes may follow one another in text of a wide encoding. An ideograph may well be two
// such bytes, four in a row hardly.
const maxASCIIRun = 7

// readsNarrow reports whether bytes that a wide encoding reads as other characters are words for an interpreter that ignores the
// encoding and drops NULs: to it, the four characters of UTF-16 in `e\0val(x)` are a call. A byte order mark makes the encoding likely, so
// that it takes a word of four letters; without one it takes two characters in a row.
func (w *wide) readsNarrow(b []byte, marked bool) bool {
	const word = 4
	if marked {
		return asciiRun(b) || w.hides(b, word, isLetter)
	}
	return asciiRun(b) || w.hides(b, 2, isPrintable)
}

func isPrintable(c byte) bool { return ' ' <= c && c <= '~' }

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// asciiRun reports whether bytes hold a run of ASCII.
func asciiRun(b []byte) bool {
	run := 0
	for _, c := range b {
		if run++; !isPrintable(c) {
			run = 0
		}
		if run > maxASCIIRun {
			return true
		}
	}
	return false
}

// hides reports whether bytes of a kind follow one another, NULs aside, of which this encoding reads two or more as parts of other
// characters. Dashes, quotes and signs of currencies do not count: texts that are ASCII otherwise have them.
func (w *wide) hides(b []byte, longest int, kind func(byte) bool) bool {
	run, hidden := 0, 0
	for ; len(b) >= w.size; b = b[w.size:] {
		r := w.unit(b)
		shown := r < 0x100 || 0x2000 <= r && r < 0x2100
		for _, c := range b[:w.size] {
			switch {
			case c == 0:
				continue
			case !kind(c):
				run, hidden = 0, 0
				continue
			case !shown:
				hidden++
			}
			if run++; run >= longest && hidden >= 2 {
				return true
			}
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
			if !ok || strings.ContainsAny(text, "\n") {
				return nil, false
			}
			out[i] = text
		}
		if w.readsNarrow([]byte(strings.Join(pieces, "")), false) {
			return nil, false
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
