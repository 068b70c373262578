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
	line     int // of the file, where it begins
	adjacent bool
}

// cellLines returns the lines of code and prose in a notebook: the texts of its JSON without their quotes, joined where one does not end its line
// and another follows it in a list, as notebooks join them.
func cellLines(t *content) (out []cellLine) {
	var text strings.Builder
	from, last := -1, -2 // where the text begins, and the line of its newest part
	follows := false     // whether the text follows the one before it
	end := func(goesOn bool) {
		if from < 0 {
			return
		}
		for i, part := range strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n") {
			out = append(out, cellLine{part, from, i > 0 || follows})
		}
		text.Reset()
		from, follows = -1, goesOn
	}
	for i := range t.lines {
		rest, parts := t.line(i), 0
		for {
			at := strings.IndexByte(rest, '"')
			if at < 0 {
				break
			}
			between := strings.TrimSpace(rest[:at])
			goesOn := from >= 0 && (parts > 0 && between == "," || parts == 0 && between == "" && last == i-1 && t.lines[i].adjacent)
			if !goesOn || strings.HasSuffix(text.String(), "\n") {
				end(goesOn)
			}
			n := quotedLength(rest[at:])
			var part string
			if json.Unmarshal([]byte(rest[at:at+n]), &part) == nil {
				if from < 0 {
					from = i
				}
				text.WriteString(part)
				last = i
			}
			rest, parts = rest[at+n:], parts+1
		}
		if after := strings.TrimSpace(rest); after != "," && after != "" || parts == 0 {
			end(false)
		}
	}
	end(false)
	return out
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
