package diff

import (
	"slices"
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
	if nul {
		if texts, sure := wideTexts(f); texts != nil {
			for i := range f.Hunks {
				for k := range f.Hunks[i].Lines {
					f.Hunks[i].Lines[k].Text, texts = LineText(texts[0]), texts[1:]
				}
			}
			return !sure
		}
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

// wideTexts returns the lines of a file in UTF-16, or nil if they are not that. Where both byte orders give texts that differ and no mark
// says which one it is, it returns the one with more of ASCII and is not sure.
func wideTexts(f *File) (texts []string, sure bool) {
	little, big := decodeWide(f, "UTF-16LE"), decodeWide(f, "UTF-16BE")
	first := ""
	if len(f.Hunks) > 0 && len(f.Hunks[0].Lines) > 0 {
		first = f.Hunks[0].Lines[0].Text
	}
	switch {
	case big == nil || little != nil && strings.HasPrefix(first, "\xff\xfe"):
		return little, true
	case little == nil || strings.HasPrefix(first, "\xfe\xff") || slices.Equal(little, big):
		return big, true
	case ascii(little) < ascii(big):
		return big, false
	}
	return little, false
}

// mayBeOpen reports whether the first of the lines that end a hunk may be the last of a version of the file, which needs no line end.
func mayBeOpen(lines []Line) bool {
	return !slices.ContainsFunc(lines[1:], func(l Line) bool { return l.Op == lines[0].Op || l.Op == OpContext || lines[0].Op == OpContext })
}

// ascii counts the characters of ASCII.
func ascii(texts []string) (n int) {
	for _, text := range texts {
		for _, r := range text {
			if r < utf8.RuneSelf {
				n++
			}
		}
	}
	return n
}

// decodeWide reads the lines of a file in an encoding of two bytes; nil if not all of them are that. A line end is two
// bytes, and git ends a line at the one that is \n: the NUL before it ends its line in big endian, the one after it begins the
// next line in little endian, which the first line of a file does not have.
func decodeWide(f *File, encoding string) []string {
	var texts []string
	for i := range f.Hunks {
		for k, l := range f.Hunks[i].Lines {
			text, cut := l.Text, true
			switch isFirst := l.Op == OpDelete && l.Old == 1 || l.Op != OpDelete && l.New == 1; {
			case encoding == "UTF-16LE" && !isFirst:
				text, cut = strings.CutPrefix(text, "\x00")
			case encoding == "UTF-16BE" && !(i == len(f.Hunks)-1 && len(text)%2 == 0 && mayBeOpen(f.Hunks[i].Lines[k:])):
				text, cut = strings.CutSuffix(text, "\x00")
			}
			if !cut || len(text)%2 == 1 {
				return nil
			}
			texts = append(texts, text)
		}
	}
	if decoded, ok := charset.DecodeWide(texts, encoding); ok {
		return decoded
	}
	return nil
}
