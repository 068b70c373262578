package check

import (
	"encoding/json"
	"path"
	"strings"
)

// isNotebook reports whether a file holds the lines of its code as texts of JSON.
func isNotebook(name string) bool { return strings.EqualFold(path.Ext(name), ".ipynb") }

// cellLine is a line of a cell of a notebook.
type cellLine struct {
	text     string
	line     int // of the file: the first one with a part of it that is added, else the one where it begins
	adjacent bool
}

// cellReader joins the texts of a notebook to lines.
type cellReader struct {
	of      *content
	lines   []cellLine
	text    strings.Builder
	parts   []cellPart // of the text; none without a text
	follows bool       // whether the text follows the one before it
}

// cellPart is a text in quotes: where its text begins, and its line of the file.
type cellPart struct{ from, line int }

// end ends the text. With goesOn the next one follows it.
func (r *cellReader) end(goesOn bool) {
	if len(r.parts) == 0 {
		return
	}
	from, part := 0, 0
	for i, text := range strings.Split(strings.TrimSuffix(r.text.String(), "\n"), "\n") {
		to := from + len(text) + 1
		for part+1 < len(r.parts) && r.parts[part+1].from <= from {
			part++
		}
		line := r.parts[part].line
		for k := part; k < len(r.parts) && r.parts[k].from < to; k++ {
			if at := r.parts[k].line; r.of.lines[at].added {
				line = at
				break
			}
		}
		r.lines = append(r.lines, cellLine{text, line, i > 0 || r.follows})
		from = to
	}
	r.text.Reset()
	r.parts, r.follows = r.parts[:0], goesOn
}

// cellLines returns the lines of code and prose in a notebook: the texts of its JSON without their quotes, joined where one does not end its line
// and another follows it in a list, as notebooks join them. Between the two are a comma, blanks and ends of lines, in any order.
func cellLines(t *content) []cellLine {
	r := cellReader{of: t}
	between := "" // what follows the last text, without blanks
	for i := range t.lines {
		if !t.lines[i].adjacent {
			r.end(false)
		}
		rest, first := t.line(i), true
		for {
			at := strings.IndexByte(rest, '"')
			if at < 0 {
				break
			}
			between += strings.TrimSpace(rest[:at])
			goesOn := len(r.parts) > 0 && (between == "," || between == "" && first)
			if !goesOn || strings.HasSuffix(r.text.String(), "\n") {
				r.end(goesOn)
			}
			n := quotedLength(rest[at:])
			var text string
			if json.Unmarshal([]byte(rest[at:at+n]), &text) == nil {
				r.parts = append(r.parts, cellPart{r.text.Len(), i})
				r.text.WriteString(text)
			}
			rest, between, first = rest[at+n:], "", false
		}
		if between += strings.TrimSpace(rest); between != "," && between != "" {
			r.end(false)
			between = ""
		}
	}
	r.end(false)
	return r.lines
}

// quotedLength returns the length of the text in quotes that s begins with, or of all of s if its end is missing.
func quotedLength(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(s)
}
