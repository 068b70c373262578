package report

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"tenet/internal/rule"
)

// Bounds of the excerpt of one location. The excerpt always says that it leaves something out.
const (
	excerptLines = 8   // lines of a location
	excerptWidth = 120 // characters of a line; a longer one is shown around the text that is marked
	excerptLead  = 30  // characters before the marked text of a line that is cut
)

// excerptLine is one line of a location, ready to be printed, with the part to be marked in characters of text.
type excerptLine struct {
	number   string
	text     string
	from, to int // nothing is marked where both are 0
}

// excerpt shows the lines of a location. Where the verdict quotes a part of a line, that part is marked; a single line
// without such a quote is marked whole.
func excerpt(l *rule.Location, evidence []rule.Evidence) (lines []excerptLine, more int) {
	if l.Snippet == "" {
		return nil, 0
	}
	texts := strings.Split(strings.TrimSuffix(strings.ReplaceAll(l.Snippet, "\r\n", "\n"), "\n"), "\n")
	if len(texts) > excerptLines {
		more = len(texts) - excerptLines
		texts = texts[:excerptLines]
	}
	for i, text := range texts {
		line := excerptLine{text: clean(text)}
		number := 0
		if l.StartLine > 0 {
			number = l.StartLine + i
			line.number = fmt.Sprint(number)
		}
		at, n := quoted(text, number, l, evidence)
		if n == 0 && len(texts) == 1 && more == 0 {
			trimmed := strings.TrimSpace(text)
			at, n = strings.Index(text, trimmed), len(trimmed)
		}
		if n > 0 {
			// A quote that begins inside a character cleans to more characters than the line has, hence the bounds.
			all := utf8.RuneCountInString(line.text)
			line.from = min(all, utf8.RuneCountInString(clean(text[:at])))
			line.to = min(all, line.from+utf8.RuneCountInString(clean(text[at:at+n])))
		}
		lines = append(lines, line.cut())
	}
	return lines, more
}

// quoted finds the evidence for a line in its text: its first byte and its length, 0 if it does not occur.
func quoted(text string, number int, l *rule.Location, evidence []rule.Evidence) (at, n int) {
	for _, p := range evidence {
		if p.Kind != rule.EvidenceQuote || p.FilePath != l.FilePath || p.Line != number {
			continue
		}
		first, _, _ := strings.Cut(strings.TrimSpace(p.Quote), "\n")
		first = strings.TrimSpace(first)
		if at := strings.Index(text, first); at >= 0 && first != "" {
			return at, len(first)
		}
	}
	return 0, 0
}

// cut shortens a long line to the part around the mark, with dots where text is left out.
func (x excerptLine) cut() excerptLine {
	runes := []rune(x.text)
	if len(runes) <= excerptWidth {
		return x
	}
	start := 0
	lead := ""
	if x.to > excerptWidth && x.from > excerptLead {
		start, lead = x.from-excerptLead, "..."
	}
	end, tail := start+excerptWidth, "..."
	if end >= len(runes) {
		end, tail = len(runes), ""
	}
	x.text = lead + string(runes[start:end]) + tail
	shift := len(lead) - start
	if x.to > 0 {
		x.from, x.to = x.from+shift, min(x.to, end)+shift
	}
	return x
}
