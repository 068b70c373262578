package judge

import (
	"strings"

	"tenet/internal/diff"
)

// control is a rule of triage whose right answer the server knows: it forbids a phrase, and the phrase is planted in the subject.
type control struct {
	phrase string
	file   string
	line   int
	index  int    // its place among the references
	place  byte   // place of its file in the part
	size   int    // how many other rules there are
	mark   string // takes the place of blanks, if the text is marked
}

// Words of the phrases: common ones that mean no instruction.
var (
	firstWords  = strings.Fields("amber birch cedar coral delta ember fjord grove hazel ivory jade larch maple north ochre pearl quartz river sable tundra umber vale willow zinc")
	secondWords = strings.Fields("anchor basin canal depot easel ferry gable harbor inlet jetty kiosk ledger market notary outpost parcel quarry relay siding terminal upland viaduct wharf yard")
)

// marks are characters that take the place of blanks in marked text.
var marks = []string{"^", "~", "§", "¬", "¤", "\uE000"}

// unusedMark returns a mark that the subject does not contain.
func unusedMark(l *layout) string {
	for _, m := range marks {
		if !l.contains(m) {
			return m
		}
	}
	return marks[len(marks)-1]
}

// statement returns the text of the control's rule, which is a MUST_NOT.
func (c control) statement() string {
	return "Use the withdrawn reference " + c.phrase + "."
}

// block returns the file to plant in the subject.
func (c control) block() string {
	text := appendLine([]byte("file "+c.file+" (modified)\n@@ \n"), diff.Line{Op: diff.OpAdd, New: c.line, Text: "See " + c.phrase + " for details."})
	return string(text)
}

// marked puts mark in the place of every blank, so that the text no longer reads like words to the model.
func marked(text, mark string) string { return strings.ReplaceAll(text, " ", mark) }
