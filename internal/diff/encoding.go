package diff

import (
	"strings"
	"unicode/utf8"

	"tenet/internal/charset"
)

// unmarkedText returns a diff without the byte order mark at its beginning, as UTF-8 if that is the mark of a wide encoding.
func unmarkedText(text string) string {
	text = strings.TrimPrefix(text, "\ufeff")
	if strings.HasPrefix(text, "\xff\xfe") || strings.HasPrefix(text, "\xfe\xff") {
		if decoded, _, ok := charset.Decode([]byte(text)); ok {
			return decoded
		}
	}
	return text
}

// lineText returns the text of a line in a hunk, and notes if it is none. In a diff with NULs it returns the line as it is.
func (p *parser) lineText(s string) string {
	if p.nul {
		return s
	}
	text := LineText(s)
	p.garbled = p.garbled || len(text) != len(s) && !utf8.ValidString(s) && strings.Contains(text, "\uFFFD")
	return text
}

// decodeLines decodes the lines of a file in a diff with NULs: as UTF-16 if they are that all together, else without the NULs. It
// reports whether they are text only in part.
func (p *parser) decodeLines(f *File) (garbled bool) {
	nul := false
	for i := range f.Hunks {
		for k := range f.Hunks[i].Lines {
			nul = nul || strings.IndexByte(f.Hunks[i].Lines[k].Text, 0) >= 0
		}
	}
	if nul && (decodeWide(f, "UTF-16LE") || decodeWide(f, "UTF-16BE")) {
		return false
	}
	var all strings.Builder
	for i := range f.Hunks {
		for k := range f.Hunks[i].Lines {
			l := &f.Hunks[i].Lines[k]
			raw := l.Text
			l.Text = LineText(strings.ReplaceAll(raw, "\x00", ""))
			garbled = garbled || !utf8.ValidString(raw) && strings.Contains(l.Text, "\uFFFD")
			if nul {
				all.WriteString(l.Text)
			}
		}
	}
	if nul {
		_, _, ok := charset.Decode([]byte(all.String()))
		replaced := strings.Count(all.String(), "\uFFFD")
		garbled = garbled || !ok || replaced*10 > utf8.RuneCountInString(all.String())
	}
	return garbled
}

// decodeWide reads the lines of a file in an encoding of two bytes, and changes them if all of them are that. A line end is two
// bytes, and git ends a line at the one that is \n: the NUL before it ends its line in big endian, the one after it begins the
// next line in little endian.
func decodeWide(f *File, encoding string) bool {
	var texts []string
	for i := range f.Hunks {
		for _, l := range f.Hunks[i].Lines {
			text := l.Text
			if len(text)%2 == 1 {
				cut := false
				if encoding == "UTF-16LE" {
					text, cut = strings.CutPrefix(text, "\x00")
				} else {
					text, cut = strings.CutSuffix(text, "\x00")
				}
				if !cut {
					return false
				}
			}
			texts = append(texts, text)
		}
	}
	decoded, ok := charset.DecodeWide(texts, encoding)
	if !ok {
		return false
	}
	for i := range f.Hunks {
		for k := range f.Hunks[i].Lines {
			f.Hunks[i].Lines[k].Text, decoded = LineText(decoded[0]), decoded[1:]
		}
	}
	return true
}
