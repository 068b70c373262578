package assistant

import (
	"regexp"
	"strconv"
	"strings"
)

// tagged is an item of a list that carries a tag. Lines count from 0.
type tagged struct {
	tag        tag
	statement  string
	exceptions []string
	rationale  string
	line, end  int // of the statement
	last       int // of the whole item
}

// taggedItems finds the items with a tag, in one pass over the lines of a file.
func taggedItems(lines []string) []tagged {
	var out []tagged
	open := ""
	for i := 0; i < len(lines); i++ {
		if mark := fenceMark(lines[i]); mark != "" {
			switch {
			case open == "":
				open = mark
			case strings.HasPrefix(mark, open):
				open = ""
			}
			continue
		}
		if open != "" || !strings.HasPrefix(lines[i], "- ") {
			continue
		}
		last := i
		for k := i + 1; k < len(lines) && (lines[k] == "" || strings.HasPrefix(lines[k], "  ")); k++ {
			if lines[k] != "" {
				last = k
			}
		}
		if item, ok := readTagged(lines[i:last+1], i); ok {
			out = append(out, item)
		}
		i = last
	}
	return out
}

// fence is a line that begins or ends a block of code: three or more backquotes or tildes.
var fence = regexp.MustCompile("^ {0,3}(?:(`{3,})[^`]*|(~{3,}).*)$")

// fenceMark returns the mark of a line that is a fence; empty for another.
func fenceMark(line string) string {
	if m := fence.FindStringSubmatch(line); m != nil {
		return m[1] + m[2]
	}
	return ""
}

// readTagged reads the lines of an item, of which the first is line from of the file.
func readTagged(lines []string, from int) (item tagged, ok bool) {
	var text []string
	for i, line := range lines {
		line = strings.TrimPrefix(line, "  ")
		if i == 0 {
			line = lines[0][len("- "):]
		}
		before, t, found := cutTag(line)
		if !found {
			text = append(text, line)
			continue
		}
		item = tagged{tag: t, statement: strings.Join(append(text, before), "\n"), line: from, end: from + i, last: from + len(lines) - 1}
		if t.text != "" {
			item.statement = t.text
		}
		item.points(lines[i+1:])
		return item, strings.TrimSpace(item.statement) != ""
	}
	return tagged{}, false
}

// points reads the items below the statement.
func (item *tagged) points(lines []string) {
	for _, line := range lines {
		line = strings.TrimPrefix(line, "  - ")
		if e, ok := strings.CutPrefix(line, exceptMark); ok {
			item.exceptions = append(item.exceptions, unquote(e))
		} else if why, ok := strings.CutPrefix(line, whyMark); ok {
			item.rationale = unquote(why)
		}
	}
}

// unquote reads the text of a point.
func unquote(s string) string {
	if v, err := strconv.Unquote(s); err == nil && strings.HasPrefix(s, `"`) {
		return v
	}
	return strings.TrimSpace(s)
}
